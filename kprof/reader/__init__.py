"""Reading ``.ncu-rep`` files into plain data, in a process that may safely break."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kprof.reader.reading import load

__all__ = ["load"]


def __getattr__(name: str) -> Any:
    """Import :func:`load` when it is asked for: the reading process itself never does."""
    if name != "load":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kprof.reader.reading import load

    return load
