"""What the bus and the device files show, with or without a driver."""

from __future__ import annotations

import os
import re
import shlex
from typing import Any

from kprof.audit.probes.machine import Machine, output

_COMMAND_S = 2.0
_LINES, _LINE = 256, 500  # of lspci's list: lines, and characters of one; far more than there are

_VENDOR = "10de"  # NVIDIA, in the PCI vendor list
_DISPLAY = ("0300", "0302", "0380")  # VGA, 3D and other display controllers (PCI class codes)
_BRIDGE = "0680"  # what NVSwitches are
_LISTS = ("/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids", "/usr/share/pci.ids")
_LIST_BYTES = 4 * 2**20

# Nodes whose absence tells something; others are listed where they are.
_NODES = ("nvidiactl", "nvidia-uvm", "dxg")
_NODE = re.compile(
    r"nvidia\d+|nvidiactl|nvidia-(?:uvm|uvm-tools|modeset|caps|nvswitch\w+)|dxg|nvhost-gpu|nvmap"
)


def pci(machine: Machine) -> dict[str, Any]:
    """List NVIDIA's GPUs on the PCI bus, with the kernel driver that holds each, and NVSwitches."""
    listed = _lspci(machine)
    if listed is None:
        listed = _sysfs(machine)
    if listed is None:
        return {}
    gpus = [device for device in listed if device["class"] in _DISPLAY]
    return {
        "lspci_gpus": [f"NVIDIA Corporation {device['name']}" for device in gpus],
        "pci_drivers": [_bound(machine, device["address"]) for device in gpus],
        "nvswitches": sum(device["class"] == _BRIDGE for device in listed),
    }


def device_nodes(machine: Machine) -> dict[str, Any]:
    """Look at the device files: which are there, and whether this user may open them."""
    present = [name for name in machine.names("/dev") if _NODE.fullmatch(name)]
    if not machine.exists("/dev"):
        return {}
    names = [*present, *(name for name in _NODES if name not in present)]
    return {"files": {f"/dev/{name}": _node(machine, f"/dev/{name}") for name in names}}


def _node(machine: Machine, name: str) -> dict[str, Any]:
    if not machine.exists(name):
        return {"exists": False}
    # Permission bits alone: opening a GPU's node starts the GPU.
    allowed = os.access(machine.path(name), os.R_OK | os.W_OK)
    return {"exists": True, "accessible": allowed}


def _lspci(machine: Machine) -> list[dict[str, str]] | None:
    text = output(
        machine.run([machine.tool("lspci"), "-D", "-mm", "-nn", "-d", "10de:"], _COMMAND_S)
    )
    if text is None:
        return None
    lines = text[: _LINES * _LINE].splitlines()[:_LINES]
    devices = [device for line in lines if (device := pci_line(line[:_LINE]))]
    return devices if devices or not text.strip() else None  # another lspci: unknown form


def pci_line(line: str) -> dict[str, str] | None:
    """Read a line of ``lspci -D -mm -nn``: address, "class [code]", "vendor [id]", "name [id]"."""
    try:
        address, kind, vendor, name = shlex.split(line)[:4]
    except ValueError:
        return None
    code, identity = _code(kind), _code(name)
    if code is None or identity is None or _code(vendor) != _VENDOR:
        return None
    plain = name.rpartition(" [")[0]
    if plain in ("", "Device"):  # not in lspci's list
        plain = f"Device {identity}"
    return {"address": address, "class": code, "name": plain}


def _code(text: str) -> str | None:
    found = re.search(r"\[([0-9a-f]{4})\]$", text)
    return found[1] if found else None


def _sysfs(machine: Machine) -> list[dict[str, str]] | None:
    if not machine.exists("/sys/bus/pci/devices"):
        return None
    return [
        device
        for address in machine.names("/sys/bus/pci/devices")
        if (device := _sysfs_device(machine, address))
    ]


def _sysfs_device(machine: Machine, address: str) -> dict[str, str] | None:
    folder = f"/sys/bus/pci/devices/{address}"
    vendor, kind, identity = (
        (machine.read(f"{folder}/{name}") or "").strip().removeprefix("0x")
        for name in ("vendor", "class", "device")
    )
    if vendor != _VENDOR or not identity:
        return None
    return {"address": address, "class": kind[:4], "name": _name(machine, identity)}


def _name(machine: Machine, identity: str) -> str:
    # As lspci itself calls a device that its list does not have.
    for place in _LISTS:
        text = machine.read(place, limit=_LIST_BYTES)
        if text is not None:
            return name_in_list(text, identity) or f"Device {identity}"
    return f"Device {identity}"


def name_in_list(text: str, identity: str) -> str | None:
    """Return the name that ``pci.ids`` gives to a device of NVIDIA's, None where it has none."""
    start = text.find(f"\n{_VENDOR}  ")
    if start < 0:
        return None
    end = re.compile(r"^[0-9a-zA-Z]", re.MULTILINE).search(text, text.find("\n", start + 1) + 1)
    section = text[start : end.start() if end else len(text)]
    found = re.search(rf"^\t{re.escape(identity)}  (.+)$", section, re.MULTILINE)
    return found[1].strip() if found else None


def _bound(machine: Machine, address: str) -> str | None:
    try:
        link = os.readlink(machine.path(f"/sys/bus/pci/devices/{address}/driver"))  # noqa: PTH115
    except (OSError, ValueError):
        return None
    return link.rpartition("/")[2]
