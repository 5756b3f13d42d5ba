"""The part of NVIDIA's ``ncu_report`` classes that kprof uses, as types.

The module itself is untyped and imported by :mod:`kprof.reader.worker` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

# IMetric.ValueKind_*: float, double, uint32, uint64; every other kind has no number.
NUMERIC_KINDS = frozenset({3, 4, 5, 6})
DEMANGLED = 1  # IAction.NameBase_DEMANGLED
MANGLED = 2  # IAction.NameBase_MANGLED
FUNCTION = 0  # IAction.NameBase_FUNCTION
FAILED_RULE = 4  # IRuleResult message type of a rule that raised


class Metric(Protocol):
    """``ncu_report.IMetric``."""

    def has_value(self, *instance: int) -> bool: ...  # noqa: D102
    def kind(self, *instance: int) -> int: ...  # noqa: D102
    def as_double(self, *instance: int) -> float: ...  # noqa: D102
    def as_uint64(self, *instance: int) -> int: ...  # noqa: D102
    def as_string(self, *instance: int) -> str | None: ...  # noqa: D102
    def num_instances(self) -> int: ...  # noqa: D102
    def has_correlation_ids(self) -> bool: ...  # noqa: D102
    def correlation_ids(self) -> Metric | None: ...  # noqa: D102


class SourceInfo(Protocol):
    """``ncu_report.ISourceInfo``."""

    def file_name(self) -> str: ...  # noqa: D102
    def line(self) -> int: ...  # noqa: D102


class Action(Protocol):
    """``ncu_report.IAction``: one kernel, range, graph or command list."""

    def name(self, base: int = ...) -> str | None: ...  # noqa: D102
    def workload_type(self) -> int: ...  # noqa: D102
    def metric_names(self) -> Sequence[str]: ...  # noqa: D102
    def metric_by_name(self, name: str) -> Metric | None: ...  # noqa: D102
    def sass_by_pc(self, pc: int) -> str | None: ...  # noqa: D102
    def source_info(self, pc: int) -> SourceInfo | None: ...  # noqa: D102
    def nvtx_state(self) -> Any: ...  # noqa: D102
    def rule_results_as_dicts(self) -> Sequence[Any]: ...  # noqa: D102
