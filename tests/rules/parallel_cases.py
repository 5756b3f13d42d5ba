"""The rules about how the launch fills the GPU: waves, balance, occupancy, launch overhead."""

from __future__ import annotations

from typing import Any

from kprof.model import Kernel
from tests.kernels import (
    DRAM,
    ELIGIBLE,
    FMA,
    FULL_GRID,
    SMS,
    THEORETICAL,
    declaring,
    kernel,
    sampled,
)
from tests.rules.case import SILENT, Case

WAVES = "launch__waves_per_multiprocessor"
GRID = "launch__grid_size"
ACHIEVED = "sm__warps_active.avg.pct_of_peak_sustained_active"


def balanced(idle: float, waves: float, blocks: float = 4096.0, **fields: Any) -> Kernel:
    """Make a kernel whose average SM idles for this share of the time."""
    metrics = {
        GRID: blocks,
        WAVES: waves,
        "launch__sm_count": SMS,
        "sm__cycles_active.avg": 1e6 * (1.0 - idle),
        "sm__cycles_active.max": 1e6,
        "sm__cycles_elapsed.max": 1e6,
    }
    changes = fields.pop("metrics", {})
    return kernel(metrics=metrics | changes, **fields)


CLUSTERS = {"launch__cluster_size": 16.0, "launch__cluster_max_active": 7.0}
HALF_ACTIVE = {"sm__cycles_elapsed.max": 2e6}
TAIL = (
    Case("tail-effect", "1.1 waves", balanced(0.45, 1.1), "high", "1.10 waves", "high"),
    Case("tail-effect", "a tenth is idle", balanced(0.1001, 1.1), confidence="medium"),
    Case("tail-effect", "1.6 waves without a tail", balanced(0.004, 1.6), SILENT),
    Case("tail-effect", "a little less than a tenth is idle", balanced(0.0999, 1.1), SILENT),
    Case("tail-effect", "8.9 waves", balanced(0.3, 8.9), SILENT),
    Case("tail-effect", "8.05 waves", balanced(0.3, 8.05)),
    Case("tail-effect", "9.05 waves", balanced(0.3, 9.05), SILENT),
    Case("tail-effect", "whole waves", balanced(0.3, 2.0), SILENT),
    Case("tail-effect", "hardly more than whole waves", balanced(0.3, 2.01), SILENT),
    Case("tail-effect", "less than a wave", balanced(0.3, 0.6), SILENT),
    Case("tail-effect", "one block per SM", balanced(0.3, 1.0, blocks=SMS), SILENT),
    Case("tail-effect", "little of the time is work",
         balanced(0.19, 1.1, metrics=HALF_ACTIVE), SILENT),
    Case("tail-effect", "2 us of skew", balanced(0.15, 1.1, duration_s=13e-6), SILENT),
    Case("tail-effect", "more than skew", balanced(0.15, 1.1, duration_s=14e-6)),
    Case("tail-effect", "a unit is busy", balanced(0.45, 1.1, units={FMA: 60.0}), "low"),
    Case("tail-effect", "beside a busy unit as little as two runs differ by",
         balanced(0.45, 1.1, units={FMA: 86.0}), SILENT),
    Case("tail-effect", "beside a busy unit a little more",
         balanced(0.45, 1.1, units={FMA: 85.0}), "low"),
    Case("tail-effect", "no unit is", balanced(0.45, 1.1, units={FMA: 59.0}), "medium"),
    Case("tail-effect", "memory has nothing left to give",
         balanced(0.45, 1.1, units={DRAM: 90.0}), SILENT),
)  # fmt: skip

IMBALANCE = (
    Case("workload-imbalance", "long blocks", balanced(0.5, 4.0), "high", "idle 50 %", "high"),
    Case("workload-imbalance", "a tenth is idle", balanced(0.1001, 4.0), confidence="medium"),
    Case("workload-imbalance", "a little less", balanced(0.0999, 4.0), SILENT),
    Case("workload-imbalance", "the tail explains it", balanced(0.5, 1.1), SILENT),
    Case("workload-imbalance", "the tail explains part", balanced(0.4, 3.5)),
    Case("workload-imbalance", "clusters explain it",
         balanced(0.45, 0.97, blocks=128.0, metrics=CLUSTERS), SILENT),
    Case("workload-imbalance", "a small grid", balanced(0.5, 0.4, blocks=105.0), SILENT),
    Case("workload-imbalance", "not so small a grid", balanced(0.5, 0.4, blocks=106.0)),
    Case("workload-imbalance", "200 blocks on 132 SMs", balanced(0.24, 0.4, blocks=200.0)),
    Case("workload-imbalance", "2 us of skew", balanced(0.15, 4.0, duration_s=13e-6), SILENT),
    Case("workload-imbalance", "more than skew", balanced(0.15, 4.0, duration_s=14e-6)),
    Case("workload-imbalance", "a unit is busy", balanced(0.5, 4.0, units={FMA: 60.0}), "low"),
    Case("workload-imbalance", "memory has nothing left to give",
         balanced(0.5, 4.0, units={DRAM: 90.0}), SILENT),
)  # fmt: skip
# Occupancy that is allowed and not reached, and the block size.
STARVED = (
    FULL_GRID
    | {WAVES: 62.0, THEORETICAL: 100.0, ACHIEVED: 60.0, ELIGIBLE: 0.2}
    | sampled(long_scoreboard=900.0, barrier=100.0)
)
SHORT_BLOCKS = {
    "launch__occupancy_limit_warps": 8.0,
    "launch__occupancy_limit_blocks": 32.0,
    "launch__occupancy_limit_registers": 16.0,
    "sm__cycles_active.avg": 3.5e4,
}  # 10,000 blocks on 132 SMs, 4.8 at a time


def gap(title: str, expected: str = "fires", *, unit: float = 5.0, **changes: float) -> Case:
    named = {"achieved": ACHIEVED, "allowed": THEORETICAL, "waves": WAVES, "eligible": ELIGIBLE}
    changed = {named.get(name, name): value for name, value in changes.items()}
    duration = changed.pop("duration_s", 1e-3)
    item = kernel({DRAM: unit}, STARVED | changed, duration_s=duration)
    return Case("achieved-occupancy-gap", title, item, expected)


GAP = (
    Case("achieved-occupancy-gap", "short blocks",
         kernel(metrics=STARVED | SHORT_BLOCKS | {ACHIEVED: 49.7}), "high", "live only", "high"),
    Case("achieved-occupancy-gap", "short blocks, and half of the places filled",
         kernel(metrics=STARVED | SHORT_BLOCKS | {ACHIEVED: 49.9}), confidence="medium"),
    Case("achieved-occupancy-gap", "long blocks", kernel(metrics=STARVED), confidence="low"),
    gap("a quarter of the places is empty", achieved=74.7),
    gap("fewer are", SILENT, achieved=74.9),
    gap("less than ten points", SILENT, allowed=25.0, achieved=15.1),
    gap("ten points", allowed=25.0, achieved=14.9),
    Case("achieved-occupancy-gap", "blocks of 2,000 cycles",
         kernel(metrics=STARVED | SHORT_BLOCKS | {ACHIEVED: 49.7, "sm__cycles_active.avg": 3.82e4}),
         confidence="low"),
    gap("one wave", waves=1.0),
    gap("less than a wave", SILENT, waves=0.99),
    gap("59.9 % busy", unit=59.9),
    gap("60 % busy", SILENT, unit=60.0),
    gap("0.99 eligible warps", eligible=0.99),
    gap("1 eligible warp", SILENT, eligible=1.0),
    gap("the start of a launch of 10 us", SILENT, duration_s=10e-6),
    gap("the start of a launch of 15 us", duration_s=15e-6),
    Case("achieved-occupancy-gap", "warps wait for each other",
         kernel(metrics=STARVED | sampled(long_scoreboard=100.0, barrier=900.0)), SILENT),
)  # fmt: skip

LIMIT = "launch__occupancy_limit_"
SMALL_BLOCKS = STARVED | {
    THEORETICAL: 50.0, ACHIEVED: 48.0, "launch__block_size": 32.0, f"{LIMIT}blocks": 32.0,
    f"{LIMIT}warps": 64.0, f"{LIMIT}registers": 64.0, f"{LIMIT}shared_mem": 64.0,
}  # fmt: skip
PLACES = {f"{LIMIT}shared_mem": 32.0, f"{LIMIT}barriers": 32.0}
LARGE_BLOCKS = SMALL_BLOCKS | {
    THEORETICAL: 75.0, ACHIEVED: 70.0, "launch__block_size": 768.0, f"{LIMIT}warps": 2.0,
    f"{LIMIT}registers": 3.0,
}  # fmt: skip
BLOCK_SIZE = (
    Case("occupancy-limited-by-block-size", "32 threads", kernel(metrics=SMALL_BLOCKS), "high",
         "blocks of 32 threads allow 50 % occupancy", "high"),
    Case("occupancy-limited-by-block-size", "768 threads", kernel(metrics=LARGE_BLOCKS),
         says="blocks of 768 threads"),
    Case("occupancy-limited-by-block-size", "barriers and unused shared memory do not tie",
         kernel(metrics=SMALL_BLOCKS | PLACES, launch=declaring(0)), "high", confidence="high",
         holds="more resident warps would fill", lacks="Limits tie"),
    Case("occupancy-limited-by-block-size", "declared shared memory ties",
         kernel(metrics=SMALL_BLOCKS | PLACES, launch=declaring(6144)), confidence="medium",
         holds="Limits tie: shared memory allows no more", lacks="barriers"),
    Case("occupancy-limited-by-block-size", "registers tie",
         kernel(metrics=LARGE_BLOCKS | {f"{LIMIT}registers": 2.0}), confidence="medium",
         holds="Limits tie: registers"),
    Case("occupancy-limited-by-block-size", "registers limit",
         kernel(metrics=LARGE_BLOCKS | {f"{LIMIT}registers": 1.0}), SILENT),
    Case("occupancy-limited-by-block-size", "79.9 %",
         kernel(metrics=LARGE_BLOCKS | {THEORETICAL: 79.9})),
    Case("occupancy-limited-by-block-size", "80 %",
         kernel(metrics=LARGE_BLOCKS | {THEORETICAL: 80.0}), SILENT),
    Case("occupancy-limited-by-block-size", "60 % busy",
         kernel({DRAM: 60.0}, SMALL_BLOCKS), SILENT),
)  # fmt: skip


# Launches too short, and clusters.
def lasting(microseconds: float, **units: float) -> Kernel:
    return kernel({DRAM: 5.0, **units}, FULL_GRID, duration_s=microseconds * 1e-6)


SHORT = (
    Case(
        "launch-overhead-bound", "3 us", lasting(3.0), "low", "3.00 µs", "high", holds="no estimate"
    ),
    Case("launch-overhead-bound", "4.99 us", lasting(4.99), confidence="medium"),
    Case("launch-overhead-bound", "5 us", lasting(5.001), SILENT),
    Case("launch-overhead-bound", "nearly 60 % busy", lasting(3.0, **{DRAM: 59.9})),
    Case("launch-overhead-bound", "60 % busy", lasting(3.0, **{DRAM: 60.0}), SILENT),
)


def clustered(size: float, clusters: float, **fields: Any) -> Kernel:
    """Make a launch of one block per SM; other limits allow more."""
    metrics = {
        GRID: fields.pop("blocks", 528.0), "launch__sm_count": SMS,
        "launch__cluster_size": size, "launch__cluster_max_active": clusters,
        f"{LIMIT}shared_mem": 1.0, f"{LIMIT}registers": 2.0, f"{LIMIT}warps": 4.0,
        f"{LIMIT}blocks": 32.0,
    }  # fmt: skip
    return kernel(fields.pop("units", None), metrics, **fields)


CLUSTER = (
    Case("cluster-limited-occupancy", "16", clustered(16.0, 7.0), says="112 blocks run at once"),
    Case("cluster-limited-occupancy", "8 clusters where 7 fit", clustered(16.0, 7.0, blocks=128.0), "high"),
    Case("cluster-limited-occupancy", "2", clustered(2.0, 66.0), SILENT),
    Case("cluster-limited-occupancy", "no clusters", clustered(0.0, 0.0), SILENT),
    Case("cluster-limited-occupancy", "clusters of one", clustered(1.0, 100.0), SILENT),
    Case("cluster-limited-occupancy", "5.3 % lost", clustered(5.0, 25.0)),
    Case("cluster-limited-occupancy", "4.5 % lost", clustered(6.0, 21.0), SILENT),
    Case("cluster-limited-occupancy", "the grid fits anyway",
         clustered(16.0, 7.0, blocks=112.0), SILENT),
    Case("cluster-limited-occupancy", "the grid just does not fit",
         clustered(16.0, 7.0, blocks=128.0)),
    Case("cluster-limited-occupancy", "a unit is busy",
         clustered(16.0, 7.0, units={FMA: 70.0}), "low"),
    Case("cluster-limited-occupancy", "memory has nothing left to give",
         clustered(16.0, 7.0, units={DRAM: 90.0}), SILENT),
)  # fmt: skip
CASES = (*TAIL, *IMBALANCE, *GAP, *BLOCK_SIZE, *SHORT, *CLUSTER)
