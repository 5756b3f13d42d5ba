"""The block size keeps warps out, more would help."""

from __future__ import annotations

from kprof import metrics as m
from kprof.model import Finding, Kernel
from kprof.occupancy import limiters
from kprof.occupancy_rule import limited_by
from kprof.rule import rule


@rule(
    requires=[
        *m.COVERAGE,
        m.THEORETICAL_OCCUPANCY,
        m.LIMIT_WARPS,
        m.LIMIT_BLOCKS,
        m.ELIGIBLE_WARPS,
    ]
)
def occupancy_limited_by_block_size(kernel: Kernel) -> Finding | None:
    """## What it detects

    The number of threads per block is what limits resident warps, theoretical occupancy is below
    80 %, and the kernel suffers from it: no unit is busy, fewer than one warp per scheduler is ready,
    and warps mostly wait.

    ## Why it matters

    An SM holds at most so many blocks (32 on most GPUs, 16 or 24 on some) and so many warps (64 or
    48). Blocks of 32 threads use up the places for blocks when only half of the warps are there;
    blocks of 768 threads use 48 of 64 warps and leave no room for a third block.

    ## How to fix it

    Blocks of 128 or 256 threads fill every GPU, if registers and shared memory allow:

    ```cuda
    kernel<<<(count + 255) / 256, 256>>>(...);   // instead of (count + 31) / 32, 32
    ```

    Or ask: `cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, kernel)`.

    ## Known problems

    If registers or shared memory tie, the block size alone changes nothing: they are all named. ncu
    also gives barriers, and shared memory that the kernel does not declare, as many blocks as the SM
    has places for: these are no limits of their own and are left out. A grid of less than one wave,
    one that does not fill what it is allowed, and kernels with a busy unit are not judged, as with
    the other limits of occupancy.

    ## References

    80 %: NVIDIA rule TheoreticalOccupancy; fewer than one eligible warp: IssueSlotUtilization;
    30 % waiting: CPIStall (ncu 2025.3). The combination is kprof's own.
    """
    named = limiters(kernel)
    by = next((name for name in ("block_count", "block_size") if name in named), None)
    if by is None:
        return None
    threads = m.BLOCK_THREADS.read(kernel.metrics)
    size = f"blocks of {threads:,.0f} threads" if threads else "the block size"
    return limited_by(
        kernel,
        by,
        rule="occupancy-limited-by-block-size",
        noun=size,
        advice=(
            _LARGER if by == "block_count" else _FITTING,
            "cudaOccupancyMaxPotentialBlockSize names the block size with the most warps for this kernel.",
            "Or hide the latency inside the thread: issue more independent loads before using the first.",
        ),
    )


_LARGER = "Launch larger blocks, 128 or 256 threads: the SM has no place for more of this size, but for more warps."
_FITTING = "Choose a block size that divides the warps an SM holds (128 or 256 threads), so that no room for a partial block stays empty."
