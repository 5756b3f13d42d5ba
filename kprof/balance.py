"""How evenly the SMs share a launch: what was measured, and what the grid alone explains.

Shares are of the kernel's time, 0..1: how much of it the average SM had no block while the busiest
one still worked.
"""

from __future__ import annotations

import math

from kprof import metrics as m
from kprof.evidence import OWN, derived
from kprof.model import Evidence, Kernel

# From here on an idle share is more than noise: kprof's own. Where every SM did the same work it
# came to 6 % in one recording and 0.3 % in the next (compute-bound/bad, H200).
UNEVEN = 0.1
# Blocks start, and counters are read, at slightly different times on every SM: 0.5 to 2 us of a
# launch are no work at all (forums.developer.nvidia.com/t/360150).
SKEW_S = 2e-6
# A grid this close below a whole number of waves fills the last one. kprof's own, unsourced.
_WHOLE = 0.02


def evidence(idle: float) -> Evidence:
    """Return the evidence that a share (0..1) of the time is idle."""
    percent, limit = 100.0 * idle, 100.0 * UNEVEN
    return derived("idle time of the average SM", percent, "%", limit, OWN, side="at least")


def idle_share(kernel: Kernel) -> float | None:
    """Return the share of the time the average SM was done and the busiest was not.

    NVIDIA's estimate for an uneven workload (rule WorkloadImbalance, ncu 2025.3): the distance of
    the mean from the maximum, times the share of the time the busiest SM was active. None when not
    measured; 0 where it is no longer than SMs are apart at the start.
    """
    distance = idle_share_at_most(kernel)
    most = m.SM_CYCLES_ACTIVE_MAX.read(kernel.metrics)
    elapsed = m.SM_CYCLES_ELAPSED.read(kernel.metrics)
    if distance is None or not most or not elapsed or not kernel.duration_s:
        return None
    # The two come from different passes and can differ by more than their distance.
    share = distance * min(most / elapsed, 1.0)
    return share if share * kernel.duration_s > SKEW_S else 0.0


def idle_share_at_most(kernel: Kernel) -> float | None:
    """Return the same where the rest of the time does not count: a share of the busiest SM's.

    Where blocks land changes how long an uneven kernel takes. Its passes then differ, and the busiest
    SM of one seems to work for little of the time of another.
    """
    mean = m.SM_CYCLES_ACTIVE_AVG.read(kernel.metrics)
    most = m.SM_CYCLES_ACTIVE_MAX.read(kernel.metrics)
    return None if mean is None or not most else max(1.0 - mean / most, 0.0)


def tail_share(kernel: Kernel) -> float:
    """Return the share of the time that the last, partly filled wave leaves unused.

    With 2.3 waves of equal blocks the kernel takes as long as with 3: 23 % of it is lost. 0 for one
    wave or less, and where the number of waves is not known.
    """
    return _unfilled(m.WAVES.read(kernel.metrics))


def cluster_tail_share(kernel: Kernel) -> float:
    """Return the same where fewer blocks fit because all of a cluster's have to.

    ncu counts waves as if there were no clusters. 0 without them.
    """
    size, clusters, blocks = (
        quantity.read(kernel.metrics)
        for quantity in (m.CLUSTER_SIZE, m.CLUSTERS_ACTIVE_MAX, m.GRID_BLOCKS)
    )
    if not size or size <= 1.0 or not clusters or not blocks:
        return 0.0
    return _unfilled(blocks / (size * clusters))


def _unfilled(waves: float | None) -> float:
    if waves is None or waves <= 1.0:
        return 0.0
    return max(1.0 - waves / math.ceil(waves - _WHOLE), 0.0)


def uneven_share(kernel: Kernel) -> float:
    """Return the share that blocks cannot be dealt out evenly, where all of them fit at once.

    200 blocks on 132 SMs leave 64 of them one block short of the other 68: 24 % of the slots.
    """
    waves = m.WAVES.read(kernel.metrics)
    blocks, sms = m.GRID_BLOCKS.read(kernel.metrics), m.SM_COUNT.read(kernel.metrics)
    if waves is None or waves > 1.0 or not blocks or not sms:
        return 0.0
    return 1.0 - blocks / sms / math.ceil(blocks / sms)
