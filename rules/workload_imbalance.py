"""Some SMs work much longer than others."""

from __future__ import annotations

from kprof import balance, estimate
from kprof import metrics as m
from kprof.evidence import measured
from kprof.limiter import FEW_BLOCKS
from kprof.model import Finding, Kernel, Speedup
from kprof.rule import rule


@rule(
    requires=[
        m.DURATION,
        m.GRID_BLOCKS,
        m.SM_COUNT,
        m.SM_CYCLES_ACTIVE_AVG,
        m.SM_CYCLES_ACTIVE_MAX,
        m.SM_CYCLES_ELAPSED,
    ]
)
def workload_imbalance(kernel: Kernel) -> Finding | None:
    """## What it detects

    The average SM is done a tenth of the time or more before the busiest one, and neither an
    unfilled last wave nor a grid smaller than the GPU explains it.

    ## Why it matters

    A launch ends with its last block. Blocks with ten times the work of others (long rows of a
    sparse matrix, triangular loops, the one block that adds up all parts) keep it running while
    most of the GPU is idle.

    ## How to fix it

    Hand out small pieces to whoever is free, instead of fixed large ones:

    ```cuda
    __shared__ int tile;
    while (true) {
      if (threadIdx.x == 0) tile = atomicAdd(&next_tile, 1);
      __syncthreads();
      if (tile >= tiles) break;
      work_on(tile);
      __syncthreads();
    }
    ```

    Or start the heaviest blocks first, split them, or give each block an equal share of the items
    (rows of a sparse matrix by non-zeros, merge-path).

    ## Known problems

    It shows only what is uneven between SMs: uneven warps inside each block are divergence or
    barrier stalls. Launches of a few microseconds are always uneven, because blocks start at
    different times: less than 2 us of difference are left out.

    ## References

    NVIDIA rule WorkloadImbalance (WorkloadDistribution section, ncu 2025.3): distance of the mean from
    the maximum, from 5 % on. Here 10 %, kprof's own: 6 % occurred between two recordings of one even
    kernel. 2 us: forums.developer.nvidia.com/t/360150.
    """
    idle = balance.idle_share(kernel)
    if idle is None or _few_blocks(kernel):
        return None
    explained = max(balance.tail_share(kernel), balance.cluster_tail_share(kernel))
    saved = idle - explained
    if saved < balance.UNEVEN:
        return None
    speedup = _speedup(kernel, saved, explained)
    if not estimate.is_worth_it(speedup):
        return None
    by_grid = balance.uneven_share(kernel)
    return Finding(
        rule="workload-imbalance",
        severity=estimate.severity_beside(kernel, speedup),
        confidence="high" if saved >= 2.0 * balance.UNEVEN else "medium",
        headline=f"The work is uneven: the average SM is idle {100 * idle:.0f} % of the time the busiest one works",
        detail=_detail(kernel, saved, by_grid),
        estimated_speedup=speedup,
        resource="launch",
        evidence=(
            balance.evidence(idle),
            *measured(kernel, m.SM_CYCLES_ACTIVE_AVG),
            *measured(kernel, m.SM_CYCLES_ACTIVE_MAX),
            *measured(kernel, m.GRID_BLOCKS),
        ),
        refuted_by="mean and maximum of sm__cycles_active close together in another run, or no change in "
        "time when the heaviest blocks are split",
        advice=(
            "Make pieces smaller and let blocks fetch the next one when they are free (an atomic counter).",
            "Give each block an equal amount of work (items, non-zeros), not an equal number of rows; start the heaviest first.",
            "If one block finishes the others' results, spread that step or make it a second launch.",
        ),
    )


def _speedup(kernel: Kernel, saved: float, explained: float) -> Speedup:
    at_most = balance.idle_share_at_most(kernel) or 0.0
    best = estimate.gain(kernel, max(at_most - explained, saved), ())
    return Speedup(low=estimate.gain(kernel, saved, ()).low, high=best.high)


def _few_blocks(kernel: Kernel) -> bool:
    """Leave grids smaller than the GPU to grid-too-small."""
    blocks, sms = m.GRID_BLOCKS.read(kernel.metrics), m.SM_COUNT.read(kernel.metrics)
    return not blocks or not sms or blocks < FEW_BLOCKS * sms


def _detail(kernel: Kernel, saved: float, by_grid: float) -> str:
    if by_grid < 0.5 * saved:
        return "Blocks take different times, and the launch lasts until the longest is done."
    blocks, sms = m.GRID_BLOCKS.read(kernel.metrics), m.SM_COUNT.read(kernel.metrics)
    return (
        f"{blocks:.0f} blocks cannot be shared evenly by {sms:.0f} SMs: all of them run at once, and "
        f"some SMs have one more than others."
    )
