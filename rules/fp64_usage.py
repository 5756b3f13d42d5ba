"""Double precision where its pipe costs time."""

from __future__ import annotations

from kprof import estimate
from kprof import metrics as m
from kprof.attribution import ARITHMETIC, executed
from kprof.evidence import derived, measured
from kprof.limiter import BUSY_PCT, limiter
from kprof.model import Finding, Kernel, Limiter
from kprof.roofline import ceilings, flops
from kprof.rule import rule

PIPE_PCT = 15.0  # NVIDIA rule SOLFPRoofline, ncu 2025.3
SAVED = 0.05  # kprof's own: below this a change of type is not worth its risk. Unsourced.


@rule(requires=[m.FP64_PCT, *m.FP64_INSTRUCTIONS, *m.FP32_INSTRUCTIONS])
def fp64_usage(kernel: Kernel) -> Finding | None:
    """## What it detects

    Double-precision arithmetic keeps the FP64 pipe at least 15 % busy and costs time that single
    precision would not.

    ## Why it matters

    FP64 runs at half the FP32 rate on data-centre GPUs and at 1/32 or 1/64 on GeForce. Often it
    is an accident: a literal `0.5` instead of `0.5f`, `pow` instead of `powf`, a double constant.

    ## How to fix it

    Write `f` suffixes on literals, call the `f` versions of math functions, pass `float`
    arguments; compile with `-Xptxas -warn-double-usage`. Keep FP64 for sums that need it.

    ## Known problems

    FP64 may be required: the finding cannot know. On GPUs with few FP64 units 15 % of their peak
    is little arithmetic; there the estimate decides. If another unit is the limiter, FP64 only
    matters through the bytes it doubles.

    ## References

    15 %: NVIDIA rule SOLFPRoofline (ncu 2025.3). 5 % of time: kprof's own.
    """
    pct = m.FP64_PCT.read(kernel.metrics) or 0.0
    work = flops(kernel)
    if not work.fp64 or pct < PIPE_PCT:
        return None
    top = limiter(kernel)
    limiting = top is not None and top.resource == "fp64" and top.pct >= BUSY_PCT
    saved = (
        0.0
        if _another_limits(top)
        else _pace(kernel, limiting=limiting) * (1.0 - _relative_cost(kernel))
    )
    if saved < SAVED:
        return None
    speedup = estimate.gain(kernel, saved, {"fp64"})
    share = work.fp64 / (work.fp64 + (work.fp32 or 0.0))
    return Finding(
        rule="fp64-usage",
        severity=estimate.severity(speedup),
        confidence="high" if limiting else "medium",
        headline=f"Double precision holds the kernel back: {100 * share:.0f} % of its FP32 and FP64 operations "
        f"are FP64, and that pipe is {pct:.0f} % busy",
        detail="The same operations in single precision would run on a faster pipe.",
        estimated_speedup=speedup,
        resource="math",
        evidence=(
            *measured(
                kernel,
                m.FP64_PCT,
                PIPE_PCT,
                "NVIDIA rule SOLFPRoofline, ncu 2025.3",
                side="at least",
            ),
            derived("FP64 operations", work.fp64, "FLOP"),
            *(() if work.fp32 is None else (derived("FP32 operations", work.fp32, "FLOP"),)),
        ),
        refuted_by="results that need more than FP32's 24 bits of mantissa",
        source=executed(kernel, ARITHMETIC["fp64"], "FP64 instructions"),
        advice=(
            "First ask whether the results need FP64 at all; if they do, this is the price and nothing is wrong.",
            "Look for accidental doubles: literals without f (0.5), pow/exp/sqrt instead of powf/expf/sqrtf, double parameters. `nvcc -Xptxas -warn-double-usage` lists them.",
            "Where only a sum needs the accuracy, keep that in FP64 (or use compensated summation) and the rest in FP32.",
        ),
    )


def _another_limits(top: Limiter | None) -> bool:
    return top is not None and top.pct >= BUSY_PCT and top.resource != "fp64"


def _pace(kernel: Kernel, *, limiting: bool) -> float:
    pressure = estimate.pressure(kernel, {"fp64"})
    return pressure if limiting else 0.5 * pressure  # not the limit: only part of it shows


def _relative_cost(kernel: Kernel) -> float:
    """Return FP32 time over FP64 time for the same operations, from the report's own peaks."""
    roofs = ceilings(kernel)
    if "fp64" in roofs and "fp32" in roofs:
        return min(roofs["fp64"] / roofs["fp32"], 1.0)
    return 0.5  # the data-centre ratio, the most favourable to FP64
