"""The driver's libraries, forward compatibility, and whether the driver is new enough."""

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

MISMATCH = "Failed to initialize NVML: Driver/library version mismatch"
REFUSED = "Error 804: forward compatibility was attempted on non supported HW"
SYSTEM_MISMATCH = "Error 803: system has unsupported display driver / cuda driver combination"
TOO_OLD = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."
INSUFFICIENT = "CUDA error: CUDA driver version is insufficient for CUDA runtime version"
NOT_FOUND = "OSError: libcuda.so.1: cannot open shared object file: No such file or directory"
JIT = "CUDA error: PTX JIT compiler library not found (error 221)"
OLD_HEADER = "| NVIDIA-SMI 550.90.07   Driver Version: 550.90.07   CUDA Version: 12.4 |"
NEW_HEADER = "| NVIDIA-SMI 610.43.02   KMD Version: 610.43.02   CUDA UMD Version: 13.3 |"


def libcuda(version: str, kind: str = "driver", path: str = "") -> dict[str, str]:
    path = path or f"/usr/lib/x86_64-linux-gnu/libcuda.so.{version}"
    return {"path": path, "version": version, "kind": kind}


def torch(version: str, cuda: str, *, available: bool | None = None) -> dict[str, object]:
    found: dict[str, object] = {"version": version, "cuda": cuda}
    return found if available is None else {**found, "cuda_available": available}


def toolkit(version: str) -> dict[str, object]:
    root = f"/usr/local/cuda-{version}"
    return {
        "toolkits": [{"root": root, "version": version, "source": "PATH"}],
        "nvcc": {"path": f"{root}/bin/nvcc", "version": version},
    }


COMPAT = libcuda("580.65.06", "compat", "/usr/local/cuda/compat/libcuda.so.580.65.06")
JETSON = {"jetson": "JetPack 6.2", "arch": "aarch64"}
ORIN = gpu("Orin", "8.7")

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "nothing installed": (
        "driver.missing", "error",
        machine(driver={"modules_loaded": []}, libcuda={"path": None},
                lspci_gpus=["NVIDIA Corporation AD102 [GeForce RTX 4090]"]),
    ),
    "by torch's words alone": (
        "driver.missing", "error",
        {"log": "RuntimeError: Found no NVIDIA driver on your system. Please check that you have"},
    ),
    "the module without its libraries": (
        "driver.missing", "error",
        machine(driver={"module_version": "550.90.07"}, libcuda={"path": None}, log=NOT_FOUND),
    ),
    "nvidia-smi is not on PATH, the library is there": (
        "driver.missing", "ok",
        machine(driver={"modules_loaded": ["nvidia"]}, libcuda=libcuda("550.90.07"),
                log="bash: nvidia-smi: command not found"),
    ),
    "inside a container": (
        "driver.missing", "skipped",
        machine(os={"container": "docker"}, libcuda={"path": None}, driver={"modules_loaded": []}),
    ),
    "no GPU to drive": (
        "driver.missing", "skipped", machine(libcuda={"path": None}, lspci_gpus=[]),
    ),
    "not looked for": ("driver.missing", "unknown", machine()),
    "NVML says mismatch, nothing else is known": (
        "driver.nvml_mismatch", "error", {"driver": {"nvml_error": "Driver/library version mismatch"}},
    ),
    "mismatch in the kernel log alone": (
        "driver.nvml_mismatch", "error",
        {"driver": {"dmesg": ["NVRM: API mismatch: the client has the version 550.107.02, but",
                              "NVRM: this kernel module has the version 550.90.07.  Please"]}},
    ),
    "versions differ": (
        "driver.nvml_mismatch", "error",
        machine(driver={"module_version": "550.90.07"}, libcuda=libcuda("550.107.02")),
    ),
    "error 803": ("driver.nvml_mismatch", "error", machine(log=SYSTEM_MISMATCH)),
    "versions differ, and CUDA works all the same": (
        "driver.nvml_mismatch", "warning",
        machine(driver={"module_version": "550.90.07"}, libcuda=libcuda("550.107.02"),
                torch=torch("2.5.1+cu124", "12.4", available=True)),
    ),
    "one version is written shorter": (
        "driver.nvml_mismatch", "ok",
        machine(driver={"module_version": "580.159"}, libcuda=libcuda("580.159.03")),
    ),
    "a compat library is of another version by design": (
        "driver.nvml_mismatch", "unknown",
        machine(driver={"module_version": "535.183.01"}, libcuda=COMPAT),
    ),
    "a stub has no version": (
        "driver.nvml_mismatch", "unknown",
        machine(driver={"module_version": "535.183.01"},
                libcuda={"path": "/usr/local/cuda/lib64/stubs/libcuda.so", "kind": "stub"}),
    ),
    "a container that lost its devices": (
        "driver.nvml_mismatch", "ok",
        machine(os={"container": "docker"}, libcuda=libcuda("570.133.20"),
                driver={"module_version": "570.133.20", "nvml_error": "Unknown Error"}),
    ),
    "WSL's numbers are Windows' own": (
        "driver.nvml_mismatch", "skipped",
        machine(os={"wsl": 2}, driver={"version": "591.74"}, libcuda=libcuda("590.44", "wsl")),
    ),
    "module version not known": (
        "driver.nvml_mismatch", "unknown", machine(libcuda=libcuda("550.90.07")),
    ),
    "may not open the devices": (
        "driver.device_permission", "error",
        machine(driver={"nvml_error": "Insufficient Permissions"}),
    ),
    "permission bits": (
        "driver.device_permission", "error",
        machine(files={"/dev/nvidiactl": {"exists": True, "accessible": False}}),
    ),
    "works whatever the bits": (
        "driver.device_permission", "ok",
        machine(gpus=[RTX_4090], files={"/dev/nvidiactl": {"exists": True, "accessible": False}}),
    ),
    "devices not looked at": ("driver.device_permission", "unknown", machine()),
    "no JIT library": ("driver.jit_library_missing", "error", machine(log=JIT)),
    "another complaint": ("driver.jit_library_missing", "ok", machine(log="error 209: no kernel")),
    "no output": ("driver.jit_library_missing", "unknown", machine()),
    "header of R610": (
        "driver.smi_new_header", "ok", machine(driver={"nvidia_smi_text": NEW_HEADER}),
    ),
    "header before": (
        "driver.smi_new_header", "ok", machine(driver={"nvidia_smi_text": OLD_HEADER}),
    ),
    "no header": ("driver.smi_new_header", "unknown", machine()),
    "804 and nothing else": ("compat.forward_lib_on_unsupported", "error", {"log": REFUSED}),
    "804 from cuInit": (
        "compat.forward_lib_on_unsupported", "error",
        machine(libcuda={"path": "/usr/lib/libcuda.so.1", "init_code": 804}),
    ),
    "compat library on GeForce, nothing run yet": (
        "compat.forward_lib_on_unsupported", "error",
        machine(driver=driver("535.183.01"), gpus=[RTX_4090], libcuda=COMPAT),
    ),
    "compat library by its directory": (
        "compat.forward_lib_on_unsupported", "error",
        machine(driver=driver("535.183.01"), gpus=[RTX_4090],
                libcuda={"path": "/usr/local/cuda-13.0/compat/libcuda.so.1"}),
    ),
    "a CUDA version above the branch's own": (
        "compat.forward_lib_on_unsupported", "error",
        machine(driver={"version": "470.57.02", "cuda_version": "12.1"}, gpus=[RTX_4090]),
    ),
    "compat library on a data-center GPU": (
        "compat.forward_lib_on_unsupported", "ok",
        machine(driver=driver("535.183.01"), gpus=[A100], libcuda=COMPAT),
    ),
    "the driver's own library": (
        "compat.forward_lib_on_unsupported", "ok",
        machine(driver=driver("535.183.01", "12.2"), gpus=[RTX_4090], libcuda=libcuda("535.183.01")),
    ),
    "Jetson's driver numbers": (
        "compat.forward_lib_on_unsupported", "ok",
        machine(os=JETSON, driver={"version": "540.4.0", "cuda_version": "12.6"}, gpus=[ORIN]),
    ),
    "a branch whose CUDA version nobody has written down": (
        "compat.forward_lib_on_unsupported", "ok",
        machine(driver=driver("565.57.01", "12.7"), gpus=[RTX_4090]),
    ),
    "compat library, GPU not known": (
        "compat.forward_lib_on_unsupported", "unknown", machine(libcuda=COMPAT),
    ),
    "libcuda not known": ("compat.forward_lib_on_unsupported", "unknown", machine(gpus=[RTX_4090])),
    "compat library in use": (
        "compat.forward_lib_active", "warning",
        machine(driver=driver("535.183.01"), gpus=[H100], libcuda=COMPAT),
    ),
    "compat library older than the driver": (
        "compat.forward_lib_active", "error",
        machine(driver=driver("595.71.05"), gpus=[H100], libcuda=COMPAT, log=SYSTEM_MISMATCH),
    ),
    "compat library older than the driver, by cuInit": (
        "compat.forward_lib_active", "error",
        machine(driver=driver("595.71.05"), gpus=[H100], libcuda={**COMPAT, "init_code": 803}),
    ),
    "none in use": (
        "compat.forward_lib_active", "ok",
        machine(driver=driver("580.95.05", "13.0"), gpus=[H100], libcuda=libcuda("580.95.05")),
    ),
    "not known whether in use": ("compat.forward_lib_active", "unknown", machine(gpus=[H100])),
    "CUDA 12 torch on R470": (
        "driver.too_old_for_torch", "error",
        machine(driver=driver("470.256.02"), torch=torch("2.3.0+cu121", "12.1")),
    ),
    "CUDA 13 needs 580, not 535.54.03": (
        "driver.too_old_for_torch", "error",
        machine(driver=driver("575.57.08"), torch=torch("2.11.0+cu130", "13.0")),
    ),
    "torch's words, driver not known": (
        "driver.too_old_for_torch", "error",
        {"torch": torch("2.3.0+cu121", "12.1"), "log": TOO_OLD},
    ),
    "two minor versions ahead": (
        "driver.too_old_for_torch", "ok",
        machine(driver=driver("550.54.15", "12.4"), torch=torch("2.7.0+cu126", "12.6")),
    ),
    "the first driver of CUDA 12": (
        "driver.too_old_for_torch", "ok",
        machine(driver=driver("525.60.13"), torch=torch("2.10.0+cu128", "12.8")),
    ),
    "the first branch of CUDA 13": (
        "driver.too_old_for_torch", "ok",
        machine(driver=driver("580.65.06"), torch=torch("2.15.0+cu132", "13.2")),
    ),
    "a driver far newer than torch": (
        "driver.too_old_for_torch", "ok",
        machine(driver=driver("615.71.09"), torch=torch("1.10.0+cu102", "10.2")),
    ),
    "CUDA 13 over R535 by forward compatibility": (
        "driver.too_old_for_torch", "ok",
        machine(driver=driver("535.183.01"), gpus=[H100], libcuda=COMPAT,
                torch=torch("2.11.0+cu130", "13.0")),
    ),
    "the same, seen by the header alone": (
        "driver.too_old_for_torch", "ok",
        machine(driver=driver("535.183.01", "13.0"), gpus=[H100],
                torch=torch("2.11.0+cu130", "13.0")),
    ),
    "Windows' driver for WSL": (
        "driver.too_old_for_torch", "ok",
        machine(os={"wsl": 2}, driver={"version": "581.42", "cuda_version": "13.0"},
                torch=torch("2.11.0+cu130", "13.0")),
    ),
    "Windows' driver for WSL is too old": (
        "driver.too_old_for_torch", "error",
        machine(os={"wsl": 2}, driver={"version": "560.94", "cuda_version": "12.6"},
                torch=torch("2.11.0+cu130", "13.0")),
    ),
    "a build without CUDA": (
        "driver.too_old_for_torch", "skipped",
        machine(driver=driver("470.86"), torch={"version": "2.8.0+cpu", "cuda": None}),
    ),
    "a build for AMD": (
        "driver.too_old_for_torch", "skipped",
        machine(torch={"version": "2.8.0+rocm6.4", "cuda": None, "hip": "6.4"}),
    ),
    "a CUDA version of the future": (
        "driver.too_old_for_torch", "unknown",
        machine(driver=driver("615.71.09", "13.4"), torch=torch("3.0.0+cu140", "14.0")),
    ),
    "driver not known": (
        "driver.too_old_for_torch", "unknown", machine(torch=torch("2.7.0+cu126", "12.6")),
    ),
    "a toolkit of another generation": (
        "driver.too_old_for_toolkit", "error", machine(driver=driver("535.183.01"), **toolkit("13.0")),
    ),
    "such a toolkit beside a torch that works": (
        "driver.too_old_for_toolkit", "warning",
        machine(driver=driver("535.183.01"), **toolkit("13.0"),
                torch=torch("2.4.0+cu121", "12.1", available=True)),
    ),
    "a newer minor version of the toolkit": (
        "driver.too_old_for_toolkit", "ok", machine(driver=driver("580.126.09"), **toolkit("13.2")),
    ),
    "an old toolkit under a new driver": (
        "driver.too_old_for_toolkit", "ok", machine(driver=driver("580.126.09"), **toolkit("10.1")),
    ),
    "nvcc counts, not another directory": (
        "driver.too_old_for_toolkit", "ok",
        machine(driver=driver("535.183.01"), nvcc={"path": "/usr/bin/nvcc", "version": "12.0"},
                toolkits=[{"root": "/opt/cuda", "version": "13.0", "source": "/usr/local/cuda"}]),
    ),
    "libraries of a wheel are no toolkit": (
        "driver.too_old_for_toolkit", "unknown",
        machine(driver=driver("535.183.01"),
                toolkits=[{"root": "/v/nvidia/cu13", "version": "13.0", "source": "wheel"}]),
    ),
    "no toolkit": ("driver.too_old_for_toolkit", "skipped", machine(toolkits=[], nvcc={"path": None})),
    "toolkits not looked for": ("driver.too_old_for_toolkit", "unknown", machine()),
    "an image too new, though the driver's own libcuda comes up": (
        "driver.too_old_for_container", "error",
        machine(os={"container": "docker"}, driver=driver("470.82.01", "11.4"), **toolkit("12.8"),
                libcuda={"init_code": 0, "device_count": 1, "cuda_version": "11.4"}),
    ),
    "an image too new, with a torch that comes up": (
        "driver.too_old_for_container", "warning",
        machine(os={"container": "docker"}, driver=driver("470.82.01", "11.4"), **toolkit("12.8"),
                torch={"version": "2.7.1+cu118", "cuda": "11.8", "cuda_available": True}),
    ),
    "a libcuda that offers the image's CUDA": (
        "driver.too_old_for_container", "warning",
        machine(os={"container": "docker"}, driver=driver("470.82.01", "11.4"), **toolkit("12.8"),
                libcuda={"init_code": 0, "device_count": 1, "cuda_version": "12.8"}),
    ),
    "an image of another generation": (
        "driver.too_old_for_container", "error",
        machine(os={"container": "docker"}, driver=driver("550.90.07"),
                env={"CUDA_VERSION": "13.0.1"}),
    ),
    "an image by what it asks for": (
        "driver.too_old_for_container", "error",
        machine(os={"container": "docker"}, driver=driver("470.256.02"),
                container_runtime={"requires": "cuda>=12.1 brand=tesla,driver>=470,driver<471"}),
    ),
    "an image by its toolkit": (
        "driver.too_old_for_container", "error",
        machine(os={"container": "podman"}, driver=driver("470.256.02"), **toolkit("12.1")),
    ),
    "an image two minor versions ahead": (
        "driver.too_old_for_container", "ok",
        machine(os={"container": "docker"}, driver=driver("550.90.07"), env={"CUDA_VERSION": "12.8.1"}),
    ),
    "no container": (
        "driver.too_old_for_container", "skipped", machine(driver=driver("470.1"), **toolkit("12.1")),
    ),
    "no driver to judge": (
        "driver.too_old_for_torch", "skipped",
        machine(driver={"module_version": None, "modules_loaded": []}, torch=torch("2.7.0+cu126", "12.6")),
    ),
    "no driver to compare": (
        "driver.nvml_mismatch", "skipped",
        machine(driver={"module_version": None, "modules_loaded": []}, libcuda={"path": None}),
    ),
    "no libcuda at all": (
        "compat.forward_lib_on_unsupported", "skipped", machine(libcuda={"path": None}),
    ),
    "image not known": (
        "driver.too_old_for_container", "unknown",
        machine(os={"container": "docker"}, driver=driver("470.256.02")),
    ),
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


def test_a_mismatch_names_both_versions() -> None:
    facts = {
        "driver": {
            "dmesg": [
                "NVRM: API mismatch: the client has the version 550.107.02, but",
                "NVRM: this kernel module has the version 550.90.07.  Please",
            ]
        }
    }
    message = judged("driver.nvml_mismatch", facts).message
    assert "550.90.07" in message
    assert "550.107.02" in message


def test_a_module_left_behind_is_built_before_the_restart() -> None:
    facts = machine(
        driver={"module_version": "550.90.07", "module_installed": {"version": "550.90.07"}},
        libcuda=libcuda("550.107.02"),
    )
    remedy = judged("driver.nvml_mismatch", facts).remedy
    assert remedy is not None
    assert "sudo dkms autoinstall" in remedy.commands
    assert remedy.commands[-1] == "sudo reboot"


def test_a_torch_that_fits_the_driver_is_offered_first() -> None:
    facts = machine(
        driver=driver("570.195.03", "12.8"),
        gpus=[RTX_4090],
        torch=torch("2.9.1+cu130", "13.0"),
        python={"executable": "/opt/venv/bin/python", "version": "3.12.3"},
    )
    remedy = judged("driver.too_old_for_torch", facts).remedy
    assert remedy is not None
    assert remedy.who == "you"
    assert remedy.commands == (
        "/opt/venv/bin/python -m pip install --force-reinstall torch==2.9.1 "
        "--index-url https://download.pytorch.org/whl/cu128",
    )
    assert [one.commands[-2:] for one in remedy.alternatives] == [
        ("sudo apt-get install -y nvidia-driver-580-open", "sudo reboot")
    ]


def test_a_compat_library_under_a_driver_that_is_too_old_asks_for_a_driver() -> None:
    facts = machine(
        os={"container": "docker"},
        driver=driver("470.256.02"),
        gpus=[RTX_4090],
        libcuda=libcuda("530.30.02", "compat"),
        log=REFUSED,
        **toolkit("12.1"),
    )
    verdict = judged("compat.forward_lib_on_unsupported", facts)
    assert errors(facts)[0] == "compat.forward_lib_on_unsupported"
    assert verdict.remedy is not None
    assert verdict.remedy.who == "host"
    assert "R580" in verdict.remedy.text


def test_the_compat_directory_is_taken_out_of_the_library_path() -> None:
    facts = machine(
        driver=driver("570.211.01"),
        gpus=[RTX_4090],
        libcuda=COMPAT,
        env={"LD_LIBRARY_PATH": "/usr/local/cuda/compat:/opt/lib"},
    )
    remedy = judged("compat.forward_lib_on_unsupported", facts).remedy
    assert remedy is not None
    assert remedy.commands == ("export LD_LIBRARY_PATH=/opt/lib",)
