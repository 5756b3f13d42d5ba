"""Variables, toolkits and compilers: which one is found first, and whether it fits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.audit.snapshots import (
    A100,
    H100,
    RTX_4090,
    driver,
    errors,
    gpu,
    judged,
    machine,
    one_sided,
)

RTX_5090 = gpu("NVIDIA GeForce RTX 5090", "12.0")
PASCAL = gpu("NVIDIA GeForce GTX 1080 Ti", "6.1")
SITE = "/opt/venv/lib/python3.11/site-packages/nvidia"
TOOLKIT = "/usr/local/cuda-12.4/lib64"
CU121 = {"version": "2.4.0+cu121", "cuda": "12.1"}
CU118 = {"version": "2.4.0+cu118", "cuda": "11.8"}
NO_KERNEL = "CUDA error: no kernel image is available for execution on the device"
MISMATCH = (
    "RuntimeError:\nThe detected CUDA version (12.6) mismatches the version that was used to "
    "compile\nPyTorch (11.8). Please make sure to use the same CUDA versions."
)


def nvcc(version: str, path: str = "/usr/local/cuda/bin/nvcc", **more: object) -> dict[str, object]:
    return {"path": path, "version": version, **more}


def toolkit(version: str, source: str = "/usr/local/cuda", root: str = "") -> dict[str, object]:
    return {"root": root or f"/usr/local/cuda-{version}", "version": version, "source": source}


def loaded(**libraries: tuple[str, str | None]) -> dict[str, object]:
    return {
        name: [{"path": path, "version": version}] for name, (path, version) in libraries.items()
    }


OWN_CUDART = (f"{SITE}/cuda_runtime/lib/libcudart.so.12", "12.1")

# name -> check, status, snapshot
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    # --- stub -----------------------------------------------------------------------------------
    "a stub, by its kind": ("env.stub_libcuda", "error", machine(libcuda={"kind": "stub"})),
    "a stub, by its directory": (
        "env.stub_libcuda", "error",
        machine(libcuda={"path": "/opt/conda/lib/stubs/libcuda.so.1"}),
    ),
    "a stub, by ncu's word": (
        "env.stub_libcuda", "error",
        {"log": "==ERROR== Nsight Compute failed to connect to the CUDA driver "
                "(stub libcuda.so[.1] on path?)."},
    ),
    "a stub, by number": ("env.stub_libcuda", "error", {"log": "CUDA error 34 at main.cu:5"}),
    "error 34 of something else": (
        "env.stub_libcuda", "ok",
        machine(libcuda={"path": "/usr/lib/libcuda.so.1", "kind": "driver"}, log="rsync: error 34"),
    ),
    "a directory of stubs in waiting": (
        "env.stub_libcuda", "warning",
        machine(libcuda={"path": "/usr/lib/libcuda.so.1", "kind": "driver"},
                env={"LD_LIBRARY_PATH": f"{TOOLKIT}/stubs"}),
    ),
    "no libcuda": ("env.stub_libcuda", "skipped", machine(libcuda={"path": None})),
    "libcuda not looked for": ("env.stub_libcuda", "unknown", machine()),
    # --- CUDA_VISIBLE_DEVICES ----------------------------------------------------------------------
    "empty": (
        "env.cuda_visible_devices_hides", "error",
        machine(gpus=[A100], env={"CUDA_VISIBLE_DEVICES": ""}),
    ),
    "empty, GPUs not known": (
        "env.cuda_visible_devices_hides", "error", {"env": {"CUDA_VISIBLE_DEVICES": ""}}
    ),
    "minus one": (
        "env.cuda_visible_devices_hides", "error",
        machine(gpus=[A100], env={"CUDA_VISIBLE_DEVICES": "-1"}),
    ),
    "as torch writes devices": (
        "env.cuda_visible_devices_hides", "error",
        machine(gpus=[A100], env={"CUDA_VISIBLE_DEVICES": "cuda:0"}),
    ),
    "a number too high": (
        "env.cuda_visible_devices_hides", "error",
        machine(gpus=[A100], env={"CUDA_VISIBLE_DEVICES": "1"}),
    ),
    "the list ends where it is wrong": (
        "env.cuda_visible_devices_hides", "warning",
        machine(gpus=[A100, A100], env={"CUDA_VISIBLE_DEVICES": "0,7,1"}),
    ),
    "the list ends where it is wrong, and the program asked for more": (
        "env.cuda_visible_devices_hides", "error",
        machine(gpus=[A100], env={"CUDA_VISIBLE_DEVICES": "0,1,2,3"},
                log="RuntimeError: CUDA error: invalid device ordinal"),
    ),
    "a comma at the end": (
        "env.cuda_visible_devices_hides", "ok",
        machine(gpus=[A100], env={"CUDA_VISIBLE_DEVICES": "0,"}),
    ),
    "a comma at the end, and others are there": (
        "env.cuda_visible_devices_hides", "ok",
        machine(gpus=[A100, A100], env={"CUDA_VISIBLE_DEVICES": "1, ,"}),
    ),
    "a comma alone": (
        "env.cuda_visible_devices_hides", "error",
        machine(gpus=[A100], env={"CUDA_VISIBLE_DEVICES": ","}),
    ),
    "more than there are": (
        "env.cuda_visible_devices_hides", "ok",
        machine(gpus=[A100], env={"CUDA_VISIBLE_DEVICES": "0,1"}),
    ),
    "empty where the bus shows no GPU": (
        "env.cuda_visible_devices_hides", "skipped",
        machine(lspci_gpus=[], env={"CUDA_VISIBLE_DEVICES": ""}),
    ),
    "minus one where no driver is": (
        "env.cuda_visible_devices_hides", "skipped",
        machine(libcuda=None, env={"CUDA_VISIBLE_DEVICES": "-1"}),
    ),
    "all of them": (
        "env.cuda_visible_devices_hides", "ok",
        machine(gpus=[A100, A100], env={"CUDA_VISIBLE_DEVICES": "1, 0"}),
    ),
    "by name": (
        "env.cuda_visible_devices_hides", "ok",
        machine(gpus=[A100], env={"CUDA_VISIBLE_DEVICES": "GPU-<uuid>"}),
    ),
    "not set": ("env.cuda_visible_devices_hides", "ok", machine(gpus=[A100], env={})),
    "null is not set": (
        "env.cuda_visible_devices_hides", "ok",
        machine(gpus=[A100], env={"CUDA_VISIBLE_DEVICES": None}),
    ),
    "nothing to hide": (
        "env.cuda_visible_devices_hides", "skipped",
        machine(gpus=[], env={"CUDA_VISIBLE_DEVICES": "0"}),
    ),
    "a number, GPUs not known": (
        "env.cuda_visible_devices_hides", "unknown", {"env": {"CUDA_VISIBLE_DEVICES": "2"}}
    ),
    "environment not known": ("env.cuda_visible_devices_hides", "unknown", machine(gpus=[A100])),
    "a device that is not there": (
        "env.device_ordinal", "error",
        machine(gpus=[A100], log="RuntimeError: CUDA error: invalid device ordinal"),
    ),
    "devices that are there": ("env.device_ordinal", "ok", {"log": "epoch 1"}),
    "no output": ("env.device_ordinal", "unknown", machine(gpus=[A100])),
    # --- LD_LIBRARY_PATH ---------------------------------------------------------------------------
    "another minor, and no harm seen": (
        "env.ld_library_path_shadow", "warning",
        machine(torch=CU121, env={"LD_LIBRARY_PATH": TOOLKIT}, loaded_libraries=loaded(
            libcudart=OWN_CUDART, libcublas=(f"{TOOLKIT}/libcublas.so.12", "12.4"))),
    ),
    "another minor, and a crash": (
        "env.ld_library_path_shadow", "error",
        machine(torch=CU121, env={"LD_LIBRARY_PATH": TOOLKIT}, log="Segmentation fault (core dumped)",
                loaded_libraries=loaded(libcudart=OWN_CUDART,
                                        libcublas=(f"{TOOLKIT}/libcublas.so.12", None))),
    ),
    "an older one": (
        "env.ld_library_path_shadow", "error",
        machine(torch=CU121, env={"LD_LIBRARY_PATH": "/opt/cuda-12.0/lib64"},
                loaded_libraries=loaded(libcudart=OWN_CUDART, libcublas=(
                    "/opt/cuda-12.0/lib64/libcublas.so.12", "12.0"))),
    ),
    "cuFFT counts its own versions": (
        "env.ld_library_path_shadow", "warning",
        machine(torch=CU121, env={"LD_LIBRARY_PATH": TOOLKIT}, loaded_libraries=loaded(
            libcudart=OWN_CUDART, libcufft=(f"{TOOLKIT}/libcufft.so.11", "11.0"))),
    ),
    "everything from a toolkit that is not torch's": (
        "env.ld_library_path_shadow", "error",
        machine(torch=CU121, env={"LD_LIBRARY_PATH": "/usr/local/cuda-11.8/lib64"},
                loaded_libraries=loaded(libcublas=(
                    "/usr/local/cuda-11.8/lib64/libcublas.so.11", "11.8"))),
    ),
    "everything from the toolkit": (
        "env.ld_library_path_shadow", "ok",
        machine(env={"LD_LIBRARY_PATH": TOOLKIT}, loaded_libraries=loaded(
            libcudart=(f"{TOOLKIT}/libcudart.so.12", "12.4"),
            libcublas=(f"{TOOLKIT}/libcublas.so.12", "12.4"))),
    ),
    "named, and not used": (
        "env.ld_library_path_shadow", "ok",
        machine(env={"LD_LIBRARY_PATH": TOOLKIT}, loaded_libraries=loaded(libcudart=OWN_CUDART)),
    ),
    "conda's own libraries": (
        "env.ld_library_path_shadow", "ok",
        machine(
            python={"executable": "/opt/conda/envs/a/bin/python", "environment": "conda"},
            env={"LD_LIBRARY_PATH": "/opt/conda/envs/a/lib:/usr/local/cuda/lib64"},
            loaded_libraries=loaded(libcudart=("/opt/conda/envs/a/lib/libcudart.so.12", "12.1"),
                                    libcublas=("/opt/conda/envs/a/lib/libcublas.so.12", "12.1")),
        ),
    ),
    "a symbol is missing": (
        "env.ld_library_path_shadow", "error",
        machine(env={"LD_LIBRARY_PATH": TOOLKIT}, log="ImportError: libcusparse.so.12: undefined "
                "symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12"),
    ),
    "not set at all": ("env.ld_library_path_shadow", "ok", machine(env={})),
    "what is loaded is not known": (
        "env.ld_library_path_shadow", "unknown", machine(env={"LD_LIBRARY_PATH": TOOLKIT})
    ),
    # --- CUDA_HOME ---------------------------------------------------------------------------------
    "the build says so": (
        "env.cuda_home_missing", "error",
        {"log": "OSError: CUDA_HOME environment variable is not set."},
    ),
    "a list": (
        "env.cuda_home_missing", "error",
        machine(env={"CUDA_HOME": ":/usr/local/cuda"}, toolkits=[toolkit("12.4")]),
    ),
    "an environment without nvcc": (
        "env.cuda_home_missing", "error",
        machine(env={"CUDA_HOME": "/opt/conda/envs/a"}, toolkits=[],
                log="/bin/sh: 1: /opt/conda/envs/a/bin/nvcc: not found"),
    ),
    "a directory that is gone": (
        "env.cuda_home_missing", "warning",
        machine(env={"CUDA_HOME": "/usr/local/cuda-11.0"}, toolkits=[toolkit("12.4")],
                files={"CUDA_HOME": {"exists": False}}),
    ),
    "a toolkit where nobody looks": (
        "env.cuda_home_missing", "warning",
        machine(env={}, nvcc={"path": None}, toolkits=[toolkit("12.4", "wheel", f"{SITE}/cuda_nvcc")]),
    ),
    "CUDA_HOME is right": (
        "env.cuda_home_missing", "ok",
        machine(env={"CUDA_HOME": "/usr/local/cuda-12.4/"}, toolkits=[toolkit("12.4", "PATH")]),
    ),
    "CUDA_PATH is right": (
        "env.cuda_home_missing", "ok",
        machine(env={"CUDA_PATH": "/opt/cuda"}, toolkits=[toolkit("12.4", "CUDA_PATH", "/opt/cuda")]),
    ),
    "/usr/local/cuda is right": (
        "env.cuda_home_missing", "ok",
        machine(env={"CUDA_HOME": "/usr/local/cuda"}, toolkits=[toolkit("12.4")]),
    ),
    "found without it": (
        "env.cuda_home_missing", "ok",
        machine(env={}, nvcc=nvcc("12.4"), toolkits=[toolkit("12.4", "PATH")]),
    ),
    "no toolkit, nothing to name": (
        "env.cuda_home_missing", "skipped", machine(env={}, toolkits=[])
    ),
    "another name for a toolkit": (
        "env.cuda_home_missing", "unknown",
        machine(env={"CUDA_HOME": "/cuda"}, toolkits=[toolkit("12.4", "PATH")],
                files={"CUDA_HOME": {"exists": True}}),
    ),
    "toolkits not looked for": ("env.cuda_home_missing", "unknown", machine(env={})),
    # --- the toolkit against torch -----------------------------------------------------------------
    "another major, named": (
        "env.cuda_home_mismatch_major", "error",
        machine(torch=CU118, env={"CUDA_HOME": "/usr/local/cuda-12.4"}, toolkits=[toolkit("12.4")]),
    ),
    "another major, found": (
        "env.cuda_home_mismatch_major", "warning", machine(torch=CU118, nvcc=nvcc("12.4"), env={}),
    ),
    "another major, and the build stopped": (
        "env.cuda_home_mismatch_major", "error",
        machine(torch=CU118, nvcc=nvcc("12.6"), log=MISMATCH),
    ),
    "only the build's word": ("env.cuda_home_mismatch_major", "error", {"log": MISMATCH}),
    "another minor": (
        "env.cuda_home_mismatch_major", "ok",
        machine(torch=CU121, env={"CUDA_HOME": "/usr/local/cuda-12.4"}, toolkits=[toolkit("12.4")]),
    ),
    "a minor warning is no error": (
        "env.cuda_home_mismatch_major", "ok",
        machine(torch=CU121, nvcc=nvcc("12.4"), log="The detected CUDA version (12.4) has a minor "
                "version mismatch with the version that was used to compile PyTorch (12.1)."),
    ),
    "no toolkit to compare": (
        "env.cuda_home_mismatch_major", "skipped",
        machine(torch=CU121, toolkits=[], nvcc={"path": None}),
    ),
    "toolkit not known": ("env.cuda_home_mismatch_major", "unknown", machine(torch=CU121)),
    # --- several toolkits ---------------------------------------------------------------------------
    "two majors": (
        "env.multiple_toolkits", "warning", machine(toolkits=[toolkit("12.4"), toolkit("11.8")])
    ),
    "two minors": (
        "env.multiple_toolkits", "ok", machine(toolkits=[toolkit("12.4"), toolkit("12.8")])
    ),
    "how many is not known": ("env.multiple_toolkits", "unknown", machine()),
    # --- nvcc ---------------------------------------------------------------------------------------
    "no nvcc": ("nvcc.missing", "skipped", machine(nvcc={"path": None})),
    "no nvcc, but a toolkit": (
        "nvcc.missing", "warning", machine(nvcc={"path": None}, toolkits=[toolkit("12.4")]),
    ),
    "no nvcc, and a build wanted it": (
        "nvcc.missing", "error", machine(log="/bin/sh: 1: nvcc: not found")
    ),
    "nvcc off PATH": (
        "nvcc.missing", "warning",
        machine(env={}, nvcc=nvcc("12.4", "/usr/local/cuda-12.4/bin/nvcc", on_path=False)),
    ),
    "nvcc off PATH, but named": (
        "nvcc.missing", "ok",
        machine(env={"CUDA_HOME": "/usr/local/cuda-12.4"}, nvcc=nvcc("12.4", on_path=False)),
    ),
    "nvcc": ("nvcc.missing", "ok", machine(nvcc=nvcc("12.4"))),
    "nvcc not looked for": ("nvcc.missing", "unknown", machine()),
    "Ubuntu's nvcc": ("nvcc.distro_package", "warning", machine(nvcc=nvcc("12.0", "/usr/bin/nvcc"))),
    "by its toolkit's source": (
        "nvcc.distro_package", "warning",
        machine(toolkits=[toolkit("11.5", "distro", "/usr")]),
    ),
    "NVIDIA's nvcc first, the distribution's behind it": (
        "nvcc.distro_package", "ok",
        machine(nvcc=nvcc("12.4", "/usr/local/cuda-12.4/bin/nvcc"),
                toolkits=[toolkit("12.4", "PATH"), toolkit("11.5", "distro", "/usr")]),
    ),
    "NVIDIA's own package for Fedora": (
        "nvcc.distro_package", "ok",
        machine(os={"distro": "fedora 42"}, nvcc=nvcc("13.0", "/usr/bin/nvcc")),
    ),
    "whose nvcc is not known": ("nvcc.distro_package", "unknown", machine()),
    # --- PTX ------------------------------------------------------------------------------------------
    "refused": (
        "nvcc.ptx_newer_than_driver", "error",
        {"log": "the provided PTX was compiled with an unsupported toolchain"},
    ),
    "refused, by number": (
        "nvcc.ptx_newer_than_driver", "error",
        machine(driver=driver("550.54.15", "12.4"), nvcc=nvcc("12.4"),
                log="cuModuleLoadData failed: CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
    ),
    "newer, nothing failed": (
        "nvcc.ptx_newer_than_driver", "warning",
        machine(driver=driver("570.133.20", "12.8"), nvcc=nvcc("12.9")),
    ),
    "newer, by the driver's branch": (
        "nvcc.ptx_newer_than_driver", "warning",
        machine(driver=driver("550.54.15"), nvcc=nvcc("12.6")),
    ),
    "12.5 and 12.6 write the same PTX": (
        "nvcc.ptx_newer_than_driver", "ok",
        machine(driver=driver("555.42.06", "12.5"), nvcc=nvcc("12.6")),
    ),
    "older": (
        "nvcc.ptx_newer_than_driver", "ok",
        machine(driver=driver("580.95.05", "13.0"), nvcc=nvcc("12.4")),
    ),
    "another major is another check's": (
        "nvcc.ptx_newer_than_driver", "skipped",
        machine(driver=driver("550.54.15", "12.4"), nvcc=nvcc("13.0")),
    ),
    "a branch without a source": (
        "nvcc.ptx_newer_than_driver", "unknown",
        machine(driver=driver("565.57.01"), nvcc=nvcc("12.8")),
    ),
    "PTX for one architecture": (
        "nvcc.ptx_invalid", "error", {"log": "cudaErrorInvalidPtx: a PTX JIT compilation failed"}
    ),
    "valid PTX": ("nvcc.ptx_invalid", "ok", {"log": "done"}),
    "whether it was valid is not known": ("nvcc.ptx_invalid", "unknown", machine()),
    # --- what nvcc compiles for ---------------------------------------------------------------------
    "a GPU newer than nvcc": (
        "nvcc.arch_unsupported", "error", machine(gpus=[RTX_5090], nvcc=nvcc("12.4"))
    ),
    "a GPU that CUDA 13 dropped": (
        "nvcc.arch_unsupported", "error", machine(gpus=[PASCAL], nvcc=nvcc("13.0"))
    ),
    "an older relative's code will do": (
        "nvcc.arch_unsupported", "warning", machine(gpus=[RTX_4090], nvcc=nvcc("11.5"))
    ),
    "an old card beside a new one": (
        "nvcc.arch_unsupported", "warning", machine(gpus=[A100, PASCAL], nvcc=nvcc("13.0"))
    ),
    "the build's list holds a dropped one": (
        "nvcc.arch_unsupported", "error",
        machine(gpus=[A100], nvcc=nvcc("12.4"),
                log="nvcc fatal   : Unsupported gpu architecture 'compute_35'"),
    ),
    "torch does not know the architecture": (
        "nvcc.arch_unsupported", "error",
        {"log": "ValueError: Unknown CUDA arch (12.0) or GPU not supported"},
    ),
    "nvcc knows it": ("nvcc.arch_unsupported", "ok", machine(gpus=[H100], nvcc=nvcc("12.4"))),
    "a GPU from the future": (
        "nvcc.arch_unsupported", "ok", machine(gpus=[gpu("NVIDIA X", "42.0")], nvcc=nvcc("12.4"))
    ),
    "nothing to compile with": (
        "nvcc.arch_unsupported", "skipped", machine(gpus=[H100], nvcc={"path": None})
    ),
    "for what is not known": ("nvcc.arch_unsupported", "unknown", machine(nvcc=nvcc("12.4"))),
    "a program without the code": (
        "nvcc.arch_missing", "error", machine(gpus=[H100], nvcc=nvcc("12.4"), log=NO_KERNEL)
    ),
    "an extension without the code": (
        "nvcc.arch_missing", "error",
        machine(gpus=[H100], torch={**CU121, "arch_list": ["sm_80", "sm_90"]}, log=NO_KERNEL),
    ),
    "it is torch that lacks it": (
        "nvcc.arch_missing", "skipped",
        machine(gpus=[RTX_5090], torch={**CU121, "arch_list": ["sm_90"]}, log=NO_KERNEL),
    ),
    "no code missing": ("nvcc.arch_missing", "ok", {"log": "PASSED"}),
    "whether code is missing is not known": ("nvcc.arch_missing", "unknown", machine(gpus=[H100])),
    # --- host compiler -------------------------------------------------------------------------------
    "GCC too new": (
        "nvcc.host_gcc_unsupported", "error",
        machine(nvcc=nvcc("12.4"), host_compiler={"name": "gcc", "version": "14.1.0"}),
    ),
    "GCC at the limit": (
        "nvcc.host_gcc_unsupported", "ok",
        machine(nvcc=nvcc("12.8"), host_compiler={"name": "gcc", "version": "14.2.0"}),
    ),
    "Clang too new": (
        "nvcc.host_gcc_unsupported", "error",
        machine(nvcc=nvcc("12.4"), host_compiler={"name": "clang", "version": "19.1.0"}),
    ),
    "said by torch": (
        "nvcc.host_gcc_unsupported", "error",
        {"log": "RuntimeError: The current installed version of g++ (13.2.0) is greater than the "
                "maximum required version by CUDA 12.1."},
    ),
    "told otherwise": (
        "nvcc.host_gcc_unsupported", "ok",
        machine(nvcc=nvcc("12.4"), host_compiler={"name": "gcc", "version": "14.1.0"},
                env={"NVCC_PREPEND_FLAGS": "-allow-unsupported-compiler"}),
    ),
    "no compiler": (
        "nvcc.host_gcc_unsupported", "skipped",
        machine(nvcc=nvcc("12.4"), host_compiler={"path": None}),
    ),
    "compiler not known": ("nvcc.host_gcc_unsupported", "unknown", machine(nvcc=nvcc("12.4"))),
    "limit not known": (
        "nvcc.host_gcc_unsupported", "unknown",
        machine(nvcc=nvcc("19.0"), host_compiler={"name": "gcc", "version": "14.1.0"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_verdict(case: tuple[str, str, dict[str, Any]]) -> None:
    name, status, facts = case
    assert judged(name, facts).status == status, judged(name, facts)


def test_each_check_is_seen_firing_passing_and_at_a_loss() -> None:
    assert one_sided(CASES.values()) == set()


def remedy(name: str, facts: dict[str, Any]) -> tuple[str, ...]:
    found = judged(name, facts).remedy
    assert found is not None
    return found.commands


def test_the_stub_explains_what_follows_from_it() -> None:
    facts = machine(
        libcuda={"kind": "stub", "path": "/usr/local/cuda/lib64/stubs/libcuda.so"},
        log="CUDA driver is a stub library\n==ERROR== LibraryNotLoaded",
    )
    assert errors(facts)[0] == "env.stub_libcuda"


def test_a_gpu_hidden_by_the_variable_is_not_missing() -> None:
    facts = machine(
        gpus=[A100],
        env={"CUDA_VISIBLE_DEVICES": "3"},
        torch={"version": "2.4.0+cu121", "cuda": "12.1", "cuda_available": False},
        log="RuntimeError: No CUDA GPUs are available",
    )
    assert errors(facts)[0] == "env.cuda_visible_devices_hides"


@pytest.mark.parametrize("value", ["", "-1", "0"])
def test_a_variable_hides_no_gpu_that_is_not_there(value: str) -> None:
    facts = machine(
        lspci_gpus=[], driver={"module_version": None, "modules_loaded": []}, libcuda={"path": None},
        env={"CUDA_VISIBLE_DEVICES": value}, log="RuntimeError: No CUDA GPUs are available",
    )  # fmt: skip
    assert "env.cuda_visible_devices_hides" not in errors(facts)


def test_in_a_batch_job_a_gpu_is_asked_for() -> None:
    facts = machine(
        gpus=[A100], env={"CUDA_VISIBLE_DEVICES": ""}, job={"ranks": 1, "source": "SLURM_NTASKS"}
    )
    assert "--gres=gpu:1" in remedy("env.cuda_visible_devices_hides", facts)[0]


def test_the_rest_of_the_library_path_stays_quoted() -> None:
    facts = machine(
        libcuda={"kind": "stub"}, env={"LD_LIBRARY_PATH": f"{TOOLKIT}/stubs:/opt/$(reboot) x"}
    )
    assert remedy("env.stub_libcuda", facts) == ("export LD_LIBRARY_PATH='/opt/$(reboot) x'",)


def test_a_toolkit_that_is_here_is_named() -> None:
    facts = machine(
        torch=CU118,
        env={"CUDA_HOME": "/usr/local/cuda-12.4"},
        toolkits=[toolkit("12.4"), toolkit("11.7"), toolkit("11.8")],
    )
    assert remedy("env.cuda_home_mismatch_major", facts) == (
        "export CUDA_HOME=/usr/local/cuda-11.8",
        "export PATH=/usr/local/cuda-11.8/bin:$PATH",
    )


@pytest.mark.parametrize(
    ("parts", "command"),
    [
        ({"os": {"distro": "ubuntu 22.04"}}, "sudo apt-get install -y cuda-toolkit-11-8"),
        ({"os": {"distro": "rocky 9.4"}}, "sudo dnf install -y cuda-toolkit-11-8"),
        (
            {"python": {"environment": "conda"}},
            "conda install -y -c nvidia/label/cuda-11.8.0 cuda-toolkit",
        ),
        ({"os": {"distro": "void"}}, "export CUDA_HOME=/usr/local/cuda-11.8"),
        ({"os": {"distro": "void"}}, "sudo sh cuda_11.8.*_linux*.run --silent --toolkit"),
    ],
)
def test_one_that_is_not_here_is_installed_as_the_system_does_it(
    parts: dict[str, Any], command: str
) -> None:
    facts = machine(torch=CU118, nvcc=nvcc("12.4"), **parts)
    assert command in remedy("env.cuda_home_mismatch_major", facts)


def test_the_builds_own_numbers_are_told() -> None:
    message = judged("env.cuda_home_mismatch_major", {"log": MISMATCH}).message
    assert "CUDA 12.6" in message
    assert "CUDA 11.8" in message


def test_machine_code_is_built_for_the_gpus_here() -> None:
    facts = machine(gpus=[H100, RTX_4090], driver=driver("550.54.15", "12.4"), nvcc=nvcc("12.6"))
    assert remedy("nvcc.ptx_newer_than_driver", facts) == (
        "nvcc -gencode arch=compute_89,code=sm_89 -gencode arch=compute_90,code=sm_90 ...",
    )


def test_a_dropped_gpu_gets_the_last_toolkit_for_it_and_a_new_one_the_first() -> None:
    assert "cuda-toolkit-12-9" in " ".join(
        remedy("nvcc.arch_unsupported", machine(gpus=[PASCAL], nvcc=nvcc("13.0")))
    )
    assert "cuda-toolkit-12-8" in " ".join(
        remedy("nvcc.arch_unsupported", machine(gpus=[RTX_5090], nvcc=nvcc("12.4")))
    )


@pytest.mark.parametrize(
    ("distro", "command"),
    [
        ("ubuntu 24.04", "sudo apt-get install -y g++-13"),
        ("rocky 9.4", "sudo dnf install -y gcc-toolset-13-gcc-c++"),
        ("fedora 42", "sudo dnf install -y gcc13-c++"),
        ("debian 12", "sudo apt-get install -y g++-12"),
        ("debian 13", "sudo apt-get install -y g++-13"),
        ("ubuntu 22.04", "sudo apt-get install -y g++-12"),
        ("void", "g++-13 --version"),
        ("arch", "sudo pacman -S gcc13"),
    ],
)
def test_an_older_compiler_is_installed_beside(distro: str, command: str) -> None:
    facts = machine(
        os={"distro": distro}, nvcc=nvcc("12.4"), host_compiler={"name": "gcc", "version": "14.1"}
    )
    assert remedy("nvcc.host_gcc_unsupported", facts)[0] == command


def test_extensions_are_built_for_the_gpu_again() -> None:
    facts = CASES["an extension without the code"][2]
    assert remedy("nvcc.arch_missing", facts)[0] == "export TORCH_CUDA_ARCH_LIST='9.0'"
