"""The special-function unit (XU) sets the pace."""

from __future__ import annotations

from kprof import estimate
from kprof import instruction_mix as mix
from kprof import metrics as m
from kprof.attribution import executed
from kprof.evidence import derived, measured, where
from kprof.limiter import BUSY_PCT
from kprof.model import Evidence, Finding, Kernel
from kprof.rule import rule

NVIDIA_PIPE = "NVIDIA rule HighPipeUtilization, ncu 2025.3"
# What goes to the unit, by beginnings of SASS opcodes with modifiers.
GROUPS: dict[str, tuple[str, ...]] = {
    "exponentials (EX2)": ("MUFU.EX2",),
    "logarithms (LG2)": ("MUFU.LG2",),
    "reciprocals, from divisions (RCP)": ("MUFU.RCP",),
    "square roots (RSQ, SQRT)": ("MUFU.RSQ", "MUFU.SQRT"),
    "sines and cosines (SIN, COS)": ("MUFU.SIN", "MUFU.COS"),
    "hyperbolic tangents (TANH)": ("MUFU.TANH",),
    "conversions between types": ("F2I", "I2F", "F2F", "FRND"),
    "bit counts (POPC, FLO)": ("POPC", "FLO", "BREV"),
}
# Half of the functions can usually go: two of them become one, or move to the FMA pipe. kprof's own,
# unsourced.
AVOIDABLE = 0.5


@rule(requires=[*m.COVERAGE, m.XU_PCT])
def special_function_bound(kernel: Kernel) -> Finding | None:
    """## What it detects

    The special-function unit is at least 60 % busy and within a tenth of the busiest unit.

    ## Why it matters

    `exp`, `log`, divisions, square roots, `sin`, `cos`, `tanh` and conversions between integers and
    floats (or of doubles) end in a unit that takes 16 threads per SM and cycle, an eighth of what
    the FMA pipe does. Softmax, activations and physics kernels run into it while FMA sits idle.

    ## How to fix it

    Fewer of them, or the same on another pipe:

    ```cuda
    float s = __fdividef(1.0f, 1.0f + __expf(-x));   // EX2 and RCP: two
    float h; asm("tanh.approx.f32 %0, %1;" : "=f"(h) : "f"(0.5f * x));
    float t = fmaf(0.5f, h, 0.5f);                   // the same sigmoid with one (CC 7.5 on)
    ```

    `rsqrtf(x)` instead of `1.0f / sqrtf(x)`; one division by a product instead of two; multiply by a
    reciprocal computed once; part of the exponentials as a polynomial on the FMA pipe (as in
    FlashAttention-4); packed `h2exp2` where halves do; conversions out of the inner loop.

    ## Known problems

    Full-precision functions (`expf`, division) take FMA instructions beside the one here, and then the
    issue slots may be the limit: that is issue-bound. Which functions there are is known from the
    opcode mix; without it only the fact remains. Approximations change the last bits of a result.

    ## References

    60 %: NVIDIA rule HighPipeUtilization (ncu 2025.3). 16 results per SM and cycle: CUDA C++ Programming
    Guide, table of arithmetic throughput. That half of the work can go is kprof's own assumption.
    """
    pct = m.XU_PCT.read(kernel.metrics) or 0.0
    if estimate.pressure(kernel, {"xu"}) < 1.0:  # busy, and the busiest or nearly so
        return None
    functions = mix.parts(kernel, GROUPS)
    speedup = estimate.gain(kernel, AVOIDABLE, {"xu"})
    first = next(iter(functions), None)
    found = executed(
        kernel, (begin for group in GROUPS.values() for begin in group), "special functions"
    )
    return Finding(
        rule="special-function-bound",
        severity=estimate.severity(speedup),
        confidence="high" if functions else "medium",
        headline=f"Special functions set the pace: their unit is {pct:.0f} % busy"
        + (f", {100 * functions[first]:.0f} % of it with {first}" if first else "")
        + where(found),
        detail="This unit takes 16 threads per SM and cycle, an eighth of the FMA pipe.",
        estimated_speedup=speedup,
        resource="math",
        evidence=(
            *measured(kernel, m.XU_PCT, BUSY_PCT, NVIDIA_PIPE, side="at least"),
            *measured(kernel, m.FMA_PCT),
            *_evidence(functions),
        ),
        refuted_by="another unit more than a tenth above it, or no change in time when half of the "
        "functions are taken out",
        source=found,
        advice=_advice(first),
    )


def _evidence(functions: dict[str, float]) -> tuple[Evidence, ...]:
    return tuple(
        derived(f"special functions: {name}", 100.0 * part, "%")
        for name, part in list(functions.items())[:3]
    )


def _advice(first: str | None) -> tuple[str, ...]:
    rest = (
        "Compute part of them as a polynomial on the FMA pipe, which is eight times as wide.",
        "Merge: rsqrtf(x) for 1/sqrtf(x), one division by a product for two, tanh.approx for a sigmoid of exp and division.",
    )
    if first is not None and first.startswith("conversions"):
        return (
            "Convert once, outside the inner loop, and keep loop counters in the type they are used in.",
            *rest,
        )
    if first is not None and first.startswith("reciprocals"):
        return ("Divide once: multiply by a reciprocal that is computed outside the loop.", *rest)
    if first is not None and first.startswith("exponentials"):
        return (
            *rest,
            "Use packed h2exp2 where halves do: two results per instruction. exp2f with log2(e) folded in saves the multiplication, not the special function.",
        )
    return rest
