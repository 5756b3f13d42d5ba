"""What ncu said, by the catalogue of its messages."""

from __future__ import annotations

from kprof.audit import derive, matrix
from kprof.audit.facts import Facts


def message(facts: Facts, name: str) -> tuple[str, matrix.NcuMessage] | None:
    """Return the first line of output that is a message of this id, with the catalogue's entry."""
    for known in matrix.ncu_messages():
        if known.id == name and known.pattern is not None:
            line = derive.logged(facts, known.pattern.pattern)
            if line is not None:
                return line, known
    return None


def line(facts: Facts, name: str) -> str | None:
    """Return the first line of output that is a message of this id."""
    found = message(facts, name)
    return found[0] if found else None


def source(name: str) -> str | None:
    """Return where the messages of this id are written down."""
    for known in matrix.ncu_messages():
        if known.id == name:
            return f"{known.source} [{known.confidence}]"
    return None
