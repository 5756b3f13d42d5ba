"""The environment audit behind ``kprof doctor``: probes see, checks judge, remedies fix.

::

    facts (probes or a snapshot file) → checks (pure functions) → one primary cause → remedies
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kprof.audit.facts import Facts, parse
    from kprof.audit.judge import Audit, audit

__all__ = ["Audit", "Facts", "audit", "parse"]

_LAZY = {"Facts": "facts", "parse": "facts", "Audit": "judge", "audit": "judge"}


def __getattr__(name: str) -> Any:
    # On first use: programs are asked before all that judges their answers is loaded.
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
