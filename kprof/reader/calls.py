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
from itertools import repeat
from typing import Any

from kprof.reader.library import Metric


def bound(thing: Any, name: str) -> Callable[..., Any]:
    """Return a method of an object, as direct as can be; what it returns does not differ."""
    function, handle = _parts(thing, name)
    return function if handle is None else partial(function, handle)


def _parts(thing: Any, name: str) -> tuple[Callable[..., Any], Any]:
    """Return a function and what to give it first: None for nothing."""
    kind = type(thing)
    function = _function(kind.__module__, kind.__name__, name)
    handle = getattr(thing, "this", None) if function else None
    return (
        (getattr(thing, name), None) if function is None or handle is None else (function, handle)
    )


@lru_cache(maxsize=64)
def _function(module: str, kind: str, name: str) -> Callable[..., Any] | None:
    """Return the library's own function behind a method, None where it has none."""
    native = getattr(sys.modules.get(module), "_ncu_report", None)
    return getattr(native, f"{kind}_{name}", None)


def doubles(metric: Metric) -> array[float]:
    """Return the values of all instances."""
    return array("d", _all(metric, "as_double", metric.num_instances()))


def unsigned(metric: Metric, count: int) -> array[int]:
    """Return the first ``count`` instances as whole numbers."""
    return array("Q", _all(metric, "as_uint64", count))


def _all(metric: Metric, name: str, count: int) -> list[Any]:
    """Return what a method says of the first instances, a fifth faster than by :func:`bound`."""
    function, handle = _parts(metric, name)
    # A list, because an array would take them one by one.
    return list(
        map(function, range(count))
        if handle is None
        else map(function, repeat(handle), range(count))
    )
