"""Blocks leave warps partly empty."""

from __future__ import annotations

import math

from kprof import estimate
from kprof import metrics as m
from kprof.evidence import OWN, derived, measured
from kprof.limiter import limiter
from kprof.model import Finding, Kernel
from kprof.rule import rule

WARP = 32
# kprof's own: NVIDIA's rule fires on any block size that is no multiple of 32. Unsourced.
LOST_SHARE = 0.1
RELIEVES = frozenset({"issue", "control", "fma", "alu", "fp64", "fp16", "xu", "l1_front"})


@rule(requires=[m.BLOCK_THREADS, m.ISSUE_PCT])
def partial_warps(kernel: Kernel) -> Finding | None:
    """## What it detects

    The number of threads per block is not a multiple of 32, and at least a tenth of the lanes of
    its warps are never given a thread.

    ## Why it matters

    The hardware issues whole warps. A block of one thread occupies a warp, its issue slots and
    its share of the occupancy like one of 32 threads.

    ## How to fix it

    Launch blocks of a multiple of 32 threads (128 or 256 are good starting points) and let each
    block handle more elements.

    ## Known problems

    If device memory or L2 is the limit, the empty lanes cost little; the estimate follows the issue
    slots and math pipes only.

    ## References

    NVIDIA rule "Block Size" (LaunchStats section, ncu 2025.3) has the formula, without a
    threshold. 10 %: kprof's own.
    """
    threads = m.BLOCK_THREADS.read(kernel.metrics) or 0.0
    warps = math.ceil(threads / WARP)
    lost = 1.0 - threads / (WARP * warps) if warps else 0.0
    if lost < LOST_SHARE:
        return None
    top = limiter(kernel)
    idle = top is None or top.pct < 60.0
    # An idle kernel would at least get more work per resident warp.
    speedup = estimate.gain(
        kernel, lost * (0.5 if idle else estimate.pressure(kernel, RELIEVES)), RELIEVES
    )
    if not estimate.is_worth_it(speedup):
        return None
    return Finding(
        rule="partial-warps",
        severity=estimate.severity(speedup),
        confidence="medium" if idle else "high",
        headline=f"Blocks of {threads:,.0f} thread{'' if threads == 1 else 's'} leave "
        f"{100 * lost:.0f} % of their warps' lanes empty",
        detail="Every warp takes the same resources however many of its 32 lanes have a thread.",
        estimated_speedup=speedup,
        resource="launch",
        evidence=(
            *measured(kernel, m.BLOCK_THREADS),
            derived("empty lanes", 100.0 * lost, "%", 100.0 * LOST_SHARE, OWN, side="at least"),
            *measured(kernel, m.ISSUE_PCT),
        ),
        refuted_by="no change in time with blocks of a multiple of 32 threads and the same total work",
        advice=(
            "Launch blocks of a multiple of 32 threads, 128 or 256 to start with, and divide the work accordingly.",
        ),
    )
