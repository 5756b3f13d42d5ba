"""Machines without a GPU or without its driver: laptops, CI runners, containers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.audit.snapshots import errors, judged, machine

LAPTOP = machine(
    driver={"modules_loaded": [], "module_version": None, "nvidia_smi": {"path": None},
            "nvml_error": "NVML Shared Library Not Found", "nvml_library": None, "dmesg": []},
    libcuda={"path": None}, lspci_gpus=[], pci_drivers=[],
    process={"euid": 1000, "capabilities": [], "user_namespace": False},
    files={"/dev/nvidiactl": {"exists": False}, "/dev/nvidia-uvm": {"exists": False}},
    toolkits=[{"root": "/usr/local/cuda-13.0", "version": "13.0", "source": "PATH"}],
    nvcc={"path": "/usr/local/cuda-13.0/bin/nvcc", "on_path": True, "version": "13.0"},
    ncu={"path": "/usr/local/cuda-13.0/bin/ncu", "version": "2025.3.1"},
    torch={"version": "2.11.0+cu130", "cuda": "13.0", "cuda_available": False,
           "cuda_error": {"code": 35, "name": "cudaErrorInsufficientDriver",
                          "text": "CUDA driver version is insufficient for CUDA runtime version"}},
)  # fmt: skip
NO_DRIVER = {**LAPTOP, "lspci_gpus": ["NVIDIA Corporation AD102 [GeForce RTX 4090]"]}
IN_DOCKER = {**LAPTOP, "os": {**LAPTOP["os"], "container": "docker"}}
BUS_UNSEEN = {name: value for name, value in LAPTOP.items() if name != "lspci_gpus"}
NO_MODULE_FACTS = {**NO_DRIVER, "driver": {"nvidia_smi": {"path": None}}}
JUDGES_A_DRIVER = ("driver.too_old_for_torch", "driver.too_old_for_toolkit")


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        (LAPTOP, "gpu.missing"),
        (IN_DOCKER, "gpu.missing"),
        (NO_DRIVER, "driver.missing"),
        (BUS_UNSEEN, "driver.missing"),
        (NO_MODULE_FACTS, "driver.missing"),
    ],
)
def test_without_a_driver_none_is_called_old(facts: dict[str, Any], cause: str) -> None:
    assert errors(facts)[0] == cause
    for check in JUDGES_A_DRIVER:
        verdict = judged(check, facts)
        assert (verdict.status, verdict.message) == ("skipped", "no driver runs here"), check


@pytest.mark.parametrize("found", [{"libcuda": {"path": "/usr/lib/libcuda.so.1"}}, {}])
def test_the_runtimes_word_still_counts_where_a_driver_may_be(found: dict[str, Any]) -> None:
    facts = {"torch": LAPTOP["torch"], **found}
    verdict = judged("driver.too_old_for_torch", facts)
    assert verdict.status == "error"
    assert verdict.message.endswith("for CUDA 13; the one here is older")


LIVE = (
    "driver.uvm_stale", "driver.hmm_kaslr", "container.cgroup_lost", "ncu.perm", "gpu.lost",
    "container.no_sys_admin", "driver.proprietary_modules_required", "driver.device_permission",
    "driver.open_modules_required", "driver.rm_init_failed", "gpu.mig_selection",
)  # fmt: skip
PRIVILEGED = {"euid": 0, "capabilities": ["CAP_SYS_ADMIN"], "user_namespace": False}


@pytest.mark.parametrize("check", LIVE)
@pytest.mark.parametrize("facts", [LAPTOP, NO_DRIVER, IN_DOCKER], ids=["bare", "bus", "docker"])
def test_what_only_a_driver_can_have_is_not_called_fine(facts: dict[str, Any], check: str) -> None:
    verdict = judged(check, {**facts, "process": PRIVILEGED, "log": ""})
    assert verdict.status == "skipped"


def test_what_went_wrong_is_said_all_the_same() -> None:
    failed = "CUDA error: unspecified launch failure; NVRM: nvidia_uvm: probe failed with error -34"
    verdict = judged("driver.hmm_kaslr", {**NO_DRIVER, "log": failed})
    assert verdict.status == "error"


def test_a_driver_that_runs_is_judged() -> None:
    loaded = {"modules_loaded": ["nvidia", "nvidia_uvm"], "module_version": "580.95.05"}
    facts = {**NO_DRIVER, "driver": loaded, "log": "", "files": {}}
    assert judged("driver.uvm_stale", facts).status == "ok"


def test_a_container_without_a_gpu_misses_no_unified_memory() -> None:
    facts = {**IN_DOCKER, "driver": {"module_version": "570.133.07"},
             "lspci_gpus": NO_DRIVER["lspci_gpus"], "container_runtime": {"nvidia": False}}  # fmt: skip
    assert errors(facts)[0] == "container.runtime_unconfigured"
    assert judged("driver.uvm_stale", facts).status == "skipped"
