"""Reading ``.ncu-rep`` files into plain data, in a process that may safely break."""

from __future__ import annotations

from kprof.reader.reading import load

__all__ = ["load"]
