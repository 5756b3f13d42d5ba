"""Calls that go round the library's Python classes return what the classes do."""

from __future__ import annotations

import sys
from array import array
from types import ModuleType
from typing import Any

import pytest

from kprof.reader import calls


class Handle:
    """What SWIG keeps in ``this``."""


class Plain:
    """A metric of something else than the library."""

    def num_instances(self) -> int:
        return 3

    def as_double(self, instance: int) -> float:
        return instance / 2

    def as_uint64(self, instance: int) -> int:
        return instance + 10


@pytest.fixture
def swig(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A metric like SWIG's, whose native functions know its handle only."""
    native = ModuleType("_ncu_report")
    library = ModuleType("made_by_swig")
    metric_class = type("IMetric", (Plain,), {"__module__": "made_by_swig"})
    metric = metric_class()
    metric.this = Handle()

    def as_double(handle: Handle, instance: int) -> float:
        assert handle is metric.this
        return 100.0 + instance

    native.IMetric_as_double = as_double  # type: ignore[attr-defined]
    library._ncu_report = native  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "made_by_swig", library)
    return metric


def test_the_native_function_gets_the_handle(swig: Any) -> None:
    assert calls.doubles(swig) == array("d", [100.0, 101.0, 102.0])


def test_a_method_without_a_native_function_is_called_as_it_is(swig: Any) -> None:
    assert calls.unsigned(swig, 2) == array("Q", [10, 11])


def test_an_object_without_a_handle_is_called_as_it_is(swig: Any) -> None:
    del swig.this
    assert calls.doubles(swig) == array("d", [0.0, 0.5, 1.0])


def test_another_library_is_called_as_it_is() -> None:
    assert calls.doubles(Plain()) == array("d", [0.0, 0.5, 1.0])  # type: ignore[arg-type]
