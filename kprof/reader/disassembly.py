"""Text and source line of instructions, bought sparingly.

The library reads all device code of a file to describe one instruction of a kernel: 25 to 80 ms
and 12 MB for torch, where everything else about that kernel takes 8 ms, and 0.04 ms for every
further instruction. An excerpt (:mod:`kprof.reader.excerpt`) takes a third of that, where there can
be one. So launches of one function share one disassembly, functions with most GPU time go first, the
more so if they waste memory accesses, and a budget in bytes of device code (not in seconds: two
readings of a file must be equal) ends it. It buys the vital instructions of as many
functions as it can, and then the rest of the first of them.
"""

from __future__ import annotations

import bisect
import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, repeat, starmap
from operator import itemgetter

from kprof.model.profile import Code, Instruction, Kernel
from kprof.reader.calls import bound
from kprof.reader.instructions import Executions, function_starts
from kprof.reader.library import MANGLED, Action, SourceInfo
from kprof.reader.vital import MOST, vital

# About 0.1 s of the library's time: three of torch's larger functions, or every kernel of most
# programs of one's own.
BUDGET_BYTES = 8 << 20
# A report of so few kernels may take 0.3 s: enough for every instruction of a large one.
_FEW_KERNELS, _FEW_BYTES = 8, 24 << 20
# The first functions are described however much their modules weigh: of a report with a few of
# torch's kernels, at 3 MB each, the kernel with most GPU time would go without.
_FIRST = 4
# Printing one instruction costs as much as this much more of a module (measured).
_INSTRUCTION_BYTES = 3 << 10
# Bytes of an instruction on every GPU that ncu supports (compute capability 7.0 and later).
_STEP = 16
# Instructions without executions in a row that still belong to a function: never reached, or a
# kind that is not counted.
_LONGEST_GAP = 64
# From this share of needless accesses on, a reader wants to see where they are.
_WASTEFUL = 0.1
_FOR_WASTE = 2  # so much more its time counts: there is a place to point at. kprof's own.

_Row = Mapping[str, float]
# Of an instruction: offset, text, file, line and function.
_Fields = tuple[int, str, str | None, int | None, int]


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
        name: the kernel's mangled name, empty where the report has none.
    """

    index: int
    function: tuple[object, ...]
    duration_s: float
    starts: tuple[int, ...]
    rows: Mapping[int, _Row]
    executed: Executions | None = None
    name: str = ""

    def part(self, pc: int) -> int:
        """Return the position of the function that holds a program counter."""
        return max(bisect.bisect_right(self.starts, pc) - 1, 0) if len(self.starts) > 1 else 0

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

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle plain rows: an object for each takes three times as long, both ways."""
        rows = [(at.pc, at.sass, at.file, at.line, at.function) for at in self.places.values()]
        return _described, (array("q", self.places), rows, bool(self.code))


def _described(keys: Sequence[int], rows: Iterable[_Fields], whole: bool) -> Described:
    places = dict(zip(keys, starmap(Code, rows), strict=True))
    return Described(places, tuple(places.values()) if whole else ())


@dataclass(frozen=True)
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

    @cached_property
    def whole(self) -> frozenset[int]:
        """Every instruction of the function, as far as executions show it."""
        keys = self.counted
        # Which instructions ncu counts follows from the code, so one launch stands for all.
        executed, start = self.leader.executed, self.leader.starts[0]
        pcs = executed.pcs if executed else ()
        keys.update(pc - start for pc in pcs)
        for pc, following in pairwise(pcs):
            if _STEP < following - pc <= _LONGEST_GAP * _STEP:
                keys.update(range(pc - start + _STEP, following - start, _STEP))
        return frozenset(keys)

    @property
    def vital(self) -> set[int]:
        """The instructions to print where not all can be."""
        rows = [
            {listing.key(pc): row for pc, row in listing.rows.items()} for listing in self.launches
        ]
        return vital(rows, self.whole)


def functions(listings: Iterable[Listing]) -> list[Function]:
    """Group launches by function: those with most GPU time first, wasteful ones with twice theirs."""
    groups: dict[tuple[object, ...], list[Listing]] = {}
    for listing in listings:
        if listing.rows:
            groups.setdefault(listing.function, []).append(listing)
    found = [Function(tuple(group)) for group in groups.values()]
    return sorted(found, key=_rank)


def _rank(function: Function) -> tuple[float, int]:
    wasteful = any(waste(listing.rows.values()) >= _WASTEFUL for listing in function.launches)
    time = sum(listing.duration_s for listing in function.launches)
    return -time * (_FOR_WASTE if wasteful else 1), function.leader.index


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


@dataclass(frozen=True, slots=True)
class Order:
    """What to describe, without the counters: this goes to another process.

    Attributes:
        index: the kernel through which the function is disassembled.
        starts: start addresses of its functions.
        keys: its instructions by :meth:`Listing.key`, ascending.
        printed: those to print.
        launches: the kernels that share the function.
        whole: whether executions were measured, and ``keys`` is the function.
        name: the kernel's mangled name, empty where the report has none.
    """

    index: int
    starts: tuple[int, ...]
    keys: Sequence[int]
    printed: frozenset[int]
    launches: tuple[int, ...]
    whole: bool
    name: str = ""


def order(choice: Choice) -> Order:
    """Return a choice as an order."""
    function, printed = choice
    leader = function.leader
    return Order(
        index=leader.index,
        starts=leader.starts,
        keys=array("q", sorted(function.whole)),
        printed=printed,
        launches=tuple(listing.index for listing in function.launches),
        whole=leader.executed is not None,
        name=leader.name,
    )


def is_ordered(action: Action, wanted: Order) -> bool:
    """Say whether a kernel is the one to describe, or one of the same code."""
    starts = function_starts(action, dict.fromkeys(wanted.starts))
    return starts == wanted.starts and (action.name(MANGLED) or "") == wanted.name


def budget_for(kernels: int, module_bytes: int) -> int:
    """Return the bytes of device code to spend on a report of so many kernels and such modules."""
    least = _FEW_BYTES if kernels <= _FEW_KERNELS else BUDGET_BYTES
    return max(least, _FIRST * (module_bytes + MOST * _INSTRUCTION_BYTES))


def buys_any(budget: int, module_bytes: int) -> bool:
    """Say whether a budget buys at least one instruction of one function."""
    return module_bytes + _INSTRUCTION_BYTES <= budget


def affordable(ranked: Iterable[Function], *, budget: int, module_bytes: int) -> list[Choice]:
    """Return the first functions whose disassembly fits the budget, and what to print of them.

    Args:
        ranked: functions, most interesting first.
        budget: bytes of device code.
        module_bytes: bytes of one function's module.
    """
    chosen: list[Choice] = []
    for function in ranked:
        if not buys_any(budget, module_bytes):  # finding out what is vital takes milliseconds
            break
        keys = function.vital
        cost = module_bytes + _INSTRUCTION_BYTES * len(keys)
        if cost > budget:  # one with very many instructions must not cost the others theirs
            continue
        budget -= cost
        chosen.append((function, frozenset(keys)))
    return _completed(chosen, budget)


def _completed(chosen: Iterable[Choice], budget: int) -> list[Choice]:
    """Spend what is left on whole functions."""
    completed: list[Choice] = []
    for function, keys in chosen:
        whole = function.whole
        more = _INSTRUCTION_BYTES * len(whole - keys)
        affords = more <= budget
        budget -= more if affords else 0
        completed.append((function, whole if affords else keys))
    return completed


def describe(action: Action, wanted: Order) -> Described:
    """Return what the library knows about a function's instructions."""
    frame = Listing(wanted.index, (), 0.0, wanted.starts, {})
    # First the text: the place is cheap once the module has been taken apart for that.
    texts = {key: _text(action, frame, wanted.starts[0] + key) for key in sorted(wanted.printed)}
    known: Callable[[int], SourceInfo | None] = bound(action, "source_info")
    places = {}
    for key in wanted.keys:
        pc = wanted.starts[0] + key
        places[key] = _place(frame, pc, texts.get(key, ""), known(pc))
    return Described(places, tuple(places.values()) if wanted.whole else ())


def _text(action: Action, listing: Listing, pc: int) -> str:
    text = (action.sass_by_pc(pc) or "").strip()
    # The library prints ??? for code it cannot read.
    return "" if text == "???" else _relative(text, listing, pc)


def _place(listing: Listing, pc: int, text: str, info: SourceInfo | None) -> Code:
    function = listing.part(pc)
    offset = pc - listing.starts[function]
    file, line = (info.file_name(), info.line()) if info is not None else ("", 0)
    if not file or line <= 0:
        return Code(offset, text, None, None, function)
    return Code(offset, text, file, line, function)


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


NOTHING = Described({})


def finished(kernel: Kernel, listing: Listing, found: Described = NOTHING) -> Kernel:
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
    counted = dict(zip(listing.executed.pcs, values, strict=True))
    start = listing.starts[0]
    pcs = [start + key for key in found.places]
    return array("d", map(counted.get, pcs, repeat(0.0)))


# An instruction that nothing is known of.
_UNKNOWN = Code(0, "")


def _instructions(listing: Listing, places: Mapping[int, Code]) -> tuple[Instruction, ...]:
    start, single = listing.starts[0], len(listing.starts) == 1
    found = []
    for pc, values in sorted(listing.rows.items(), key=itemgetter(0)):
        known = places.get(pc - start, _UNKNOWN)
        # There are thousands, of one function as good as always: no search for that.
        offset, function = (pc - start, 0) if single else (listing.offset(pc), listing.part(pc))
        found.append(Instruction(offset, known.sass, known.file, known.line, values, function))
    return tuple(found)
