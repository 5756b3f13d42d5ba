"""Remedies as this machine's shell and user run them."""

from __future__ import annotations

import re

from kprof.audit import derive, windows
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy

_AS_ROOT = re.compile(r"\bsudo -E env \"PATH=\$PATH\" |\bsudo ")
_MINE = ("you", "root")


def fitted(facts: Facts, remedy: Remedy) -> Remedy:
    """Return a remedy without sudo where this user is root, and without Linux's ways on Windows.

    A container often has no sudo at all. What somebody else runs elsewhere stays as it is.
    """
    remedy = windows.portable(facts, remedy)
    if facts.number("process.euid") != 0 or derive.native_windows(facts):
        return remedy
    others = tuple(fitted(facts, one) for one in remedy.alternatives)
    if remedy.who not in _MINE:
        return Remedy(remedy.text, remedy.commands, remedy.who, others)
    commands = tuple(_AS_ROOT.sub("", one) for one in remedy.commands)
    return Remedy(_AS_ROOT.sub("", remedy.text), commands, remedy.who, others)
