"""What pip installed, what it did not find, and Triton."""

from __future__ import annotations

from typing import Any

import pytest

from tests.audit.snapshots import A100, H100, RTX_4090, driver, gpu, judged, machine, one_sided

GB10 = gpu("NVIDIA GB10", "12.1")
B200 = gpu("NVIDIA B200", "10.0")
CU121 = {"version": "2.1.1+cu121", "cuda": "12.1"}
CU130 = {"version": "2.11.0+cu130", "cuda": "13.0"}
PIP = "ERROR: Could not find a version that satisfies the requirement "
SYMBOL = "undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12"

# name -> check, status, snapshot
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "NCCL of two majors": (
        "wheels.duplicate_nvidia", "error",
        machine(packages={"nvidia-nccl-cu12": "2.27.5", "nvidia-nccl-cu13": "2.28.9"}),
    ),
    "cuDNN of two majors": (
        "wheels.duplicate_nvidia", "error",
        machine(packages={"nvidia_cudnn_cu12": "9.10.2.21", "nvidia-cudnn-cu13": "9.19.0.56"}),
    ),
    "cuBLAS of two majors gets along": (
        "wheels.duplicate_nvidia", "warning",
        machine(packages={"nvidia-cublas-cu11": "11.11.3.6", "nvidia-cublas-cu12": "12.4.5.8"}),
    ),
    "the new layout beside the old one": (
        "wheels.duplicate_nvidia", "ok",
        machine(packages={"nvidia-cublas-cu12": "12.4.5.8", "nvidia-cublas": "13.0.2.14"}),
    ),
    "one of each": (
        "wheels.duplicate_nvidia", "ok",
        machine(packages={"nvidia-nccl-cu12": "2.27.5", "nvidia-cudnn-cu12": "9.10.2.21",
                          "nvidia-ml-py": "13.580.82"}),
    ),
    "packages not looked at": ("wheels.duplicate_nvidia", "unknown", machine()),
    "an older NCCL than pinned": (
        "wheels.older_than_pinned", "warning",
        machine(torch=CU121, packages={"nvidia-nccl-cu12": "2.17.1"}),
    ),
    "a newer NCCL than pinned": (
        "wheels.older_than_pinned", "ok",
        machine(torch=CU121, packages={"nvidia-nccl-cu12": "2.21.5"}),
    ),
    "an older nvJitLink, and a symbol is missing": (
        "wheels.older_than_pinned", "error",
        machine(torch={"version": "2.5.1+cu124", "cuda": "12.4"},
                packages={"nvidia-nvjitlink-cu12": "12.1.105"}, log=f"ImportError: x: {SYMBOL}"),
    ),
    "an nvJitLink that floats ahead": (
        "wheels.older_than_pinned", "ok",
        machine(torch=CU130, packages={"nvidia-nvjitlink": "13.5.37"}),
    ),
    "torch's CUDA not known": (
        "wheels.older_than_pinned", "unknown",
        machine(torch={"version": "2.1.1"}, packages={"nvidia-nccl-cu12": "2.17.1"}),
    ),
    "a CPU torch pins nothing": (
        "wheels.older_than_pinned", "skipped",
        machine(torch={"version": "2.1.1+cpu", "cuda": None}, packages={}),
    ),
    # --- what an installer did not find ------------------------------------------------------
    "a dependency is not on the index": (
        "install.index_incomplete", "error",
        {"log": f"Looking in indexes: https://download.pytorch.org/whl/cu130\n{PIP}"
                'cuda-bindings==13.0.3; platform_system == "Linux" (from torch) (from versions: 1)'},
    ),
    "a labelled build is not on PyPI": (
        "install.index_incomplete", "error",
        {"log": "ERROR: No matching distribution found for torch==2.3.1+cu121"},
    ),
    "uv": (
        "install.index_incomplete", "error",
        {"log": "Because nvidia-cudnn-cu12 was not found in the package registry and torch==2.6.0"},
    ),
    "conda": (
        "install.index_incomplete", "error",
        {"log": "PackagesNotFoundError: not available from current channels:\n\n  - pytorch-cuda=12.9"},
    ),
    "somebody else's package": (
        "install.index_incomplete", "ok",
        {"log": "ERROR: No matching distribution found for left-pad==1.0"},
    ),
    "a list of other things": ("install.index_incomplete", "ok", {"log": "found:\n  - torch 2.9"}),
    "nothing was installed": ("install.index_incomplete", "unknown", machine()),
    # --- Triton -------------------------------------------------------------------------------
    "ptxas from before the GPU": (
        "triton.ptxas_too_old", "error",
        machine(gpus=[GB10], triton={"version": "3.5.0", "ptxas_version": "12.8"}),
    ),
    "ptxas from before Hopper's own code": (
        "triton.ptxas_too_old", "error",
        machine(gpus=[H100], triton={"version": "2.0.0", "ptxas_version": "11.7"}),
    ),
    "ptxas that knows the GPU": (
        "triton.ptxas_too_old", "ok",
        machine(gpus=[RTX_4090], triton={"version": "3.3.0", "ptxas_version": "12.8"}),
    ),
    "the second ptxas of Triton 3.6 counts for Blackwell": (
        "triton.ptxas_too_old", "ok",
        machine(gpus=[GB10], triton={"version": "3.6.0", "ptxas_version": "12.8",
                                     "ptxas_blackwell_version": "12.9"}),
    ),
    "the second ptxas is not known": (
        "triton.ptxas_too_old", "unknown",
        machine(gpus=[B200], triton={"version": "3.6.0", "ptxas_version": "12.8"}),
    ),
    "the first ptxas of Triton 3.6 counts for Hopper": (
        "triton.ptxas_too_old", "ok",
        machine(gpus=[H100], triton={"version": "3.6.0", "ptxas_version": "12.8"}),
    ),
    "said by ptxas": (
        "triton.ptxas_too_old", "error",
        {"log": "ptxas fatal   : Value 'sm_103a' is not defined for option 'gpu-name'"},
    ),
    "a ptxas put in its place": (
        "triton.ptxas_too_old", "error",
        {"log": "ptxas /tmp/a.ptx, line 5; fatal : Unsupported .version 8.7; current version is '8.4'"},
    ),
    "no Triton": ("triton.ptxas_too_old", "skipped", machine(gpus=[GB10], triton=None)),
    "Triton of another torch": (
        "triton.torch_mismatch", "warning",
        machine(torch=CU121, triton={"version": "3.2.0"}),
    ),
    "Triton of another torch, and it shows": (
        "triton.torch_mismatch", "error",
        machine(torch=CU121, triton={"version": "3.2.0"},
                log="ImportError: cannot import name 'triton_key' from 'triton.compiler.compiler'"),
    ),
    "Triton of another patch release": (
        "triton.torch_mismatch", "ok",
        machine(torch={"version": "2.9.0+cu128", "cuda": "12.8"}, packages={"triton": "3.5.1"}),
    ),
    "a nightly's Triton": (
        "triton.torch_mismatch", "unknown",
        machine(torch={"version": "2.10.0.dev20250915+cu130"}, triton={"version": "3.5.0"}),
    ),
    "Triton not installed": (
        "triton.torch_mismatch", "skipped", machine(torch=CU121, triton={"version": None})
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_verdict(case: tuple[str, str, dict[str, Any]]) -> None:
    name, status, facts = case
    assert judged(name, facts).status == status, judged(name, facts)


def test_each_check_is_seen_firing_passing_and_at_a_loss() -> None:
    assert one_sided(CASES.values()) == set()


def commands(name: str, facts: dict[str, Any]) -> tuple[str, ...]:
    remedy = judged(name, facts).remedy
    assert remedy is not None
    return remedy.commands


def test_both_go_and_the_pinned_one_comes_back() -> None:
    facts = machine(
        torch=CU121, packages={"nvidia-nccl-cu11": "2.14.3", "nvidia-nccl-cu12": "2.17.1"}
    )
    assert commands("wheels.duplicate_nvidia", facts) == (
        "python -m pip uninstall -y nvidia-nccl-cu11 nvidia-nccl-cu12",
        "python -m pip install --force-reinstall --no-deps nvidia-nccl-cu12==2.18.1",
    )


def test_without_a_known_torch_it_is_installed_again() -> None:
    facts = machine(packages={"nvidia-nccl-cu11": "2.14.3", "nvidia-nccl-cu12": "2.17.1"})
    assert commands("wheels.duplicate_nvidia", facts)[1].endswith("--force-reinstall torch")


def test_leftovers_of_the_other_major_are_removed() -> None:
    facts = machine(
        torch=CU121, packages={"nvidia-cublas-cu11": "11.11.3.6", "nvidia-cublas-cu12": "12.1.3.1"}
    )
    assert commands("wheels.duplicate_nvidia", facts) == (
        "python -m pip uninstall -y nvidia-cublas-cu11",
    )


def test_an_index_that_lacks_a_dependency_is_joined_by_pypi() -> None:
    (command,) = commands("install.index_incomplete", CASES["a dependency is not on the index"][2])
    assert "--index-url https://download.pytorch.org/whl/cu130" in command
    assert "--extra-index-url https://pypi.org/simple" in command


def test_a_labelled_build_is_found_on_its_own_index() -> None:
    facts = CASES["a labelled build is not on PyPI"][2]
    assert "https://download.pytorch.org/whl/cu121, not on PyPI" in (
        judged("install.index_incomplete", facts).message
    )
    (command,) = commands("install.index_incomplete", facts)
    assert command.endswith("torch==2.3.1 --index-url https://download.pytorch.org/whl/cu121")


def test_a_build_that_never_was_is_replaced_by_one_that_fits() -> None:
    facts = machine(
        log=f"{PIP}torch==2.15.0+cu126 (from versions: none)",
        gpus=[gpu("Tesla V100-SXM2-16GB", "7.0")],
        driver=driver("580.95.05", "13.0"),
    )
    assert "published for cu130, cu132" in judged("install.index_incomplete", facts).message
    assert "torch==2.14.1" in commands("install.index_incomplete", facts)[0]


def test_a_python_without_builds_is_named() -> None:
    facts = machine(log=f"{PIP}torch==2.4.0 (from versions: 2.9.0)", python={"version": "3.13.1"})
    assert "not 3.13" in judged("install.index_incomplete", facts).message


@pytest.mark.parametrize(
    ("triton", "variables"),
    [
        ("3.5.0", ("TRITON_PTXAS_PATH",)),
        ("3.6.0", ("TRITON_PTXAS_BLACKWELL_PATH",)),
        (None, ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")),
    ],
)
def test_the_toolkits_ptxas_is_named_in_the_variable_that_this_triton_reads(
    triton: str | None, variables: tuple[str, ...]
) -> None:
    facts = machine(
        gpus=[GB10],
        triton={"version": triton} if triton else {},
        toolkits=[
            {"root": "/usr/local/cuda-12.4", "version": "12.4"},
            {"root": "/usr/local/cuda 13", "version": "13.0"},
        ],
        log="ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'",
    )
    assert commands("triton.ptxas_too_old", facts) == tuple(
        f"export {variable}='/usr/local/cuda 13/bin/ptxas'" for variable in variables
    )


def test_without_such_a_toolkit_triton_is_updated() -> None:
    facts = machine(gpus=[GB10], triton={"version": "3.5.0", "ptxas_version": "12.8"})
    assert "--upgrade torch" in commands("triton.ptxas_too_old", facts)[0]


def test_triton_is_pinned_to_the_one_torch_was_built_for() -> None:
    facts = machine(torch={"version": "2.7.1+cu126"}, triton={"version": "3.5.0"}, gpus=[A100])
    assert commands("triton.torch_mismatch", facts) == ("python -m pip install triton==3.3.1",)
