"""kprof: why is this GPU kernel slow, and what do I change?

::

    import kprof

    profile = kprof.load("x.ncu-rep")
    diagnosis = kprof.diagnose(profile)
    diagnosis.to_frame()              # pandas, one row per kernel
    kprof.render(diagnosis, "x.html")
    kprof.doctor()                    # what keeps CUDA, torch or ncu from working here

and in the program to profile, for ``kprof profile --nvtx step``::

    with kprof.region("step"): ...
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kprof.errors import KprofError
from kprof.version import __version__

if TYPE_CHECKING:
    from kprof.api import Checkup, Diagnosis, diagnose, doctor, load, render
    from kprof.regions import region

__all__ = [
    "Checkup",
    "Diagnosis",
    "KprofError",
    "__version__",
    "diagnose",
    "doctor",
    "load",
    "region",
    "render",
]

# A region is for programs that are to run as without it: it loads nothing of the rest.
_LAZY = dict.fromkeys(
    ("Checkup", "Diagnosis", "diagnose", "doctor", "load", "render"), "kprof.api"
) | {"region": "kprof.regions"}


def __getattr__(name: str) -> Any:
    # On first use: `import kprof` alone, as the command line does, loads next to nothing.
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
