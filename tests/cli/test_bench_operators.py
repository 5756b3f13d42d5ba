"""The bench files that ship, on a CPU: their references against loops, and what needs a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kprof.bench import definitions
from tests.profiling import assert_no_traceback
from tests.torch_python import torch_python

# Each is a variant beside the shipped ones: right by loops over plain numbers, and wrong ones.
CONVOLUTIONS = """
def one_output(image, weight, stride, pad, y, x):
    total = 0.0
    for dy, taps in enumerate(weight):
        for dx, tap in enumerate(taps):
            row, column = y * stride - pad + dy, x * stride - pad + dx
            if 0 <= row < len(image) and 0 <= column < len(image[0]):
                total += image[row][column] * tap
    return total

def by_loops(image, weights, bias, stride, pad):
    made = output(image, weights, bias, stride, pad).tolist()
    for n, channels in enumerate(made):
        for c, plane in enumerate(channels):
            pixels, taps = image[n][c].tolist(), weights[c][0].tolist()
            for y, line in enumerate(plane):
                for x in range(len(line)):
                    total = one_output(pixels, taps, stride, pad, y, x)
                    line[x] = total if bias is None else max(0.0, total + float(bias[c]))
    return torch.tensor(made)

@bench.variant
def loops(image, weights, bias, stride, pad):
    return by_loops(image, weights, bias, stride, pad)

@bench.variant
def turned(image, weights, bias, stride, pad):  # a convolution in the sense of mathematics
    return by_loops(image, weights.flip(-1), bias, stride, pad)

@bench.variant
def linear(image, weights, bias, stride, pad):
    result = by_loops(image, weights, None, stride, pad)
    return result if bias is None else result + bias.view(1, -1, 1, 1)
"""
ADDITIONS = """
@bench.variant
def loops(a, b):
    return torch.tensor([x + y for x, y in zip(a.tolist(), b.tolist())])

@bench.variant
def less(a, b):
    return torch.tensor([x - y for x, y in zip(a.tolist(), b.tolist())])
"""


def checked(tmp_path: Path, operator: str, more: str, *args: str) -> dict[str, Any]:
    """Check a shipped bench file with further variants on the CPU."""
    head = definitions.resolve(operator).read_text(encoding="utf-8")
    # Only the shapes that the command line names.
    more = f"{more}\nbench.check_shapes('1x1x1x1' if 'conv' in {operator!r} else '1')\n"
    (tmp_path / "mine.py").write_text(head + more, encoding="utf-8")
    return bench("mine.py", *args, folder=tmp_path)


def bench(target: str, *args: str, folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "bench", target, "--python", torch_python(),
         "--device", "cpu", "--check-only", "--format", "json", *args],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert_no_traceback(done.stderr)
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def status(found: dict[str, Any], shape: str) -> dict[str, str]:
    (units,) = (s["units"] for s in found["shapes"] if s["shape"] == shape)
    return {unit["variant"]: unit["status"] for unit in units}


SHAPES = (
    "1x1x1x1", "2x3x5x8", "1x2x7x9,stride=2", "1x2x6x5,kernel=5", "2x2x6x7,kernel=4,stride=3",
    "1x3x4x4,pad=0", "1x2x3x3,kernel=1,pad=2", "2x3x5x8,relu=1", "1x2x9x8,kernel=5,stride=2,relu=1",
)  # fmt: skip


@pytest.fixture(scope="module")
def convolutions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    wanted = [word for shape in SHAPES for word in ("--shape", shape)]
    return checked(tmp_path_factory.mktemp("shapes"), "depthwise-conv", CONVOLUTIONS, *wanted)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_convolutions_reference_is_what_loops_compute(
    convolutions: dict[str, Any], shape: str
) -> None:
    got = {
        unit["unit"]: check["status"]
        for unit in convolutions["checks"]
        for check in unit["checks"]
        if check["shape"] == shape
    }
    assert (got["loops"], got["torch"]) == ("ok", "ok")
    # One tap, or only one within the image, is the same from left and right.
    same = shape in ("1x1x1x1", "1x2x3x3,kernel=1,pad=2")
    assert got["turned"] == ("ok" if same else "wrong")
    assert got["linear"] == ("wrong" if "relu" in shape else "ok")
    needs_gpu = {got[name] for name in ("naive", "tiled", "tuned", "fused", "cudnn")}
    assert needs_gpu == {"unsupported"}


def test_the_additions_reference_is_what_loops_compute(tmp_path: Path) -> None:
    got = status(checked(tmp_path, "vector-add", ADDITIONS, "--shape", "1003"), "1003")
    assert (got["loops"], got["less"], got["torch"]) == ("ok", "wrong", "ok")
    assert got["triton"] == got["float4"] == "unsupported"


IMPOSSIBLE = {
    "1x1x4x4,stride=0": "stride=0",
    "1x1x2x8,kernel=7,pad=1": "kernel=7 is larger than 2 inputs with pad=1",
    "1x1x4x4,pad=-1": "pad=-1",
    "1x1x4x4,kernal=5": "no option of a shape is named kernal; its inputs read kernel, stride, pad",
    "1x4x4": "a shape is images x channels x height x width",
}


def test_a_shape_that_is_no_convolution_is_told(tmp_path: Path) -> None:
    wanted = [word for shape in IMPOSSIBLE for word in ("--shape", shape)]
    found = checked(tmp_path, "depthwise-conv", "", *wanted, "--variants", "torch")
    assert [shape["shape"] for shape in found["shapes"]] == list(IMPOSSIBLE)
    for shape in found["shapes"]:
        (unit,) = shape["units"]
        assert unit["status"] == "failed"
        assert IMPOSSIBLE[shape["shape"]] in unit["message"]


def test_the_operators_that_ship_are_named() -> None:
    assert definitions.names() == ("depthwise-conv", "vector-add")


@pytest.mark.parametrize("operator", definitions.names())
def test_an_operator_says_that_it_needs_torch_and_how_to_get_it(
    operator: str, tmp_path: Path
) -> None:
    without = tmp_path / "python"  # a Python that has no site-packages at all
    without.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    without.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "bench", operator, "--python", str(without)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert_no_traceback(done.stderr)
    assert f"{operator} needs torch, which {without} does not have" in done.stderr
    assert f"{without} -m pip install torch" in done.stderr
    assert "--python" in done.stderr
    assert "bench.py" not in done.stderr
