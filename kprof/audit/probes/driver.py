"""The kernel's side of the driver: modules, what the loaded one says of itself, its log lines."""

from __future__ import annotations

import re
from typing import Any

from kprof.audit.probes.machine import Machine, output
from kprof.audit.probes.operating_system import gvisor

_COMMAND_S = 2.0

# Modules that drive an NVIDIA GPU, take one away from the driver, or belong to it.
_MODULE = re.compile(r"nvidia\w*|nouveau|nova_core|nova_drm|nvgpu|rivafb|vfio_pci|gdrdrv")

# Open modules say "NVIDIA UNIX Open Kernel Module for x86_64  580.95.05", proprietary ones
# "NVIDIA UNIX x86_64 Kernel Module  535.183.01".
_LOADED = re.compile(r"Kernel Module(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)?)")

# What modinfo prints as the licence of the modules on the disk.
_OPEN_LICENCE = re.compile(r"MIT|GPL", re.IGNORECASE)

_STAMP = re.compile(r"^(?:<\d+>)?\[\s*\d+\.\d+\]\s*")
_OF_INTEREST = re.compile(
    r"NVRM|nvidia|nouveau|\bXid\b|\bPM: (?:suspend|hibernat|resume)"
    r"|Lockdown:.*module|unsigned module|module with unavailable key",
    re.IGNORECASE,
)
_OF_NO_INTEREST = re.compile(r"^audit: |apparmor=")
_LINES_KEPT = 200
_LINE_CHARACTERS = 400


def kernel_modules(machine: Machine) -> dict[str, Any]:
    """List the loaded modules that matter, and the driver's module on the disk."""
    facts: dict[str, Any] = {}
    loaded = _modules(machine)
    if loaded is not None:
        facts["modules_loaded"] = loaded
    kernel = (machine.read("/proc/sys/kernel/osrelease") or "").strip()
    if kernel and machine.exists(f"/lib/modules/{kernel}"):  # a container has none of these
        facts |= _installed(machine)
    return {"driver": facts}


def kernel_driver(machine: Machine) -> dict[str, Any]:
    """Read what the loaded module says of itself: version, flavour, parameters."""
    kernel = machine.read("/proc/version")
    facts: dict[str, Any] = {}
    version = machine.read("/proc/driver/nvidia/version")
    if version is not None:
        facts = _of_loaded(version)
    elif (plain := machine.read("/sys/module/nvidia/version")) is not None:
        facts = {"module_version": plain.strip()}
    elif kernel is not None and not gvisor(kernel):  # a sandbox need not show the host's driver
        facts = {"module_version": None}
    parameters = machine.read("/proc/driver/nvidia/params")
    if parameters is not None:
        facts["params"] = parameters_of(parameters)
    return {"driver": facts}


def kernel_log(machine: Machine) -> dict[str, Any]:
    """Read the kernel's log: the driver's lines, sleep and wake, and a sandbox's own boot."""
    sandbox = "gvisor" if gvisor(machine.read("/proc/version") or "") else None
    text, error = _log(machine)
    if text is None:
        return {"os": {"sandbox": sandbox}, "errors": {"kernel_log": error}}
    if "Starting gVisor" in text:
        sandbox = "gvisor"
    return {"os": {"sandbox": sandbox}, "driver": {"dmesg": lines_of_interest(text)}}


def parameters_of(text: str) -> dict[str, int | str]:
    """Return the module's parameters, ``Name: value`` per line; whole numbers as numbers."""
    facts: dict[str, int | str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        value = value.strip().strip('"')
        if colon and re.fullmatch(r"\w+", name):
            facts[name] = int(value) if re.fullmatch(r"-?\d{1,18}", value) else value[:200]
    return facts


def lines_of_interest(text: str) -> list[str]:
    """Return the newest log lines about the driver, oldest first, without their time stamps."""
    lines = (_STAMP.sub("", line).strip() for line in text.splitlines())
    wanted = [
        line[:_LINE_CHARACTERS]
        for line in lines
        if _OF_INTEREST.search(line) and not _OF_NO_INTEREST.search(line)
    ]
    return wanted[-_LINES_KEPT:]


def _of_loaded(version: str) -> dict[str, Any]:
    found = _LOADED.search(version)
    facts: dict[str, Any] = {"module_version": found[1]} if found else {}
    if "Kernel Module" in version:
        facts["module_flavor"] = "open" if "Open Kernel Module" in version else "proprietary"
    return facts


def _modules(machine: Machine) -> list[str] | None:
    # /sys/module lists those built into the kernel as well.
    text = machine.read("/proc/modules")
    built_in = machine.names("/sys/module")
    if text is None and not built_in:
        return None
    names = {line.split(" ", 1)[0] for line in (text or "").splitlines()} | set(built_in)
    return sorted(name for name in names if _MODULE.fullmatch(name))


def _installed(machine: Machine) -> dict[str, Any]:
    # modinfo reads the disk: a driver that is installed and not loaded, or another than is loaded.
    done = machine.run([machine.tool("modinfo"), "nvidia"], _COMMAND_S)
    if done is None or done.timed_out:
        return {}
    text = output(done)
    if text is None:
        return {"module_installed": None}
    found = dict(re.findall(r"^(filename|version|license):\s+(.+?)\s*$", text, re.MULTILINE))
    facts = {"path": found.get("filename"), "version": found.get("version")}
    if "license" in found:
        is_open = _OPEN_LICENCE.search(found["license"])
        facts["flavor"] = "open" if is_open else "proprietary"
    return {"module_installed": facts}


def _log(machine: Machine) -> tuple[str | None, str]:
    done = machine.run([machine.tool("dmesg")], _COMMAND_S)
    text = output(done)
    if text is not None:
        return text, ""
    # A kernel that keeps its log to root often lets a group of users read the journal.
    journal = [machine.tool("journalctl"), "-k", "-b", "-q", "--no-pager", "-o", "cat", "-n5000"]
    text = output(machine.run(journal, _COMMAND_S))
    if text:
        return text, ""
    if done is None:
        return None, "no dmesg on this machine"
    said = done.stderr.decode(errors="replace").strip()
    return None, said[:_LINE_CHARACTERS] or "dmesg did not answer"
