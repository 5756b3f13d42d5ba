"""The user's side of the driver: NVML, nvidia-smi and libcuda as the loader finds it."""

from __future__ import annotations

import csv
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

from kprof.audit.probes import child
from kprof.audit.probes.machine import MAX_READ_BYTES, Machine, output

# Seconds. Without the persistence daemon the first to ask wakes every GPU, a second or two each.
NVML_S = 10.0
SMI_S = 10.0
LIBCUDA_S = 10.0
_LDCONFIG_S = 1.0

# Field of nvidia-smi --query-gpu -> fact. compute_cap came with R510 or so: asked for apart.
_FIELDS = ("driver_version", "name", "uuid", "memory.total", "compute_mode", "mig.mode.current")
_ABSENT = re.compile(r"\[?(?:N/A|Not Supported|Unknown Error|Insufficient Permissions)\]?|")

_VERSION = re.compile(r"\.so\.(\d{3,}\.\d+(?:\.\d+)?)$")
_COMPAT = re.compile(r"/(?:cuda-)?compat(?:[-_.][\w.-]+)?/")
_STUB_CODE = 34  # CUDA_ERROR_STUB_LIBRARY, cuda.h


def nvml(machine: Machine) -> dict[str, Any]:
    """Ask NVML about the driver and the GPUs; nvidia-smi where NVML ends without an answer."""
    module = importlib.util.find_spec("pynvml")
    if module is None or module.origin is None:
        return {**query_gpus(machine), "errors": {"nvml": "nvidia-ml-py is not installed"}}
    folder = str(Path(module.origin).parent)
    answer = child.ask(machine, sys.executable, "nvml_child.py", folder, timeout_s=NVML_S)
    if answer.error is None:
        return answer.facts
    facts = {**answer.facts, "errors": {"nvml": answer.error}}
    if answer.hung or "gpus" in facts:  # where NVML hangs, nvidia-smi would too
        return facts
    queried = query_gpus(machine)
    driver = {**queried.get("driver", {}), **facts.get("driver", {})}
    return {**queried, **facts, "driver": driver}


def nvidia_smi(machine: Machine) -> dict[str, Any]:
    """Run nvidia-smi: its table's header, or why it fails."""
    program = machine.tool("nvidia-smi")
    done = machine.run([program], SMI_S)
    if done is None:
        return {"driver": {"nvidia_smi": {"path": None}}}
    facts: dict[str, Any] = {"nvidia_smi": {"path": program}}
    text = done.stdout[:MAX_READ_BYTES].decode(errors="replace").strip()
    if done.timed_out:
        return {"driver": facts, "errors": {"nvidia_smi": "no answer in time"}}
    if done.cut:
        return {"driver": facts, "errors": {"nvidia_smi": "wrote without end"}}
    if done.returncode != 0 or "NVIDIA-SMI" not in text or "failed because" in text:
        said = text or done.stderr.decode(errors="replace").strip()
        facts["nvidia_smi_error"] = said[:2000] or f"ended with status {done.returncode}"
    else:
        facts["nvidia_smi_text"] = without_processes(text)
    return {"driver": facts}


def without_processes(table: str) -> str:
    """Return nvidia-smi's table without the list of other people's programs."""
    lines = table.splitlines()
    end = next((i for i, line in enumerate(lines) if line.startswith("| Processes")), len(lines))
    if end < len(lines):
        end -= 1  # the frame above it
    return "\n".join(lines[:end]).rstrip()


def query_gpus(machine: Machine) -> dict[str, Any]:
    """List the GPUs with ``nvidia-smi --query-gpu``; no facts when it does not answer."""
    for fields in ((*_FIELDS, "compute_cap"), _FIELDS):
        argv = [machine.tool("nvidia-smi"), f"--query-gpu={','.join(fields)}"]
        text = output(machine.run([*argv, "--format=csv,noheader,nounits"], SMI_S))
        if text is not None and "No devices were found" not in text:
            return gpus_of_csv(text, fields)
    return {}


def gpus_of_csv(text: str, fields: tuple[str, ...]) -> dict[str, Any]:
    """Read the rows of ``--query-gpu``."""
    rows = [
        dict(zip(fields, (cell.strip() for cell in row), strict=True))
        for row in csv.reader(text.splitlines(), skipinitialspace=True)
        if len(row) == len(fields)
    ]
    if not rows:
        return {}
    return {
        "gpus": [_gpu(row) for row in rows],
        "driver": {"version": rows[0]["driver_version"]},
    }


def _gpu(row: dict[str, str]) -> dict[str, Any]:
    known = {name: cell for name, cell in row.items() if not _ABSENT.fullmatch(cell)}
    facts: dict[str, Any] = {
        "name": known.get("name"),
        "uuid": known.get("uuid"),
        "compute_capability": known.get("compute_cap"),
        "compute_mode": known["compute_mode"].lower() if "compute_mode" in known else None,
        "mig": known["mig.mode.current"].lower() if "mig.mode.current" in known else None,
    }
    if known.get("memory.total", "").isdigit():
        facts["memory_bytes"] = int(known["memory.total"]) * 2**20
    return {name: value for name, value in facts.items() if value is not None}


def libcuda(machine: Machine) -> dict[str, Any]:
    """Load libcuda as the target would: which file the loader finds, and what cuInit says."""
    candidates = _candidates(machine)  # first: libcuda itself may take all the time there is
    answer = _ask_libcuda(machine, machine.python)
    if not answer.facts and not answer.hung:  # the target's interpreter does not run
        answer = _ask_libcuda(machine, sys.executable)
    facts = {**answer.facts, **_described(answer.facts), "candidates": candidates}
    errors = {} if answer.error is None else {"errors": {"libcuda": answer.error}}
    return {"libcuda": facts, **errors}


def _ask_libcuda(machine: Machine, interpreter: str) -> child.Answer:
    return child.ask(machine, interpreter, "libcuda_child.py", timeout_s=LIBCUDA_S)


def _described(facts: dict[str, Any]) -> dict[str, Any]:
    path = facts.get("path")
    if not path:
        return {}
    version = _VERSION.search(path)
    found = {"kind": kind_of_libcuda(path, facts.get("found_as"), facts.get("init_code"))}
    return {**found, "version": version[1]} if version else found


def kind_of_libcuda(path: str, found_as: str | None, init_code: int | None) -> str:
    """Say what a libcuda is: a link-time ``stub``, forward ``compat``, WSL's, or the driver's own.

    Args:
        path: the file, links resolved.
        found_as: the name under which the loader found it.
        init_code: what ``cuInit`` returned.
    """
    names = f"{path}\n{found_as or ''}"
    if init_code == _STUB_CODE or "/stubs/" in names:
        return "stub"
    if _COMPAT.search(names):
        return "compat"
    return "wsl" if "/usr/lib/wsl/" in names else "driver"


def _candidates(machine: Machine) -> list[str]:
    """Return every libcuda.so.1 that the loader could find, in its order."""
    folders = machine.environ.get("LD_LIBRARY_PATH", "").split(":")
    found = [f"{folder}/libcuda.so.1" for folder in folders if folder.startswith("/")]
    found = [place for place in found if machine.exists(place)]
    text = output(machine.run([machine.tool("ldconfig"), "-p"], _LDCONFIG_S)) or ""
    found += re.findall(r"^\s*libcuda\.so\.1 \([^)]*\) => (\S+)$", text, re.MULTILINE)
    return list(dict.fromkeys(found))
