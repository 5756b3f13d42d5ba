"""Tensors within lists, tuples and dicts, as inputs may hold them. Runs in the worker."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from typing import Any


def is_tensor(value: Any) -> bool:
    """Say whether a value is one of torch's tensors."""
    return isinstance(value, sys.modules["torch"].Tensor)


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """Return a value with every tensor in it changed, in new containers; the rest stays itself."""
    if is_tensor(value):
        return change(value)
    made: Any
    if isinstance(value, dict):
        made = copy.copy(value)  # of a class of its own, it stays one
        made.update({key: mapped(change, item) for key, item in value.items()})
        return made
    if isinstance(value, list):
        made = copy.copy(value)
        made[:] = [mapped(change, item) for item in value]
        return made
    if isinstance(value, tuple) and next(tensors(value), None) is not None:
        made = [mapped(change, item) for item in value]
        return value._make(made) if hasattr(value, "_make") else tuple(made)
    return value


def tensors(value: Any) -> Iterator[Any]:
    """Yield every tensor in a value, always in the same order."""
    if is_tensor(value):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors(item)
