"""A math pipe other than the tensor pipe is the limit."""

from __future__ import annotations

from kprof import estimate
from kprof import metrics as m
from kprof.attribution import ARITHMETIC, executed
from kprof.evidence import busy, measured
from kprof.limiter import BUSY_PCT, limiter
from kprof.model import Finding, Kernel
from kprof.rule import rule
from kprof.sass.products import OF_TWO_FACTORS, two_factor_share

PIPES = {
    "fp32": "the FP32 (FMA) pipe",
    "fp16": "the half-precision pipe",
    "fp64": "the FP64 pipe",
    "int": "the integer pipe",
    "xu": "the special-function unit (XU)",
}
FUSED = "FFMA"
ADVICE = {
    "fp32": (
        "If FP16, BF16 or TF32 accuracy is enough and the work is a matrix product, use the tensor cores.",
        "Remove arithmetic: reuse common subexpressions, use fused multiply-add, choose an algorithm with fewer operations.",
    ),
    "fp16": ("Use packed half2 instructions, or the tensor cores for matrix products.",),
    "fp64": ("Use FP32 where its accuracy is enough; keep FP64 for the sums that need it.",),
    "int": (
        "Simplify index arithmetic: 32-bit indices, strides computed once, powers of two as shifts.",
        "Move integer work that does not depend on the loop out of it.",
    ),
    "xu": (
        "Use fewer or cheaper special functions: exp2f instead of expf, rsqrtf instead of 1/sqrtf, a polynomial on the FMA pipe.",
        "Conversions between types run here too: convert once, not in the inner loop.",
    ),
}


@rule(requires=m.COVERAGE)
def compute_bound(kernel: Kernel) -> Finding | None:
    """## What it detects

    The busiest unit is an arithmetic pipe (FP32, FP16, FP64, integer or special function, not
    the tensor pipe), at least 60 % busy.

    ## Why it matters

    This is what "compute bound" should mean. NVIDIA's Compute Throughput is led by a math pipe in
    only 31 % of kernels in public reports; in the others it is a load/store queue or the issue
    rate, and the advice for arithmetic does not apply.

    ## How to fix it

    Do the same with less arithmetic, on a faster pipe (tensor cores, packed half), or with fewer
    special functions. Memory layout and occupancy do not matter here.

    ## Known problems

    The FMA pipe also executes integer multiply-add; kprof looks at the opcode mix, else at the
    counted FP32 instructions, to tell FP32 from integer.

    ## References

    60 %: NVIDIA rule SOLBottleneck; pipes: NVIDIA rule HighPipeUtilization (ncu 2025.3).
    """
    top = limiter(kernel)
    if top is None or top.resource not in PIPES or top.pct < BUSY_PCT:
        return None
    speedup = estimate.headroom(top.pct)
    return Finding(
        rule="compute-bound",
        severity=estimate.severity(speedup),
        confidence="high",
        headline=f"Arithmetic is the limit: {PIPES[top.resource]} is {top.pct:.0f} % busy",
        detail="The kernel computes as fast as this pipe allows; less arithmetic, or another "
        "pipe, is what makes it faster.",
        estimated_speedup=speedup,
        resource="math",
        evidence=(busy(top), *measured(kernel, m.ISSUE_PCT), *measured(kernel, m.DRAM_PCT)),
        refuted_by="another unit above this pipe in the utilisation list",
        source=executed(kernel, ARITHMETIC[top.resource]),
        advice=_advice(kernel, top.resource),
    )


def _advice(kernel: Kernel, resource: str) -> tuple[str, ...]:
    """Return the advice for a pipe, without tensor cores where sums or numbers are multiplied."""
    advice = ADVICE[resource]
    factors = two_factor_share(kernel.instructions, FUSED) if resource == "fp32" else None
    return advice[1:] if factors is not None and factors < OF_TWO_FACTORS else advice
