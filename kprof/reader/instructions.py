"""Counters per SASS instruction."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from kprof.reader.library import Action, Metric

MEMORY = (
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
    "memory_l2_theoretical_sectors_local",
    "memory_l1_tag_requests_global",
    "smsp__branch_targets_threads_divergent",
)
# Read only at instructions that are kept for another reason.
EXECUTED = ("inst_executed", "thread_inst_executed")
_SAMPLES_PREFIX = "smsp__pcsamp_warps_issue_stalled_"
_SAMPLES_SUFFIX = "_not_issued"
# `selected` is an instruction that issues and `not_selected` one that could: nobody waits.
_NOT_STALLS = ("selected_not_issued", "not_selected_not_issued")
# A stall reason below this share of a kernel's samples is not read per instruction.
_MIN_REASON_SHARE = 0.10
# Of instructions that have samples only, the most sampled ones are kept.
_MAX_SAMPLED = 16


@dataclass(frozen=True, slots=True)
class Rows:
    """Counters by absolute program counter."""

    values: dict[int, dict[str, float]]

    def add(self, name: str, column: Iterable[tuple[int, float]]) -> None:
        """Add a metric's non-zero instances."""
        for pc, value in column:
            if value:
                self.values.setdefault(pc, {})[name] = value


def counters(
    action: Action, names: Sequence[str], totals: Mapping[str, float]
) -> dict[int, dict[str, float]]:
    """Return the non-zero counters by absolute program counter.

    Args:
        action: the kernel.
        names: all metric names of it.
        totals: its scalar metrics, for the weight of the stall reasons.
    """
    present = set(names)
    rows = Rows({})
    for name in MEMORY:
        if name in present:
            rows.add(name, _column(action, name))
    _add_samples(action, rows, _stall_reasons(names, totals))
    for name in EXECUTED:
        if name in present:
            rows.add(name, _picked(action, name, list(rows.values)))
    return rows.values


def _stall_reasons(names: Sequence[str], totals: Mapping[str, float]) -> list[str]:
    stalls = {
        name: totals.get(name, 0.0)
        for name in names
        if name.startswith(_SAMPLES_PREFIX)
        and name.endswith(_SAMPLES_SUFFIX)
        and name.removeprefix(_SAMPLES_PREFIX) not in _NOT_STALLS
    }
    floor = _MIN_REASON_SHARE * sum(stalls.values())
    return sorted(name for name, samples in stalls.items() if samples and samples >= floor)


def _add_samples(action: Action, rows: Rows, reasons: Sequence[str]) -> None:
    sampled = Rows({})
    for name in reasons:
        sampled.add(name, _column(action, name))
    ranked = sorted(sampled.values, key=lambda pc: (-sum(sampled.values[pc].values()), pc))
    for position, pc in enumerate(ranked):
        if position < _MAX_SAMPLED or pc in rows.values:
            rows.values.setdefault(pc, {}).update(sampled.values[pc])


def _column(action: Action, name: str) -> list[tuple[int, float]]:
    metric = action.metric_by_name(name)
    if metric is None or not metric.num_instances() or not metric.has_correlation_ids():
        return []
    ids = metric.correlation_ids()
    return [] if ids is None else _pairs(metric, ids)


def _pairs(metric: Metric, ids: Metric) -> list[tuple[int, float]]:
    pc, value = ids.as_uint64, metric.as_double
    pairs = [(pc(instance), value(instance)) for instance in range(metric.num_instances())]
    return [pair for pair in pairs if math.isfinite(pair[1])]


class _Addresses(Sequence[int]):
    """The program counters of a metric's instances, read as far as a search needs them."""

    def __init__(self, ids: Metric, count: int) -> None:
        self._ids, self._count = ids, count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(self._count))]
        return self._ids.as_uint64(index)


def _picked(action: Action, name: str, pcs: Sequence[int]) -> list[tuple[int, float]]:
    """Return a metric's instances at some program counters.

    A search is far cheaper than reading thousands of instances for a few; ncu writes them in
    ascending order, and an instance out of order is merely not found.
    """
    metric = action.metric_by_name(name)
    if metric is None or not metric.num_instances() or not metric.has_correlation_ids():
        return []
    ids = metric.correlation_ids()
    if ids is None:
        return []
    addresses = _Addresses(ids, metric.num_instances())
    positions = ((pc, bisect.bisect_left(addresses, pc)) for pc in pcs)
    found = (
        (pc, metric.as_double(position))
        for pc, position in positions
        if position < len(addresses) and addresses[position] == pc
    )
    return [pair for pair in found if math.isfinite(pair[1])]


def function_starts(action: Action, rows: Mapping[int, object]) -> tuple[int, ...]:
    """Return the start addresses of the kernel's functions, ascending."""
    metric = action.metric_by_name("launch__function_pcs")
    if metric is not None and metric.num_instances():
        return tuple(sorted(map(metric.as_uint64, range(metric.num_instances()))))
    executed = [pc for pc, _ in _column(action, "inst_executed")]
    known = executed or list(rows)
    return (min(known),) if known else ()


def function_sizes(action: Action) -> tuple[int, ...]:
    """Return how many instructions of each kind a kernel has; equal for equal functions."""
    metrics = (action.metric_by_name(name) for name in (*MEMORY, *EXECUTED))
    return tuple(0 if metric is None else metric.num_instances() for metric in metrics)
