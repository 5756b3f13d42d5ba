"""Kernel names in ncu's log, and in the regular expressions it takes (ECMAScript's)."""

from __future__ import annotations

import re

CUT = "..."  # ncu's mark on a long name
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")


def literal(name: str) -> str:
    """Return an expression that matches this text and nothing else."""
    return _SPECIAL.sub(r"\\\g<0>", name)
