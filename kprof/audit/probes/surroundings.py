"""The environment variables that decide which CUDA runs, and what the container runtime set."""

from __future__ import annotations

import re
from typing import Any

from kprof.audit.probes.machine import Machine
from kprof.audit.probes.operating_system import container

_NAMES = frozenset(
    {
        "CC", "CONDA_PREFIX", "CPATH", "CPLUS_INCLUDE_PATH", "CXX", "C_INCLUDE_PATH", "CUDACXX",
        "CUDAHOSTCXX", "HOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "LIBRARY_PATH", "PATH",
        "PYTHONHOME", "PYTHONPATH", "TMPDIR", "VIRTUAL_ENV",
    }
)  # fmt: skip
_PREFIXES = (
    "CUDA_", "NCCL_", "NSYS_", "NVCC_", "NVIDIA_", "NVTX_", "NV_COMPUTE_PROFILER_", "PYTORCH_",
    "TORCH_", "TRITON_",
)  # fmt: skip

# Access to somebody's account, under a prefix above (NVIDIA_API_KEY).
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH")

# What the NVIDIA container runtime mounts into a container.
_MOUNTED = re.compile(r"/(?:libcuda|libnvidia-ml)\.so|/bin/nvidia-smi |/proc/driver/nvidia ")

_HOST_TOOLS = ("nvidia-ctk", "nvidia-container-cli")


def environment(machine: Machine) -> dict[str, Any]:
    """Return the variables that matter, and no others."""
    wanted = {
        name: value
        for name, value in sorted(machine.environ.items())
        if (name in _NAMES or name.startswith(_PREFIXES)) and not _SECRET.search(name)
    }
    return {"env": wanted}


def container_runtime(machine: Machine) -> dict[str, Any]:
    """Look at what gives a container its GPU: inside one, what was set; on a host, the tools."""
    if container(machine) is None:
        tools = [path for name in _HOST_TOOLS if (path := machine.which(name))]
        return {"container_runtime": {"tools": tools}}
    mounts = machine.read("/proc/self/mountinfo") or ""
    environ = machine.environ
    nodes = any(machine.exists(f"/dev/{name}") for name in ("nvidiactl", "dxg", "nvhost-gpu"))
    return {
        "container_runtime": {
            "nvidia": nodes or _MOUNTED.search(mounts) is not None,
            "gpus_flag": nodes,
            "requires": environ.get("NVIDIA_REQUIRE_CUDA"),
            "visible_devices": environ.get("NVIDIA_VISIBLE_DEVICES"),
            "driver_capabilities": environ.get("NVIDIA_DRIVER_CAPABILITIES"),
        }
    }
