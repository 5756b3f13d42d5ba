"""Numbers, curves and tables out of metrics, with the reason where there is no number."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from kprof.metrics import is_wanted
from kprof.reader.calls import bound, doubles
from kprof.reader.library import NUMERIC_KINDS, Action, Metric

CURVES = (
    "launch__occupancy_per_register_count",
    "launch__occupancy_per_block_size",
    "launch__occupancy_per_shared_mem_size",
)
# Their scalar value means nothing: they are charts in instances, or identifiers.
_NOT_SCALARS = frozenset(CURVES) | {
    "launch__occupancy_per_barrier_count",
    "launch__occupancy_per_cluster_size",
    "launch__function_pcs",
    "launch__kernel_name",
}
_NOT_SCALAR_PREFIXES = ("derived__pct_occupancy_per_", "breakdown:")
# Stored by ncu whatever was asked for, at no cost in passes; and the duration.
_NOT_COUNTERS = (
    "gpu__time_duration",
    "launch__",
    "profiler__",
    "sm__maximum_warps",
    "smsp__maximum_warps",
    "device__",
    "derived__pct_occupancy_per_",
    "nvlink__",
    "numa__",
    "c2clink__",
)
_BREAKDOWN = "breakdown:"
# .max, .min and .sum variants of a breakdown list the same units.
_BREAKDOWN_SUFFIX = ".avg.pct_of_peak_sustained_elapsed"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to read from an action that holds a given set of metrics.

    Attributes:
        scalars: metrics to read one number from.
        breakdowns: throughput metrics whose constituents are listed, without prefix.
        counters: True when anything was measured besides the duration.
    """

    scalars: tuple[str, ...]
    breakdowns: tuple[str, ...]
    counters: bool


@lru_cache(maxsize=16)
def plan(names: tuple[str, ...], extra: tuple[str, ...]) -> Plan:
    """Choose what to read; most kernels of a report hold the same metrics."""
    return Plan(
        scalars=tuple(name for name in names if _is_scalar(name, extra)),
        breakdowns=tuple(
            name.removeprefix(_BREAKDOWN)
            for name in names
            if name.startswith(_BREAKDOWN) and name.endswith(_BREAKDOWN_SUFFIX)
        ),
        counters=any(not name.startswith(_NOT_COUNTERS) for name in names),
    )


def _is_scalar(name: str, extra: Sequence[str]) -> bool:
    if name in _NOT_SCALARS or name.startswith(_NOT_SCALAR_PREFIXES):
        return False
    return is_wanted(name) or name in extra


def number(metric: Metric) -> float | str | None:
    """Return a metric's value, the reason why it has none, or None for text."""
    kind = metric.kind()
    if kind not in NUMERIC_KINDS:
        return None if metric.has_value() else "no value"
    if not metric.has_value():  # the library returns 0 for these
        return "no value"
    value = metric.as_double()
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "inf"


def read(action: Action, names: Sequence[str]) -> tuple[dict[str, float], dict[str, str]]:
    """Read scalars by name: the usable values, and why the others are not."""
    metrics: dict[str, float] = {}
    unusable: dict[str, str] = {}
    for name in names:
        metric = action.metric_by_name(name)
        value = None if metric is None else number(metric)
        if isinstance(value, str):
            unusable[name] = value
        elif value is not None:
            metrics[name] = value
    return metrics, unusable


def text(action: Action, name: str) -> str | None:
    """Return a string metric, None where it is absent or empty."""
    metric = action.metric_by_name(name)
    if metric is None or not metric.has_value():
        return None
    return metric.as_string() or None


def breakdowns(action: Action, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the constituents of each throughput metric."""
    found = {name: text(action, _BREAKDOWN + name) for name in names}
    return {name: _split(listed) for name, listed in found.items() if listed}


@lru_cache(maxsize=256)
def _split(listed: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in listed.split(",") if part.strip())


def table(action: Action, name: str) -> dict[str, float]:
    """Return an instanced metric whose instances are named by strings, e.g. opcodes."""
    metric = action.metric_by_name(name)
    ids = _ids(metric)
    if metric is None or ids is None:
        return {}
    labels = map(bound(ids, "as_string"), range(metric.num_instances()))
    return {
        sys.intern(label): value
        for label, value in zip(labels, doubles(metric), strict=True)
        if label and math.isfinite(value)
    }


def curve(action: Action, name: str) -> tuple[tuple[float, float], ...]:
    """Return an instanced metric whose instances are numbered, as points in ascending x."""
    metric = action.metric_by_name(name)
    ids = _ids(metric)
    if metric is None or ids is None:
        return ()
    points = zip(doubles(ids), doubles(metric), strict=True)
    return tuple(sorted(point for point in points if all(map(math.isfinite, point))))


def _ids(metric: Metric | None) -> Metric | None:
    if metric is None or not metric.num_instances() or not metric.has_correlation_ids():
        return None
    return metric.correlation_ids()
