"""Text and source line of instructions, bought sparingly.

The library takes a whole module apart to describe one instruction: 25 to 80 ms and 12 MB for a
kernel of torch, where everything else about that kernel takes 8 ms, and 0.04 ms for every further
instruction. So launches of one function share one disassembly, functions that waste memory
accesses and those with most GPU time go first, and a budget in bytes of device code (not in
seconds: two readings of a file must be equal) ends it. What it buys is the whole function, or, of
one that is very large, its instructions with counters and what leads up to those that wait.
"""

from __future__ import annotations

import bisect
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kprof.model.profile import Code, Instruction, Kernel
from kprof.reader.instructions import Executions
from kprof.reader.library import Action

# About 0.3 s of the library's time: five of torch's larger functions, or every kernel of most
# programs of one's own.
BUDGET_BYTES = 24 << 20
# Printing one instruction costs as much as this much more of a module (measured).
_INSTRUCTION_BYTES = 3 << 10
# No function takes more than this share of the budget as a whole.
_WHOLE = 0.25
# Bytes of an instruction on every GPU that ncu supports (compute capability 7.0 and later).
_STEP = 16
# Instructions without executions in a row that still belong to a function: never reached, or a
# kind that is not counted.
_LONGEST_GAP = 64
# Instructions to describe before one that waits for data, in a function too large to describe.
_UPSTREAM = 96
_WAITERS = 4
_SCOREBOARDS = tuple(
    f"smsp__pcsamp_warps_issue_stalled_{kind}_scoreboard{form}"
    for kind in ("long", "short")
    for form in ("_not_issued", "")
)
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
        executed: how often every instruction ran, None where not measured.
    """

    index: int
    function: tuple[object, ...]
    duration_s: float
    starts: tuple[int, ...]
    rows: Mapping[int, _Row]
    executed: Executions | None = None

    def part(self, pc: int) -> int:
        """Return the position of the function that holds a program counter."""
        return max(bisect.bisect_right(self.starts, pc) - 1, 0)

    def offset(self, pc: int) -> int:
        """Return a program counter relative to the start of its function.

        Code that is called and lies before the kernel has a negative one.
        """
        return pc - self.starts[self.part(pc)]

    def key(self, pc: int) -> int:
        """Return what an instruction has in common with the same one of another launch."""
        return pc - self.starts[0]


@dataclass(frozen=True, slots=True)
class Described:
    """What the library knows about a function.

    Attributes:
        places: its instructions by :meth:`Listing.key`, ascending.
        code: the same in that order, empty where executions were not measured.
    """

    places: Mapping[int, Code]
    code: tuple[Code, ...] = ()


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
    def counted(self) -> set[int]:
        """Every instruction that any launch has counters for, by :meth:`Listing.key`."""
        return {listing.key(pc) for listing in self.launches for pc in listing.rows}

    @property
    def whole(self) -> set[int]:
        """Every instruction of the function, as far as executions show it."""
        keys = set(self.counted)
        for listing in self.launches:
            pcs = listing.executed.pcs if listing.executed else ()
            for pc, following in zip(pcs, [*pcs[1:], *pcs[-1:]], strict=True):
                near = following - pc <= _LONGEST_GAP * _STEP
                gap = range(pc, following if near else pc, _STEP)
                keys.update(map(listing.key, (pc, *gap)))
        return keys

    @property
    def upstream(self) -> set[int]:
        """The instructions with counters, and what lies before those that wait for data."""
        samples: dict[int, float] = {}
        for listing in self.launches:
            for pc, row in listing.rows.items():
                waits = sum(row.get(name, 0.0) for name in _SCOREBOARDS)
                samples[listing.key(pc)] = samples.get(listing.key(pc), 0.0) + waits
        hottest = sorted((key for key in samples if samples[key]), key=lambda k: (-samples[k], k))
        before = (range(k - _UPSTREAM * _STEP, k, _STEP) for k in hottest[:_WAITERS])
        whole = self.whole
        return {*samples, *(key for span in before for key in span if key in whole)}


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


Choice = tuple[Function, frozenset[int]]


def affordable(ranked: Iterable[Function], *, budget: int, module_bytes: int) -> list[Choice]:
    """Return the first functions whose disassembly fits the budget, and what to print of them.

    Args:
        ranked: functions, most interesting first.
        budget: bytes of device code.
        module_bytes: bytes of one function's module.
    """
    chosen: list[Choice] = []
    largest = _WHOLE * budget
    for function in ranked:
        keys = function.whole
        if len(keys) * _INSTRUCTION_BYTES > min(largest, budget - module_bytes):
            keys = function.upstream
        budget -= module_bytes + _INSTRUCTION_BYTES * len(keys)
        if budget < 0:
            break
        chosen.append((function, frozenset(keys)))
    return chosen


def describe(action: Action, choice: Choice) -> Described:
    """Return what the library knows about a function's instructions."""
    function, printed = choice
    leader = function.leader
    places = {
        key: _place(action, leader, leader.starts[0] + key, printed=key in printed)
        for key in sorted(function.whole)
    }
    return Described(places, tuple(places.values()) if leader.executed is not None else ())


def _place(action: Action, listing: Listing, pc: int, *, printed: bool) -> Code:
    text = (action.sass_by_pc(pc) or "").strip() if printed else ""
    # Cheap once the module has been taken apart, and needed for every line's total.
    info = action.source_info(pc)
    file = info.file_name() if info is not None else ""
    line = info.line() if info is not None else 0
    known = bool(file) and line > 0
    return Code(
        pc=listing.offset(pc),
        # The library prints ??? for code it cannot read.
        sass="" if text == "???" else _relative(text, listing, pc),
        file=file if known else None,
        line=line if known else None,
        function=listing.part(pc),
    )


_TARGET = re.compile(r"\b(BRA|BRX|JMP|BSSY|CALL|RET|LEPC|WARPSYNC)\b.* (0x[0-9a-f]+)$")
_FARTHEST = 1 << 24


def _relative(text: str, listing: Listing, pc: int) -> str:
    """Write the target of a branch like program counters: as an offset in its function."""
    found = _TARGET.search(text)
    if found is None:
        return text
    start = listing.starts[listing.part(pc)]
    target = int(found[2], 16) - start
    return f"{text[: found.start(2)]}{target:#x}" if 0 <= target < _FARTHEST else text


_NOTHING = Described({})


def finished(kernel: Kernel, listing: Listing, found: Described = _NOTHING) -> Kernel:
    """Return a kernel with its instructions and code, as many as known with their text."""
    executed = listing.executed if found.code else None
    return replace(
        kernel,
        instructions=_instructions(listing, found.places),
        code=found.code,
        executed=_column(listing, found, executed.warps) if executed else (),
        threads=_column(listing, found, executed.threads) if executed else (),
    )


def _column(listing: Listing, found: Described, values: Sequence[float]) -> Sequence[float]:
    """Return a column of executions in the order of the code: what did not run has 0."""
    if not values or listing.executed is None:
        return ()
    counted = dict(zip(map(listing.key, listing.executed.pcs), values, strict=True))
    return array("d", (counted.get(key, 0.0) for key in found.places))


def _instructions(listing: Listing, places: Mapping[int, Code]) -> tuple[Instruction, ...]:
    described = ((pc, places.get(listing.key(pc))) for pc in sorted(listing.rows))
    return tuple(
        Instruction(
            pc=listing.offset(pc),
            sass=place.sass if place else "",
            file=place.file if place else None,
            line=place.line if place else None,
            values=dict(listing.rows[pc]),
            function=listing.part(pc),
        )
        for pc, place in described
    )
