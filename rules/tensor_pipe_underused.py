"""The tensor cores wait for their operands."""

from __future__ import annotations

from collections.abc import Callable

from kprof import estimate, tensor
from kprof import metrics as m
from kprof.attribution import not_at_padding
from kprof.evidence import OWN, derived, measured, samples_of, where
from kprof.limiter import BUSY_PCT, is_too_small, limiter, runs_matrix_instructions
from kprof.model import Finding, Instruction, Kernel, Speedup
from kprof.roofline import flops
from kprof.rule import rule
from kprof.stalls import stalls

UNDERUSED_PCT = 50.0  # kprof's own, unsourced
# A kernel is a product of matrices when its tensor operations are most of all. kprof's own, unsourced.
MOSTLY = 0.8
CAUSE = 0.2  # of the stalled time. kprof's own, unsourced.
CAUSES = {
    "gmma": "The warp group waits for its matrix instructions: keep two of them in flight (wait<1>, two accumulators) and more stages of tiles.",
    "long_scoreboard": "Warps wait for operands from global memory, or at an mbarrier: fetch tiles ahead with cp.async or TMA into three or more stages.",
    "barrier": "Warps wait for each other at every tile: more stages, one barrier per stage (mbarrier), or producer and consumer warps.",
    "short_scoreboard": "Operands come slowly from shared memory: ldmatrix, a swizzled layout without bank conflicts, and the next fragment loaded before the current product.",
    "mio_throttle": "The shared-memory queue is full: larger fragments per warp (more products for each operand loaded), ldmatrix.x4.",
    "wait": "Each product waits for the one before it: more independent accumulators per warp.",
    "math_pipe_throttle": "Products of one warp depend on each other or share a pipe: more independent accumulators, more warps.",
}
_OPENING = (
    "More stages of asynchronous copies and larger tiles, so that the next operands are there before the pipe asks.",
)


@rule(requires=[*m.COVERAGE, m.TENSOR_PCT, *m.FP32_INSTRUCTIONS])
def tensor_pipe_underused(kernel: Kernel) -> Finding | None:
    """## What it detects

    Nearly all operations of the kernel are matrix instructions, the tensor pipe is less than half
    busy, and no other unit is the limit.

    ## Why it matters

    The kernel does the right work on the right unit and keeps it waiting. What it waits for stands in
    the stall reasons: operands from global memory, a barrier between tiles, shared memory, or the
    previous product.

    ## How to fix it

    ```cuda
    // One accumulator: each product waits for the last.
    for (int k = 0; k < steps; ++k) mma_sync(c, a[k], b[k], c);
    // Four tiles per warp: four products in flight, and each operand is used twice.
    for (int k = 0; k < steps; ++k)
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) mma_sync(c[i][j], a[i][k], b[j][k], c[i][j]);
    ```

    Fetch tiles ahead (cp.async, TMA), three to five stages deep; split warps into producers and
    consumers; on compute capability 9.0 use wgmma.

    ## Known problems

    Percentages are of the fastest path: `mma.sync` and WMMA end at two thirds of it on Hopper, so half
    is three quarters of what they can do. On GeForce, accumulating in FP32 halves the rate and the
    pipe shows it as busy. Attention does exponentials between its two products: part of the gap is
    that work. Grids that do not fill the GPU are left to grid-too-small.

    ## References

    60 %: NVIDIA rule SOLBottleneck (ncu 2025.3). 50 % of the pipe, 80 % of the operations and 20 % of
    the stalls: kprof's own.
    """
    top, busy_pct = limiter(kernel), m.TENSOR_PCT.read(kernel.metrics) or 0.0
    if top is None or top.pct >= BUSY_PCT or busy_pct >= UNDERUSED_PCT or is_too_small(kernel):
        return None
    mostly = tensor_share(kernel)
    if not runs_matrix_instructions(kernel) or mostly is None or mostly < MOSTLY:
        return None
    cause = next(((r, s) for r, s in stalls(kernel).items() if r in CAUSES and s >= CAUSE), None)
    best, worst = (
        estimate.gain(kernel, 1.0 - busy_pct / estimate.GOOD_PCT, {"tensor"}),
        estimate.gain(kernel, 0.5 * (1.0 - busy_pct / BUSY_PCT), {"tensor"}),
    )
    found = not_at_padding(kernel, _samples(cause[0]), samples_of(cause[0])) if cause else ()
    return Finding(
        rule="tensor-pipe-underused",
        severity=estimate.severity(best),
        confidence="high" if cause else "medium",
        headline=f"The tensor cores are kept waiting: {busy_pct:.0f} % busy"
        + (
            f", {100 * cause[1]:.0f} % of stalled time is {cause[0].replace('_', ' ')}"
            if cause
            else ""
        )
        + where(found),
        detail=f"{100 * mostly:.0f} % of the operations are matrix instructions, and no unit is the limit: the "
        f"busiest reaches {top.pct:.0f} %.",
        estimated_speedup=Speedup(low=min(worst.low, best.high), high=best.high),
        resource="math",
        evidence=(
            *measured(kernel, m.TENSOR_PCT, UNDERUSED_PCT, OWN, side="below"),
            derived(
                "operations in matrix instructions",
                100.0 * mostly,
                "%",
                100.0 * MOSTLY,
                OWN,
                side="at least",
            ),
            *(
                (
                    derived(
                        f"stalled time: {cause[0]}",
                        100.0 * cause[1],
                        "%",
                        100.0 * CAUSE,
                        OWN,
                        side="at least",
                    ),
                )
                if cause
                else ()
            ),
            derived("busiest unit", top.pct, "%"),
        ),
        refuted_by="another unit at 60 % or more, or no change in time with more stages and accumulators",
        source=found,
        advice=(CAUSES[cause[0]], *_OPENING) if cause else _OPENING,
    )


def tensor_share(kernel: Kernel) -> float | None:
    """Return the share (0..1) of matrix instructions in all operations, None when not counted."""
    work = flops(kernel)
    on_tensor = sum(tensor.operations(kernel).values())
    others = [part for part in (work.fp64, work.fp32, work.fp16) if part is not None]
    total = on_tensor + sum(others)
    return on_tensor / total if others and total else None


def _samples(reason: str) -> Callable[[Instruction], float]:
    spelled = {"gmma": ("gmma", "warpgroup_arrive")}.get(reason, (reason,))
    names = [m.SAMPLED_STALL_NOT_ISSUED.format(name) for name in spelled]

    def weight(row: Instruction) -> float:
        return sum(row.values.get(name, 0.0) for name in names)

    return weight
