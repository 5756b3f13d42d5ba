"""Text and source line of instructions, bought sparingly.

The library takes a whole module apart to describe one instruction: 20 to 80 ms and 12 MB for a
kernel of torch, where everything else about that kernel takes 8 ms. So launches of one function
share one disassembly, functions that waste memory accesses and those with most GPU time go first,
and a budget in bytes of device code (not in seconds: two readings of a file must be equal) ends
it.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kprof.model.profile import Instruction
from kprof.reader.library import Action

# About 0.2 s of the library's time: three of torch's larger modules, or every kernel of most
# programs of one's own.
BUDGET_BYTES = 16 << 20
# Printing one instruction costs as much as this much more of a module.
_INSTRUCTION_BYTES = 10 << 10
# From this share of needless accesses on, a reader wants to see where they are.
_WASTEFUL = 0.1

_Row = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Listing:
    """The instructions of one kernel that have counters.

    Attributes:
        index: the kernel's position in the report.
        function: what tells its function from others.
        duration_s: GPU time of the launch, 0 when unknown.
        starts: start addresses of its functions, ascending; several for a graph.
        rows: counters by absolute program counter.
    """

    index: int
    function: tuple[object, ...]
    duration_s: float
    starts: tuple[int, ...]
    rows: Mapping[int, _Row]

    def offset(self, pc: int) -> int:
        """Return a program counter relative to the start of its function.

        Code that is called and lies before the kernel has a negative one.
        """
        position = bisect.bisect_right(self.starts, pc)
        return pc - self.starts[max(position - 1, 0)]

    def key(self, pc: int) -> int:
        """Return what an instruction has in common with the same one of another launch."""
        return pc - self.starts[0]


@dataclass(frozen=True, slots=True)
class Place:
    """What the library knows about one instruction."""

    sass: str
    file: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class Function:
    """All launches of one function.

    Attributes:
        launches: in launch order.
    """

    launches: tuple[Listing, ...]

    @property
    def leader(self) -> Listing:
        """The launch through which the function is disassembled."""
        return self.launches[0]

    @property
    def keys(self) -> list[int]:
        """Every instruction that any launch has counters for."""
        launches = self.launches
        return sorted({listing.key(pc) for listing in launches for pc in listing.rows})


def functions(listings: Iterable[Listing]) -> list[Function]:
    """Group launches by function: wasteful ones first, then those with most GPU time."""
    groups: dict[tuple[object, ...], list[Listing]] = {}
    for listing in listings:
        if listing.rows:
            groups.setdefault(listing.function, []).append(listing)
    found = [Function(tuple(group)) for group in groups.values()]
    return sorted(found, key=_rank)


def _rank(function: Function) -> tuple[bool, float, int]:
    wasteful = any(waste(listing.rows.values()) >= _WASTEFUL for listing in function.launches)
    time = sum(listing.duration_s for listing in function.launches)
    return not wasteful, -time, function.leader.index


def waste(rows: Iterable[_Row]) -> float:
    """Return the largest share of accesses that a better pattern would not need; 1 for local."""
    rows = list(rows)
    shares = [
        _excess(rows, "memory_l1_wavefronts_shared"),
        _excess(rows, "memory_l2_theoretical_sectors_global"),
        1.0 if _total(rows, "memory_l2_theoretical_sectors_local") else 0.0,
    ]
    return max(shares)


def _excess(rows: Sequence[_Row], name: str) -> float:
    total = _total(rows, name)
    return 1 - _total(rows, name + "_ideal") / total if total > 0 else 0.0


def _total(rows: Sequence[_Row], name: str) -> float:
    return sum(row.get(name, 0.0) for row in rows)


def affordable(ranked: Sequence[Function], *, budget: int, module_bytes: int) -> list[Function]:
    """Return the first functions whose disassembly fits the budget.

    Args:
        ranked: functions, most interesting first.
        budget: bytes of device code.
        module_bytes: bytes of one function's module.
    """
    chosen = []
    for function in ranked:
        budget -= module_bytes + _INSTRUCTION_BYTES * len(function.keys)
        if budget < 0:
            break
        chosen.append(function)
    return chosen


def describe(action: Action, function: Function) -> dict[int, Place]:
    """Return what the library knows about a function's instructions, by :meth:`Listing.key`."""
    start = function.leader.starts[0]
    return {key: _place(action, start + key) for key in function.keys}


def _place(action: Action, pc: int) -> Place:
    text = (action.sass_by_pc(pc) or "").strip()
    info = action.source_info(pc)
    file = info.file_name() if info is not None else ""
    line = info.line() if info is not None else 0
    known = bool(file) and line > 0
    return Place(
        sass="" if text == "???" else text,  # what the library prints for code it cannot read
        file=file if known else None,
        line=line if known else None,
    )


_NOWHERE = Place("", None, None)


def instructions(listing: Listing, places: Mapping[int, Place]) -> tuple[Instruction, ...]:
    """Return a kernel's instructions ordered by ``pc``, as many as known with their text."""
    described = ((pc, places.get(listing.key(pc), _NOWHERE)) for pc in listing.rows)
    found = (
        Instruction(listing.offset(pc), place.sass, place.file, place.line, dict(listing.rows[pc]))
        for pc, place in described
    )
    return tuple(sorted(found, key=lambda instruction: instruction.pc))
