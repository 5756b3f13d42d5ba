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
import os
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


def _checkout(package: str) -> str | None:
    """Return the root of the checkout that a package lies in, None where it is installed whole.

    In a checkout the content (rules, reports, sample kernels) lies beside the package, and gets
    into it when a wheel is built or an editable install maps it. Python started in a checkout
    takes the package from there even where another kprof is installed.
    """
    root = os.path.dirname(package)  # noqa: PTH120 - pathlib would be loaded for this alone
    whole = os.path.isdir(os.path.join(package, "rules"))  # noqa: PTH112, PTH118
    there = os.path.isfile(os.path.join(root, "pyproject.toml"))  # noqa: PTH113, PTH118
    return root if there and not whole else None


# Where kprof.rules, kprof.reports and kprof.sample_kernels are looked for, after the package.
__path__ += [root for root in map(_checkout, __path__) if root]


def __getattr__(name: str) -> Any:
    # On first use: `import kprof` alone, as the command line does, loads next to nothing.
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
