"""What a recording may carry at medium or above beside what it is planted for, and why.

The statement of the limit itself (``compute-bound``, ``dram-bandwidth-bound``, ...) is not listed:
every kernel has a limit.
"""

from __future__ import annotations

_ONE_LOAD = "one load per thread and short blocks: 50 % of device memory, where float4 reaches 90 %"
_WAITS = "its warps wait for loads because of the planted fault"

ALLOWED: dict[str, dict[str, str]] = {
    "achieved-occupancy-gap-bad": {"memory-latency-bound": _WAITS},
    "achieved-occupancy-gap-good": {
        "memory-latency-bound": "like bad, it has one load in flight per thread: that is another fault"
    },
    "atomic-contention-bad": {
        "partition-camping": "the one address lies in one slice of L2",
    },
    "launch-overhead-bound-good": {
        "memory-latency-bound": _ONE_LOAD,
        "achieved-occupancy-gap": _ONE_LOAD,
    },
    "memory-latency-bound-bad": {
        "uncoalesced-global-access": "a chain of pointers: each lane reads a sector of its own"
    },
    "occupancy-limited-by-block-size-bad": {
        "memory-latency-bound": _WAITS,
    },
    "occupancy-limited-by-registers-bad": {"memory-latency-bound": _WAITS},
    "occupancy-limited-by-shared-memory-bad": {"memory-latency-bound": _WAITS},
    "partition-camping-good": {
        "memory-latency-bound": "each thread has one load in flight, as in bad",
        "workload-imbalance": "SMs far from their copy of the table take longer",
    },
    "remote-memory-traffic-good": {
        "memory-latency-bound": _ONE_LOAD,
        "achieved-occupancy-gap": _ONE_LOAD,
    },
    "synchronous-tile-copy-bad": {
        "memory-latency-bound": _WAITS,
        "shared-bank-conflicts": "the stores of the tile conflict, for 10 % of the time",
    },
    "synchronous-tile-copy-good": {
        "shared-bank-conflicts": "the tile of bad: its conflicts are what is left"
    },
    "tensor-cores-unused-good": {
        "tensor-pipe-underused": "a first version on tensor cores: without stages ahead",
        "memory-latency-bound": _WAITS,
    },
    "uncoalesced-global-access-good": {
        "memory-latency-bound": _ONE_LOAD,
        "achieved-occupancy-gap": _ONE_LOAD,
    },
}
# Samples that are named after what they do, with what they are built to show.
PLANTED = {
    "local-memory-traffic-spill": "local-memory-traffic",
    "transpose-naive": "uncoalesced-global-access",
    "transpose-unpadded": "shared-bank-conflicts",
}
