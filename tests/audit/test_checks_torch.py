"""torch, its libraries, its extensions: what stops a program, and what only looks like it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.audit.snapshots import A100, RTX_4090, driver, errors, gpu, judged, machine

RTX_5090 = gpu("NVIDIA GeForce RTX 5090", "12.0")
ORIN = gpu("Orin", "8.7")
GT_1030 = gpu("NVIDIA GeForce GT 1030", "6.1")
HOPPER_BUILD = ["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"]
SITE = "/opt/venv/lib/python3.11/site-packages"
NO_KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
NO_MODULE = "ModuleNotFoundError: No module named 'torch'"


def torch(version: str, cuda: str | None, **more: object) -> dict[str, object]:
    return {"version": version, "cuda": cuda, "cuda_available": True, **more}


CU126 = torch("2.7.0+cu126", "12.6", arch_list=HOPPER_BUILD, cudnn="9.5.1")
CU130 = torch("2.11.0+cu130", "13.0")
CPU = torch("2.8.0+cpu", None, arch_list=[], cuda_available=False)


def library(path: str, version: str | None = None) -> dict[str, object]:
    return {"path": path, "version": version}


# name -> check, status, snapshot
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    # --- is there a torch, and for which hardware -----------------------------------------------
    "no torch": ("torch.missing", "warning", machine(torch=None, gpus=[A100])),
    "no torch, as a version": ("torch.missing", "warning", machine(torch={"version": None})),
    "no torch, and the program wanted it": ("torch.missing", "error", {"log": NO_MODULE}),
    "a module of torch is missing, torch is not": (
        "torch.missing", "ok",
        machine(torch=CU126, log="ModuleNotFoundError: No module named 'torch.distributed.fsdp'"),
    ),
    "another package whose name begins with torch": (
        "torch.missing", "ok",
        machine(torch=CU126, log="ModuleNotFoundError: No module named 'torchvision'"),
    ),
    "torch": ("torch.missing", "ok", machine(torch=CU126)),
    "torch not looked for": ("torch.missing", "unknown", machine()),
    "a build for ROCm": (
        "torch.other_backend", "error",
        machine(torch=torch("2.7.0+rocm6.3", None, hip="6.3.4"), gpus=[A100]),
    ),
    "a build for ROCm on a machine without NVIDIA GPU": (
        "torch.other_backend", "skipped",
        machine(torch=torch("2.7.0+rocm6.3", None, hip="6.3.4"), gpus=[]),
    ),
    "a build for CUDA": ("torch.other_backend", "ok", machine(torch=CU126, gpus=[A100])),
    "no build known": ("torch.other_backend", "unknown", machine(gpus=[A100])),
    "CPU build, GPU": ("torch.cpu_only", "error", machine(torch=CPU, gpus=[A100])),
    "CPU build without a label": (
        "torch.cpu_only", "error", machine(torch=torch("2.4.0", None), gpus=[A100])
    ),
    "CPU build, GPU on the bus alone": (
        "torch.cpu_only", "error",
        machine(torch=CPU, gpus=[], lspci_gpus=["NVIDIA Corporation AD102 [GeForce RTX 4090]"]),
    ),
    "CPU build, said by torch": (
        "torch.cpu_only", "error", {"log": "AssertionError: Torch not compiled with CUDA enabled"}
    ),
    "CPU build, no GPU": ("torch.cpu_only", "skipped", machine(torch=CPU, gpus=[])),
    "CPU build, GPUs not looked for": ("torch.cpu_only", "unknown", machine(torch=CPU)),
    "a CPU build of another Python": (
        "torch.cpu_only", "ok",
        machine(
            torch=CU126, gpus=[A100],
            other_pythons=[{"executable": "/usr/bin/python3", "torch": "2.4.0+cpu"}],
        ),
    ),
    "CUDA that did not come up is CUDA": (
        "torch.cpu_only", "ok",
        machine(torch=torch("2.9.1+cu130", "13.0", arch_list=[], cuda_available=False), gpus=[A100]),
    ),
    "CUDA of torch not known": (
        "torch.cpu_only", "unknown", machine(torch={"version": "2.4.0"}, gpus=[A100])
    ),
    # --- has it code for the GPU ----------------------------------------------------------------
    "no code for Blackwell": (
        "torch.arch_missing", "error", machine(torch=CU126, gpus=[RTX_5090])
    ),
    "code for 8.6 runs on 8.9": ("torch.arch_missing", "ok", machine(torch=CU126, gpus=[RTX_4090])),
    "code for 8.0 runs on 8.6": (
        "torch.arch_missing", "ok",
        machine(torch=torch("2.4.0", "12.1", arch_list=["sm_80"]), gpus=[gpu("A10", "8.6")]),
    ),
    "code for 8.6 does not run on 8.0": (
        "torch.arch_missing", "error",
        machine(torch=torch("2.4.0", "12.1", arch_list=["sm_86"]), gpus=[A100]),
    ),
    "code for 12.0 runs on 12.1": (
        "torch.arch_missing", "ok",
        machine(torch=torch("2.10.0", "13.0", arch_list=["sm_120"]), gpus=[gpu("NVIDIA GB10", "12.1")]),
    ),
    "code for one architecture only": (
        "torch.arch_missing", "error",
        machine(torch=torch("2.7.0", "12.6", arch_list=["sm_90a"]), gpus=[RTX_5090]),
    ),
    "PTX is compiled forward": (
        "torch.arch_missing", "ok",
        machine(
            torch=torch("2.6.0", "12.4", arch_list=["sm_80", "compute_90"]), gpus=[RTX_5090],
            driver=driver("570.133.07", "12.8"),
        ),
    ),
    "PTX newer than the driver reads is no help": (
        "torch.arch_missing", "error",
        machine(
            torch=torch("2.9.0", "12.9", arch_list=["sm_80", "compute_90"]), gpus=[RTX_5090],
            driver=driver("570.133.07", "12.8"),
        ),
    ),
    "server code on an Orin": (
        "torch.arch_missing", "error",
        machine(os={"arch": "aarch64"}, torch=torch("2.8.0", "12.6", arch_list=["sm_80", "sm_90"]),
                gpus=[ORIN]),
    ),
    "a display card beside a big one": (
        "torch.arch_missing", "warning",
        machine(torch=torch("2.9.0+cu128", "12.8", arch_list=["sm_80", "sm_90"]),
                gpus=[A100, GT_1030]),
    ),
    "two cards, and a program stopped": (
        "torch.arch_missing", "error",
        machine(torch=torch("2.9.0+cu128", "12.8", arch_list=["sm_80", "sm_90"]),
                gpus=[A100, GT_1030], log=NO_KERNEL),
    ),
    "an empty list, an official build that has the code": (
        "torch.arch_missing", "ok",
        machine(torch=torch("2.9.1+cu130", "13.0", arch_list=[]), gpus=[RTX_4090]),
    ),
    "an empty list, an official build that lacks it": (
        "torch.arch_missing", "error",
        machine(torch=torch("2.6.0+cu124", "12.4", arch_list=[]), gpus=[RTX_5090]),
    ),
    "an empty list of an unknown build proves nothing": (
        "torch.arch_missing", "unknown",
        machine(torch=torch("2.9.0a0+git1234", "12.8", arch_list=[]), gpus=[GT_1030]),
    ),
    "no list, and torch says so itself": (
        "torch.arch_missing", "error",
        {"log": "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the "
                "current PyTorch installation."},
    ),
    "newer wording": (
        "torch.arch_missing", "error",
        {"log": "Found GPU0 NVIDIA X which is of compute capability (CC) 12.1. Your installed "
                "torch==2.13.0+cu126 does not include kernels for this GPU."},
    ),
    "no kernel image, nothing else known": ("torch.arch_missing", "error", {"log": NO_KERNEL}),
    "no kernel image, but of a program without torch": (
        "torch.arch_missing", "skipped",
        machine(torch=None, gpus=[A100], nvcc={"path": "/usr/local/cuda/bin/nvcc"}, log=NO_KERNEL),
    ),
    "GPU not known": ("torch.arch_missing", "unknown", machine(torch=CU126)),
    "no CUDA, no code": ("torch.arch_missing", "skipped", machine(torch=CPU, gpus=[A100])),
    # --- which Python -----------------------------------------------------------------------------
    "the other Python has it": (
        "torch.multiple_environments", "warning",
        machine(
            torch=None, python={"executable": "/opt/venv/bin/python"},
            other_pythons=[{"executable": "/usr/bin/python3", "torch": "2.9.1+cu130"}],
        ),
    ),
    "the other Python has the newer one": (
        "torch.multiple_environments", "warning",
        machine(
            torch=CU126, gpus=[RTX_5090], python={"executable": "/opt/venv/bin/python"},
            other_pythons=[{"executable": "/usr/bin/python3", "torch": "2.9.1+cu130"}],
        ),
    ),
    "another Python has another one, and this one works": (
        "torch.multiple_environments", "ok",
        machine(
            torch=CU126, gpus=[A100],
            other_pythons=[{"executable": "/usr/bin/python3", "torch": "2.4.0+cpu"}],
        ),
    ),
    "the same Python listed again": (
        "torch.multiple_environments", "ok",
        machine(
            torch=CPU, gpus=[A100], python={"executable": "/opt/venv/bin/python"},
            other_pythons=[{"executable": "/opt/venv/bin/python", "torch": "2.8.0+cpu"}],
        ),
    ),
    "other Pythons not looked for": ("torch.multiple_environments", "unknown", machine(torch=CPU)),
    # --- cuDNN ----------------------------------------------------------------------------------
    "an older cuDNN": (
        "torch.cudnn_shadowed", "error",
        machine(torch=CU126, loaded_libraries={"libcudnn": [library("/opt/c/libcudnn.so.9", "9.1.0")]}),
    ),
    "another major cuDNN": (
        "torch.cudnn_shadowed", "error",
        machine(torch=CU126, loaded_libraries={"libcudnn": [library("/opt/c/libcudnn.so.8", "8.9.7")]}),
    ),
    "a newer minor cuDNN": (
        "torch.cudnn_shadowed", "ok",
        machine(torch=CU126, loaded_libraries={"libcudnn": [library("/opt/c/libcudnn.so.9", "9.7.0")]}),
    ),
    "parts of two": (
        "torch.cudnn_shadowed", "error",
        machine(torch=CU126, loaded_libraries={
            "libcudnn": [library(f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9", "9.5.1")],
            "libcudnn_ops": [library("/usr/lib/libcudnn_ops.so.9", "9.1.0")],
        }),
    ),
    "parts of one": (
        "torch.cudnn_shadowed", "ok",
        machine(torch=CU126, loaded_libraries={
            "libcudnn": [library(f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9", "9.5.1"),
                         library(f"{SITE}/nvidia/cudnn/lib/libcudnn_ops.so.9", "9.5.1")],
        }),
    ),
    "cuDNN 9's own words": (
        "torch.cudnn_shadowed", "error",
        {"log": "RuntimeError: cuDNN error: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"},
    ),
    "cuDNN not looked at": ("torch.cudnn_shadowed", "unknown", machine(torch=CU126)),
    "a torch without cuDNN": (
        "torch.cudnn_shadowed", "skipped", machine(torch={**CPU, "cudnn": None})
    ),
    "a newer minor cuDNN from elsewhere, and a crash": (
        "torch.cudnn_shadowed", "error",
        machine(torch=CU126, log="RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
                loaded_libraries={"libcudnn": [library("/usr/lib/libcudnn.so.9", "9.7.0")]}),
    ),
    # --- NCCL ------------------------------------------------------------------------------------
    "two NCCLs": (
        "torch.nccl_shadowed", "error",
        machine(torch=CU126, loaded_libraries={"libnccl": [
            library(f"{SITE}/nvidia/nccl/lib/libnccl.so.2", "2.26.2"),
            library("/usr/lib/libnccl.so.2", "2.18.5")]}),
    ),
    "an older NCCL": (
        "torch.nccl_shadowed", "warning",
        machine(torch=CU126, loaded_libraries={"libnccl": [library("/usr/lib/libnccl.so.2", "2.18.5")]}),
    ),
    "an older NCCL, and a symbol is missing": (
        "torch.nccl_shadowed", "error",
        machine(torch=CU126, log="ImportError: libtorch_cuda.so: undefined symbol: ncclCommSplit",
                loaded_libraries={"libnccl": [library("/usr/lib/libnccl.so.2", "2.18.5")]}),
    ),
    "a newer NCCL": (
        "torch.nccl_shadowed", "ok",
        machine(torch=CU126, loaded_libraries={"libnccl": [library("/usr/lib/libnccl.so.2", "2.28.9")]}),
    ),
    "NCCL of a build whose pin is not known": (
        "torch.nccl_shadowed", "ok",
        machine(torch=torch("2.7.0+cu118", "11.8"),
                loaded_libraries={"libnccl": [library("/usr/lib/libnccl.so.2", "2.18.5")]}),
    ),
    "NCCL not looked at": ("torch.nccl_shadowed", "unknown", machine(torch=CU126)),
    # --- extensions -----------------------------------------------------------------------------
    "an extension for CUDA 12 under 13": (
        "torch.ext_cuda_major_mismatch", "error",
        machine(torch=CU130, extensions=[{"package": "xformers", "cuda": "12.8"}]),
    ),
    "an extension of another minor": (
        "torch.ext_cuda_major_mismatch", "ok",
        machine(torch=CU126, extensions=[{"package": "xformers", "cuda": "12.1"}]),
    ),
    "libraries for every CUDA, torch's among them": (
        "torch.ext_cuda_major_mismatch", "ok",
        machine(torch=CU126, extensions=[
            {"package": "bitsandbytes", "cuda": one} for one in ("11", "12", "13")
        ]),
    ),
    "libraries for several CUDAs, none of them torch's": (
        "torch.ext_cuda_major_mismatch", "error",
        machine(torch=CU130, extensions=[
            {"package": "bitsandbytes", "cuda": one} for one in ("11", "12")
        ]),
    ),
    "torchvision for another CUDA": (
        "torch.ext_cuda_major_mismatch", "error",
        machine(torch=CU130, extensions=[], packages={"torchvision": "0.25.0+cu126"}),
    ),
    "a library of another major is looked for": (
        "torch.ext_cuda_major_mismatch", "error",
        machine(torch=CU126, log="ImportError: libcublas.so.13: cannot open shared object file"),
    ),
    "torch's own library is missing: no other major": (
        "torch.ext_cuda_major_mismatch", "ok",
        machine(torch=CU126, extensions=[],
                log="ImportError: libcublas.so.12: cannot open shared object file"),
    ),
    "a library is looked for, torch not known": (
        "torch.ext_cuda_major_mismatch", "error",
        {"log": "OSError: libcudart.so.11.0: cannot open shared object file: No such file"},
    ),
    "extensions not looked at": ("torch.ext_cuda_major_mismatch", "unknown", machine(torch=CU126)),
    "extensions and a CPU torch": (
        "torch.ext_cuda_major_mismatch", "skipped",
        machine(torch=CPU, extensions=[{"package": "xformers", "cuda": "12.1"}]),
    ),
    "an extension for another torch": (
        "torch.ext_abi_mismatch", "error",
        machine(torch=CU126, log=f"ImportError: {SITE}/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu"
                ".so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationE"),
    ),
    "an undefined symbol of somebody else": (
        "torch.ext_abi_mismatch", "ok", {"log": "undefined symbol: png_create_info_struct"}
    ),
    "no output": ("torch.ext_abi_mismatch", "unknown", machine(torch=CU126)),
    # --- import ---------------------------------------------------------------------------------
    "the import fails": (
        "torch.import_error", "error",
        machine(torch={"version": "2.7.0+cu126", "import_error": "Traceback ...\nImportError: "
                       "/lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found"}),
    ),
    "the import fails in a way nobody knows": (
        "torch.import_error", "error", machine(torch={"version": None, "import_error": "Boom"})
    ),
    "the import finds no torch": (
        "torch.import_error", "skipped",
        machine(torch={"version": None, "import_error": NO_MODULE}),
    ),
    "a file hides it": (
        "torch.import_error", "error",
        {"log": "AttributeError: partially initialized module 'torch' has no attribute 'nn'"},
    ),
    "the import works": ("torch.import_error", "ok", machine(torch=CU126)),
    "not imported": ("torch.import_error", "unknown", machine()),
    "the import was left early": (
        "torch.import_error", "unknown", machine(torch={**CU126, "import": "not waited for"})
    ),
    "the import hangs": (
        "torch.import_error", "unknown", machine(torch={**CU126, "import": "not ended"})
    ),
    "the libraries of torch were loaded": (
        "torch.import_error", "ok", machine(torch={**CU126, "import": "libraries loaded"})
    ),
    "an extension's library, not torch's": (
        "torch.import_error", "ok",
        machine(torch=CU126, log="ImportError: libcudart.so.13: cannot open shared object file"),
    ),
    # --- Jetson ---------------------------------------------------------------------------------
    "a server build on JetPack 6": (
        "jetson.generic_wheel", "error",
        machine(os={"arch": "aarch64", "jetson": "JetPack 6.0"}, gpus=[ORIN], torch=CU130),
    ),
    "a CPU build on JetPack 5": (
        "jetson.generic_wheel", "error",
        machine(os={"arch": "aarch64", "jetson": "L4T R35.4.1"}, torch=CPU),
    ),
    "PyPI's build without CUDA, without a label": (
        "jetson.generic_wheel", "error",
        machine(os={"arch": "aarch64", "jetson": "JetPack 5.1"}, torch=torch("2.4.1", None)),
    ),
    "a build of a newer CUDA than the board's": (
        "jetson.generic_wheel", "error",
        machine(os={"arch": "aarch64", "jetson": "JetPack 6.2"}, torch=torch("2.11.0", "13.0"),
                driver=driver("540.4.0", "12.6")),
    ),
    "a build of the board's index, without a label": (
        "jetson.generic_wheel", "ok",
        machine(os={"arch": "aarch64", "jetson": "JetPack 6.2"}, torch=torch("2.8.0", "12.6"),
                driver=driver("540.4.0", "12.6")),
    ),
    "NVIDIA's build": (
        "jetson.generic_wheel", "ok",
        machine(os={"arch": "aarch64", "jetson": "JetPack 6.0"}, gpus=[ORIN],
                torch=torch("2.3.0a0+6ddf5cf85e.nv24.04", "12.4")),
    ),
    "a build with code for the board": (
        "jetson.generic_wheel", "ok",
        machine(os={"arch": "aarch64", "jetson": "JetPack 6.2"}, gpus=[ORIN],
                torch=torch("2.8.0+cu126", "12.6", arch_list=["sm_87"])),
    ),
    "Thor takes the server build": (
        "jetson.generic_wheel", "ok",
        machine(os={"arch": "aarch64", "jetson": "JetPack 7.0"}, gpus=[gpu("NVIDIA Thor", "11.0")],
                torch=CU130),
    ),
    "a server": ("jetson.generic_wheel", "skipped", machine(os={"arch": "aarch64"}, torch=CU130)),
    "a board, torch not known": (
        "jetson.generic_wheel", "unknown",
        machine(os={"arch": "aarch64", "jetson": "JetPack 6.0"}, gpus=[ORIN]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_verdict(case: tuple[str, str, dict[str, Any]]) -> None:
    name, status, facts = case
    assert judged(name, facts).status == status, judged(name, facts)


def test_each_check_is_seen_firing_passing_and_at_a_loss() -> None:
    seen: dict[str, set[str]] = {}
    for name, status, _facts in CASES.values():
        passes = {"skipped": "ok", "warning": "error"}.get(status, status)
        seen.setdefault(name, set()).add(passes)
    assert {name for name, statuses in seen.items() if len(statuses) < 3} == set()


@pytest.mark.parametrize(
    ("primary", "facts"),
    [
        (
            "jetson.generic_wheel",
            machine(
                os={"arch": "aarch64", "jetson": "JetPack 6.2"},
                gpus=[ORIN],
                driver=driver("540.4.0", "12.6"),
                torch=torch("2.8.0+cpu", None, arch_list=[], cuda_available=False),
            ),
        ),
        (
            "torch.ext_cuda_major_mismatch",
            machine(
                torch={**CU130, "import_error": "ImportError: libcudart.so.12: cannot open"},
                extensions=[{"package": "flash-attn", "cuda": "12.8"}],
            ),
        ),
        ("torch.other_backend", machine(torch=torch("2.7.0+rocm6.3", None), gpus=[A100])),
        ("torch.missing", {"log": NO_MODULE, "torch": None}),
    ],
)
def test_one_cause_explains_the_rest(primary: str, facts: dict[str, Any]) -> None:
    assert errors(facts)[0] == primary


# --- remedies: for this driver, this GPU and this Python ------------------------------------------


def command(name: str, facts: dict[str, Any]) -> str:
    remedy = judged(name, facts).remedy
    assert remedy is not None
    return " && ".join(remedy.commands)


def test_pascal_gets_the_last_build_with_code_for_it_and_keeps_its_release() -> None:
    facts = machine(
        gpus=[gpu("NVIDIA GeForce GTX 1080 Ti", "6.1")],
        driver=driver("580.95.05", "13.0"),
        python={"executable": "/opt/venv/bin/python", "version": "3.12.3"},
        torch=torch("2.9.0+cu128", "12.8", arch_list=["sm_70", "sm_90"]),
        packages={"torchvision": "0.24.0"},
    )
    assert command("torch.arch_missing", facts) == (
        "/opt/venv/bin/python -m pip install --force-reinstall torch==2.9.0 torchvision "
        "--index-url https://download.pytorch.org/whl/cu126"
    )


def test_an_old_driver_gets_a_build_of_its_own_cuda_major() -> None:
    facts = machine(gpus=[A100], driver=driver("470.82.01", "11.4"), torch=torch("2.1.0+cpu", None))
    assert "torch==2.1.0 --index-url https://download.pytorch.org/whl/cu118" in command(
        "torch.cpu_only", facts
    )


def test_a_build_no_newer_than_the_driver_comes_first() -> None:
    facts = machine(
        gpus=[gpu("NVIDIA GH200 480GB", "9.0")],
        os={"arch": "aarch64"},
        driver=driver("570.133.20", "12.8"),
        torch=CPU,
    )
    assert command("torch.cpu_only", facts).endswith("torch==2.8.0 --index-url "
                                                     "https://download.pytorch.org/whl/cu128")  # fmt: skip


def test_a_python_without_builds_gets_a_release_that_has_them() -> None:
    facts = machine(
        gpus=[A100], driver=driver("580.95.05", "13.0"), python={"version": "3.14.0"}, torch=None
    )
    assert "torch==2.15.0" in command("torch.missing", facts)
    older = judged("torch.missing", {**facts, "driver": driver("430.50", "10.1")}).remedy
    assert older is not None
    assert "needs driver" in older.text
    assert older.commands == ()


def test_a_gpu_that_no_build_knows_is_said_to_be_one() -> None:
    facts = machine(gpus=[gpu("Tesla K40c", "3.5")], driver=driver("470.82.01", "11.4"), torch=CPU)
    remedy = judged("torch.cpu_only", facts).remedy
    assert remedy is not None
    assert "3.5" in remedy.text
    assert remedy.commands == ()


def test_every_gpu_of_the_machine_is_served() -> None:
    facts = machine(
        gpus=[RTX_5090, gpu("Tesla V100-SXM2-16GB", "7.0")],
        driver=driver("570.133.20", "12.8"),
        torch=CPU,
    )
    assert "torch==2.8.0 --index-url https://download.pytorch.org/whl/cu128" in command(
        "torch.cpu_only", facts
    )


def test_windows_gets_a_build_as_its_own_numbers_ask() -> None:
    facts = machine(
        os={"system": "windows", "arch": "AMD64"},
        gpus=[RTX_4090],
        driver=driver("566.36", "12.7"),
        torch=CPU,
    )
    assert command("torch.cpu_only", facts).endswith("https://download.pytorch.org/whl/cu126")


def test_a_jetson_gets_its_own_index() -> None:
    facts = machine(os={"arch": "aarch64", "jetson": "JetPack 6.1"}, gpus=[ORIN], torch=CU130)
    assert "https://pypi.jetson-ai-lab.io/jp6/cu126" in command("jetson.generic_wheel", facts)
    facts["os"]["jetson"] = "JetPack 5.1"
    assert "index-url" not in command("jetson.generic_wheel", facts)


def test_a_container_is_told_that_its_image_changes() -> None:
    facts = machine(os={"container": "docker"}, gpus=[A100], torch=CPU)
    remedy = judged("torch.cpu_only", facts).remedy
    assert remedy is not None
    assert "image" in remedy.text


def test_the_other_interpreter_is_named_quoted() -> None:
    facts = machine(
        torch=None,
        python={"executable": "/usr/bin/python3"},
        other_pythons=[
            {"executable": "/opt/my env/bin/python; rm -rf ~", "torch": "2.9.1+cu130"},
        ],
    )
    assert command("torch.missing", facts) == (
        "kprof profile --python '/opt/my env/bin/python; rm -rf ~' TARGET"
    )


def test_the_package_to_rebuild_is_named_only_if_it_is_a_name() -> None:
    facts = machine(
        torch=CU130,
        nvcc={"path": "/usr/local/cuda/bin/nvcc", "version": "13.0"},
        extensions=[{"package": "--index-url=http://x", "cuda": "12.8"}],
    )
    assert command("torch.ext_cuda_major_mismatch", facts).endswith("--no-binary PACKAGE PACKAGE")


def test_a_major_version_is_shown_without_a_minor_one() -> None:
    facts = machine(
        torch=CU130, extensions=[{"package": "bitsandbytes", "cuda": one} for one in ("11", "12")]
    )
    message = judged("torch.ext_cuda_major_mismatch", facts).message
    assert message.endswith("bitsandbytes (CUDA 12)")


def test_an_older_cudnn_leaves_the_library_path() -> None:
    facts = machine(
        torch=CU126,
        env={"LD_LIBRARY_PATH": "/opt/cudnn/lib:/opt/mine"},
        loaded_libraries={"libcudnn": [library("/opt/cudnn/lib/libcudnn.so.9", "9.1.0")]},
    )
    assert command("torch.cudnn_shadowed", facts) == "export LD_LIBRARY_PATH=/opt/mine"
    facts["env"] = {}
    assert "nvidia-cudnn-cu12==9.5.1.17" in command("torch.cudnn_shadowed", facts)


def test_the_cause_of_a_failed_import_is_told() -> None:
    facts = machine(torch={"version": "2.7.0", "import_error": "ImportError: undefined symbol: "
                           "iJIT_NotifyEvent"})  # fmt: skip
    assert "MKL" in judged("torch.import_error", facts).message
