"""The operators that ship, on a real GPU: every variant is right, and runs the kernel it names."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from typing import Any

import pytest

from kprof import samples
from kprof.cli import preflight
from kprof.errors import KprofError
from tests.torch_python import torch_python

pytestmark = pytest.mark.gpu
SHAPES = ("2x64x32x32", "8x64x128x128")


@pytest.fixture(autouse=True)
def _ready() -> None:
    try:
        preflight.ready()
        samples.find_nvcc()
    except KprofError as error:
        pytest.skip(f"no profiling or no compiler here: {error}")
    seen = subprocess.run(
        [torch_python(), "-c", "import torch; assert torch.cuda.is_available()"],
        capture_output=True, check=False,
    )  # fmt: skip
    if seen.returncode:
        pytest.skip("torch sees no GPU")


@functools.cache
def bench(operator: str, *args: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "bench", operator, "--python", torch_python(),
         "--format", "json", "--runs", "20", *args],
        capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def statuses(document: dict[str, Any], variant: str) -> set[str]:
    return {
        check["status"]
        for unit in document["checks"]
        if unit["unit"].split("[")[0] == variant
        for check in unit["checks"]
    }


@pytest.mark.parametrize("variant", ["naive", "tiled", "tuned", "torch", "cudnn"])
def test_a_convolution_is_right_on_every_shape(variant: str) -> None:
    assert statuses(bench("depthwise-conv", "--check-only"), variant) == {"ok"}


def test_the_fused_convolution_is_right_where_there_is_something_to_fuse() -> None:
    assert statuses(bench("depthwise-conv", "--check-only"), "fused") == {"ok", "unsupported"}


@pytest.mark.parametrize("variant", ["one-per-thread", "grid-stride", "float4", "torch"])
def test_an_addition_is_right_on_every_shape(variant: str) -> None:
    assert statuses(bench("vector-add", "--check-only"), variant) == {"ok"}


def test_triton_adds_where_it_is_installed() -> None:
    there = subprocess.run(
        [torch_python(), "-c", "import triton"], capture_output=True, check=False
    )
    wanted = {"ok"} if there.returncode == 0 else {"unsupported"}
    assert statuses(bench("vector-add", "--check-only"), "triton") == wanted


@pytest.mark.parametrize("shape", SHAPES)
def test_each_variant_runs_the_kernel_that_it_stands_for(shape: str) -> None:
    document = bench("depthwise-conv", "--profile", *(w for s in SHAPES for w in ("--shape", s)))
    (units,) = (each["units"] for each in document["shapes"] if each["shape"] == shape)
    ran = {unit["variant"]: " ".join(unit["why"]["kernels"]) for unit in units if unit["why"]}
    assert "depthwise_conv_naive" in ran["naive"]
    assert "depthwise_conv_tiled" in ran["tiled"]
    assert "depthwise_conv_strip" in ran["tuned"]
    assert "conv_depthwise2d_forward_kernel" in ran["torch"]
    # cuDNN's kernels, by the names that its releases have had; none of PyTorch's own.
    assert "at::native" not in ran["cudnn"]
    assert any(name in ran["cudnn"] for name in ("cudnn", "conv2d_c1_k1", "xmma"))
