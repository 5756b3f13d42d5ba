"""kprof: why is this GPU kernel slow, and what do I change?

::

    import kprof

    profile = kprof.load("x.ncu-rep")
    diagnosis = kprof.diagnose(profile)
    diagnosis.to_frame()              # pandas, one row per kernel
    kprof.render(diagnosis, "x.html")
    kprof.doctor()                    # what keeps CUDA, torch or ncu from working here
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kprof.errors import KprofError
from kprof.version import __version__

if TYPE_CHECKING:
    from kprof.api import Checkup, Diagnosis, diagnose, doctor, load, render

__all__ = [
    "Checkup",
    "Diagnosis",
    "KprofError",
    "__version__",
    "diagnose",
    "doctor",
    "load",
    "render",
]

_LAZY = frozenset({"Checkup", "Diagnosis", "diagnose", "doctor", "load", "render"})


def __getattr__(name: str) -> Any:
    # On first use: `import kprof` alone, as the command line does, loads next to nothing.
    if name in _LAZY:
        return getattr(importlib.import_module("kprof.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
