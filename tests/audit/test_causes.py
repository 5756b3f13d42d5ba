"""Kinds of failure that no recorded report covers: of all that goes wrong, the cause comes first."""

from __future__ import annotations

from typing import Any

import pytest

from tests.audit.snapshots import A100, H100, RTX_4090, SMI_FAILED, driver, errors, gpu, machine

DOCKER = {"container": "docker"}
NO_DEVICES = {"nvidia_smi_error": "No devices were found"}
TORCH_121 = {"version": "2.1.0+cu121", "cuda": "12.1", "cuda_available": False}
COMPAT = {"path": "/usr/local/cuda/compat/lib.real/libcuda.so.1", "kind": "compat"}
MISMATCH_803 = "Error 803: system has unsupported display driver / cuda driver combination"
INSUFFICIENT = "CUDA driver version is insufficient for CUDA runtime version"
NONE_AVAILABLE = "RuntimeError: No CUDA GPUs are available"
UNKNOWN_ERROR = "CUDA unknown error - this may be due to an incorrectly set up environment"

CAUSES: dict[str, tuple[str | None, dict[str, Any]]] = {
    "a compat library that does what it is for": (
        None,
        machine(os=DOCKER, gpus=[A100], driver=driver("470.82.01"),
                libcuda={**COMPAT, "version": "530.30.02"},
                torch={**TORCH_121, "cuda_available": True}),
    ),
    "a compat library older than the driver": (
        "compat.forward_lib_active",
        machine(os=DOCKER, gpus=[A100], driver=driver("550.54.15"), log=MISMATCH_803,
                libcuda={**COMPAT, "version": "535.54.03"}, torch=TORCH_121),
    ),
    "a compat library on a GeForce": (
        "compat.forward_lib_on_unsupported",
        machine(os=DOCKER, gpus=[RTX_4090], driver=driver("525.147.05"), log=MISMATCH_803,
                libcuda={**COMPAT, "version": "530.30.02"}, torch=TORCH_121),
    ),
    "proprietary modules under a GPU that lspci cannot name": (
        "driver.open_modules_required",
        machine(gpus=[], lspci_gpus=["NVIDIA Corporation Device 2b85"],
                driver={**NO_DEVICES, "module_version": "570.133.07", "module_flavor": "proprietary",
                        "dmesg": ["NVRM: installed in this system requires use of the NVIDIA open "
                                  "kernel modules.", "NVRM: GPU 0000:01:00.0: RmInitAdapter failed!"]}),
    ),
    "a driver that has dropped the GPU": (
        "driver.gpu_unsupported_by_branch",
        machine(gpus=[], lspci_gpus=["NVIDIA Corporation GP107M [GeForce GTX 1050 Ti Mobile]"],
                driver={**NO_DEVICES, "module_version": "590.44.01", "module_flavor": "open"}),
    ),
    "a driver from before the GPU": (
        "driver.gpu_unsupported_by_branch",
        machine(gpus=[], lspci_gpus=["NVIDIA Corporation AD102 [GeForce RTX 4090]"],
                driver={**NO_DEVICES, "module_version": "470.256.02"}, torch=TORCH_121),
    ),
    "a kernel without the module": (
        "driver.module_not_loaded",
        machine(driver={"modules_loaded": [], "nvidia_smi_error": SMI_FAILED}, torch=TORCH_121,
                log="modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-48"),
    ),
    "a fresh machine": (
        "driver.missing",
        machine(driver={"modules_loaded": ["nouveau"]}, libcuda={"path": None}, gpus=[],
                lspci_gpus=["NVIDIA Corporation TU104GL [Tesla T4]"], torch=TORCH_121),
    ),
    "a fabric manager of another version": (
        "system.fabricmanager",
        machine(gpus=[H100] * 8, driver=driver("535.183.01"), torch=TORCH_121,
                services={"nvidia-fabricmanager": "failed"},
                log="fabric manager NVIDIA GPU driver interface version 535.161.08 don't match with "
                    "driver version 535.183.01\nError 802: system not yet initialized"),
    ),
    "an engine without the runtime": (
        "container.runtime_unconfigured",
        machine(driver=driver("535.104.05", "12.2"), container_runtime={"nvidia": False},
                log='docker: Error response from daemon: could not select device driver ""'),
    ),
    "a container without the GPU": (
        "container.runtime_unconfigured",
        machine(os=DOCKER, driver={"modules_loaded": ["nvidia", "nvidia_uvm"]}, gpus=[],
                libcuda={"path": None}, files={"/dev/nvidiactl": {"exists": False}}, torch=TORCH_121,
                log="RuntimeError: Found no NVIDIA driver on your system."),
    ),
    "a container that lost the GPU": (
        "container.cgroup_lost",
        machine(os={"container": "kubernetes"}, log=NONE_AVAILABLE, torch=TORCH_121,
                driver={"nvidia_smi_error": "Failed to initialize NVML: Unknown Error"}),
    ),
    "a driver inside the image": (
        "driver.nvml_mismatch",
        machine(os=DOCKER, torch=TORCH_121,
                driver={"module_version": "535.129.03", "nvml_error": "Driver/library version mismatch"},
                libcuda={"path": "/usr/lib/libcuda.so.535.54.03", "version": "535.54.03"}),
    ),
    "a Linux driver inside WSL, with GPUs listed": (
        "wsl.libcuda_shadowed",
        machine(os={"wsl": 2}, gpus=[RTX_4090], driver={"version": "537.13", "cuda_version": "12.2"},
                libcuda={"path": "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "kind": "driver"},
                log="CUDA_ERROR_NO_DEVICE", torch=TORCH_121),
    ),
    "two processes on one MIG instance": (
        "gpu.mig_selection",
        machine(gpus=[{**A100, "mig": "enabled"}], driver=driver("535.129.03"),
                env={"CUDA_VISIBLE_DEVICES": "0,1"}, log="CUDA error: invalid device ordinal"),
    ),
    "a prohibited GPU": (
        "gpu.exclusive_mode",
        machine(gpus=[{**A100, "compute_mode": "prohibited"}], driver=driver("535.129.03"),
                torch=TORCH_121, log=NONE_AVAILABLE),
    ),
    "an image of the next CUDA generation": (
        "driver.too_old_for_container",
        machine(os=DOCKER, gpus=[RTX_4090], driver=driver("470.161.03", "11.4"), log=INSUFFICIENT,
                toolkits=[{"root": "/usr/local/cuda-12.1", "version": "12.1",
                           "source": "/usr/local/cuda"}]),
    ),
    "a toolkit of the next CUDA generation": (
        "driver.too_old_for_toolkit",
        machine(gpus=[gpu("Tesla T4", "7.5")], driver=driver("510.47.03", "11.6"), log=INSUFFICIENT,
                nvcc={"path": "/usr/local/cuda-12.2/bin/nvcc", "version": "12.2"}),
    ),
    "an unknown error, for want of a device node": (
        "driver.uvm_stale",
        machine(gpus=[RTX_4090], driver=driver("535.54.03", modules_loaded=["nvidia"]),
                files={"/dev/nvidia-uvm": {"exists": False}}, log=UNKNOWN_ERROR, torch=TORCH_121),
    ),
    "an unknown error, for want of visible GPUs": (
        "env.cuda_visible_devices_hides",
        machine(gpus=[RTX_4090], driver=driver("535.54.03"), env={"CUDA_VISIBLE_DEVICES": "-1"},
                log=UNKNOWN_ERROR, torch=TORCH_121),
    ),
    "a stub library behind an insufficient driver": (
        "env.stub_libcuda",
        machine(os=DOCKER, log=INSUFFICIENT, torch=TORCH_121,
                libcuda={"path": "/usr/local/cuda/lib64/stubs/libcuda.so.1", "kind": "stub"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CAUSES)
def test_the_cause_comes_first(kind: str) -> None:
    cause, facts = CAUSES[kind]
    assert errors(facts)[:1] == ([cause] if cause else [])
