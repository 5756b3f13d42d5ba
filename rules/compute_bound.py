"""A math pipe other than the tensor pipe is the limit."""

from __future__ import annotations

from kprof import estimate, filling
from kprof import metrics as m
from kprof.attribution import ARITHMETIC, executed
from kprof.evidence import busy, measured
from kprof.limiter import BUSY_PCT, limiter
from kprof.model import Finding, Kernel
from kprof.rule import rule
from kprof.sass.halves import SCALAR, scalar_share
from kprof.sass.products import OF_TWO_FACTORS, two_factor_share

PIPES = {
    "fp32": "the FP32 (FMA) pipe",
    "fp16": "the half-precision pipe",
    "fp64": "the FP64 pipe",
    "int": "the integer pipe",
    "xu": "the special-function unit (XU)",
}
FEW_PAIRS = 0.1  # of the instructions: NVIDIA rule FPInstructions, ncu 2025.3
_MATRICES = "If FP16, BF16 or TF32 accuracy is enough and the work is a matrix product, use the tensor cores."
_HALF_MATRICES = "If the work is a matrix product, use the tensor cores."
_PACK = "Use packed half2 instructions: two values at once."
_LESS = "Remove arithmetic: reuse common subexpressions, choose an algorithm with fewer operations."
_FUSE = "Remove arithmetic: reuse common subexpressions, use fused multiply-add, choose an algorithm with fewer operations."
ADVICE = {
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
    special functions. At 80 % and above memory layout and occupancy do not matter. From 60 to 80 % the
    pipe idles part of the time: more independent calculations per thread, loads issued earlier, fewer
    barriers, fewer other instructions or an even end of the launch fill it, and the estimate is for that.

    ## Known problems

    The FMA pipe also executes integer multiply-add; kprof looks at the opcode mix, else at the
    counted FP32 instructions, to tell FP32 from integer.

    ## References

    60 and 80 %: NVIDIA rule SOLBottleneck; pipes: NVIDIA rule HighPipeUtilization (ncu 2025.3).
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
        detail=_AT_ROOF if filling.at_the_roof(top) else filling.unfilled(top, "this pipe"),
        estimated_speedup=speedup,
        resource="math",
        evidence=(busy(top), *measured(kernel, m.ISSUE_PCT), *measured(kernel, m.DRAM_PCT)),
        refuted_by="another unit above this pipe in the utilisation list",
        source=executed(kernel, ARITHMETIC[top.resource]),
        advice=(*filling.advice(kernel, top), *_advice(kernel, top.resource)),
    )


_AT_ROOF = "The kernel computes as fast as this pipe allows; less arithmetic, or another pipe, is what makes it faster."


def _advice(kernel: Kernel, resource: str) -> tuple[str, ...]:
    """Return the advice for less work on a pipe, without what does not apply or is done."""
    if resource == "fp32":
        return (*_matrices(kernel, "FFMA", _MATRICES), _LESS if _is_fused(kernel) else _FUSE)
    if resource == "fp16":
        scalar, _ = scalar_share(kernel)
        packed = scalar is not None and scalar < SCALAR
        return (*(() if packed else (_PACK,)), *_matrices(kernel, "HFMA2", _HALF_MATRICES), _LESS)
    return ADVICE[resource]


def _matrices(kernel: Kernel, fused: str, advised: str) -> tuple[str, ...]:
    """Return the advice to use the tensor cores, unless sums or numbers are multiplied."""
    factors = two_factor_share(kernel.instructions, fused)
    return (advised,) if factors is None or factors >= OF_TWO_FACTORS else ()


def _is_fused(kernel: Kernel) -> bool:
    """Say whether hardly any product has a sum left to be fused with; False when unknown."""
    counts = [quantity.read(kernel.metrics) for quantity in m.FP32_INSTRUCTIONS]
    add, multiply, fused = (count or 0.0 for count in counts)
    few = FEW_PAIRS * (add + multiply + fused)
    return None not in counts and min(add, multiply) < few
