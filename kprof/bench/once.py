"""One call of every variant, for a profiler to look at. Runs in the worker, under ncu.

The call stands alone between ``cudaProfilerStart`` and ``cudaProfilerStop``, in an NVTX range that
is named after the unit and the shape.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from kprof.bench.api import Shape, Suite
from kprof.bench.checking import fresh
from kprof.bench.units import Unit

_WARM = 3  # calls before: libraries choose their algorithms, compilers compile
PREFIX = "kprof bench"


def range_name(label: str, shape: str) -> str:
    """Return the NVTX range's name, which says what is measured."""
    return f"{PREFIX} {label} {shape}"


def run_once(
    suite: Suite, units: Mapping[str, Unit], device: Any, orders: Mapping[str, Any]
) -> None:
    """Call every unit of every shape once, where a profiler sees it."""
    torch = sys.modules["torch"]
    for text, labels in orders["timings"]:
        inputs = fresh(suite, device, Shape.parse(text), orders["seed"])
        out = suite.output(*inputs) if suite.output else None
        for label in labels:
            call = units[label].bound(inputs, out)
            for _ in range(_WARM):
                call()
            torch.cuda.synchronize(device)
            torch.cuda.profiler.start()
            torch.cuda.nvtx.range_push(range_name(label, text))
            call()
            torch.cuda.synchronize(device)
            torch.cuda.nvtx.range_pop()
            torch.cuda.profiler.stop()
