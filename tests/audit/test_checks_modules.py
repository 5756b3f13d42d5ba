"""From the firmware to the unified-memory module: does the kernel's half of the driver run?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.audit.snapshots import (
    H100,
    RTX_4090,
    SMI_FAILED,
    assert_proven,
    driver,
    errors,
    judged,
    machine,
)

PASCAL = "NVIDIA Corporation GP107M [GeForce GTX 1050 Ti Mobile]"
BLACKWELL = "NVIDIA Corporation GB202 [GeForce RTX 5090]"
AMPERE = "NVIDIA Corporation GA102 [GeForce RTX 3090]"
LIBCUDA = {"path": "/usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07", "version": "550.90.07"}
NOT_LOADED = {"modules_loaded": [], "nvidia_smi_error": SMI_FAILED}
NEEDS_OPEN = [
    "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85)",
    "NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
    "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)",
]
IGNORED = [
    "NVRM: The NVIDIA GeForce GTX 1050 Ti GPU installed in this system is",
    "NVRM:  supported through the NVIDIA 580.xx Legacy drivers. Please",
    "NVRM:  visit http://www.nvidia.com/object/unix.html for more",
    "NVRM:  information.  The 595.71.05 NVIDIA driver will ignore",
    "NVRM:  this GPU.  Continuing probe...",
]
TOO_NEW = [
    "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2684)",
    "NVRM: installed in this system is not supported by the",
    "NVRM: NVIDIA 470.256.02 driver release.",
]
HMM = (
    "nvidia-uvm: uvm_pmm_gpu.c:3176 devmem_alloc_pagemap[pid:921] request_free_mem_region() err -34"
)
NOT_INITIALISED = "RuntimeError: CUDA driver initialization failed, you might not have a CUDA gpu."
UNKNOWN_ERROR = "UserWarning: CUDA initialization: CUDA unknown error - this may be due to an ..."

# check, status, snapshot: for each check one that it catches, one that it lets pass, one that it
# cannot judge, and what has been mistaken for it.
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "key refused": (
        "driver.secure_boot", "error",
        machine(
            os={"secure_boot": True}, driver=NOT_LOADED, libcuda=LIBCUDA,
            log="modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
        ),
    ),
    "lockdown, seen in the kernel log alone": (
        "driver.secure_boot", "error",
        {"driver": {"dmesg": ["Lockdown: modprobe: unsigned module loading is restricted; see man "
                              "kernel_lockdown.7"]}},
    ),
    "refused, but of another module": (
        "driver.secure_boot", "ok",
        machine(
            os={"secure_boot": True},
            driver=driver("550.90.07", dmesg=["Loading of unsigned module is rejected"]),
            gpus=[RTX_4090],
        ),
    ),
    "secure boot as a suspicion": (
        "driver.secure_boot", "warning",
        machine(os={"secure_boot": True}, driver=NOT_LOADED, libcuda=LIBCUDA),
    ),
    "secure boot, but the module was not built": (
        "driver.secure_boot", "ok",
        machine(
            os={"secure_boot": True}, driver=NOT_LOADED, libcuda=LIBCUDA,
            log="modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-49",
        ),
    ),
    "secure boot off": ("driver.secure_boot", "ok", machine(driver=NOT_LOADED, libcuda=LIBCUDA)),
    "secure boot not known": ("driver.secure_boot", "unknown", {"driver": {"modules_loaded": []}}),
    "nouveau": (
        "driver.nouveau_active", "error",
        machine(driver={"modules_loaded": ["nouveau"], "nvidia_smi_error": SMI_FAILED}),
    ),
    "nouveau, by the device's driver": (
        "driver.nouveau_active", "error",
        machine(driver=NOT_LOADED, pci_drivers=["nouveau"], lspci_gpus=[AMPERE], libcuda=LIBCUDA),
    ),
    "nouveau, by the kernel log": (
        "driver.nouveau_active", "error",
        {"driver": {"dmesg": ["NVRM: nouveau, rivafb, nvidiafb or rivatv was loaded and obtained"]}},
    ),
    "nouveau for the display, beside a working driver": (
        "driver.nouveau_active", "ok",
        machine(driver=driver("550.90.07", modules_loaded=["nvidia", "nouveau"]), gpus=[RTX_4090]),
    ),
    "nouveau where nobody installed a driver": (
        "driver.nouveau_active", "skipped",
        machine(driver={"modules_loaded": ["nouveau"]}, libcuda={"path": None}),
    ),
    "the GPU is a virtual machine's": (
        "driver.nouveau_active", "ok",
        machine(driver={"modules_loaded": ["vfio_pci"], "dmesg": ["NVRM: nouveau, rivafb, nvidiafb "
                                                                  "or rivatv was loaded"]}),
    ),
    "modules not known": ("driver.nouveau_active", "unknown", machine()),
    "branch too new, by table": (
        "driver.gpu_unsupported_by_branch", "error",
        machine(driver=driver("595.71.05"), lspci_gpus=[PASCAL], gpus=[]),
    ),
    "branch too new, by the kernel log alone": (
        "driver.gpu_unsupported_by_branch", "error", {"driver": {"dmesg": IGNORED}},
    ),
    "branch too old, by the kernel log alone": (
        "driver.gpu_unsupported_by_branch", "error", {"driver": {"dmesg": TOO_NEW}},
    ),
    "branch too old, by table": (
        "driver.gpu_unsupported_by_branch", "error",
        machine(driver=driver("550.90.07"), lspci_gpus=[BLACKWELL], gpus=[]),
    ),
    "an old card for the display beside the one that works": (
        "driver.gpu_unsupported_by_branch", "warning",
        machine(driver=driver("595.71.05"), lspci_gpus=[AMPERE, PASCAL],
                gpus=[{"name": "NVIDIA GeForce RTX 3090", "compute_capability": "8.6"}]),
    ),
    "the last branch for a GPU": (
        "driver.gpu_unsupported_by_branch", "ok",
        machine(driver=driver("580.95.05"), lspci_gpus=[PASCAL], gpus=[]),
    ),
    "all GPUs are listed": (
        "driver.gpu_unsupported_by_branch", "ok",
        machine(driver=driver("595.71.05"), lspci_gpus=[AMPERE], gpus=[RTX_4090]),
    ),
    "a device that no list names": (
        "driver.gpu_unsupported_by_branch", "unknown",
        machine(driver=driver("595.71.05"), lspci_gpus=["NVIDIA Corporation Device 9999"], gpus=[]),
    ),
    "no branch known": (
        "driver.gpu_unsupported_by_branch", "skipped",
        machine(driver={"modules_loaded": ["nouveau"]}, lspci_gpus=[PASCAL]),
    ),
    "bus not known": ("driver.gpu_unsupported_by_branch", "unknown", machine(gpus=[])),
    "open modules on Pascal": (
        "driver.proprietary_modules_required", "error",
        machine(driver=driver("580.95.05", module_flavor="open"), lspci_gpus=[PASCAL], gpus=[]),
    ),
    "open modules on Pascal, by the kernel log alone": (
        "driver.proprietary_modules_required", "error",
        {"driver": {"dmesg": ["NVRM: installed in this system is not supported by open nvidia.ko "
                              "because it does not include the required GPU System Processor"]}},
    ),
    "open modules on Ampere": (
        "driver.proprietary_modules_required", "ok",
        machine(driver=driver("580.95.05", module_flavor="open"), lspci_gpus=[AMPERE], gpus=[]),
    ),
    "proprietary modules on Pascal": (
        "driver.proprietary_modules_required", "ok",
        machine(driver=driver("580.95.05", module_flavor="proprietary"), lspci_gpus=[PASCAL],
                gpus=[]),
    ),
    "flavour not known": (
        "driver.proprietary_modules_required", "unknown",
        machine(driver=driver("580.95.05"), lspci_gpus=[PASCAL], gpus=[]),
    ),
    "proprietary modules on Blackwell": (
        "driver.open_modules_required", "error",
        machine(driver=driver("580.95.05", module_flavor="proprietary"), lspci_gpus=[BLACKWELL],
                gpus=[]),
    ),
    "proprietary modules on Blackwell, by the kernel log alone": (
        "driver.open_modules_required", "error", {"driver": {"dmesg": NEEDS_OPEN}},
    ),
    "open modules on Blackwell": (
        "driver.open_modules_required", "ok",
        machine(driver=driver("580.95.05", module_flavor="open"), lspci_gpus=[BLACKWELL], gpus=[]),
    ),
    "proprietary modules on Hopper that works": (
        "driver.open_modules_required", "ok",
        machine(driver=driver("550.90.07", module_flavor="proprietary"), gpus=[H100]),
    ),
    "flavour of Blackwell's modules not known": (
        "driver.open_modules_required", "unknown",
        machine(driver=driver("580.95.05"), lspci_gpus=[BLACKWELL], gpus=[]),
    ),
    "not loaded": (
        "driver.module_not_loaded", "error", machine(driver=NOT_LOADED, libcuda=LIBCUDA),
    ),
    "not loaded, by nvidia-smi alone": (
        "driver.module_not_loaded", "error", {"driver": {"nvidia_smi_error": SMI_FAILED}},
    ),
    "not built for this kernel": (
        "driver.module_not_loaded", "error",
        machine(driver={"modules_loaded": [], "module_installed": None}, libcuda=LIBCUDA),
    ),
    "loaded": ("driver.module_not_loaded", "ok", machine(driver=driver("550.90.07"))),
    "nothing installed": (
        "driver.module_not_loaded", "skipped",
        machine(driver={"modules_loaded": []}, libcuda={"path": None}),
    ),
    "a laptop without NVIDIA GPU": (
        "driver.module_not_loaded", "skipped",
        machine(driver={"modules_loaded": []}, lspci_gpus=[], libcuda=LIBCUDA),
    ),
    "WSL has no modules": (
        "driver.module_not_loaded", "skipped",
        machine(os={"wsl": 2}, driver={"modules_loaded": []}, libcuda=LIBCUDA),
    ),
    "a Jetson's own module": (
        "driver.module_not_loaded", "ok",
        machine(os={"jetson": "JetPack 5.1"}, driver={"modules_loaded": ["nvgpu"]}),
    ),
    "module list not known": ("driver.module_not_loaded", "unknown", machine(libcuda=LIBCUDA)),
    "does not come up": (
        "driver.rm_init_failed", "error",
        {"driver": {"dmesg": ["NVRM: GPU 0000:01:00.0: rm_init_adapter failed, device minor 0"]}},
    ),
    "one of two does not come up": (
        "driver.rm_init_failed", "error",
        machine(gpus=[RTX_4090], lspci_gpus=[AMPERE, AMPERE],
                driver=driver("550.90.07", dmesg=["NVRM: RmInitAdapter failed! (0x26:0x56:1290)"])),
    ),
    "came up at the second try": (
        "driver.rm_init_failed", "warning",
        machine(gpus=[RTX_4090], lspci_gpus=[AMPERE],
                driver=driver("550.90.07", dmesg=["NVRM: RmInitAdapter failed! (0x26:0x56:1290)"])),
    ),
    "quiet kernel log": (
        "driver.rm_init_failed", "ok", machine(driver=driver("550.90.07", dmesg=[]), gpus=[]),
    ),
    "no kernel log": ("driver.rm_init_failed", "unknown", machine(gpus=[])),
    "fallen off the bus": (
        "gpu.lost", "error",
        {"driver": {"dmesg": ["NVRM: Xid (PCI:0000:01:00): 79, pid='<unknown>', GPU has fallen off "
                              "the bus."]}},
    ),
    "another XID": (
        "gpu.lost", "ok",
        machine(driver=driver("550.90.07", dmesg=["NVRM: Xid (PCI:0000:01:00): 31, pid=7903"])),
    ),
    "kernel log not known": ("gpu.lost", "unknown", machine()),
    "HMM under KASLR": ("driver.hmm_kaslr", "error", {"driver": {"dmesg": [HMM]}}),
    "HMM without a word in the kernel log": (
        "driver.hmm_kaslr", "error",
        machine(driver=driver("575.57.08", dmesg=[]), gpus=[RTX_4090], log=NOT_INITIALISED),
    ),
    "CUDA after a fork": (
        "driver.hmm_kaslr", "ok",
        machine(
            driver=driver("575.57.08", dmesg=[]), gpus=[RTX_4090],
            log="RuntimeError: Cannot re-initialize CUDA in forked subprocess. CUDA error (error 3)",
        ),
    ),
    "another program's error 3": (
        "driver.hmm_kaslr", "ok",
        machine(driver=driver("575.57.08", dmesg=[]), gpus=[RTX_4090], log="make: *** Error 3"),
    ),
    "HMM, nothing known": ("driver.hmm_kaslr", "unknown", machine()),
    "error 999 with a driver that answers": (
        "driver.uvm_stale", "error",
        machine(driver=driver("535.183.01"), gpus=[RTX_4090], log=UNKNOWN_ERROR),
    ),
    "error 999 from cuInit": (
        "driver.uvm_stale", "error",
        machine(driver=driver("535.183.01"), gpus=[RTX_4090],
                libcuda={"path": "/usr/lib/libcuda.so.1", "init_code": 999,
                         "init_error": "CUDA_ERROR_UNKNOWN"}),
    ),
    "no device node, and CUDA fails": (
        "driver.uvm_stale", "error",
        machine(driver=driver("535.183.01"), gpus=[RTX_4090],
                files={"/dev/nvidia-uvm": {"exists": False}},
                torch={"version": "2.4.0+cu121", "cuda": "12.1", "cuda_available": False}),
    ),
    "no device node yet, since nobody used CUDA": (
        "driver.uvm_stale", "ok",
        machine(driver=driver("535.183.01", modules_loaded=["nvidia"]), gpus=[RTX_4090],
                files={"/dev/nvidia-uvm": {"exists": False}}),
    ),
    "a container without the node": (
        "driver.uvm_stale", "warning",
        machine(os={"container": "podman"}, driver=driver("535.183.01"), gpus=[RTX_4090],
                files={"/dev/nvidia-uvm": {"exists": False}}),
    ),
    "woke up, and works": (
        "driver.uvm_stale", "ok",
        machine(driver=driver("535.183.01", dmesg=["PM: suspend exit"]), gpus=[RTX_4090],
                torch={"version": "2.4.0+cu121", "cuda": "12.1", "cuda_available": True}),
    ),
    "woke up, nothing known of CUDA": (
        "driver.uvm_stale", "ok",
        machine(driver=driver("535.183.01", dmesg=["PM: suspend exit"]), gpus=[RTX_4090]),
    ),
    "nothing known of the module": ("driver.uvm_stale", "unknown", machine()),
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


def test_the_reason_for_a_module_that_is_not_loaded_comes_first() -> None:
    facts = machine(
        os={"secure_boot": True},
        driver=NOT_LOADED,
        libcuda=LIBCUDA,
        gpus=[],
        lspci_gpus=[AMPERE],
        log="modprobe: ERROR: could not insert 'nvidia': Required key not available",
    )
    assert errors(facts)[0] == "driver.secure_boot"
    assert {"driver.module_not_loaded", "gpu.missing"} <= set(errors(facts))


@pytest.mark.parametrize(
    ("primary", "facts"),
    [
        (
            "driver.open_modules_required",
            machine(
                driver=driver("580.95.05", module_flavor="proprietary", dmesg=NEEDS_OPEN),
                lspci_gpus=[BLACKWELL],
                gpus=[],
            ),
        ),
        (
            "driver.gpu_unsupported_by_branch",
            machine(
                driver=driver("595.71.05", module_flavor="open", dmesg=IGNORED),
                lspci_gpus=[PASCAL],
                gpus=[],
            ),
        ),
        (
            "driver.hmm_kaslr",
            machine(
                driver=driver("575.57.08", dmesg=[HMM]),
                gpus=[RTX_4090],
                log=UNKNOWN_ERROR,
            ),
        ),
        (
            "gpu.lost",
            machine(
                driver=driver("550.90.07", dmesg=["NVRM: GPU has fallen off the bus."]),
                lspci_gpus=[AMPERE],
                gpus=[],
            ),
        ),
    ],
)
def test_one_cause_explains_the_rest(primary: str, facts: dict[str, Any]) -> None:
    assert errors(facts)[0] == primary


def test_an_old_gpu_gets_the_branch_that_still_drives_it_with_the_modules_it_takes() -> None:
    facts = machine(driver=driver("595.71.05"), lspci_gpus=[PASCAL], gpus=[])
    remedy = judged("driver.gpu_unsupported_by_branch", facts).remedy
    assert remedy is not None
    assert "sudo apt-get install -y nvidia-driver-580" in remedy.commands
    assert remedy.commands[-1] == "sudo reboot"


def test_a_module_that_was_not_built_is_built_for_the_running_kernel() -> None:
    facts = machine(
        os={"kernel": "6.8.0-49-generic", "distro": "rocky 9.4"},
        driver={"modules_loaded": [], "module_installed": None},
        libcuda=LIBCUDA,
    )
    verdict = judged("driver.module_not_loaded", facts)
    assert "6.8.0-49-generic" in verdict.message
    assert verdict.remedy is not None
    assert 'sudo dnf install -y "kernel-devel-$(uname -r)"' in verdict.remedy.commands
