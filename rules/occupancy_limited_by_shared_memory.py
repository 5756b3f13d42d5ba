"""Shared memory keeps warps out, more would help."""

from __future__ import annotations

from kprof import metrics as m
from kprof.model import Finding, Kernel
from kprof.occupancy import declares_no_shared_memory
from kprof.occupancy_rule import limited_by
from kprof.rule import rule


@rule(requires=[*m.COVERAGE, m.THEORETICAL_OCCUPANCY, m.LIMIT_SHARED, m.ELIGIBLE_WARPS])
def occupancy_limited_by_shared_memory(kernel: Kernel) -> Finding | None:
    """## What it detects

    The shared memory of a block is what limits resident blocks, theoretical occupancy is below
    80 %, and the kernel suffers from it: no unit is busy, fewer than one warp per scheduler is
    ready to issue, and warps mostly wait for memory.

    ## Why it matters

    Few resident warps cannot hide memory latency. When a unit is already busy (a GEMM with one
    large tile per SM), low occupancy is the price of reuse and this rule stays silent.

    ## How to fix it

    Use a smaller tile or a narrower type in shared memory, fewer pipeline stages, or more threads
    per block on the same tile. If the carve-out is the limit, raise it with
    `cudaFuncAttributePreferredSharedMemoryCarveout`.

    ## Known problems

    A grid of less than one wave, or one that reaches less than 60 % of the occupancy it is
    allowed, cannot use more room and is not judged. Where the kernel declares no shared memory, what
    the driver keeps for itself is the limit, and nothing is said. If other limits tie, reducing shared
    memory alone changes nothing: they are all named. Barriers that allow as many blocks as the SM has
    places for are no limit of their own.

    ## References

    80 %: NVIDIA rule TheoreticalOccupancy; fewer than one eligible warp: IssueSlotUtilization;
    30 % waiting: CPIStall (ncu 2025.3). The combination is kprof's own.
    """
    if declares_no_shared_memory(kernel):
        return None
    return limited_by(
        kernel,
        "shared_memory",
        rule="occupancy-limited-by-shared-memory",
        noun="shared memory",
        advice=(
            "Use a smaller shared-memory tile, a narrower type in it, or fewer pipeline stages.",
            "Use more threads per block on the same tile, so that each block brings more warps.",
            "Raise the shared-memory carve-out (cudaFuncAttributePreferredSharedMemoryCarveout) if L1 does not need the space.",
        ),
    )
