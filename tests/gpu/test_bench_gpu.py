"""``kprof bench`` on a real GPU: timing, noise, broken kernels, and the real ncu."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kprof.errors import NvccNotFound
from kprof.samples import find_nvcc

pytestmark = pytest.mark.gpu

SOURCE = Path(__file__).with_name("add_variants.cu")
HEAD = """
import torch
from kprof import bench

library = bench.cuda("add_variants.cu")
bench.shapes("4096", "1048576", "67108864")

@bench.inputs
def inputs(shape, generator):
    return tuple(torch.rand(*shape, device=generator.device, generator=generator) for _ in "ab")

@bench.output
def output(a, b):
    return torch.empty_like(a)

@bench.cost
def cost(a, b):
    return bench.Cost(bytes=12 * a.numel(), flops=a.numel())

@bench.reference
def reference(a, b):
    return a + b

@bench.variant(block=(128,))
def simple(a, b, out, block):
    library.launch_add(a, b, out, a.numel(), block)
"""
TORCH = """
@bench.variant
def torch_out(a, b, out):
    torch.add(a, b, out=out)

@bench.variant
def torch_new(a, b):
    return a + b

@bench.variant
def twice(a, b):
    return a + b + torch.zeros_like(a)
"""
TWINS = """
for number in range(20):
    @bench.variant(name=f"twin-{number}")
    def twin(a, b, out):
        library.launch_add(a, b, out, a.numel(), 128)
"""
BROKEN = """
@bench.variant
def far_away(a, b, out):
    library.launch_far_away(out)

@bench.variant
def endless(a, b, out):
    library.launch_endless(a, out)

@bench.variant
def refused(a, b, out):
    library.launch_add(a, b, out, a.numel(), 0)

@bench.variant
def after(a, b, out):
    library.launch_add(a, b, out, a.numel(), 256)
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        find_nvcc()
    except NvccNotFound as error:
        pytest.skip(str(error))
    code = "import sys, torch; sys.exit(not torch.cuda.is_available())"
    if subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode:
        pytest.skip("no torch that sees a GPU")
    made = tmp_path_factory.mktemp("bench")
    shutil.copy(SOURCE, made)
    return made


def bench(folder: Path, text: str, *args: str, status: int = 0) -> dict[str, Any]:
    (folder / "mine.py").write_text(HEAD + text)
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "bench", "mine.py", "--python", sys.executable,
         "--format", "json", *args],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "XDG_CACHE_HOME": str(folder)},
    )  # fmt: skip
    print(done.stderr)
    assert done.returncode == status, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    print(json.dumps(found))
    return found


def units(found: dict[str, Any], shape: int) -> dict[str, dict[str, Any]]:
    return {unit["unit"]: unit for unit in found["shapes"][shape]["units"]}


def test_times_are_those_of_a_gpu(folder: Path) -> None:
    found = bench(folder, TORCH)
    small, middle, large = (units(found, place) for place in range(3))
    assert {unit["timing"]["method"] for unit in middle.values()} == {"graph"}
    assert {unit["timing"]["cold"] for unit in middle.values()} == {True}
    assert {unit["timing"]["cold"] for unit in small.values()} == {False}, "12 kB stay in L2"
    assert {unit["timing"]["method"] for unit in large.values()} == {"events"}
    simple = large["simple[block=128]"]["timing"]
    assert simple["roof"] == "dram"
    # One element per thread in blocks of 128 is far from what a copy reaches; torch is near it.
    assert 40 < simple["roof_pct"] < 80
    assert 40 < simple["copy_pct"] < 90
    assert 80 < large["torch-out"]["timing"]["roof_pct"] < 105
    assert 80 < large["torch-out"]["timing"]["copy_pct"] < 130
    assert simple["spread"] < 0.05
    assert large["twice"]["timing"]["comparison"]["verdict"] == "slower"
    assert small["simple[block=128]"]["timing"]["p50_s"] < 2e-5


def test_identical_variants_are_equal(folder: Path) -> None:
    found = bench(folder, TWINS)
    for place, shape in enumerate(found["shapes"]):
        verdicts = [
            unit["timing"]["comparison"]["verdict"]
            for name, unit in units(found, place).items()
            if name.startswith("twin")
        ]
        print(shape["shape"], shape["noise"], verdicts)
        assert verdicts.count("equal") >= 19


def test_broken_kernels_lose_only_themselves(folder: Path) -> None:
    found = bench(folder, BROKEN, "--timeout", "15", "--shape", "1048576", status=2)
    status = {name: unit["status"] for name, unit in units(found, 0).items()}
    assert status == {
        "simple[block=128]": "ok",
        "far-away": "failed",
        "endless": "timeout",
        "refused": "failed",
        "after": "ok",
    }
    messages = {name: unit["message"] for name, unit in units(found, 0).items()}
    assert "illegal memory access" in messages["far-away"]
    assert "invalid argument" in messages["refused"]


def test_the_diagnosis_says_why(folder: Path) -> None:
    found = bench(folder, TORCH, "--profile", "--shape", "67108864", "--runs", "20")
    why = {name: unit["why"] for name, unit in units(found, 0).items()}
    assert "add(" in why["simple[block=128]"]["kernel"]
    assert len(why["twice"]["kernels"]) > 1
    assert {why[name]["bound"] for name in ("torch-out", "torch-new", "twice")} == {"dram"}
    assert why["torch-out"]["memory_pct"] > 80
    # Half of DRAM's bandwidth, and no unit busier: its blocks are over before the next are there.
    assert why["simple[block=128]"]["bound"] in ("dram", "latency")
    for said in why.values():
        assert said["memory_pct"] > 40
        assert said["occupancy_pct"] > 20
        assert said["compute_pct"] is not None
    assert found["notes"] == []
