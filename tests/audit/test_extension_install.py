"""An extension of another CUDA version than torch's: which of the two is changed, and how."""

from __future__ import annotations

from typing import Any

from kprof.audit.verdict import Remedy
from tests.audit.snapshots import RTX_4090, driver, judged, machine

CHECK = "torch.ext_cuda_major_mismatch"
VLLM = {"package": "vllm", "cuda": "13.0"}
NVCC_12 = {"path": "/usr/local/cuda-12.8/bin/nvcc", "version": "12.8"}
INDEX = "--index-url https://download.pytorch.org/whl/"


def remedy(installed: str = "580.95.05", cuda: str = "13.0", **parts: Any) -> Remedy:
    found: dict[str, Any] = {
        "gpus": [RTX_4090],
        "driver": driver(installed, cuda),
        "torch": {"version": "2.9.1+cu128", "cuda": "12.8"},
        "packages": {"vllm": "0.21.0"},
        "extensions": [VLLM],
    }
    verdict = judged(CHECK, machine(**{**found, **parts}))
    assert verdict.status == "error"
    assert verdict.remedy is not None
    return verdict.remedy


def test_torch_of_the_extensions_cuda_where_the_driver_runs_it() -> None:
    found = remedy()
    assert found.commands == (f"python -m pip install --force-reinstall torch==2.9.1 {INDEX}cu130",)
    (other,) = found.alternatives
    assert "nvcc of CUDA 12.8" in other.text  # none is here, so no build from source is advised
    assert other.commands == ()


def test_a_build_from_source_keeps_the_version() -> None:
    (other,) = remedy(nvcc=NVCC_12).alternatives
    assert other.commands[0].endswith("--no-build-isolation --no-binary vllm vllm==0.21.0")


def test_an_old_driver_keeps_torch() -> None:
    found = remedy("570.195.03", "12.8", nvcc=NVCC_12)
    assert found.alternatives == ()
    assert "vllm==0.21.0" in found.commands[0]


def test_an_nvcc_of_another_cuda_builds_nothing_for_torch() -> None:
    found = remedy("570.195.03", "12.8", nvcc={"path": "/opt/nvcc", "version": "13.0"})
    assert found.commands == ()
    assert "here is CUDA 13.0" in found.text


def test_an_extension_that_fits_torch_keeps_it() -> None:
    found = remedy(extensions=[VLLM, {"package": "flash-attn", "cuda": "12.8"}], nvcc=NVCC_12)
    assert "--no-binary vllm" in found.commands[0]


def test_the_runtime_that_is_missed_tells_the_cuda_version() -> None:
    log = "ImportError: libcudart.so.13: cannot open shared object file: No such file or directory"
    found = remedy(extensions=[], log=log)
    assert found.commands[0].endswith(f"torch==2.9.1 {INDEX}cu130")


def test_a_companion_keeps_its_release() -> None:
    found = remedy(extensions=[], packages={"torchvision": "0.24.1+cu130"})
    assert found.commands[0].endswith(f"torchvision==0.24.1 {INDEX}cu128")
