"""A fix holds what the machine can use: toolkits that know its GPU, paths that a shell expands."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from kprof.audit.facts import Facts
from kprof.audit.search_path import without
from kprof.audit.toolkit_choice import wanted_cuda
from tests.audit.snapshots import A100, RTX_4090, driver, gpu, judged, machine

RTX_5090 = gpu("NVIDIA GeForce RTX 5090", "12.0")
V100 = gpu("Tesla V100-SXM2-16GB", "7.0")
NO_NVCC: dict[str, Any] = {"nvcc": None, "log": "sh: nvcc: command not found"}


def torch(version: str, cuda: str) -> dict[str, Any]:
    return {"version": version, "cuda": cuda}


def built_on(one: dict[str, object], version: str, **more: Any) -> dict[str, Any]:
    python = {"executable": "/v/bin/python", "version": "3.12.3"}
    return machine(gpus=[one], driver=driver(version), python=python, **NO_NVCC, **more)


@pytest.mark.parametrize(
    ("facts", "cuda"),
    [
        (built_on(RTX_4090, "580.95.05", torch=torch("2.6.0+cu124", "12.4")), (12, 4)),
        (built_on(RTX_5090, "580.95.05", torch=torch("2.5.1+cu124", "12.4")), (13, 0)),
        (built_on(A100, "535.183.01", torch=torch("2.9.0+cu130", "13.0")), (12, 8)),
        (built_on(V100, "580.95.05", torch=None), (12, 9)),
        (built_on(A100, "535.183.01", torch=None), (12, 2)),
        (machine(torch=torch("2.9.0+cu130", "13.0")), (13, 0)),
        (machine(), (12, 8)),
    ],
    ids=["torch's", "the GPU is newer", "the driver is older", "the GPU is older", "the driver's",
         "torch alone", "nothing known"],
)  # fmt: skip
def test_the_toolkit_knows_the_gpu_and_the_driver_runs_it(
    facts: dict[str, Any], cuda: tuple[int, int]
) -> None:
    assert wanted_cuda(Facts(facts)) == cuda


@pytest.mark.parametrize(
    ("facts", "wrong"),
    [
        (built_on(RTX_5090, "580.95.05", torch=torch("2.5.1+cu124", "12.4")), "12-4"),
        (built_on(A100, "535.183.01", torch=torch("2.9.0+cu130", "13.0")), "13-0"),
    ],
)
def test_a_missing_nvcc_is_not_replaced_by_one_of_no_use(facts: dict[str, Any], wrong: str) -> None:
    remedy = judged("nvcc.missing", facts).remedy
    assert remedy is not None
    assert any("cuda-toolkit-" in one for one in remedy.commands)
    assert not any(wrong in one for one in remedy.commands)


def test_a_toolkit_that_does_not_know_the_gpu_is_not_taken_for_its_major_version() -> None:
    old = {"root": "/usr/local/cuda-12.4", "version": "12.4", "source": "/usr/local/cuda"}
    new = torch("2.8.0+cu128", "12.8")
    remedy = judged(
        "nvcc.missing", built_on(RTX_5090, "580.95.05", torch=new, toolkits=[old])
    ).remedy
    assert remedy is not None
    assert "sudo apt-get install -y cuda-toolkit-12-8" in remedy.commands


def test_the_home_directory_in_a_library_path_is_expanded() -> None:
    facts = Facts({"env": {"LD_LIBRARY_PATH": "/bad:~/my lib:/opt/$(reboot):~"}})
    remedy = without(facts, ["/bad"])
    assert remedy is not None
    script = f'{remedy.commands[0]}; printf %s "$LD_LIBRARY_PATH"'
    said = subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, text=True, check=True, env={"HOME": "/h o"}
    )
    assert said.stdout == "/h o/my lib:/opt/$(reboot):/h o"


PIP = "/v/bin/python -m pip install --force-reinstall"
CU126 = "https://download.pytorch.org/whl/cu126"


@pytest.mark.parametrize(
    ("said", "commands"),
    [
        ("OSError: /lib/libc.so.6: version `GLIBC_2.28' not found", ()),
        ("Illegal instruction (core dumped)", ()),
        ("ImportError: cannot allocate memory in static TLS block", ()),
        ("ImportError: libmpi.so.40: cannot open shared object file", ()),
        ("A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0",
         ("/v/bin/python -m pip install 'numpy<2'",)),
        ("ImportError: libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent",
         ("conda install -y 'mkl<2024.1'",)),
        ("ImportError: libcudnn.so.9: cannot open shared object file",
         (f"{PIP} torch==2.7.0 --index-url {CU126}",)),
        ("ImportError: libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4",
         ("unset LD_LIBRARY_PATH", f"{PIP} torch==2.7.0 --index-url {CU126}")),
        ("ImportError: libstdc++.so.6: version `GLIBCXX_3.4.30' not found",
         ("unset LD_LIBRARY_PATH",)),
        ("something new", (f"{PIP} torch==2.7.0 --index-url {CU126}",)),
    ],
)  # fmt: skip
def test_a_failed_import_gets_the_commands_of_its_cause(
    said: str, commands: tuple[str, ...]
) -> None:
    assert reinstalled(said) == commands


def reinstalled(said: str, version: str = "2.7.0+cu126", **python: str) -> tuple[str, ...]:
    facts = machine(
        torch={"version": version, "import_error": said},
        python={"executable": "/v/bin/python", **python}, env={"LD_LIBRARY_PATH": "/opt/lib"},
    )  # fmt: skip
    remedy = judged("torch.import_error", facts).remedy
    assert remedy is not None
    return remedy.commands


def test_a_file_that_hides_torch_is_shown_and_torch_left_alone() -> None:
    (look,) = reinstalled("AttributeError: partially initialized module 'torch' has no attribute")
    assert "find_spec" in look


def test_the_same_build_is_installed_once_more() -> None:
    lost = "ImportError: libc10.so: cannot open shared object file"
    assert reinstalled(lost, "2.7.0", environment="conda") == (
        "conda install -y --force-reinstall pytorch",
    )
    cpu = f"{PIP} torch==2.7.0 --index-url https://download.pytorch.org/whl/cpu"
    assert reinstalled(lost, "2.7.0+cpu") == (cpu,)
