"""Methods of the library's objects without the detour through its Python classes.

``ncu_report`` is made by SWIG: a method called on one of its Python objects looks for the C++
object behind it by attribute, which takes five times as long as the call itself. Some hundred
thousand values are read from a large report, so this is a tenth of the reading.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from kprof.reader.library import Metric


def bound(thing: Any, name: str) -> Callable[..., Any]:
    """Return a method of an object, as direct as can be; what it returns does not differ."""
    kind = type(thing)
    function = _function(kind.__module__, kind.__name__, name)
    handle = getattr(thing, "this", None) if function else None
    if function is None or handle is None:
        method: Callable[..., Any] = getattr(thing, name)
        return method
    return partial(function, handle)


@lru_cache(maxsize=64)
def _function(module: str, kind: str, name: str) -> Callable[..., Any] | None:
    """Return the library's own function behind a method, None where it has none."""
    native = getattr(sys.modules.get(module), "_ncu_report", None)
    return getattr(native, f"{kind}_{name}", None)


def doubles(metric: Metric) -> array[float]:
    """Return the values of all instances."""
    return array("d", map(bound(metric, "as_double"), range(metric.num_instances())))


def unsigned(metric: Metric, count: int) -> array[int]:
    """Return the first ``count`` instances as whole numbers."""
    return array("Q", map(bound(metric, "as_uint64"), range(count)))
