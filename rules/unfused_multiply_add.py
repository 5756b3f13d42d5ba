"""Products and sums that could be one instruction."""

from __future__ import annotations

from dataclasses import dataclass

from kprof import estimate
from kprof import metrics as m
from kprof.attribution import executed
from kprof.evidence import busy, derived, where
from kprof.limiter import BUSY_PCT, limiter
from kprof.model import Evidence, Finding, Kernel, Limiter, Speedup
from kprof.quantity import Quantity
from kprof.rule import rule

NVIDIA_FUSED = "NVIDIA rule FPInstructions, ncu 2025.3"
PAIRS = 0.1  # of the instructions of that precision: NVIDIA rule FPInstructions, ncu 2025.3
# Not every product is added to something: some pairs are only as many by chance. kprof's own.
LIKELY = 0.5


@dataclass(frozen=True)
class Precision:
    """One floating-point type: its instructions and the resource they keep busy."""

    name: str
    resource: str
    counts: tuple[Quantity, Quantity, Quantity]
    opcodes: tuple[str, str]
    pipes: tuple[str, ...]


PRECISIONS = (
    Precision("FP32", "fp32", m.FP32_INSTRUCTIONS, ("FMUL", "FADD"), ("fma",)),
    Precision("FP64", "fp64", m.FP64_INSTRUCTIONS, ("DMUL", "DADD"), ("fp64",)),
    Precision("FP16", "fp16", m.FP16_INSTRUCTIONS, ("HMUL2", "HADD2"), ("fp16", "tensor", "fma")),
)


@rule(
    requires=[
        *m.COVERAGE,
        *m.FP32_INSTRUCTIONS,
        *m.FP64_INSTRUCTIONS,
        *m.FP16_INSTRUCTIONS,
    ]
)
def unfused_multiply_add(kernel: Kernel) -> Finding | None:
    """## What it detects

    Arithmetic or the issue rate is the limit, and at least a tenth of the floating-point instructions
    of one precision are pairs of a multiplication and an addition that could be one fused
    multiply-add.

    ## Why it matters

    A fused multiply-add does the work of two instructions in the time of one. Code compiled with
    `-fmad=false`, written with `__fmul_rn` and `__fadd_rn`, or with its products and sums apart pays
    twice.

    ## How to fix it

    ```cuda
    y = __fadd_rn(__fmul_rn(a, x), b);  // two instructions, on purpose or from -fmad=false
    y = fmaf(a, x, b);                  // one, and rounded once
    ```

    Compile with nvcc's default `-fmad=true`; write `a * x + b` in one expression; factor sums so that
    products meet their sum (Horner's scheme: `(a * x + b) * x + c`).

    ## Known problems

    Only as many pairs count as there are both multiplications and additions: reductions (additions
    alone) and scalings do not fire. But a sum that comes before its product, `(a + b) * c`, cannot be
    fused and is not told apart in the counts; so the estimate starts at half. Programs that need the
    same bits as a CPU without fused arithmetic leave them apart for a reason.

    ## References

    NVIDIA rule FPInstructions (ncu 2025.3): more than 10 % of instructions saved if all that are not
    fused were; it counts additions without a partner too. Half of the pairs at worst: kprof's own.
    """
    top = limiter(kernel)
    if top is None or top.pct < BUSY_PCT:
        return None
    for precision in PRECISIONS:
        add, multiply, fused = (
            quantity.read(kernel.metrics) or 0.0 for quantity in precision.counts
        )
        pairs, total = min(add, multiply), add + multiply + fused
        if not total or pairs / total < PAIRS or not _sets_the_pace(kernel, top, precision, total):
            continue
        return _finding(kernel, top, precision, pairs / total)
    return None


def _sets_the_pace(kernel: Kernel, top: Limiter, precision: Precision, executed: float) -> bool:
    """Say whether these instructions fill the limiting pipe, or half of the limiting issue slots."""
    if top.resource == precision.resource:
        return True
    all_threads = sum(kernel.thread_opcodes.values())
    return top.resource == "issue" and bool(all_threads) and executed >= 0.5 * all_threads


def _finding(kernel: Kernel, top: Limiter, precision: Precision, share: float) -> Finding | None:
    relieves = {*precision.pipes, "issue", "control"}
    best = estimate.gain(kernel, share, relieves)
    worst = estimate.gain(kernel, LIKELY * share, relieves)
    speedup = Speedup(low=min(worst.low, best.high), high=best.high)
    if not estimate.is_worth_it(speedup):
        return None
    found = executed(kernel, precision.opcodes, f"{precision.name} instructions")
    return Finding(
        rule="unfused-multiply-add",
        severity=estimate.severity(speedup),
        confidence="medium",
        headline=f"Products and sums are apart: {200 * share:.0f} % of the {precision.name} instructions "
        f"could be half as many{where(found)}",
        detail=f"{100 * share:.0f} % of the {precision.name} instructions would go if each multiplication were fused "
        "with an addition.",
        estimated_speedup=speedup,
        resource="math" if top.resource != "issue" else "issue",
        evidence=(
            busy(top),
            derived(f"{precision.name} instructions that fusing would save", 100.0 * share, "%",
                    100.0 * PAIRS, NVIDIA_FUSED, side="at least"),
            *_counts(kernel, precision),
        ),
        refuted_by="sums that come before their product, or results that must equal those without fused "
        "multiply-add",
        source=found,
        advice=(
            "Compile with -fmad=true (nvcc's default) and use a * x + b or fmaf instead of __fmul_rn and __fadd_rn.",
            "Rearrange so that each product meets its sum: Horner's scheme, accumulating dot products.",
        ),
    )  # fmt: skip


def _counts(kernel: Kernel, precision: Precision) -> list[Evidence]:
    return [
        derived(quantity.name.replace("_", " "), value, "inst")
        for quantity in precision.counts
        if (value := quantity.read(kernel.metrics)) is not None
    ]
