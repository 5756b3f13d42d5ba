"""Registers spill, or arrays live in local memory."""

from __future__ import annotations

from kprof import estimate
from kprof import metrics as m
from kprof.evidence import OWN, derived, measured, places, where
from kprof.model import Finding, Instruction, Kernel
from kprof.rule import rule
from kprof.stalls import stalls

# kprof's own: below this share of the sectors local memory is noise. Unsourced.
SHARE = 0.05
SECTOR_BYTES = 32.0
LOCAL = m.LOCAL_SECTORS.ways[0].metrics[0]
CHEAP_HIT_PCT = 95.0
CHEAP = 0.2  # what is left of the cost then, kprof's own, unsourced
RELIEVES = frozenset({"l1_data", "l1_front", "l2", "dram"})


@rule(requires=[m.LOCAL_SECTORS, m.GLOBAL_SECTORS, m.L1_PCT])
def local_memory_traffic(kernel: Kernel) -> Finding | None:
    """## What it detects

    At least 5 % of the memory sectors the kernel touches belong to local memory: spilled
    registers, arrays with indices the compiler cannot resolve, or the call stack.

    ## Why it matters

    Local memory is device memory behind L1 and L2. What should be a register access becomes a
    load or store that takes 30 to several hundred cycles and cache space from real data.

    ## How to fix it

    Spills: give the compiler more registers (drop `-maxrregcount`, relax the second argument of
    `__launch_bounds__`), unroll less, use smaller tiles per thread.
    Indexed arrays: make every index a compile-time constant (`#pragma unroll`), or put the array
    in shared memory.

    ## Known problems

    Spills and indexed arrays are told apart by ncu 2025's spill counters; older reports say only
    "local". Traffic that stays in L1 with hit rates above 95 % costs little: low severity.

    ## References

    Sectors: `memory_l2_theoretical_sectors_local`; spills:
    `sass__inst_executed_register_spilling` (ncu 2025). 5 %: kprof's own, unsourced.
    """
    local = m.LOCAL_SECTORS.read(kernel.metrics) or 0.0
    everything = _all_sectors(kernel, local)
    if not local or local < SHARE * everything:
        return None
    share = local / everything
    spills = m.SPILL_INSTRUCTIONS.read(kernel.metrics)
    speedup = estimate.gain(kernel, share * _cost(kernel), RELIEVES)
    if not estimate.is_worth_it(speedup):
        return None
    found = places(kernel, _local, local, of="the local sectors touched")
    return Finding(
        rule="local-memory-traffic",
        severity=estimate.severity(speedup),
        confidence="high" if spills is not None else "medium",
        headline=f"{_cause(spills)} local memory: {100 * share:.0f} % of all sectors touched{where(found)}",
        detail="Local memory is device memory seen through L1 and L2; these accesses should be registers.",
        estimated_speedup=speedup,
        resource="l1",
        evidence=(
            derived(
                "local share of sectors", 100.0 * share, "%", 100.0 * SHARE, OWN, side="at least"
            ),
            *measured(kernel, m.LOCAL_SECTORS),
            *measured(kernel, m.SPILL_INSTRUCTIONS),
            *measured(kernel, m.L1_HIT),
            *measured(kernel, m.L1_PCT),
        ),
        refuted_by=f"an L1 hit rate above {CHEAP_HIT_PCT:.0f} % without LG-throttle stalls: then it costs little",
        source=found,
        advice=_advice(spills),
    )


def _all_sectors(kernel: Kernel, local: float) -> float:
    """Return all sectors moved: TMA copies are no load instructions, but they arrive from L2."""
    instructions = local + (m.GLOBAL_SECTORS.read(kernel.metrics) or 0.0)
    return max(instructions, (m.L2_BYTES.read(kernel.metrics) or 0.0) / SECTOR_BYTES)


def _local(row: Instruction) -> float:
    return row.values.get(LOCAL, 0.0)


def _cost(kernel: Kernel) -> float:
    """Return how far the memory path sets the pace, less when L1 serves it all without a queue."""
    hit = m.L1_HIT.read(kernel.metrics) or 0.0
    throttled = stalls(kernel).get("lg_throttle", 0.0)
    cheap = hit >= CHEAP_HIT_PCT and throttled < 0.1
    return estimate.pressure(kernel, RELIEVES) * (CHEAP if cheap else 1.0)


def _cause(spills: float | None) -> str:
    if spills is None:
        return "Spilled registers or indexed arrays use"
    return "Registers spill to" if spills > 0.0 else "Arrays with run-time indices live in"


def _advice(spills: float | None) -> tuple[str, ...]:
    for_spills = "Give the compiler more registers: drop -maxrregcount, relax __launch_bounds__, unroll less, or compute a smaller tile per thread (`nvcc -Xptxas -v` prints spills)."
    for_arrays = "Make array indices compile-time constants (#pragma unroll the loop over them), or move the array to shared memory."
    if spills is None:
        return (for_spills, for_arrays)
    return (for_spills,) if spills > 0.0 else (for_arrays,)
