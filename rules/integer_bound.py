"""Integer and address arithmetic sets the pace."""

from __future__ import annotations

from kprof import estimate
from kprof import instruction_mix as mix
from kprof import metrics as m
from kprof.attribution import executed
from kprof.evidence import OWN, busy, derived, measured, where
from kprof.limiter import BUSY_PCT, limiter
from kprof.model import Evidence, Finding, Kernel, Limiter
from kprof.rule import rule

# Integer work by beginnings of SASS opcodes with modifiers. Moves by IMAD.MOV and IMAD.SHL are not
# multiplications: the compiler uses the idle pipe.
GROUPS: dict[str, tuple[str, ...]] = {
    "moves and shifts": ("IMAD.MOV", "IMAD.SHL", "SHF", "PRMT", "SGXT", "BFE"),
    "64-bit and high products": ("IMAD.WIDE", "IMAD.HI", "IMAD.X"),
    "products": ("IMAD", "IMUL", "IDP", "XMAD"),
    "additions and addresses": ("IADD", "VIADD", "LEA", "IABS"),
    "logic": ("LOP", "PLOP", "POPC", "FLO", "BREV"),
    "comparisons and selects": ("ISETP", "SEL", "VIMNMX", "IMNMX", "ICMP"),
}
INTEGER = tuple(begin for group in GROUPS.values() for begin in group)
MOST = 0.5  # of all instructions. kprof's own, unsourced.
# An integer division by a value known only at run time, as nvcc 13.0 makes it for compute capability
# 9.0: about 14 instructions once per divisor (I2F.RP, MUFU.RCP, F2I, IMAD.HI) and 6 per quotient
# (IMAD.HI, corrections).
PER_DIVISOR, PER_QUOTIENT = 14.0, 6.0
DIVIDES = 0.15  # of all instructions. kprof's own: random number generators have high products too.
# What usually can go of divisions (the multiplication form remains), and of products and additions.
# kprof's own, unsourced.
DIVISIONS, ADDRESSES = 0.8, 0.5
AVOIDABLE = ("64-bit and high products", "products", "additions and addresses")


@rule(requires=m.COVERAGE)
def integer_bound(kernel: Kernel) -> Finding | None:
    """## What it detects

    The integer pipes (ALU, or the FMA pipe with integer multiply-adds) are the busiest unit, at least
    60 %, and integer instructions are more than half of all that are executed. Or the issue slots are,
    and divisions by run-time values are among the instructions that fill them.

    ## Why it matters

    Index arithmetic, divisions and modulo by run-time values, hashing and bit work share the issue
    slots and pipes with the arithmetic one came for. A division by a variable is about 20
    instructions in 32 bits and 70 or more in 64.

    ## How to fix it

    ```cuda
    size_t row = i / columns, column = i % columns;          // a 64-bit division per element

    unsigned row = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;  // none
    ```

    32-bit indices where the size allows (`unsigned`, `int`); dimensions as template parameters, so
    that the compiler multiplies and shifts; a grid with as many dimensions as the data; running
    pointers and counters instead of recomputing; division by an invariant through a precomputed
    multiplier (`cutlass::FastDivmod`, `cuda::fast_mod_div`).

    ## Known problems

    Hashes, sorting and cryptography are integer work by nature. So the severity is low unless
    divisions by run-time values are 15 % of the instructions or more. It does not fire where the opcode mix is unknown: compute-bound names the pipe.

    ## References

    60 %: NVIDIA rule SOLBottleneck (ncu 2025.3). Strength reduction of divisions: GPA's manual
    (docs/MANUAL.md, StrengthReduction). How many instructions a division takes: as compiled by nvcc
    13.0 for compute capability 9.0. More than half, 15 %, and what can go: kprof's own.
    """
    top = limiter(kernel)
    share = mix.share(kernel, INTEGER)
    if top is None or top.resource not in {"int", "issue"} or top.pct < BUSY_PCT:
        return None
    if share is None or share <= MOST:
        return None
    groups, division = mix.parts(kernel, GROUPS), division_share(kernel)
    divides = division >= DIVIDES
    avoidable = ADDRESSES * share * sum(groups.get(name, 0.0) for name in AVOIDABLE)
    avoidable = max(avoidable, DIVISIONS * division)
    speedup = estimate.gain(kernel, avoidable, {"alu", "fma", "issue", "control"})
    if top.resource == "issue" and not divides:
        return None  # issue-bound says as much
    found = executed(kernel, INTEGER, "integer instructions")
    return Finding(
        rule="integer-bound",
        severity=estimate.severity(speedup) if divides else "low",
        confidence="high" if divides else "low",
        headline=f"Integer arithmetic sets the pace: {100 * share:.0f} % of the instructions, and "
        f"{_limit(top)} {top.pct:.0f} % busy" + (", with divisions by run-time values" if divides else "")
        + where(found),
        detail="Addresses, indices, comparisons and bit operations keep the pipe busy, not the results.",
        estimated_speedup=speedup,
        resource="issue" if top.resource == "issue" else "math",
        evidence=(
            busy(top),
            derived("integer share of all instructions", 100.0 * share, "%", 100.0 * MOST, OWN, side="at least"),
            *((derived("divisions, of all instructions", 100.0 * division, "%", 100.0 * DIVIDES, OWN, side="at least"),)
              if divides else ()),
            *_evidence(groups),
            *measured(kernel, m.ISSUE_PCT),
        ),
        refuted_by="an algorithm that is integer by nature (hash, sort), or no change in time when index "
        "arithmetic is hoisted",
        source=found,
        advice=(_DIVIDE, *_ADVICE) if divides else _ADVICE,
    )  # fmt: skip


def _limit(top: Limiter) -> str:
    return "the issue slots are" if top.resource == "issue" else "its pipe is"


def division_share(kernel: Kernel) -> float:
    """Return the share (0..1) of all instructions that divide by a value known only at run time.

    Their conversions round in a way that nothing else does; without them there is no division.
    """
    mix_of = kernel.opcodes_full
    total = sum(mix_of.values())
    starts = sum(
        n for name, n in mix_of.items() if name.startswith("I2F.") and name.endswith(".RP")
    )
    if not starts:
        return 0.0
    high = sum(n for name, n in mix_of.items() if name.startswith("IMAD.HI"))
    quotients = max(high - starts, 0.0)
    return min((PER_DIVISOR * starts + PER_QUOTIENT * quotients) / total, 1.0)


_DIVIDE = "Take / and % by run-time values out: dimensions as template constants, one grid dimension per index, or a precomputed multiplier (FastDivmod)."
_ADVICE = (
    "Use 32-bit indices and advance pointers instead of recomputing addresses from all indices.",
    "Move integer work that does not change in the loop out of it, and let each thread make several outputs from it.",
)


def _evidence(groups: dict[str, float]) -> tuple[Evidence, ...]:
    return tuple(
        derived(f"integer work: {name}", 100.0 * part, "%")
        for name, part in list(groups.items())[:3]
    )
