"""GPUs, their partitions and modes, and the services that CUDA waits for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.audit.snapshots import (
    A100,
    H100,
    RTX_4090,
    assert_proven,
    driver,
    errors,
    gpu,
    judged,
    machine,
)

BUSY = "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable"
NONE_VISIBLE = "RuntimeError: No CUDA GPUs are available"
NOT_READY = "CUDA error: system not yet initialized (error 802)"
VERSIONS = (
    "nv-fabricmanager[3228]: fabric manager NVIDIA GPU driver interface version 530.30.02 don't "
    "match with driver version 530.41.03. Please update with matching NVIDIA driver package."
)
PARTED = {**A100, "mig": "enabled"}
WHOLE = {**A100, "mig": "disabled"}
ONE_INSTANCE = {**PARTED, "mig_devices": [{"name": "NVIDIA A100-SXM4-80GB MIG 1g.10gb"}]}
WORKS = {"version": "2.4.0+cu121", "cuda": "12.1", "cuda_available": True}
FAILS = {**WORKS, "cuda_available": False}

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "none in the machine": ("gpu.missing", "error", machine(lspci_gpus=[])),
    "none listed": ("gpu.missing", "error", machine(gpus=[])),
    "none listed, by nvidia-smi alone": (
        "gpu.missing", "error", {"driver": {"nvidia_smi_error": "No devices were found"}},
    ),
    "reserved for a virtual machine": (
        "gpu.missing", "error",
        machine(gpus=[], lspci_gpus=["NVIDIA Corporation GA102"], pci_drivers=["vfio-pci"]),
    ),
    "listed": ("gpu.missing", "ok", machine(gpus=[RTX_4090])),
    "not listed, and CUDA finds it": (
        "gpu.missing", "ok",
        machine(libcuda={"path": "/usr/lib/libcuda.so.1", "init_code": 0, "device_count": 1}),
    ),
    "WSL's own check": ("gpu.missing", "skipped", machine(os={"wsl": 2}, gpus=[])),
    "on the bus, driver not asked": (
        "gpu.missing", "unknown", machine(lspci_gpus=["NVIDIA Corporation GA102"]),
    ),
    "not looked for": ("gpu.missing", "unknown", machine()),
    "MIG without instances": (
        "gpu.mig_selection", "error", machine(gpus=[{**PARTED, "mig_devices": []}]),
    ),
    "MIG, and CUDA finds nothing": (
        "gpu.mig_selection", "error",
        machine(gpus=[PARTED], env={"CUDA_VISIBLE_DEVICES": "1"}, log=NONE_VISIBLE),
    ),
    "MIG, and torch finds nothing": ("gpu.mig_selection", "error", machine(gpus=[PARTED], torch=FAILS)),
    "an instance is asked of a whole GPU": (
        "gpu.mig_selection", "error",
        machine(gpus=[WHOLE], env={"CUDA_VISIBLE_DEVICES": "MIG-1b7b5d5c"}),
    ),
    "MIG, no instance chosen": ("gpu.mig_selection", "warning", machine(gpus=[ONE_INSTANCE])),
    "MIG, two instances chosen": (
        "gpu.mig_selection", "warning",
        machine(gpus=[ONE_INSTANCE], env={"CUDA_VISIBLE_DEVICES": "MIG-1,MIG-2"}, torch=WORKS),
    ),
    "MIG, one instance chosen": (
        "gpu.mig_selection", "ok",
        machine(gpus=[ONE_INSTANCE], env={"CUDA_VISIBLE_DEVICES": "MIG-1"}, torch=WORKS),
    ),
    "MIG on one of two GPUs": (
        "gpu.mig_selection", "warning", machine(gpus=[WHOLE, {**PARTED, "mig_devices": []}]),
    ),
    "no GPU to part": ("gpu.mig_selection", "skipped", machine(lspci_gpus=[])),
    "no GPU to share": ("gpu.exclusive_mode", "skipped", machine(lspci_gpus=[])),
    "no GPU to connect": ("system.fabricmanager", "skipped", machine(lspci_gpus=[])),
    "no MIG": ("gpu.mig_selection", "ok", machine(gpus=[WHOLE])),
    "MIG not known": ("gpu.mig_selection", "unknown", machine(gpus=[A100])),
    "busy under exclusive mode": (
        "gpu.exclusive_mode", "error",
        machine(gpus=[{**A100, "compute_mode": "exclusive_process"}], log=BUSY),
    ),
    "nvidia-smi's spelling": (
        "gpu.exclusive_mode", "warning", machine(gpus=[{**A100, "compute_mode": "Exclusive_Process"}]),
    ),
    "prohibited": (
        "gpu.exclusive_mode", "error", machine(gpus=[{**A100, "compute_mode": "prohibited"}]),
    ),
    "one GPU is exclusive": (
        "gpu.exclusive_mode", "warning",
        machine(gpus=[{**A100, "compute_mode": "default"}, {**A100, "compute_mode": "prohibited"}]),
    ),
    "busy for another reason": (
        "gpu.exclusive_mode", "ok", machine(gpus=[{**A100, "compute_mode": "default"}], log=BUSY),
    ),
    "mode not known": ("gpu.exclusive_mode", "unknown", machine(gpus=[A100], log=BUSY)),
    "no licence": (
        "gpu.vgpu_unlicensed", "error",
        machine(log="CUDA error: device not licensed (error 102)"),
    ),
    "licence in order": ("gpu.vgpu_unlicensed", "ok", machine(torch=WORKS)),
    "no output": ("gpu.vgpu_unlicensed", "unknown", machine()),
    "error 802 alone": ("system.fabricmanager", "error", {"log": NOT_READY}),
    "error 802 from cuInit": (
        "system.fabricmanager", "error",
        machine(gpus=[H100], libcuda={"path": "/usr/lib/libcuda.so.1", "init_code": 802}),
    ),
    "another version than the driver": (
        "system.fabricmanager", "error", machine(driver={"dmesg": [VERSIONS]}),
    ),
    "failed on an NVSwitch system": (
        "system.fabricmanager", "error",
        machine(gpus=[H100] * 8, services={"nvidia-fabricmanager": "failed"}),
    ),
    "not installed on an NVSwitch system": (
        "system.fabricmanager", "warning",
        machine(gpus=[H100] * 8, services={"nvidia-fabricmanager": None}),
    ),
    "an NVSwitch on the bus": (
        "system.fabricmanager", "error",
        machine(gpus=[A100], nvswitches=6, services={"nvidia-fabricmanager": "inactive"}),
    ),
    "two PCIe cards need none": (
        "system.fabricmanager", "skipped",
        machine(gpus=[gpu("NVIDIA H100 PCIe", "9.0")] * 2, services={"nvidia-fabricmanager": "inactive"}),
    ),
    "eight PCIe cards need none": (
        "system.fabricmanager", "skipped",
        machine(gpus=[gpu("NVIDIA H100 PCIe", "9.0")] * 8, services={"nvidia-fabricmanager": "inactive"}),
    ),
    "eight V100 boards are linked without a switch": (
        "system.fabricmanager", "skipped",
        machine(gpus=[gpu("Tesla V100-SXM2-32GB", "7.0")] * 8, services={"nvidia-fabricmanager": None}),
    ),
    "eight NVL cards need none": (
        "system.fabricmanager", "skipped",
        machine(gpus=[gpu("NVIDIA H200 NVL", "9.0")] * 8, services={"nvidia-fabricmanager": None}),
    ),
    "a container does not see the service": (
        "system.fabricmanager", "skipped",
        machine(os={"container": "docker"}, gpus=[H100] * 8, services={"nvidia-fabricmanager": None}),
    ),
    "it works without": (
        "system.fabricmanager", "ok",
        machine(gpus=[H100] * 8, torch=WORKS, services={"nvidia-fabricmanager": "inactive"}),
    ),
    "it runs": (
        "system.fabricmanager", "ok",
        machine(gpus=[H100] * 8, services={"nvidia-fabricmanager": "running"}),
    ),
    "service not known": ("system.fabricmanager", "unknown", machine(gpus=[H100] * 8)),
    "GPUs not known": ("system.fabricmanager", "unknown", machine()),
    "no MPS daemon": (
        "system.mps", "error", machine(log="cudaErrorMpsConnectionFailed: MPS client failed to connect"),
    ),
    "MPS runs, which is ncu's matter": ("system.mps", "ok", machine(services={"mps": "running"})),
    "no MPS": ("system.mps", "ok", machine(services={"mps": None})),
    "services not known": ("system.mps", "unknown", machine()),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_verdict(case: str) -> None:
    check, status, facts = CASES[case]
    verdict = judged(check, facts)
    assert verdict.status == status, verdict


@pytest.mark.parametrize(
    "case", [case for case, (_, status, _) in CASES.items() if status in ("error", "warning")]
)
def test_what_is_wrong_comes_with_proof_and_remedy(case: str) -> None:
    check, _, facts = CASES[case]
    assert_proven(judged(check, facts))


def test_a_fabric_manager_of_another_version_names_both() -> None:
    message = judged("system.fabricmanager", machine(driver={"dmesg": [VERSIONS]})).message
    assert "530.30.02" in message
    assert "530.41.03" in message


def test_an_instance_that_is_not_there_explains_that_nothing_is_visible() -> None:
    facts = machine(
        gpus=[{**PARTED, "mig_devices": []}],
        driver=driver("535.183.01"),
        env={"CUDA_VISIBLE_DEVICES": "1"},
        torch=FAILS,
    )
    assert errors(facts)[0] == "gpu.mig_selection"


def test_a_machine_without_gpu_is_told_so_and_nothing_else() -> None:
    facts = machine(lspci_gpus=[], driver={"modules_loaded": []}, libcuda={"path": None}, gpus=[])
    assert errors(facts) == ["gpu.missing"]
