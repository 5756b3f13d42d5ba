"""The environment audit behind ``kprof doctor``: probes see, checks judge, remedies fix.

::

    facts (probes or a snapshot file) → checks (pure functions) → one primary cause → remedies
"""

from __future__ import annotations

from kprof.audit.facts import Facts, parse
from kprof.audit.judge import Audit, audit

__all__ = ["Audit", "Facts", "audit", "parse"]
