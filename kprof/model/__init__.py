"""Frozen data classes with no behaviour: what was measured, and what kprof says of it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kprof.model.finding import (
        Confidence,
        Evidence,
        Finding,
        Place,
        QualityNote,
        Resource,
        Severity,
        Side,
        Skipped,
        Speedup,
        Spot,
        Trail,
        Wait,
    )
    from kprof.model.profile import (
        Code,
        Collection,
        Device,
        Dim3,
        Instruction,
        Kernel,
        Launch,
        Opinion,
        Profile,
        Source,
        Survey,
    )
    from kprof.model.report import (
        Bound,
        Caches,
        ClockHz,
        DeviceReport,
        Flops,
        KernelReport,
        LeftOut,
        Levels,
        Limiter,
        Occupancy,
        OccupancyCurve,
        Origin,
        Report,
        Roofline,
        SharedClass,
        SharedLine,
        SharedMemory,
        Throughput,
        WhatIf,
    )
    from kprof.model.source import (
        Heat,
        SassLine,
        SourceFile,
        SourceLine,
        SourceView,
        StallReason,
        StallTree,
    )

__all__ = [
    "Bound",
    "Caches",
    "ClockHz",
    "Code",
    "Collection",
    "Confidence",
    "Device",
    "DeviceReport",
    "Dim3",
    "Evidence",
    "Finding",
    "Flops",
    "Heat",
    "Instruction",
    "Kernel",
    "KernelReport",
    "Launch",
    "LeftOut",
    "Levels",
    "Limiter",
    "Occupancy",
    "OccupancyCurve",
    "Opinion",
    "Origin",
    "Place",
    "Profile",
    "QualityNote",
    "Report",
    "Resource",
    "Roofline",
    "SassLine",
    "Severity",
    "SharedClass",
    "SharedLine",
    "SharedMemory",
    "Side",
    "Skipped",
    "Source",
    "SourceFile",
    "SourceLine",
    "SourceView",
    "Speedup",
    "Spot",
    "StallReason",
    "StallTree",
    "Survey",
    "Throughput",
    "Trail",
    "Wait",
    "WhatIf",
]

# The process that reads a report needs the profile alone, and is waited for.
_PARTS = ("profile", "finding", "report", "source")


def __getattr__(name: str) -> Any:
    """Return a class from the module that holds it, and keep it here."""
    for part in _PARTS if name in __all__ else ():
        module = importlib.import_module(f"{__name__}.{part}")
        if hasattr(module, name):
            return globals().setdefault(name, getattr(module, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
