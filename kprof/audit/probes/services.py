"""Services and programs that share the GPU or its counters."""

from __future__ import annotations

import os
import re
from typing import Any

from kprof.audit.probes.machine import Machine, output

_SYSTEMCTL_S = 2.0

# A process' name, of which the kernel keeps 15 characters -> the service.
_PROGRAMS = {
    "nv-hostengine": "nv-hostengine",
    "dcgm-exporter": "dcgm-exporter",
    "nv-fabricmanage": "nvidia-fabricmanager",
    "nvidia-persiste": "nvidia-persistenced",
    "nvidia-imex": "nvidia-imex",
    "nvidia-cuda-mps": "mps",
    "ncu": "ncu",
    "ncu-ui": "ncu-ui",
    "ncu-ui.bin": "ncu-ui",
    "nv-nsight-cu-cl": "ncu",
    "nsys": "nsys",
    "nsys-ui": "nsys-ui",
    "nsys-ui.bin": "nsys-ui",
    "nsys-launcher": "nsys",
    "nvprof": "nvprof",
}

# Unit -> the service.
_UNITS = {
    "nvidia-fabricmanager.service": "nvidia-fabricmanager",
    "nvidia-persistenced.service": "nvidia-persistenced",
    "nvidia-imex.service": "nvidia-imex",
    "nvidia-dcgm.service": "nv-hostengine",
    "dcgm.service": "nv-hostengine",
    "dcgm-exporter.service": "dcgm-exporter",
    "nvidia-dcgm-exporter.service": "dcgm-exporter",
}
_PROFILERS = ("ncu", "nsys", "nvprof")
_STATES = {"active": "running", "reloading": "running"}


def services(machine: Machine) -> dict[str, Any]:
    """Say which services and profilers run: ``running``, systemd's word, or null for none."""
    states: dict[str, str | None] = {}
    if _sees_everything(machine):
        states = dict.fromkeys(_PROGRAMS.values())
    states |= _units(machine)
    running = _running(machine)
    states |= dict.fromkeys(running.values(), "running")
    profilers = [{"name": name, "pid": pid} for pid, name in running.items() if name in _PROFILERS]
    return {"services": states, **({"profilers": profilers} if profilers else {})}


def _sees_everything(machine: Machine) -> bool:
    # In a container, and with hidepid, other people's processes do not show: not seeing one says
    # nothing. The kernel's own threads are seen where all are.
    return (machine.read("/proc/2/comm") or "").strip() == "kthreadd"


def _running(machine: Machine) -> dict[int, str]:
    own = str(os.getpid())
    found: dict[int, str] = {}
    for number in machine.names("/proc"):
        if not number.isdecimal():
            continue
        name = (machine.read(f"/proc/{number}/comm", limit=64) or "").rstrip("\n")
        known = name in _PROGRAMS and not _is_namesake(machine, number, name)
        if known and not _descends(machine, number, own):
            found[int(number)] = _PROGRAMS[name]
    return found


def _is_namesake(machine: Machine, number: str, name: str) -> bool:
    """Say whether a process called ncu is known to run another program than Nsight Compute's."""
    if name != "ncu":
        return False
    try:
        program = os.readlink(machine.path(f"/proc/{number}/exe"))  # noqa: PTH115 - text, no path
    except (OSError, ValueError):
        return False  # somebody else's: not known
    return "nsight" not in program.lower()


def _descends(machine: Machine, number: str, ancestor: str) -> bool:
    # The audit itself asks ncu for its version at the same time.
    for _ in range(64):
        if number == ancestor:
            return True
        stat = machine.read(f"/proc/{number}/stat", limit=4096) or ""
        parent = re.match(r"\s*\S+ (\d+)", stat.rpartition(")")[2])
        if parent is None or parent[1] == "0":
            return False
        number = parent[1]
    return False


def _units(machine: Machine) -> dict[str, str | None]:
    if not machine.exists("/run/systemd/system"):  # sd_booted(3)
        return {}
    show = [machine.tool("systemctl"), "show", "--property=Id,LoadState,ActiveState"]
    return units_of(output(machine.run([*show, *_UNITS], _SYSTEMCTL_S)) or "")


def units_of(text: str) -> dict[str, str | None]:
    """Read ``systemctl show``: a block of ``Name=value`` lines per unit."""
    states: dict[str, str | None] = {}
    for block in text.split("\n\n"):
        unit = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        service = _UNITS.get(unit.get("Id", ""))
        if service is None or unit.get("LoadState") == "not-found":
            continue
        state = unit.get("ActiveState", "unknown")
        if states.get(service) != "running":  # one service can have units of two names
            states[service] = _STATES.get(state, state)
    return states
