"""Operations out of the opcode mix are those that the hardware counted for the same launches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kprof.metrics import opcodes
from kprof.model import Kernel
from kprof.roofline import flops
from tests.golden import recordings

COUNTER = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
# Adds, fused, FP64, multiplies of divergent threads, constants, threads predicated off, none.
SAMPLES = (
    "compute-bound-bad", "fp64-usage-bad", "thread-divergence-bad", "transpose-naive",
    "depthwise_conv-naive", "grid-too-small-bad", "tensor-core-bound-bad",
)  # fmt: skip


def without(kernel: Kernel, *beginnings: str) -> Kernel:
    """Return the kernel as a report would have it that lacks these metrics."""
    kept = {name: v for name, v in kernel.metrics.items() if not name.startswith(beginnings)}
    assert len(kept) < len(kernel.metrics)
    return replace(kernel, metrics=kept)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_mix_equals_the_counters(name: str) -> None:
    """``--set full`` holds both, the counters as rates."""
    kernel = recordings.kernel("full", name)
    by_counter = flops(without(kernel, "kprof__"))
    by_opcode = flops(without(kernel, "smsp__sass_thread_inst_executed_op_"))
    assert by_opcode == flops(kernel)
    assert by_opcode.fp64 == pytest.approx(by_counter.fp64)
    assert by_opcode.fp32 == pytest.approx(by_counter.fp32)
    assert by_opcode.fp16 == pytest.approx(by_counter.fp16)


def test_threads_that_are_predicated_off_do_not_count() -> None:
    kernel = recordings.kernel("plan", "depthwise_conv-naive")
    assert kernel.thread_opcodes["FFMA"] == 298_852_352
    assert kernel.metrics[opcodes.by_opcode("ffma")] == 298_852_352
    assert kernel.opcodes["FFMA"] * 32 == 301_989_888


@pytest.mark.parametrize("depth", recordings.DEPTHS)
def test_every_recording_holds_the_mix_by_thread(depth: str) -> None:
    kernel = recordings.kernel(depth, "vector_add-simple")
    assert kernel.thread_opcodes["FADD"] == 2**26
    assert set(kernel.thread_opcodes) == set(kernel.opcodes_full)
