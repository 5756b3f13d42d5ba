"""A few slices of L2 or channels of memory serve most traffic."""

from __future__ import annotations

from dataclasses import dataclass

from kprof import estimate
from kprof import metrics as m
from kprof.evidence import OWN, derived, measured, places
from kprof.limiter import BUSY_PCT, is_too_small, limiter
from kprof.metrics import accesses
from kprof.metrics.opcodes import is_global_atomic
from kprof.model import Finding, Instruction, Kernel, Resource
from kprof.rule import rule

# kprof's own: even traffic came to 1.24 in one recording and 1.11 in the next, mostly to 1.02 (H200).
# NVIDIA's rule for uneven work speaks from 5 % above the mean on, whatever it costs.
UNEVEN = 1.5
# Counters of shorter kernels come from passes that differ (Nsight Compute Profiling Guide).
LEAST_S = 20e-6
SECTORS = m.GLOBAL_SECTORS.ways[0].metrics[0]
MEMORY = frozenset({"l2", "dram"})
STORES = frozenset({"ST", "STG"})


@dataclass(frozen=True)
class Hot:
    """The busiest slice or channel: its load over the mean, and how busy that makes it."""

    level: Resource
    what: str
    uneven: float
    pct: float


@rule(requires=[m.L2_SLICE_UNEVENNESS, *m.COVERAGE])
def partition_camping(kernel: Kernel) -> Finding | None:
    """## What it detects

    The busiest slice of L2, or channel of device memory, carries at least 1.5 times the mean, and is
    itself at least 60 % busy, while the mean looks as if there were room.

    ## Why it matters

    L2 and device memory consist of dozens of slices and channels that work side by side. Addresses
    are spread over them; where all SMs want the same few lines, one slice has to serve them all and
    the others wait.

    ## How to fix it

    Give the SMs different addresses at the same time: several copies of what everybody reads,
    spread over memory; a copy in shared memory or L1 (no `__ldcg` or `volatile` for data that does
    not change); a different starting point per block; a leading dimension that is no power of two.
    Where everybody updates or writes: combine within the block first, then into copies of its own.

    ```cuda
    const float* mine = table + (blockIdx.x % COPIES) * SPREAD;   // instead of one table for all
    ```

    ## Known problems

    The sum over the whole kernel hides hot spots that move.
    Addresses are hashed since Fermi's time, so plain power-of-two strides seldom camp any more.
    Updates of one address by everybody look the same: see atomic-contention.

    ## References

    5 %: NVIDIA rule WorkloadImbalance (ncu 2025.3); 60 %: NVIDIA rule SOLBottleneck. 1.5 times:
    kprof's own, unsourced. Shorter than 20 us: Nsight Compute Profiling Guide, on short kernels.
    """
    top = limiter(kernel)
    if top is None or is_too_small(kernel) or (kernel.duration_s or 0.0) < LEAST_S:
        return None
    if top.pct >= BUSY_PCT and top.resource not in MEMORY:
        return None
    hot = _hottest(kernel)
    if hot is None:
        return None
    speedup = estimate.gain(kernel, (1.0 - 1.0 / hot.uneven) * hot.pct / 100.0, {hot.level})
    if not estimate.is_worth_it(speedup):
        return None
    return Finding(
        rule="partition-camping",
        severity=estimate.severity(speedup),
        confidence="medium",
        headline=f"The busiest {hot.what} carries {hot.uneven:.1f} times the mean and is "
        f"{hot.pct:.0f} % busy",
        detail="The others wait for it: their mean says there is room where there is none.",
        estimated_speedup=speedup,
        resource=hot.level,
        evidence=(
            derived(f"busiest {hot.what} over the mean", hot.uneven, "", UNEVEN, OWN, side="at least"),
            derived(f"how busy that {hot.what} is", hot.pct, "%", BUSY_PCT,
                    "NVIDIA rule SOLBottleneck, ncu 2025.3", side="at least"),
            *measured(kernel, m.L2_PCT),
            *measured(kernel, m.DRAM_PCT),
        ),
        refuted_by="no change in time when blocks start at different places or use copies of their own",
        source=places(kernel, _sectors, of="the global sectors touched"),
        advice=_advice(kernel),
    )  # fmt: skip


def _advice(kernel: Kernel) -> tuple[str, ...]:
    """Return what spreads the accesses that carry most of the sectors: reads, updates or stores."""
    sectors = dict.fromkeys(ADVICE, 0.0)
    for row in kernel.instructions:
        sectors[_kind(row)] += _sectors(row)
    return ADVICE[max(sectors, key=lambda kind: sectors[kind])]


def _kind(row: Instruction) -> str:
    opcode = accesses.operation(accesses.mnemonic(row.sass))
    if is_global_atomic(opcode):
        return "updates"
    return "stores" if opcode in STORES else "reads"


_APART = "Pad power-of-two leading dimensions by 128 bytes or more."
_OFFSETS = "Let blocks start at different offsets and wrap around, so that they are not at the same address together."
# The first one where nothing is known of the instructions.
ADVICE = {
    "reads": (
        "Spread what everybody reads: several copies, chosen by block, or a copy in shared memory.",
        _OFFSETS,
        _APART,
    ),
    "updates": (
        "Combine updates before they leave the SM: warp shuffles, or counters in shared memory that each block adds once.",
        "Spread what everybody updates: several copies of the counters, chosen by block and 128 bytes or more apart, added up at the end.",
    ),
    "stores": (
        "Spread what everybody writes: a place of its own per block, combined at the end.",
        _OFFSETS,
        _APART,
    ),
}


def _hottest(kernel: Kernel) -> Hot | None:
    """Return the slice or channel that is busiest, None where none is both uneven and busy."""
    levels: tuple[tuple[Resource, str, float | None, float | None], ...] = (
        ("l2", "L2 slice", m.L2_SLICE_UNEVENNESS.read(kernel.metrics), m.L2_PCT.read(kernel.metrics)),
        ("dram", "memory channel", m.DRAM_CHANNEL_UNEVENNESS.read(kernel.metrics),
         m.DRAM_PCT.read(kernel.metrics)),
    )  # fmt: skip
    found = [
        Hot(level, what, uneven, min(uneven * mean, 100.0))
        for level, what, uneven, mean in levels
        if uneven is not None and mean is not None and uneven >= UNEVEN
    ]
    busy = [hot for hot in found if hot.pct >= BUSY_PCT]
    return max(busy, key=lambda hot: hot.pct, default=None)


def _sectors(row: Instruction) -> float:
    return row.values.get(SECTORS, 0.0)
