"""What the kernel's log told earlier is no fault of a machine on which CUDA works now."""

from __future__ import annotations

from typing import Any

import pytest

from tests.audit.snapshots import RTX_4090, driver, errors, judged, machine

ADA = "NVIDIA Corporation AD102 [GeForce RTX 4090]"
LOGGED = {
    "driver.nvml_mismatch": "NVRM: API mismatch: the client has the version 570.195.03, but NVRM: "
    "this kernel module has the version 580.95.05.",
    "driver.hmm_kaslr": "nvidia_uvm: request_free_mem_region() err -34",
    "gpu.lost": "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.",
    "driver.rm_init_failed": "NVRM: GPU 0000:41:00.0: RmInitAdapter failed! (0x62:0x40:2477)",
    "system.fabricmanager": "fabric manager NVIDIA GPU driver interface version 570.1 don't match "
    "with driver version 580.1",
}


def logged(line: str, **parts: Any) -> dict[str, Any]:
    """A machine that works, with a line in the kernel's log."""
    working: dict[str, Any] = {
        "gpus": [RTX_4090],
        "lspci_gpus": [ADA],
        "pci_drivers": ["nvidia"],
        "libcuda": {"path": "/lib/libcuda.so.1", "version": "580.95.05", "kind": "driver",
                    "init_code": 0, "device_count": 1},
    }  # fmt: skip
    return machine(**working | {"driver": driver("580.95.05", "13.0", dmesg=[line])} | parts)


@pytest.mark.parametrize("check", LOGGED)
def test_an_old_line_is_no_fault_where_cuda_works(check: str) -> None:
    assert judged(check, logged(LOGGED[check])).status in ("ok", "skipped")


@pytest.mark.parametrize("check", LOGGED)
def test_the_line_counts_where_cuda_does_not_come_up(check: str) -> None:
    facts = logged(LOGGED[check], libcuda={"init_code": 999, "kind": "driver"}, gpus=[])
    assert judged(check, facts).status == "error"


def test_a_gpu_that_is_lost_while_another_works_is_a_fault() -> None:
    line = LOGGED["gpu.lost"]
    assert "gpu.lost" in errors(logged(line, lspci_gpus=[ADA, ADA], pci_drivers=["nvidia"] * 2))


def test_a_gpu_that_is_listed_without_a_name_may_be_lost() -> None:
    facts = logged(LOGGED["gpu.lost"], gpus=[RTX_4090, {}], lspci_gpus=[ADA, ADA])
    assert judged("gpu.lost", facts).status == "error"


def test_a_program_that_says_it_now_counts() -> None:
    facts = logged("", log="CUDA error: API mismatch: the client has the version 1.2")
    assert judged("driver.nvml_mismatch", facts).status == "error"


@pytest.mark.parametrize("torch", [{"hip": "6.4"}, {"version": "2.8.0+rocm6.4"}])
def test_what_amds_torch_brings_up_is_no_nvidia_gpu(torch: dict[str, Any]) -> None:
    facts = machine(
        torch={"version": "2.8.0", "cuda": None, "cuda_available": True, **torch},
        lspci_gpus=[], pci_drivers=[], libcuda={"path": None},
    )  # fmt: skip
    assert judged("gpu.missing", facts).status == "error"
