"""Asks NVML about the driver and the GPUs; runs as a program, since NVML can hang or crash.

``python nvml_child.py FOLDER`` takes pynvml from FOLDER and prints the facts so far as a line of
JSON, again and again: what was learnt before a hang or a crash is not lost.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

# NVML's numbers for compute modes and for the state of the fabric (nvml.h).
_COMPUTE_MODES = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}
_FABRIC = {0: "not_supported", 1: "not_started", 2: "in_progress", 3: "completed"}
_VIRTUAL = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host_vgpu", 4: "host_vsga"}


def main() -> None:
    """Print what NVML says."""
    without_core_file()
    sys.path.append(sys.argv[1])
    import pynvml

    facts: dict[str, Any] = {"driver": {}}
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        facts["driver"]["nvml_error"] = str(error)
        facts |= _control_node()
    else:
        _driver(pynvml, facts["driver"])
        emit(facts)
        _gpus(pynvml, facts)
    facts["driver"]["nvml_library"] = _library()
    emit(facts)


def emit(facts: dict[str, Any]) -> None:
    """Print the facts so far."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def without_core_file() -> None:
    """Leave no core file behind where a library brings this process down."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _driver(nvml: Any, facts: dict[str, Any]) -> None:
    _put(facts, "version", nvml.nvmlSystemGetDriverVersion)
    _put(facts, "nvml_version", nvml.nvmlSystemGetNVMLVersion)
    _put(facts, "cuda_version", lambda: _cuda(nvml.nvmlSystemGetCudaDriverVersion_v2()))


def _gpus(nvml: Any, facts: dict[str, Any]) -> None:
    # All or none: a list that breaks off would look like a machine with fewer GPUs.
    try:
        count = nvml.nvmlDeviceGetCount()
        facts["gpus"] = [_gpu(nvml, nvml.nvmlDeviceGetHandleByIndex(i)) for i in range(count)]
    except nvml.NVMLError as error:
        facts["driver"]["nvml_error"] = str(error)


def _gpu(nvml: Any, handle: Any) -> dict[str, Any]:
    gpu = _described(nvml, handle)
    _put(
        gpu, "compute_capability", lambda: _dotted(nvml.nvmlDeviceGetCudaComputeCapability(handle))
    )
    _put(gpu, "compute_mode", lambda: _COMPUTE_MODES.get(nvml.nvmlDeviceGetComputeMode(handle)))
    _put(gpu, "processes", lambda: len(nvml.nvmlDeviceGetComputeRunningProcesses(handle)))
    _put(gpu, "virtualization", lambda: _VIRTUAL.get(nvml.nvmlDeviceGetVirtualizationMode(handle)))
    _put(gpu, "persistence", lambda: bool(nvml.nvmlDeviceGetPersistenceMode(handle)))
    _put(gpu, "fabric", lambda: _fabric(nvml, handle))
    _put(gpu, "mig", lambda: _mig(nvml, handle))
    if gpu.get("mig") == "enabled":
        _put(gpu, "mig_devices", lambda: _instances(nvml, handle))
    return gpu


def _mig(nvml: Any, handle: Any) -> str:
    try:
        return "enabled" if nvml.nvmlDeviceGetMigMode(handle)[0] else "disabled"
    except nvml.NVMLError_NotSupported:  # a GPU that has no such mode
        return "disabled"


def _instances(nvml: Any, handle: Any) -> list[dict[str, Any]]:
    found = []
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        with contextlib.suppress(nvml.NVMLError):  # a slot without an instance
            instance = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
            found.append(_described(nvml, instance))
    return found


def _described(nvml: Any, handle: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    _put(facts, "name", lambda: nvml.nvmlDeviceGetName(handle))
    _put(facts, "uuid", lambda: nvml.nvmlDeviceGetUUID(handle))
    _put(facts, "memory_bytes", lambda: nvml.nvmlDeviceGetMemoryInfo(handle).total)
    return facts


def _fabric(nvml: Any, handle: Any) -> str | None:
    info = nvml.c_nvmlGpuFabricInfo_t()
    nvml.nvmlDeviceGetGpuFabricInfo(handle, info)
    return _FABRIC.get(info.state)


def _put(facts: dict[str, Any], name: str, ask: Callable[[], Any]) -> None:
    # What this GPU or this driver does not know stays away: absent is unknown.
    try:
        value = ask()
    except Exception:  # noqa: BLE001 - an old library lacks functions, in more ways than one
        return
    if value is not None:
        facts[name] = value


def _cuda(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _dotted(pair: tuple[int, int]) -> str:
    return f"{pair[0]}.{pair[1]}"


def _control_node() -> dict[str, Any]:
    # Tells a node that may not be opened (a container that lost its devices) from a driver that
    # does not answer. NVML has just done the same.
    try:
        os.close(os.open("/dev/nvidiactl", os.O_RDWR))
    except FileNotFoundError:
        return {}
    except OSError as error:
        return {"files": {"/dev/nvidiactl": {"open_error": error.strerror}}}
    return {"files": {"/dev/nvidiactl": {"open_error": None}}}


def _library() -> str | None:
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123 - pathlib is not loaded here
            paths = [line.split(None, 5)[-1].strip() for line in maps if "libnvidia-ml.so" in line]
    except OSError:
        return None
    return paths[0] if paths else None


if __name__ == "__main__":
    main()
