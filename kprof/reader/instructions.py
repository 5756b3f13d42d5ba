"""Counters per SASS instruction."""

from __future__ import annotations

import bisect
import math
import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

from kprof.reader.calls import bound, doubles, unsigned
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
SAMPLES = "smsp__pcsamp_sample_count"
EXECUTED, THREADS = "inst_executed", "thread_inst_executed"
WARP = 32
_STALLED = "smsp__pcsamp_warps_issue_stalled_"
_NOT_ISSUED = "_not_issued"
# `selected` is an instruction that issues and `not_selected` one that could: nobody waits.
_NOT_STALLS = frozenset({"selected", "not_selected"})


@dataclass(frozen=True, slots=True)
class Executions:
    """How often every instruction of a kernel ran, as parallel columns.

    Attributes:
        pcs: absolute program counters, ascending.
        warps: executions per warp.
        threads: executions per active thread, empty where not measured.
    """

    pcs: Sequence[int]
    warps: Sequence[float]
    threads: Sequence[float]


class Columns:
    """Reads the instanced metrics of one kernel, program counters that repeat only once."""

    def __init__(self, action: Action, names: Sequence[str]) -> None:
        """Read from ``action``, which holds the metrics ``names``."""
        self._action, self._names = action, frozenset(names)
        self._pcs: dict[tuple[int, ...], array[int]] = {}

    def read(self, name: str) -> tuple[array[int], array[float]] | None:
        """Return program counters and values of a metric, None where it has none per instruction.

        A value that is no number reads 0: nothing was counted there.
        """
        metric = self._action.metric_by_name(name) if name in self._names else None
        if metric is None or not metric.num_instances() or not metric.has_correlation_ids():
            return None
        ids = metric.correlation_ids()
        if ids is None:
            return None
        values = doubles(metric)
        if not math.isfinite(sum(values)):
            values = array("d", (value if math.isfinite(value) else 0.0 for value in values))
        return self._counters(ids, len(values)), values

    def _counters(self, ids: Metric, count: int) -> array[int]:
        # Metrics of one kind share their instructions (all columns of 32 reports were compared),
        # and fetching an address costs as much as its value.
        pc = bound(ids, "as_uint64")
        key = (count, pc(0), pc(count // 2), pc(count - 1))
        if key not in self._pcs:
            self._pcs[key] = unsigned(ids, count)
        return self._pcs[key]


def executions(columns: Columns, totals: Mapping[str, float]) -> Executions | None:
    """Return how often every instruction ran, None where that was not measured.

    Args:
        columns: the kernel's.
        totals: its scalar metrics.
    """
    warps = columns.read(EXECUTED)
    if warps is None:
        return None
    if WARP * totals.get(EXECUTED, -1.0) == totals.get(THREADS):  # then it is so everywhere
        return Executions(*warps, array("d", (WARP * ran for ran in warps[1])))
    threads = columns.read(THREADS)
    same = threads is not None and threads[0] == warps[0]
    return Executions(*warps, threads[1] if threads is not None and same else array("d"))


def counters(
    columns: Columns,
    names: Sequence[str],
    totals: Mapping[str, float],
    executed: Executions | None = None,
) -> dict[int, dict[str, float]]:
    """Return the non-zero counters by absolute program counter.

    Args:
        columns: the kernel's.
        names: all metric names of it.
        totals: its scalar metrics: a stall reason without any samples is not read.
        executed: how often its instructions ran, noted at those that have another counter.
    """
    rows: dict[int, dict[str, float]] = {}
    for name in (*MEMORY, *_stalls(names, totals), SAMPLES):
        pcs, values = columns.read(name) or ((), ())
        for pc, value in compress(zip(pcs, values, strict=True), values):
            rows.setdefault(pc, {})[name] = value
    if executed is not None:
        _note(rows, executed)
    return rows


def _stalls(names: Sequence[str], totals: Mapping[str, float]) -> list[str]:
    """Return the stall reasons that have samples, those without an issue if any is told apart."""
    sampled = [name for name in names if name.startswith(_STALLED)]
    costly = [name for name in sampled if name.endswith(_NOT_ISSUED)]
    return sorted(
        sys.intern(name)  # one string, not one per kernel: it is pickled and compared often
        for name in costly or sampled
        if name.removeprefix(_STALLED).removesuffix(_NOT_ISSUED) not in _NOT_STALLS
        and totals.get(name)
    )


def _note(rows: Mapping[int, dict[str, float]], executed: Executions) -> None:
    pcs, warps, threads = executed.pcs, executed.warps, executed.threads
    for pc, row in rows.items():
        position = bisect.bisect_left(pcs, pc)
        if position < len(pcs) and pcs[position] == pc:
            if warps[position]:
                row[EXECUTED] = warps[position]
            if threads and threads[position]:
                row[THREADS] = threads[position]


def function_starts(action: Action, rows: Mapping[int, object]) -> tuple[int, ...]:
    """Return the start addresses of the kernel's functions, ascending."""
    metric = action.metric_by_name("launch__function_pcs")
    if metric is not None and metric.num_instances():
        return tuple(sorted(map(metric.as_uint64, range(metric.num_instances()))))
    column = Columns(action, (EXECUTED,)).read(EXECUTED)
    known = column[0] if column else rows
    return (min(known),) if known else ()


def function_sizes(action: Action) -> tuple[int, ...]:
    """Return how many instructions of each kind a kernel has; equal for equal functions."""
    metrics = (action.metric_by_name(name) for name in (*MEMORY, EXECUTED, THREADS))
    return tuple(0 if metric is None else metric.num_instances() for metric in metrics)
