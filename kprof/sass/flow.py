"""Control flow between instructions, and which of them may have written a register."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kprof.sass.operands import Parsed, opcodes, parse
from kprof.sass.registers import effect

_ENDS = opcodes("EXIT RET BRA BRX BRXU JMP JMX JMXU KILL")
_JUMPS = frozenset({"BRA", "JMP"})
_STEP = 16
# Steps of one walk: beyond them a kernel is not understood any better.
_MOST_STEPS = 50_000


# Says of a position whether it is wanted, and whether the walk ends there.
_Check = Callable[[int], tuple[bool, bool]]


@dataclass(frozen=True, slots=True)
class Definition:
    """An instruction that may have written a register.

    Attributes:
        at: its position.
        distance: instructions on the shortest way from it to where the walk began.
    """

    at: int
    distance: int


@dataclass(frozen=True, slots=True)
class Walk:
    """What a walk against the control flow found.

    Attributes:
        found: nearest first.
        complete: False where a way leads out of what is known.
    """

    found: tuple[Definition, ...]
    complete: bool


class Flow:
    """The control flow of one function, or of the parts of it that are known."""

    def __init__(self, code: Sequence[tuple[int, str]]) -> None:
        """Take the instructions as (offset, text) in ascending order."""
        self.parsed = [parse(text) if text else None for _, text in code]
        self.texts = [text for _, text in code]
        self._pcs = [pc for pc, _ in code]
        self._at = {pc: position for position, pc in enumerate(self._pcs)}
        self._before = self._predecessors()

    def definitions(self, start: int, register: str) -> Walk:
        """Return the instructions that may have written ``register`` before position ``start``."""

        def defines(position: int) -> tuple[bool, bool]:
            done = effect(self.texts[position])
            wrote = register in done.writes
            return wrote, wrote and done.certain

        return self._walk(start, defines)

    def readers(self, start: int, register: str, opcodes: frozenset[str]) -> Walk:
        """Return the instructions of some kind that read ``register`` before it is overwritten.

        Args:
            start: the position that overwrites it.
            register: its name.
            opcodes: what to look for.
        """

        def reads(position: int) -> tuple[bool, bool]:
            done, parsed = effect(self.texts[position]), self.parsed[position]
            used = parsed is not None and parsed.opcode in opcodes and register in done.reads
            return used, used or (register in done.writes and done.certain)

        return self._walk(start, reads)

    def nearest(self, start: int, opcodes: Iterable[str], most: int) -> Walk:
        """Return the last instructions of some kind on every way to ``start``.

        Args:
            start: a position.
            opcodes: what to look for.
            most: instructions to go back at most.
        """
        wanted = frozenset(opcodes)

        def is_one(position: int) -> tuple[bool, bool]:
            parsed = self.parsed[position]
            found = parsed is not None and parsed.opcode in wanted
            return found, found

        return self._walk(start, is_one, most)

    def _walk(self, start: int, check: _Check, most: int = _MOST_STEPS) -> Walk:
        found: list[Definition] = []
        complete = self._is_known(start)
        seen: set[int] = set()
        waiting = deque((position, 1) for position in self._before[start])
        while waiting:
            position, distance = waiting.popleft()
            if position in seen or distance > most:
                continue
            seen.add(position)
            hit, last = check(position)
            if hit:
                found.append(Definition(position, distance))
            if last:
                continue
            complete = complete and self._is_known(position)
            if self.parsed[position] is None:  # who knows what it writes
                continue
            waiting.extend((before, distance + 1) for before in self._before[position])
        return Walk(tuple(found), complete)

    def _is_known(self, position: int) -> bool:
        """Say whether everything that leads to an instruction is known, and nothing is called."""
        parsed = self.parsed[position]
        return bool(self._before[position]) and parsed is not None and parsed.opcode != "CALL"

    def _predecessors(self) -> list[list[int]]:
        before: list[list[int]] = [[] for _ in self._pcs]
        for position, following in self._edges():
            if position not in before[following]:
                before[following].append(position)
        return before

    def _edges(self) -> Iterator[tuple[int, int]]:
        joins = self._joins()
        for position, parsed in enumerate(self.parsed):
            following = self._at.get(self._pcs[position] + _STEP)
            if following is not None and not (parsed and _always_leaves(parsed)):
                yield position, following
            for target in _targets(parsed, joins):
                if target in self._at:
                    yield position, self._at[target]

    def _joins(self) -> dict[str, list[int]]:
        """Return where the threads that a barrier register collects go on."""
        joins: dict[str, list[int]] = {}
        for parsed in self.parsed:
            if parsed is not None and parsed.opcode == "BSSY" and len(parsed.operands) == 2:
                barrier, target = parsed.operands
                joins.setdefault(barrier, []).extend(_offset(target))
        return joins


def _always_leaves(parsed: Parsed) -> bool:
    """Say whether nothing goes on to the next instruction."""
    if parsed.opcode not in _ENDS or parsed.guard:
        return False
    # A branch may name its condition among its operands: `BRA.U UP0, 0x40`, `EXIT P1`.
    return not any(operand.lstrip("!").startswith(("P", "UP")) for operand in parsed.operands)


def _targets(parsed: Parsed | None, joins: Mapping[str, Sequence[int]]) -> Sequence[int]:
    if parsed is None or not parsed.operands:
        return ()
    if parsed.opcode == "BSYNC":
        return joins.get(parsed.operands[0], ())
    if parsed.opcode in _JUMPS or (parsed.opcode == "CALL" and parsed.has("REL")):
        return _offset(parsed.operands[-1])
    return ()


def _offset(operand: str) -> list[int]:
    try:
        return [int(operand, 16)]
    except ValueError:  # a label or a register
        return []
