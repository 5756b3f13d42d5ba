"""Thread block clusters leave SMs without blocks."""

from __future__ import annotations

import math

from kprof import estimate, occupancy
from kprof import metrics as m
from kprof.evidence import OWN, derived, measured
from kprof.model import Finding, Kernel, Speedup
from kprof.rule import rule

LOST = 0.05  # of the blocks that fit without clusters. kprof's own, unsourced.


@rule(
    requires=[
        m.CLUSTER_SIZE,
        m.CLUSTERS_ACTIVE_MAX,
        m.GRID_BLOCKS,
        m.SM_COUNT,
        m.LIMIT_REGISTERS,
        m.LIMIT_SHARED,
        m.LIMIT_WARPS,
        m.LIMIT_BLOCKS,
    ]
)
def cluster_limited_occupancy(kernel: Kernel) -> Finding | None:
    """## What it detects

    The launch uses thread block clusters, the GPU holds at least a twentieth fewer of its blocks
    than without clusters, and the grid is large enough to miss them.

    ## Why it matters

    All blocks of a cluster run at the same time on the SMs of one GPC. An H200 has GPCs of 16 and 18
    SMs: with one block per SM, clusters of 16 fill at most 112 of its 132 SMs, clusters of 2 all of
    them. What does not fit stays empty for the whole launch.

    ## How to fix it

    ```cuda
    int clusters;
    cudaOccupancyMaxActiveClusters(&clusters, kernel, &config);  // times cluster size = blocks at once
    ```

    Compare sizes (1, 2, 4, 8) by that number times their size and take the smallest that shares
    enough; make blocks small enough that two fit on an SM; on compute capability 10.0 and later give
    a preferred and a smaller fallback size (`cudaLaunchAttributePreferredClusterDimension`).

    ## Known problems

    The number of clusters that fit is the driver's best estimate, and GPUs of one name differ in
    which SMs their GPCs have. A cluster may be worth empty SMs: multicast loads save L2 traffic. GPUs
    before compute capability 9.0 have no clusters, and reports from there lack the value.

    ## References

    `launch__cluster_max_active` and the limits `launch__occupancy_limit_*` (ncu 2025.3); what the GPU
    holds: cudaOccupancyMaxActiveClusters, CUDA Runtime API. 5 %: kprof's own.
    """
    size, clusters, blocks, sms = (
        quantity.read(kernel.metrics) or 0.0
        for quantity in (m.CLUSTER_SIZE, m.CLUSTERS_ACTIVE_MAX, m.GRID_BLOCKS, m.SM_COUNT)
    )
    fit = occupancy.blocks_per_sm(kernel)
    if size <= 1.0 or not clusters or not sms or not fit:
        return None
    held, could = size * clusters, fit * sms
    lost = 1.0 - held / could
    if lost < LOST or blocks <= held:
        return None
    speedup = _speedup(kernel, blocks, held, could)
    if not estimate.is_worth_it(speedup):
        return None
    return Finding(
        rule="cluster-limited-occupancy",
        severity=estimate.severity_beside(kernel, speedup),
        confidence="medium",
        headline=f"Clusters of {size:.0f} blocks leave room unused: {held:,.0f} blocks run at once where "
        f"{could:,.0f} fit without clusters",
        detail="A cluster needs all its blocks' places on the SMs of one GPC; the rest of the GPC stays empty.",
        estimated_speedup=speedup,
        resource="occupancy",
        evidence=(
            *measured(kernel, m.CLUSTER_SIZE),
            *measured(kernel, m.CLUSTERS_ACTIVE_MAX),
            derived(
                "blocks that clusters keep out",
                100.0 * lost,
                "%",
                100.0 * LOST,
                OWN,
                side="at least",
            ),
            derived("blocks per SM without clusters", float(fit), "block"),
        ),
        refuted_by="no change in time with a smaller cluster, or more L2 traffic that costs what the SMs gain",
        advice=(
            "Try a smaller cluster: compare cudaOccupancyMaxActiveClusters times the cluster size for 1, 2, 4 and 8.",
            "Make blocks small enough for two per SM, so that clusters fit into what is left of a GPC.",
        ),
    )


def _speedup(kernel: Kernel, blocks: float, held: float, could: float) -> Speedup:
    """Estimate from the room that is left empty, and from how often the GPU has to be filled."""
    by_room = 1.0 - held / min(could, blocks)
    by_rounds = 1.0 - math.ceil(blocks / could) / math.ceil(blocks / held)
    best = estimate.gain(kernel, max(by_room, by_rounds), ())
    worst = estimate.gain(kernel, min(by_room, by_rounds), ())
    return Speedup(low=min(worst.low, best.high), high=best.high)
