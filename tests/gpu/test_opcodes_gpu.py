"""NVIDIA's counters of floating-point instructions against the opcode mix of the same launches."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kprof import reader
from kprof.collect import find
from kprof.errors import KprofError
from kprof.metrics import opcodes
from kprof.model import Kernel

pytestmark = pytest.mark.gpu

SOURCE = Path(__file__).with_name("arithmetic.cu")
COUNTER = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
# What each launch of the program must have executed, so that there is something to compare.
LAUNCHES = (
    ("scalar", {"FADD", "FMUL", "FFMA"}),
    ("scalar", {"DADD", "DMUL", "DFMA"}),
    ("packed", {"HMUL2", "HFMA2"}),
    ("packed", {"HFMA2"}),  # of BF16; a product is an HFMA2 before compute capability 9.0
    ("single_half", {"HADD2"}),
    ("convert", {"HADD2"}),
)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Kernel, ...]:
    """The launches of the program, profiled with both; skips where that cannot be."""
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    try:
        ncu = find.find()
    except KprofError as error:
        pytest.skip(f"no profiling here: {error}")
    if nvcc is None:
        pytest.skip("no nvcc to build the program with")
    folder = tmp_path_factory.mktemp("arithmetic")
    program = folder / "arithmetic"
    subprocess.run([nvcc, "-arch=native", "-o", str(program), str(SOURCE)], check=True)
    metrics = [opcodes.THREAD_OPCODES, *map(COUNTER.format, opcodes.KINDS)]
    asked = ["--metrics", ",".join(metrics), "--export", str(folder / "report")]
    subprocess.run([str(ncu.path), *asked, str(program)], check=True, timeout=300)
    return reader.load(folder / "report.ncu-rep").kernels


@pytest.mark.parametrize("launch", range(len(LAUNCHES)))
def test_the_mix_equals_the_counters(kernels: tuple[Kernel, ...], launch: int) -> None:
    name, executed = LAUNCHES[launch]
    kernel = kernels[launch]
    assert kernel.name == name
    assert executed <= {opcode.split(".")[0] for opcode in kernel.thread_opcodes}
    counted = {kind: kernel.metrics[COUNTER.format(kind)] for kind in opcodes.KINDS}
    # A conversion to float, which the counters take for an addition.
    counted["hadd"] -= kernel.thread_opcodes.get("HADD2.F32", 0.0)
    assert counted == {kind: kernel.metrics[opcodes.by_opcode(kind)] for kind in opcodes.KINDS}, (
        kernel.thread_opcodes
    )
    assert any(counted.values()) or name == "convert"
