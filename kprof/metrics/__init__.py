"""The ncu metrics kprof knows: every quantity it derives, and which report metrics are read.

Names differ by chip, ncu version and section set; docs/metrics.md has the table and its sources.
"""

from __future__ import annotations

from functools import lru_cache

from kprof.metrics.accesses import (
    ASYNC_COPIES,
    GLOBAL_ACCESSES,
    LSU_ACCESSES,
    NARROW_ACCESSES,
    SHARED_ATOMICS,
    SHARED_STORES,
)
from kprof.metrics.arithmetic import (
    DADD,
    DFMA,
    DFMA_PEAK,
    DMUL,
    FADD,
    FFMA,
    FFMA_PEAK,
    FMUL,
    FP16_INSTRUCTIONS,
    FP32_INSTRUCTIONS,
    FP64_INSTRUCTIONS,
    HADD,
    HFMA,
    HFMA_PEAK,
    HMUL,
    TENSOR_OPS,
)
from kprof.metrics.execution import (
    ACHIEVED_OCCUPANCY,
    BARRIER_STALLS,
    BLOCK_THREADS,
    CAPABILITY_MAJOR,
    CLUSTER_SIZE,
    CLUSTERS_ACTIVE_MAX,
    COUNTED_STALL,
    DRAM_CLOCK,
    DURATION,
    ELIGIBLE_WARPS,
    GRID_BLOCKS,
    ISSUE_ACTIVE,
    L2_CLOCK,
    LIMIT_BLOCKS,
    LIMIT_REGISTERS,
    LIMIT_SHARED,
    LIMIT_WARPS,
    LONG_SCOREBOARD,
    MEMBAR_STALLS,
    NO_INSTRUCTION_STALLS,
    OCCUPANCY_LIMITS,
    PASSES,
    SAMPLED_STALL,
    SAMPLED_STALL_NOT_ISSUED,
    SAMPLES,
    SM_CLOCK,
    SM_COUNT,
    SM_CYCLES_ACTIVE_AVG,
    SM_CYCLES_ACTIVE_MAX,
    SM_CYCLES_ELAPSED,
    STALL_REASONS,
    THEORETICAL_OCCUPANCY,
    THREADS_PER_INSTRUCTION,
    THREADS_PER_INSTRUCTION_ON,
    WAIT_STALLS,
    WAVES,
)
from kprof.metrics.hardware import (
    COMPUTE_SOL,
    COVERAGE,
    DRAM_PCT,
    ELAPSED,
    FMA_PCT,
    FP64_PCT,
    ISSUE_PCT,
    L1_DATA_PCT,
    L1_PCT,
    L2_PCT,
    MEMORY_SOL,
    TENSOR_PCT,
    UNIT_CLASS,
    UNITS,
    XU_PCT,
    Largest,
    elapsed,
)
from kprof.metrics.memory import (
    DRAM_BYTES,
    DRAM_PEAK,
    GLOBAL_ATOMICS,
    GLOBAL_SECTORS,
    GLOBAL_SECTORS_IDEAL,
    L1_BYTES,
    L1_HIT,
    L1_PEAK,
    L1_WAVEFRONTS,
    L2_BYTES,
    L2_HIT,
    L2_PEAK,
    L2_SIZE,
    LOCAL_SECTORS,
    SHARED_WAVEFRONTS,
    SHARED_WAVEFRONTS_HARDWARE,
    SHARED_WAVEFRONTS_IDEAL,
    SPILL_INSTRUCTIONS,
    WARP_INSTRUCTIONS,
)
from kprof.quantity import Quantity

__all__ = [
    "ACHIEVED_OCCUPANCY",
    "ASYNC_COPIES",
    "BARRIER_STALLS",
    "BLOCK_THREADS",
    "CAPABILITY_MAJOR",
    "CLUSTERS_ACTIVE_MAX",
    "CLUSTER_SIZE",
    "COMPUTE_SOL",
    "COUNTED_STALL",
    "COVERAGE",
    "DADD",
    "DEVICE_ATTRIBUTES",
    "DFMA",
    "DFMA_PEAK",
    "DMUL",
    "DRAM_BYTES",
    "DRAM_CLOCK",
    "DRAM_PCT",
    "DRAM_PEAK",
    "DURATION",
    "ELAPSED",
    "ELIGIBLE_WARPS",
    "FADD",
    "FFMA",
    "FFMA_PEAK",
    "FMA_PCT",
    "FMUL",
    "FP16_INSTRUCTIONS",
    "FP32_INSTRUCTIONS",
    "FP64_INSTRUCTIONS",
    "FP64_PCT",
    "GLOBAL_ACCESSES",
    "GLOBAL_ATOMICS",
    "GLOBAL_SECTORS",
    "GLOBAL_SECTORS_IDEAL",
    "GRID_BLOCKS",
    "HADD",
    "HFMA",
    "HFMA_PEAK",
    "HMUL",
    "ISSUE_ACTIVE",
    "ISSUE_PCT",
    "L1_BYTES",
    "L1_DATA_PCT",
    "L1_HIT",
    "L1_PCT",
    "L1_PEAK",
    "L1_WAVEFRONTS",
    "L2_BYTES",
    "L2_CLOCK",
    "L2_HIT",
    "L2_PCT",
    "L2_PEAK",
    "L2_SIZE",
    "LIMIT_BLOCKS",
    "LIMIT_REGISTERS",
    "LIMIT_SHARED",
    "LIMIT_WARPS",
    "LOCAL_SECTORS",
    "LONG_SCOREBOARD",
    "LSU_ACCESSES",
    "MEMBAR_STALLS",
    "MEMORY_SOL",
    "NARROW_ACCESSES",
    "NO_INSTRUCTION_STALLS",
    "OCCUPANCY_LIMITS",
    "PASSES",
    "SAMPLED_STALL",
    "SAMPLED_STALL_NOT_ISSUED",
    "SAMPLES",
    "SHARED_ATOMICS",
    "SHARED_STORES",
    "SHARED_WAVEFRONTS",
    "SHARED_WAVEFRONTS_HARDWARE",
    "SHARED_WAVEFRONTS_IDEAL",
    "SM_CLOCK",
    "SM_COUNT",
    "SM_CYCLES_ACTIVE_AVG",
    "SM_CYCLES_ACTIVE_MAX",
    "SM_CYCLES_ELAPSED",
    "SPILL_INSTRUCTIONS",
    "STALL_REASONS",
    "TENSOR_OPS",
    "TENSOR_PCT",
    "THEORETICAL_OCCUPANCY",
    "THREADS_PER_INSTRUCTION",
    "THREADS_PER_INSTRUCTION_ON",
    "UNITS",
    "UNIT_CLASS",
    "WAIT_STALLS",
    "WARP_INSTRUCTIONS",
    "WAVES",
    "XU_PCT",
    "Largest",
    "elapsed",
    "is_wanted",
    "quantities",
]

DEVICE_ATTRIBUTES = tuple(
    f"device__attribute_{name}"
    for name in (
        "compute_capability_major",
        "compute_capability_minor",
        "multiprocessor_count",
        "clock_rate",
        "max_gpu_frequency_khz",
        "memory_clock_rate",
        "global_memory_bus_width",
        "fb_bus_width",
        "l2_cache_size",
        "max_warps_per_multiprocessor",
        "num_schedulers_per_multiprocessor",
    )
)


def quantities() -> tuple[Quantity, ...]:
    """Return every quantity declared in this module."""
    return tuple(value for value in globals().values() if isinstance(value, Quantity))


@lru_cache(maxsize=1)
def _exact_names() -> frozenset[str]:
    names = {name for quantity in quantities() for name in quantity.names}
    names.update(UNIT_CLASS, DEVICE_ATTRIBUTES, OCCUPANCY_LIMITS.values())
    for reason in STALL_REASONS:
        names.update(
            form.format(reason) for form in (SAMPLED_STALL, SAMPLED_STALL_NOT_ISSUED, COUNTED_STALL)
        )
    return frozenset(names)


@lru_cache(maxsize=65536)
def is_wanted(name: str) -> bool:
    """Say whether the reader keeps this metric's scalar value."""
    return name in _exact_names() or TENSOR_OPS.match(name) is not None
