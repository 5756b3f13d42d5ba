"""Shared memory itself is the limit, without conflicts."""

from __future__ import annotations

from kprof import estimate, filling
from kprof import metrics as m
from kprof.attribution import shared_traffic
from kprof.evidence import busy, derived, measured
from kprof.limiter import BUSY_PCT, limiter, shared_memory_share
from kprof.metrics import accesses
from kprof.model import Finding, Kernel, Limiter
from kprof.rule import rule

CONFLICTS = 0.10  # from here on shared-bank-conflicts is the cause


@rule(requires=[*m.COVERAGE, m.SHARED_WAVEFRONTS, m.SHARED_WAVEFRONTS_IDEAL])
def shared_memory_bandwidth_bound(kernel: Kernel) -> Finding | None:
    """## What it detects

    The busiest unit is the L1 / shared-memory data stage, at least 60 % busy, shared memory is
    what fills it, and less than 10 % of its wavefronts are bank conflicts.

    ## Why it matters

    Shared memory serves 128 bytes per SM and cycle. Without conflicts the only way up is fewer
    wavefronts: more arithmetic per value that is read.

    ## How to fix it

    Register tiling: each thread computes a small block of outputs and reads each operand once for
    several of them. Wider accesses (`float4`) cost the same wavefronts but fewer instructions.
    Warp shuffles or tensor cores take operands from registers. Below 80 % the stage idles part of the
    time: the estimate is for filling it, fewer wavefronts help beyond that.

    ## Known problems

    Matrix instructions of a warpgroup read operands through the same stage; there the tensor pipe
    is named when it is within a tenth.

    ## References

    60 and 80 %: NVIDIA rule SOLBottleneck; 10 %: NVIDIA rule SharedMemoryConflicts (ncu 2025.3).
    """
    top = limiter(kernel)
    if top is None or top.resource != "shared" or top.pct < BUSY_PCT:
        return None
    wavefronts = m.SHARED_WAVEFRONTS.read(kernel.metrics) or 0.0
    ideal = m.SHARED_WAVEFRONTS_IDEAL.read(kernel.metrics) or 0.0
    if wavefronts and (wavefronts - ideal) / wavefronts >= CONFLICTS:
        return None
    share = shared_memory_share(kernel)
    speedup = estimate.headroom(top.pct)
    return Finding(
        rule="shared-memory-bandwidth-bound",
        severity=estimate.severity(speedup),
        confidence="high",
        headline=f"Shared memory is the limit: {_part(top)} is {top.pct:.0f} % busy without bank conflicts",
        detail=_AT_ROOF if filling.at_the_roof(top) else filling.unfilled(top, _part(top)),
        estimated_speedup=speedup,
        resource="shared",
        evidence=(
            busy(top),
            *measured(kernel, m.SHARED_WAVEFRONTS),
            *measured(kernel, m.SHARED_WAVEFRONTS_IDEAL),
            *(() if share is None else (derived("shared part of the stage", 100.0 * share, "%"),)),
        ),
        refuted_by="no change in time when each shared-memory value is used twice per read",
        source=shared_traffic(kernel),
        advice=(
            *filling.advice(kernel, top),
            "Tile in registers: let each thread compute several outputs per shared-memory read.",
            _SHUFFLES if accesses.loads_are_wide(kernel.opcodes_full, shared=True) else _WIDER,
        ),
    )


_AT_ROOF = "The kernel reads and writes shared memory as fast as it goes."
_SHUFFLES = "Exchange values with warp shuffles instead of shared memory: the reads are 128 bits wide already."
_WIDER = "Read wider (float4) and exchange values with warp shuffles instead of shared memory."


def _part(top: Limiter) -> str:
    front = m.UNIT_CLASS.get(top.metric) == "l1_front"
    return "the load/store front end" if front else "its data stage"
