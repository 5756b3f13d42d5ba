"""The issue slots are the limit."""

from __future__ import annotations

from kprof import estimate
from kprof import metrics as m
from kprof.attribution import executed
from kprof.evidence import busy, derived, measured
from kprof.limiter import BUSY_PCT, limiter
from kprof.metrics import accesses
from kprof.model import Evidence, Finding, Kernel, Speedup
from kprof.rule import rule

# Opcode groups that are overhead around the arithmetic. Prefixes of SASS mnemonics.
OVERHEAD = {
    "integer and address arithmetic": (
        "IMAD", "IADD", "VIADD", "LEA", "SHF", "LOP", "PLOP", "IABS", "IDP", "POPC", "PRMT", "BFE",
        "SGXT", "I2I", "I2F", "F2I", "UIADD", "UIMAD", "ULEA", "ULOP", "USHF", "VIMNMX", "IMNMX",
    ),
    "comparisons and selects": ("ISETP", "FSETP", "SEL", "FSEL", "UISETP", "USEL", "P2R", "R2P"),
    "branches": ("BRA", "BSSY", "BSYNC", "EXIT", "CALL", "RET", "WARPSYNC", "BREAK"),
    "moves": ("MOV", "UMOV", "R2UR", "S2R", "S2UR", "CS2R", "LDC", "ULDC"),
    "loads and stores": ("LD", "ST", "ATOM", "RED", "UTMA"),
}  # fmt: skip
UNAVOIDABLE = 0.5  # of the overhead, kprof's own, unsourced


@rule(requires=m.COVERAGE)
def issue_bound(kernel: Kernel) -> Finding | None:
    """## What it detects

    The rate at which instructions are issued (or the control and constant units that go with
    it) is the busiest thing on the GPU, at least 60 %, without one math pipe filling the slots.

    ## Why it matters

    A scheduler issues one instruction per cycle. When integer, address, control and conversion
    instructions take the slots, neither memory nor the math pipes can be fed faster: the kernel
    needs fewer instructions, not more bandwidth or occupancy.

    ## How to fix it

    Do more per instruction and less around it: 128-bit loads and stores, packed half (half2),
    several outputs per thread so that index arithmetic is shared, 32-bit instead of 64-bit
    indices, `#pragma unroll`, division and modulo replaced by shifts or precomputed strides.

    ## Known problems

    A tuned GEMM on the FP32 pipe issues at full rate because it multiplies at full rate: there
    the FMA pipe is named (compute-bound), from 80 % of the issued slots on (kprof's own choice).

    ## References

    60 %: NVIDIA rule SOLBottleneck (ncu 2025.3).
    """
    top = limiter(kernel)
    if top is None or top.resource != "issue" or top.pct < BUSY_PCT:
        return None
    groups = overhead(kernel)
    speedup = _speedup(kernel, top.pct, sum(groups.values()))
    named = max(groups, key=lambda name: groups[name]) if groups else None
    return Finding(
        rule="issue-bound",
        severity=estimate.severity(speedup),
        confidence="high" if groups else "medium",
        headline=f"The issue slots are the limit: {top.pct:.0f} % used"
        + (f", {100 * groups[named]:.0f} % of the instructions are {named}" if named else ""),
        detail="The schedulers are busy issuing; fewer instructions per result is what helps.",
        estimated_speedup=speedup,
        resource="issue",
        evidence=(busy(top), *measured(kernel, m.FMA_PCT), *_evidence(groups)),
        refuted_by="a math pipe within a few points of the issue rate, or no change in time when "
        "instructions are removed",
        source=executed(kernel),
        advice=(
            "Give each thread several outputs, so that address and loop arithmetic is shared between them.",
            "Where neighbouring threads load the same data (stencils, convolutions), tile it in shared memory or registers: fewer loads, fewer addresses.",
            _PACKED if accesses.loads_are_wide(kernel.opcodes_full) else _WIDE,
            "Use 32-bit indices, hoist index arithmetic out of loops, replace / and % by constants the compiler knows.",
        ),
    )


_WIDE = "Use wide loads and stores (float4) and packed math (half2): fewer instructions per value."
_PACKED = (
    "Use packed math (half2) where half precision is enough: the loads are 128 bits wide already."
)


def overhead(kernel: Kernel) -> dict[str, float]:
    """Return the share (0..1) of executed instructions per overhead group."""
    total = sum(kernel.opcodes.values())
    if not total:
        return {}
    shares = {
        group: sum(n for name, n in kernel.opcodes.items() if name.startswith(prefixes)) / total
        for group, prefixes in OVERHEAD.items()
    }
    return {group: share for group, share in shares.items() if share > 0.0}


def _speedup(kernel: Kernel, pct: float, share: float) -> Speedup:
    saved = UNAVOIDABLE * share if share else 1.0 - pct / 100.0
    most = estimate.gain(kernel, saved, {"issue", "control", "alu", "fma", "l1_front"})
    return Speedup(low=1.0, high=most.high)


def _evidence(groups: dict[str, float]) -> tuple[Evidence, ...]:
    ranked = sorted(groups.items(), key=lambda item: -item[1])[:3]
    return tuple(derived(f"share of {name}", 100.0 * share, "%") for name, share in ranked)
