"""Registers keep warps out, more would help."""

from __future__ import annotations

from kprof import metrics as m
from kprof.model import Finding, Kernel
from kprof.occupancy_rule import limited_by
from kprof.rule import rule


@rule(requires=[*m.COVERAGE, m.THEORETICAL_OCCUPANCY, m.LIMIT_REGISTERS, m.ELIGIBLE_WARPS])
def occupancy_limited_by_registers(kernel: Kernel) -> Finding | None:
    """## What it detects

    The register count is what limits resident blocks, theoretical occupancy is below 80 %, and
    the kernel suffers from it: no unit is busy, fewer than one warp per scheduler is ready to
    issue, and warps mostly wait for memory.

    ## Why it matters

    An SM hides latency by switching between resident warps. With few of them it idles whenever
    all wait. When a unit is already busy, or warps are always ready, occupancy does not matter
    and this rule stays silent.

    ## How to fix it

    Reduce registers to the next step that fits one more block (the what-if names it):
    `__launch_bounds__(threads, min_blocks)`, `-maxrregcount`, smaller per-thread tiles, less
    unrolling, recomputing instead of keeping. Or keep the registers and use them: more
    independent loads per thread hide the same latency.

    ## Known problems

    A grid of less than one wave, or one that reaches less than 60 % of the occupancy it is
    allowed, cannot use more room and is not judged. If other limits tie, reducing registers alone
    changes nothing: they are all named. Barriers that allow as many blocks as the SM has places for,
    and shared memory that the kernel does not declare, are no limits of their own.
    Warp-specialised kernels change their register count at run time (USETMAXREG): not judged.
    Deliberate one-block-per-SM kernels are silent because a unit is busy in them.

    ## References

    80 %: NVIDIA rule TheoreticalOccupancy; fewer than one eligible warp: IssueSlotUtilization;
    30 % waiting: CPIStall (ncu 2025.3). The combination is kprof's own.
    """
    return limited_by(
        kernel,
        "registers",
        rule="occupancy-limited-by-registers",
        noun="registers",
        advice=(
            "Bound the registers: __launch_bounds__(threads_per_block, blocks_per_SM) or -maxrregcount, and check -Xptxas -v for spills.",
            "Compute a smaller tile per thread, unroll less, or recompute values instead of keeping them.",
            "Or hide the latency inside the thread: issue more independent loads before using the first.",
        ),
    )
