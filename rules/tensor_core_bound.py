"""The tensor pipe is the limit."""

from __future__ import annotations

from kprof import estimate, tensor
from kprof import metrics as m
from kprof.attribution import ARITHMETIC, executed
from kprof.evidence import busy, derived, measured
from kprof.limiter import BUSY_PCT, limiter
from kprof.model import Evidence, Finding, Kernel, Severity, Speedup
from kprof.rule import rule

_FULL_PCT = 80.0  # from here a unit is at its roof: NVIDIA rule SOLBottleneck (ncu 2025.3)


@rule(requires=m.COVERAGE)
def tensor_core_bound(kernel: Kernel) -> Finding | None:
    """## What it detects

    The tensor pipe is the busiest unit, at least 60 % busy (or within a tenth of the
    shared-memory stage that feeds it).

    ## Why it matters

    This is where a matrix product should be. What is left is the distance to the pipe's peak and
    the choice of instruction: on Hopper, `mma.sync` and WMMA cannot pass two thirds of the dense
    peak; only `wgmma` reaches it.

    ## How to fix it

    Below 80 %: a deeper pipeline (more stages of asynchronous copies), larger tiles, producer and
    consumer warps. At the path's peak: a faster path (wgmma through CUTLASS 3 or cuBLAS), a
    narrower type (FP8), structured sparsity, or fewer operations.

    ## Known problems

    A kernel with one block per SM and 12 % occupancy can be perfect here: occupancy is not a goal.
    Whether the accumulate type halves the rate (GeForce, FP32 accumulate) is not visible on
    every chip.

    ## References

    Two thirds: peaks of `sm__ops_path_tensor_op_hmma_*` and `..._op_hgmma_*` in H200 reports,
    360,448 against 540,672 FLOP per cycle for FP16. 60 %: NVIDIA rule SOLBottleneck.
    """
    top = limiter(kernel)
    if top is None or top.resource != "tensor" or top.pct < BUSY_PCT:
        return None
    faster = faster_path(kernel)
    left = estimate.headroom(top.pct)
    speedup = Speedup(1.0, max(faster, left.high if left else 1.0)) if faster else left
    return Finding(
        rule="tensor-core-bound",
        severity=_severity(top.pct, speedup, faster),
        confidence="high",
        headline=f"The tensor cores are the limit: {top.pct:.0f} % busy"
        + (", on the slower of two instruction paths" if faster else ""),
        detail=_detail(faster),
        estimated_speedup=speedup,
        resource="math",
        evidence=(busy(top), *_operations(kernel), *measured(kernel, m.DRAM_PCT)),
        refuted_by="another unit above the tensor pipe in the utilisation list",
        source=executed(kernel, ARITHMETIC["tensor"], "matrix instructions"),
        advice=_advice(faster, top.pct),
    )


def _severity(pct: float, speedup: Speedup | None, faster: float | None) -> Severity:
    """Grade by what is left to gain; a faster path is there for sure."""
    if faster:
        return "medium"
    return "info" if pct >= _FULL_PCT else estimate.severity(speedup)


def faster_path(kernel: Kernel) -> float | None:
    """Return how much higher the roof of the fastest path is, None when it is in use."""
    if not tensor.uses_warp_level_mma(kernel):
        return None
    known, work = tensor.peaks(kernel), tensor.operations(kernel)
    kind = max(work, key=lambda name: work[name])
    slow, fast = known.get(f"{kind}_mma"), known.get(kind)
    return fast / slow if slow and fast and fast > slow else None


def _detail(faster: float | None) -> str:
    if faster is None:
        return "Matrix instructions keep the tensor pipe busy: low occupancy and few issued instructions are normal here."
    return (
        f"Its warp-level instructions (mma.sync, WMMA) have a roof of their own; the warpgroup path "
        f"(wgmma) is {faster:.1f} times as fast on this chip."
    )


def _advice(faster: float | None, pct: float) -> tuple[str, ...]:
    more: tuple[str, ...] = (
        "Use a narrower type (FP8, INT8) or structured sparsity if accuracy allows; otherwise only fewer operations help.",
    )
    if pct < _FULL_PCT:
        more += (
            "Use more pipeline stages and larger tiles, so that the pipe never waits for operands.",
        )
    if faster is None:
        return more
    return (
        "Use wgmma: CUTLASS 3.x, cuBLAS or Triton 3 on sm_90a instead of WMMA or mma.sync.",
        *more,
    )


def _operations(kernel: Kernel) -> tuple[Evidence, ...]:
    work = tensor.operations(kernel)
    return tuple(
        derived(f"tensor {kind} operations", amount, "FLOP" if "int" not in kind else "OP")
        for kind, amount in sorted(work.items())
    )
