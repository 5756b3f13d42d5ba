"""What this process may do: privileges, and the files that Nsight Compute has to write."""

from __future__ import annotations

import os
import re
import stat
from typing import Any

from kprof.audit.probes.machine import Machine

# linux/capability.h of Linux 6.x, in the order of their numbers.
_CAPABILITIES = (
    "CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID",
    "SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW",
    "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE",
    "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME",
    "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP",
    "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ",
    "PERFMON", "BPF", "CHECKPOINT_RESTORE",
)  # fmt: skip

# What a system without user namespaces maps: everybody to themselves.
_EVERYBODY = ["0", "0", "4294967295"]

# The lock that keeps two runs of ncu apart lies in the temporary folder (Nsight Compute, Profiling
# Guide, "Serialization", <https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html>).
_LOCK = "nsight-compute-lock"

# Neither follows a link nor waits for the other end of a pipe, should the file become one.
_CAREFUL = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def privileges(machine: Machine) -> dict[str, Any]:
    """Read this process' user and effective capabilities."""
    status = machine.read("/proc/self/status") or ""
    facts: dict[str, Any] = {}
    if user := re.search(r"^Uid:\s+\d+\s+(\d+)", status, re.MULTILINE):
        facts["euid"] = int(user[1])
    if mask := re.search(r"^CapEff:\s+([0-9a-fA-F]+)", status, re.MULTILINE):
        facts["capabilities"] = capabilities_of(int(mask[1], 16))
    users = machine.read("/proc/self/uid_map")
    if users is not None:
        # Capabilities inside a user namespace are none for the driver.
        facts["user_namespace"] = users.split() != _EVERYBODY
    return {"process": facts}


def capabilities_of(mask: int) -> list[str]:
    """Return the names of a capability mask, ``CAP_SYS_ADMIN`` for bit 21."""
    return [f"CAP_{name}" for bit, name in enumerate(_CAPABILITIES) if mask >> bit & 1]


def writable_places(machine: Machine) -> dict[str, Any]:
    """Look at what Nsight Compute writes to: its lock file, the temporary folder and HOME."""
    temporary = machine.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - where ncu itself looks
    lock = f"{temporary.rstrip('/')}/{_LOCK}"
    return {
        "files": {
            "TMPDIR": _folder(machine, temporary),
            "HOME": _folder(machine, machine.environ.get("HOME")),
            lock: _lock(machine, lock, temporary),
        }
    }


def _folder(machine: Machine, name: str | None) -> dict[str, Any]:
    if not name:
        return {"path": None, "exists": False, "writable": False}
    path = machine.path(name)
    if not path.is_dir():
        return {"path": name, "exists": False, "writable": False}
    facts = {"path": name, "exists": True, "writable": os.access(path, os.W_OK | os.X_OK)}
    if hasattr(os, "statvfs"):
        system = os.statvfs(path)
        facts["free_bytes"] = system.f_bavail * system.f_frsize
    return facts


def _lock(machine: Machine, name: str, folder: str) -> dict[str, Any]:
    path = machine.path(name)
    try:
        found = path.lstat()
    except FileNotFoundError:
        return {"exists": False}
    except OSError as error:
        return {"writable": False, "error": error.strerror}
    facts = {"exists": True, "owner": _owner(found.st_uid)}
    if not stat.S_ISREG(found.st_mode):
        return {**facts, "writable": False, "error": "not a regular file"}
    try:
        # Neither created nor emptied. ncu opens it the same way, with O_CREAT besides.
        os.close(os.open(path, os.O_RDWR | _CAREFUL))
    except OSError as error:
        return {**facts, "writable": False, "error": error.strerror}
    if _protected(machine, found, machine.path(folder).stat()):
        reason = "fs.protected_regular keeps others from it"
        return {**facts, "writable": False, "error": reason}
    return {**facts, "writable": True}


def _owner(number: int) -> str:
    # A number: the name would need a directory service, which can hang, and names people.
    return "root" if number == 0 else f"uid {number}"


def _protected(machine: Machine, file: os.stat_result, folder: os.stat_result) -> bool:
    """Say whether O_CREAT on an existing file fails, root or not.

    Source: Linux, Documentation/admin-guide/sysctl/fs.rst, ``protected_regular``, and
    ``may_create_in_sticky`` of fs/namei.c.
    """
    level = (machine.read("/proc/sys/fs/protected_regular") or "0").strip()
    others = stat.S_IWOTH | (stat.S_IWGRP if level == "2" else 0)
    return (
        level in ("1", "2")
        and bool(folder.st_mode & stat.S_ISVTX)
        and bool(folder.st_mode & others)
        and file.st_uid not in (folder.st_uid, os.geteuid())
    )
