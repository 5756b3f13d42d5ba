"""One line of SASS taken apart: guard, opcode, modifiers, operands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_LINE = re.compile(r"^(?:@(!?)(U?P(?:[0-9]+|T))\s+)?([A-Z][A-Z0-9_]*)((?:\.\w+)*)\s*(.*)$")
# Commas that separate operands lie outside of brackets.
_COMMA = re.compile(r",(?![^\[]*\])")


def opcodes(words: str) -> frozenset[str]:
    """Return a set of opcodes that are written in a row."""
    return frozenset(words.split())


@dataclass(frozen=True, slots=True)
class Parsed:
    """An instruction.

    Attributes:
        opcode: without modifiers, e.g. ``LDG``.
        modifiers: e.g. ``("E", "128", "CONSTANT")``.
        operands: as written, e.g. ``("R4", "desc[UR4][R2.64+0x10]")``.
        guard: the predicate register that decides whether it runs, None where it always does.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str | None = None

    def has(self, *modifiers: str) -> bool:
        """Say whether any of these modifiers is there."""
        return any(modifier in self.modifiers for modifier in modifiers)


@lru_cache(maxsize=1 << 16)
def parse(sass: str) -> Parsed | None:
    """Take one line of SASS apart; None for what is no instruction."""
    found = _LINE.match(sass.strip().rstrip(";"))
    if found is None:
        return None
    negated, guard, opcode, modifiers, rest = found.groups()
    operands = tuple(part.strip() for part in _COMMA.split(rest) if part.strip())
    if guard in {"PT", "UPT"}:
        # @!PT never runs and is left in for its scoreboards; @PT always runs.
        return Parsed("NOP", (), ()) if negated else Parsed(opcode, _split(modifiers), operands)
    return Parsed(opcode, _split(modifiers), operands, guard)


def _split(modifiers: str) -> tuple[str, ...]:
    return tuple(modifiers.split(".")[1:])
