"""Probes of the software: toolkits, compilers, the profiler, the job."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from kprof.audit.probes import elf, extensions, profiler, target, toolkits
from kprof.process import Completed
from tests.audit.software_fixture import LOOK, SITE, Fake, library

NVCC_13 = b"Cuda compilation tools, release 13.0, V13.0.88\nBuild cuda_13.0.r13.0/compiler\n"
NVCC_11 = b"Cuda compilation tools, release 11.5, V11.5.119\n"


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path, {"PATH": "/usr/local/bin:/usr/bin"})


def listed(fake: Fake) -> list[tuple[str, str, str | None]]:
    found = toolkits.toolkits(fake.machine())["toolkits"]
    return [(one["source"], one["root"], one["version"]) for one in found]


# --- toolkits --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "content", "version"),
    [
        ("version.json", json.dumps({"cuda": {"name": "CUDA SDK", "version": "12.4.1"}}), "12.4"),
        ("version.txt", "CUDA Version 10.1.243\n", "10.1"),
        ("include/cuda.h", "/* x */\n#define CUDA_VERSION 12080\n", "12.8"),
        ("include/cuda.h", "#define CUDA_VERSION 11000 \n", "11.0"),
        ("bin/nvcc", "", "13.0"),
        ("version.json", "[1, 2", None),
        ("version.json", '{"cuda": null}', None),
        ("version.txt", "none of these", None),
    ],
)
def test_the_version_of_a_toolkit(fake: Fake, file: str, content: str, version: str | None) -> None:
    fake.put(f"/usr/local/cuda-x/{file}", content)
    fake.environ["CUDA_HOME"] = "/usr/local/cuda-x/"
    fake.replies["/usr/local/cuda-x/bin/nvcc", "--version"] = NVCC_13
    assert listed(fake) == [("CUDA_HOME", "/usr/local/cuda-x", version)]


def test_the_toolkit_that_wins_comes_first(fake: Fake) -> None:
    for root, number in (
        ("/opt/first", 12040), ("/opt/home", 11080), ("/usr/local/cuda-12.9", 12090),
        ("/usr/local/cuda-13.0", 13000), ("/opt/conda/envs/a", 12010), ("/usr", 11050),
    ):  # fmt: skip
        fake.put(f"{root}/include/cuda.h", f"#define CUDA_VERSION {number}\n")
        fake.put(f"{root}/bin/nvcc", program=True)
    (fake.root / "usr/local/cuda").symlink_to("cuda-12.9")
    fake.put(f"{SITE}/nvidia/cu13/include/cuda.h", "#define CUDA_VERSION 13020\n")
    fake.put(f"{SITE}/nvidia/cu13/bin/nvcc")
    fake.put(f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9")
    fake.environ |= {
        "PATH": "/opt/first/bin",
        "CUDA_HOME": "/opt/home",
        "CUDA_PATH": "/opt/first",
        "CONDA_PREFIX": "/opt/conda/envs/a",
    }
    assert listed(fake) == [
        ("PATH", "/opt/first", "12.4"),
        ("CUDA_HOME", "/opt/home", "11.8"),
        ("/usr/local/cuda", "/usr/local/cuda", "12.9"),
        ("/usr/local/cuda", "/usr/local/cuda-13.0", "13.0"),
        ("conda", "/opt/conda/envs/a", "12.1"),
        ("wheel", f"{SITE}/nvidia/cu13", "13.2"),
        ("distro", "/usr", "11.5"),
    ]


@pytest.mark.parametrize(
    "script",
    [
        '#!/bin/sh\nexec /usr/local/cuda-13.0/bin/nvcc "$@"\n',
        "#!/usr/bin/env bash\nexport X=1\n/usr/local/cuda-13.0/bin/nvcc $*\n",
    ],
)
def test_a_script_on_path_leads_to_its_toolkit(fake: Fake, script: str) -> None:
    fake.put("/usr/local/bin/nvcc", script, program=True)
    fake.put("/usr/local/cuda-13.0/include/cuda.h", "#define CUDA_VERSION 13000\n")
    assert listed(fake) == [("PATH", "/usr/local/cuda-13.0", "13.0")]


def test_a_link_on_path_leads_to_its_toolkit(fake: Fake) -> None:
    real = fake.put("/opt/cuda-12.6/bin/nvcc", program=True)
    fake.put("/opt/cuda-12.6/version.json", '{"cuda": {"version": "12.6.3"}}')
    (fake.root / "usr/local/bin").mkdir(parents=True)
    (fake.root / "usr/local/bin/nvcc").symlink_to(real)
    assert listed(fake) == [("PATH", "/opt/cuda-12.6", "12.6")]


def test_the_distribution_has_one_toolkit(fake: Fake) -> None:
    script = '#!/bin/sh\nexec /usr/lib/nvidia-cuda-toolkit/bin/nvcc "$@"\n'
    fake.put("/usr/bin/nvcc", script, program=True)
    fake.put("/usr/lib/nvidia-cuda-toolkit/bin/nvcc", program=True)
    fake.put("/usr/lib/cuda/bin/nvcc", program=True)
    fake.replies["/usr/lib/nvidia-cuda-toolkit/bin/nvcc", "--version"] = NVCC_11
    assert listed(fake) == [("distro", "/usr/lib/nvidia-cuda-toolkit", "11.5")]


def test_nvcc_of_an_active_conda_environment_is_of_conda(fake: Fake) -> None:
    fake.put("/opt/conda/envs/a/bin/nvcc", program=True)
    fake.put("/opt/conda/envs/a/conda-meta/history")
    fake.environ |= {"PATH": "/opt/conda/envs/a/bin", "CONDA_PREFIX": "/opt/conda/envs/a"}
    fake.replies["/opt/conda/envs/a/bin/nvcc", "--version"] = NVCC_11
    assert listed(fake) == [("conda", "/opt/conda/envs/a", "11.5")]


def test_nothing_is_looked_for_and_not_there(fake: Fake) -> None:
    assert toolkits.toolkits(fake.machine()) == {"toolkits": []}


def test_a_stale_cuda_home_is_no_toolkit_and_said_to_be_gone(fake: Fake) -> None:
    fake.environ |= {"CUDA_HOME": "/usr/local/cuda-10.1", "CUDA_PATH": "/opt/there"}
    fake.put("/opt/there/README")
    assert toolkits.toolkits(fake.machine()) == {
        "toolkits": [],
        "files": {"CUDA_HOME": {"exists": False}, "CUDA_PATH": {"exists": True}},
    }


def test_toolkits_are_found_without_the_target(fake: Fake) -> None:
    fake.replies.clear()
    fake.put("/usr/local/cuda/version.txt", "CUDA Version 12.1.105")
    assert listed(fake) == [("/usr/local/cuda", "/usr/local/cuda", "12.1")]


# --- nvcc and the host compiler --------------------------------------------------------------


def test_nvcc_is_the_one_on_path(fake: Fake) -> None:
    fake.put("/usr/bin/nvcc", program=True)
    fake.put("/usr/local/cuda/bin/nvcc", program=True)
    fake.replies["/usr/bin/nvcc", "--version"] = NVCC_11
    assert toolkits.nvcc(fake.machine())["nvcc"] == {
        "path": "/usr/bin/nvcc",
        "on_path": True,
        "version": "11.5",
    }


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({}, "/usr/local/cuda/bin/nvcc"),
        ({"CUDA_HOME": "/opt/home"}, "/opt/home/bin/nvcc"),
        ({"CUDACXX": "/opt/cxx/bin/nvcc", "CUDA_HOME": "/opt/home"}, "/opt/cxx/bin/nvcc"),
        ({"CUDACXX": "/opt/gone/bin/nvcc"}, "/usr/local/cuda/bin/nvcc"),
    ],
)
def test_nvcc_off_path_is_found_too(fake: Fake, environ: dict[str, str], path: str) -> None:
    for root in ("/usr/local/cuda", "/opt/home", "/opt/cxx"):
        fake.put(f"{root}/bin/nvcc", program=True)
    fake.environ |= environ
    fake.replies["--version",] = NVCC_13
    found = toolkits.nvcc(fake.machine())["nvcc"]
    assert found == {"path": path, "on_path": False, "version": "13.0"}


def test_no_nvcc(fake: Fake) -> None:
    assert toolkits.nvcc(fake.machine()) == {"nvcc": {"path": None}}


@pytest.mark.parametrize(
    "reply", [None, b"", Completed(1, b"", b"bad"), Completed(-9, NVCC_13, b"", True)]
)
def test_an_nvcc_that_says_nothing_has_no_version(fake: Fake, reply: Any) -> None:
    fake.put("/usr/bin/nvcc", program=True)
    fake.replies["/usr/bin/nvcc", "--version"] = reply
    assert toolkits.nvcc(fake.machine())["nvcc"] == {"path": "/usr/bin/nvcc", "on_path": True}


@pytest.mark.parametrize(
    ("said", "name", "version"),
    [
        ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022", "gcc", "12.2.0"),
        ("gcc (GCC) 11.4.1 20230605 (Red Hat 11.4.1-2)\n", "gcc", "11.4.1"),
        ("x86_64-conda-linux-gnu-cc (conda-forge gcc 13.3.0-1) 13.3.0\n", "gcc", "13.3.0"),
        ("g++-14 (Ubuntu 14.2.0-4ubuntu2) 14.2.0\n", "gcc", "14.2.0"),
        ("Ubuntu clang version 18.1.3 (1ubuntu1)\nTarget: x86_64\n", "clang", "18.1.3"),
    ],
)
def test_the_host_compiler(fake: Fake, said: str, name: str, version: str) -> None:
    fake.put("/usr/bin/gcc", program=True)
    fake.replies["/usr/bin/gcc", "--version"] = said.encode()
    found = toolkits.host_compiler(fake.machine())["host_compiler"]
    assert found == {"source": "PATH", "path": "/usr/bin/gcc", "name": name, "version": version}


@pytest.mark.parametrize(
    ("environ", "source", "path"),
    [
        ({"NVCC_CCBIN": "/opt/gcc12/bin/g++-12"}, "NVCC_CCBIN", "/opt/gcc12/bin/g++-12"),
        ({"NVCC_CCBIN": "/opt/gcc12/bin"}, "NVCC_CCBIN", "/opt/gcc12/bin/g++"),
        ({"CUDAHOSTCXX": "clang"}, "CUDAHOSTCXX", "/usr/bin/clang"),
        ({"CUDAHOSTCXX": "clang", "NVCC_CCBIN": "gcc"}, "NVCC_CCBIN", "/usr/bin/gcc"),
    ],
)
def test_the_environment_chooses_the_host_compiler(
    fake: Fake, environ: dict[str, str], source: str, path: str
) -> None:
    for program in (
        "/opt/gcc12/bin/g++-12",
        "/opt/gcc12/bin/g++",
        "/usr/bin/clang",
        "/usr/bin/gcc",
    ):
        fake.put(program, program=True)
    fake.environ |= environ
    fake.replies["--version",] = b"g++ (GCC) 12.3.0\n"
    found = toolkits.host_compiler(fake.machine())["host_compiler"]
    assert (found["source"], found["path"], found["version"]) == (source, path, "12.3.0")


def test_no_host_compiler(fake: Fake) -> None:
    assert toolkits.host_compiler(fake.machine()) == {"host_compiler": {"path": None}}


# --- extensions and Triton -------------------------------------------------------------------

Install = Callable[..., None]


@pytest.fixture
def install(fake: Fake) -> Install:
    def put(name: str, version: str, requires: str, libraries: dict[str, bytes]) -> None:
        for path, content in libraries.items():
            fake.put(f"{SITE}/{path}", content)
        record = "".join(f"{path},sha256=x,{len(libraries[path])}\n" for path in libraries)
        fake.install(name, version, f"Name: {name}\nRequires-Dist: {requires}\n", record)

    return put


@pytest.mark.parametrize(
    ("version", "needed", "cuda"),
    [
        ("2.8.3", ["libtorch.so", "libcudart.so.12"], ["12"]),
        ("2.8.3", ["libcudart.so.11.0", "libc10.so"], ["11"]),
        ("2.8.3", ["libcublasLt.so.13"], ["13"]),
        ("2.8.3+cu126", ["libcudart.so.13"], ["13"]),  # what it loads, not what it is called
        ("2.8.3+cu126", ["libtorch.so"], ["12.6"]),  # CUDA's runtime is linked in
        ("2.8.3+cu12torch2.9cxx11abitrue", ["libtorch.so"], ["12"]),
        ("2.8.3", ["libtorch.so", "libcufft.so.11"], []),
    ],
)
def test_which_cuda_an_extension_was_built_for(
    fake: Fake, install: Install, version: str, needed: list[str], cuda: list[str]
) -> None:
    install("flash_attn", version, "torch", {"flash_attn_2_cuda.abi3.so": library(needed=needed)})
    found = extensions.extensions(fake.machine())["extensions"]
    assert found == [{"package": "flash-attn", "cuda": one} for one in cuda]


def test_an_extension_of_two_cudas_is_listed_twice(fake: Fake, install: Install) -> None:
    built = {
        "vllm/_C.abi3.so": library(needed=["libcudart.so.12"]),
        "vllm/_moe_C.abi3.so": library(needed=["libcudart.so.13"]),
    }
    install("vllm", "0.21.0", "torch==2.9.1", built)
    assert extensions.extensions(fake.machine())["extensions"] == [
        {"package": "vllm", "cuda": "12"},
        {"package": "vllm", "cuda": "13"},
    ]


@pytest.mark.parametrize(
    ("name", "requires"),
    [
        ("cupy_cuda12x", "numpy"),
        ("x", "torchvision"),
        ("x", "torch-geometric>=2"),
        ("torch", "torch"),
        ("triton", "torch"),
    ],
)
def test_what_does_not_depend_on_torch_is_no_extension(
    fake: Fake, install: Install, name: str, requires: str
) -> None:
    install(name, "1.0", requires, {"x.so": library(needed=["libcudart.so.12"])})
    assert extensions.extensions(fake.machine()) == {"extensions": []}


def test_files_that_are_no_libraries_are_passed_over(fake: Fake, install: Install) -> None:
    good = library(needed=["libcudart.so.12"])
    built = {"a.so": b"", "b.so": b"\x7fELF", "c.so": good[:200], "d.so": b"x" * 9999, "e.so": good}
    install("xformers", "0.0.30", "torch (>=2.1)", built)
    fake.put(
        f"{SITE}/xformers-0.0.30.dist-info/RECORD", "\n".join([*built, "../../x.so", "gone.so"])
    )
    assert extensions.extensions(fake.machine())["extensions"] == [
        {"package": "xformers", "cuda": "12"}
    ]


def test_a_package_of_very_many_libraries_is_looked_at_in_part(
    fake: Fake, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[Path] = []

    def dynamic(path: Path) -> None:
        looked_at.append(path)

    monkeypatch.setattr(elf, "dynamic", dynamic)
    install("big", "1.0", "torch", {f"big/{n}.so": library() for n in range(300)})
    assert extensions.extensions(fake.machine()) == {"extensions": []}
    assert 0 < len(looked_at) <= 40


@pytest.mark.parametrize("place", ["backends/nvidia/bin/ptxas", "third_party/cuda/bin/ptxas"])
def test_the_assembler_that_triton_brings(fake: Fake, place: str) -> None:
    fake.install("triton", "3.5.0")
    fake.put(f"{SITE}/triton/{place}", program=True)
    fake.replies[f"{SITE}/triton/{place}", "--version"] = b"ptxas: release 12.8, V12.8.93"
    assert extensions.triton(fake.machine())["triton"] == {
        "path": f"{SITE}/triton",
        "version": "3.5.0",
        "ptxas_path": f"{SITE}/triton/{place}",
        "ptxas_source": "bundled",
        "ptxas_version": "12.8",
    }


def test_the_assembler_for_blackwell_is_another(fake: Fake) -> None:
    folder = f"{SITE}/triton/backends/nvidia/bin"
    fake.install("triton", "3.6.0")
    fake.put(f"{folder}/ptxas", program=True)
    fake.put(f"{folder}/ptxas-blackwell", program=True)
    fake.replies[f"{folder}/ptxas", "--version"] = b"release 12.8, V12.8.93"
    fake.replies[f"{folder}/ptxas-blackwell", "--version"] = b"release 12.9, V12.9.86"
    found = extensions.triton(fake.machine())["triton"]
    assert (found["ptxas_version"], found["ptxas_blackwell_version"]) == ("12.8", "12.9")


def test_the_user_may_name_another_assembler(fake: Fake) -> None:
    own = f"{SITE}/triton/backends/nvidia/bin/ptxas"
    fake.install("pytorch_triton", "3.5.0+git")
    fake.put(own, program=True)
    fake.environ["TRITON_PTXAS_PATH"] = "/usr/local/cuda/bin/ptxas"
    fake.environ["TRITON_PTXAS_BLACKWELL_PATH"] = "/usr/local/cuda/bin/ptxas"  # this one has none
    fake.replies["/usr/local/cuda/bin/ptxas", "--version"] = NVCC_13
    fake.replies[own, "--version"] = b"release 12.8, V12.8.93"
    found = extensions.triton(fake.machine())["triton"]
    assert found["ptxas_source"] == "TRITON_PTXAS_PATH"
    assert (found["ptxas_path"], found["ptxas_version"]) == ("/usr/local/cuda/bin/ptxas", "13.0")
    assert "ptxas_blackwell_version" not in found


def test_a_named_assembler_that_does_not_answer_is_passed_over(fake: Fake) -> None:
    own = f"{SITE}/triton/backends/nvidia/bin/ptxas"
    fake.install("triton", "3.5.0")
    fake.put(own, program=True)
    fake.environ["TRITON_PTXAS_PATH"] = "/gone/ptxas"
    fake.replies[own, "--version"] = b"release 12.8, V12.8.93"
    found = extensions.triton(fake.machine())["triton"]
    assert (found["ptxas_path"], found["ptxas_source"]) == (own, "bundled")


def test_no_triton(fake: Fake) -> None:
    assert extensions.triton(fake.machine()) == {"triton": {"path": None, "version": None}}


# --- Nsight Compute and the job --------------------------------------------------------------

NCU = b"NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 36398880)\n"
OLD = b"NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2021.1.0.0 (build 1)\n"
LAUNCHER = Completed(1, b"", b"ERROR : Nsight Compute is not installed\n")
HERE = "/opt/nvidia/nsight-compute/2025.3.1/ncu"
THERE = "/usr/local/cuda-11.3/bin/ncu"


def test_no_ncu(fake: Fake) -> None:
    assert profiler.ncu(fake.machine()) == {"ncu": {"path": None, "installs": []}}


def test_every_ncu_with_its_version_and_the_chips_of_the_first(fake: Fake) -> None:
    for path in (HERE, THERE):
        fake.put(path, program=True)
    fake.replies[HERE, "--version"] = NCU
    fake.replies[HERE, "--list-chips"] = b"ga100, ga10b, gb202, gh100, tu117\n"
    fake.replies[THERE, "--version"] = OLD
    assert profiler.ncu(fake.machine())["ncu"] == {
        "path": HERE,
        "version": "2025.3.1.0",
        "chips": ["ga100", "ga10b", "gb202", "gh100", "tu117"],
        "installs": [
            {"path": HERE, "version": "2025.3.1.0"},
            {"path": THERE, "version": "2021.1.0.0"},
        ],
    }


def test_a_launcher_without_the_tool_is_an_error_with_its_path(fake: Fake) -> None:
    fake.put(THERE, program=True)
    fake.replies[THERE, "--version"] = LAUNCHER
    found = profiler.ncu(fake.machine())["ncu"]
    assert (found["path"], found["installs"]) == (THERE, [])
    assert "launcher without the tool" in found["error"]
    assert "Nsight Compute is not installed" in found["error"]
    assert "version" not in found


def test_a_working_ncu_counts_more_than_a_launcher_before_it(fake: Fake) -> None:
    for path in (HERE, THERE):
        fake.put(path, program=True)
    fake.replies[HERE, "--version"] = LAUNCHER
    fake.replies[THERE, "--version"] = OLD
    found = profiler.ncu(fake.machine())["ncu"]
    assert (found["path"], found["version"]) == (THERE, "2021.1.0.0")
    assert "error" not in found


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (None, "cannot be started"),
        (Completed(-9, b"", b"", timed_out=True), "did not answer --version"),
        (b"hello\n", "said: hello"),
    ],
)
def test_an_ncu_that_does_not_answer(fake: Fake, reply: Any, words: str) -> None:
    fake.put(THERE, program=True)
    fake.replies[THERE, "--version"] = reply
    assert words in profiler.ncu(fake.machine())["ncu"]["error"]


@pytest.mark.parametrize(
    ("environ", "ranks", "source"),
    [
        ({}, 1, None),
        ({"WORLD_SIZE": "2"}, 2, "WORLD_SIZE"),
        ({"OMPI_COMM_WORLD_SIZE": "16"}, 16, "OMPI_COMM_WORLD_SIZE"),
        ({"PMI_SIZE": "4"}, 4, "PMI_SIZE"),
        ({"SLURM_STEP_NUM_TASKS": "1", "SLURM_NTASKS": "8"}, 1, "SLURM_STEP_NUM_TASKS"),
        ({"SLURM_NTASKS": "8"}, 8, "SLURM_NTASKS"),
        ({"WORLD_SIZE": "many", "PMI_SIZE": "3"}, 3, "PMI_SIZE"),
        ({"WORLD_SIZE": "0"}, 1, None),
        ({"WORLD_SIZE": ""}, 1, None),
    ],
)
def test_the_ranks_of_the_job(
    fake: Fake, environ: dict[str, str], ranks: int, source: str | None
) -> None:
    fake.environ |= environ
    assert profiler.job(fake.machine()) == {"job": {"ranks": ranks, "source": source}}


def test_the_report_reader_of_kprof_itself(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    version = profiler.ncu_report(fake.machine())["ncu_report"]["version"]
    assert version.split(".")[0].isdigit()
    monkeypatch.setattr(metadata, "version", missing)
    assert profiler.ncu_report(fake.machine()) == {"ncu_report": {"version": None}}


def test_an_interpreter_that_does_not_answer_is_an_error_of_each_probe_that_needs_it(
    fake: Fake,
) -> None:
    fake.replies.clear()
    for probe in (extensions.extensions, extensions.triton):
        with pytest.raises(target.NoAnswer, match="cannot be started"):
            probe(fake.machine())
    fake.answers({**LOOK, "path": None}, "look")
    assert extensions.extensions(fake.machine()) == {"extensions": []}
