"""Half precision one value at a time."""

from __future__ import annotations

from kprof import estimate
from kprof import metrics as m
from kprof.attribution import executed
from kprof.evidence import OWN, busy, derived, measured, where
from kprof.limiter import BUSY_PCT, HALF_OPCODES, limiter
from kprof.model import Finding, Kernel, Speedup
from kprof.rule import rule
from kprof.sass.halves import SCALAR, scalar_share

HALVES = (
    0.25  # of all executed threads' instructions; else they are a detail. kprof's own, unsourced.
)
HALF = 0.5  # of the instructions are saved
HOPPER = 9.0  # major compute capability
IDLE_PCT = 5.0  # no work for the tensor pipe below. kprof's own, unsourced.


@rule(requires=[*m.COVERAGE, *m.FP16_INSTRUCTIONS])
def unpacked_half(kernel: Kernel) -> Finding | None:
    """## What it detects

    Half-precision arithmetic (FP16 or BF16) is the limit, or fills the issue slots that are, and at
    least half of its instructions work on one value where they could work on two.

    ## Why it matters

    Every half instruction of the GPU is a packed one: `HFMA2` multiplies and adds two pairs. Code in
    `__half` uses one of the two lanes and throws the other away: it computes at the rate of FP32 and
    not at twice that.

    ## How to fix it

    ```cuda
    const __half2* x2 = reinterpret_cast<const __half2*>(x);  // two neighbours at once
    y2[i] = __hfma2(a2, x2[i], b2);                           // instead of __hfma(a, x[i], b)
    ```

    `__half2` and `__nv_bfloat162` have all operations; loads get twice as wide on the way. In Triton
    and torch the compiler packs by itself where the innermost dimension is contiguous.

    ## Known problems

    The mnemonic is `HFMA2` either way: what tells is `.H0_H0` on every operand, or, where the text of
    these instructions is not in the report, that values are loaded 16 bits at a time. Where neither is
    known nothing is said. A packed instruction with one broadcast operand is packed. Products of
    matrices belong on the tensor cores instead.

    ## References

    Operands of scalar halves on compute capability 7.5 to 12.0: as compiled by nvcc 13.0. Two values
    per instruction: CUDA C++ Programming Guide, half2 arithmetic. All thresholds: kprof's own.
    """
    top = limiter(kernel)
    if top is None or top.pct < BUSY_PCT or not _matters(kernel, top.resource):
        return None
    scalar, by_text = scalar_share(kernel)
    if scalar is None or scalar < SCALAR:
        return None
    relieves = {"fp16", "fma", "tensor", "issue", "control"}
    best, worst = (
        estimate.gain(kernel, saved * scalar, relieves) for saved in (_at_best(kernel), HALF)
    )
    found = executed(kernel, HALF_OPCODES, "half instructions")
    return Finding(
        rule="unpacked-half",
        severity=estimate.severity(best),
        confidence="high" if by_text else "medium",
        headline=f"Half precision is computed one value at a time: {100 * scalar:.0f} % of its instructions use one "
        f"lane of two{where(found)}",
        detail="A packed instruction does two operations in the time of one.",
        estimated_speedup=Speedup(low=min(worst.low, best.high), high=best.high),
        resource="math" if top.resource != "issue" else "issue",
        evidence=(
            busy(top),
            derived("half instructions on one value" if by_text else "loads of 16 bits", 100.0 * scalar,
                    "%", 100.0 * SCALAR, OWN, side="at least"),
            *(e for quantity in m.FP16_INSTRUCTIONS for e in measured(kernel, quantity)),
        ),
        refuted_by="operands without .H0_H0 or .H1_H1 in the SASS of the inner loop",
        source=found,
        advice=(
            "Let each thread work on two neighbouring values with __half2 or __nv_bfloat162 (__hfma2, __hadd2, __hmul2).",
            "Load them together (32 bits or more at once): the accesses become wider too.",
        ),
    )  # fmt: skip


def _at_best(kernel: Kernel) -> float:
    """Return the share of the time that packing saves where everything goes well.

    Half as many instructions; and on compute capability 9.0 packed ones go to the tensor pipe as
    well as to the FMA pipe, where those with .H0_H0 fill the latter alone (measured on an H200).
    """
    major = m.CAPABILITY_MAJOR.read(kernel.metrics)
    both = major == HOPPER and (m.TENSOR_PCT.read(kernel.metrics) or 0.0) < IDLE_PCT
    return 1.0 - HALF * HALF if both else HALF


def _matters(kernel: Kernel, resource: str) -> bool:
    """Say whether halves fill the limiting pipe, or a good part of the limiting issue slots."""
    if resource == "fp16":
        return True
    counts = [quantity.read(kernel.metrics) or 0.0 for quantity in m.FP16_INSTRUCTIONS]
    total = sum(kernel.thread_opcodes.values())
    return resource == "issue" and bool(total) and sum(counts) >= HALVES * total
