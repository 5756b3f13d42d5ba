"""Which metrics are worth reading."""

from __future__ import annotations

from functools import cache

_SUFFIXES = (
    ".sum",
    ".ratio",
    ".pct",
    ".avg.pct_of_peak_sustained_elapsed",
    ".avg.pct_of_peak_sustained_active",
    ".avg.per_cycle_active",
    ".avg.per_second",
    ".sum.per_second",
    ".sum.per_cycle_elapsed",
    ".sum.peak_sustained",
)
_PREFIXES = (
    "launch__",
    "profiler__",
    "memory_",
    "derived__",
    "smsp__pcsamp_",
    "sass__inst_executed_register_spilling",
    "sm__maximum_warps_per_active_cycle_pct",
)


@cache
def is_wanted(name: str) -> bool:
    """Tell metrics that a quantity may need from the rest."""
    return name.endswith(_SUFFIXES) or name.startswith(_PREFIXES)
