"""What can be checked before the target starts, in milliseconds: driver and counter permission.

Only files are read, under a root that tests replace. What cannot be known is not an error: ncu
itself has the last word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kprof.errors import CountersForbidden, DriverMissing

# linux/capability.h; the driver accepts either.
_CAP_SYS_ADMIN = 21
_CAP_PERFMON = 38

_CONTAINER_MARKS = (".dockerenv", "run/.containerenv")
_CONTAINER_CGROUP = re.compile(r"docker|kubepods|containerd|libpod|lxc")


@dataclass(frozen=True, slots=True)
class Machine:
    """What the files say; None where they do not.

    Attributes:
        driver: the driver's version line, or the device file that proves one.
        counters_restricted: the driver gives counters to administrators only.
        privileged: this process may read them all the same.
        container: it runs in a container.
        wsl: the GPU belongs to Windows.
    """

    driver: str | None
    counters_restricted: bool | None
    privileged: bool | None
    container: bool
    wsl: bool


def look(root: Path = Path("/")) -> Machine:
    """Read the facts under ``root``."""
    wsl = (root / "dev/dxg").exists()
    return Machine(
        driver=_driver(root),
        counters_restricted=_restricted(root),
        privileged=_privileged(root),
        container=_container(root),
        wsl=wsl,
    )


def check(machine: Machine) -> None:
    """Stop where profiling cannot work.

    Raises:
        DriverMissing: no NVIDIA driver is loaded.
        CountersForbidden: the driver keeps the counters to administrators, and this is none.
    """
    if machine.driver is None:
        raise DriverMissing(
            "no NVIDIA driver is loaded on this machine", hint=_driver_hint(machine)
        )
    if machine.counters_restricted and machine.privileged is False:
        raise counters_forbidden(machine)


def counters_forbidden(machine: Machine) -> CountersForbidden:
    """Return the error for ERR_NVGPUCTRPERM with the fix for this machine."""
    return CountersForbidden(
        "the driver lets only administrators read this GPU's performance counters "
        "(ERR_NVGPUCTRPERM)",
        hint=_permission_hint(machine),
    )


def _driver_hint(machine: Machine) -> str:
    if machine.container:
        return "give the container the GPU: docker run --gpus all ..."
    return (
        "install the driver or run kprof profile where the GPU is; "
        "kprof analyze reads a report anywhere"
    )


def _permission_hint(machine: Machine) -> str:
    everyone = (
        "as root on the host: echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' "
        "> /etc/modprobe.d/nvidia-profiling.conf, then reload the driver or reboot"
    )
    if machine.wsl:
        return (
            "in Windows: NVIDIA Control Panel, Developer, Manage GPU Performance Counters, "
            "allow access to all users"
        )
    if machine.container:
        return f"start the container with --cap-add=SYS_ADMIN, or allow everyone {everyone}"
    return f"run kprof with sudo, or allow everyone {everyone}"


def _driver(root: Path) -> str | None:
    version = _read(root / "proc/driver/nvidia/version")
    if version:
        return version.splitlines()[0]
    for device in ("dev/nvidiactl", "dev/dxg"):
        if (root / device).exists():
            return device
    return None


def _restricted(root: Path) -> bool | None:
    text = _read(root / "proc/driver/nvidia/params")
    found = re.search(r"^RmProfilingAdminOnly:\s*(\d+)", text or "", re.MULTILINE)
    return None if found is None else found.group(1) != "0"


def _privileged(root: Path) -> bool | None:
    text = _read(root / "proc/self/status")
    found = re.search(r"^CapEff:\s*([0-9a-fA-F]+)", text or "", re.MULTILINE)
    if found is None:
        return None
    capabilities = int(found.group(1), 16)
    return any(capabilities >> bit & 1 for bit in (_CAP_SYS_ADMIN, _CAP_PERFMON))


def _container(root: Path) -> bool:
    if any((root / mark).exists() for mark in _CONTAINER_MARKS):
        return True
    return bool(_CONTAINER_CGROUP.search(_read(root / "proc/1/cgroup") or ""))


def _read(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return None
