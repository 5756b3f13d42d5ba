"""A kernel's source lines and instructions with what they cost, as many as matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kprof import metrics as m
from kprof.model import Code, Heat, Instruction, Kernel, SassLine, SourceLine, SourceView
from kprof.sharedmem import IDEAL as WAVEFRONTS_IDEAL
from kprof.sharedmem import WAVEFRONTS
from kprof.stalls import reason_of

SECTORS = m.GLOBAL_SECTORS.ways[0].metrics[0]
SECTORS_IDEAL = m.GLOBAL_SECTORS_IDEAL.ways[0].metrics[0]
LOCAL = m.LOCAL_SECTORS.ways[0].metrics[0]
SAMPLES = m.SAMPLES.ways[0].metrics[0]
EXECUTED, THREADS = "inst_executed", "thread_inst_executed"
DIVERGENT = "smsp__branch_targets_threads_divergent"
# A report that holds many kernels tells less of each: about 0.3 kB of JSON per line.
LINES, INSTRUCTIONS = 2_000, 4_000
LEAST_LINES, LEAST_INSTRUCTIONS = 20, 32
_STEP = 16


@dataclass(slots=True)
class _Sum:
    """What some instructions cost together; a column that the report lacks is not in ``known``."""

    values: dict[str, float] = field(default_factory=dict)
    stalls: dict[str, float] = field(default_factory=dict)
    count: int = 0

    def add(self, values: Mapping[str, float]) -> None:
        self.count += 1
        counts, stalls = self.values, self.stalls
        for name, value in values.items():
            reason = reason_of(name)
            if reason is None:
                counts[name] = counts.get(name, 0.0) + value
            else:
                stalls[reason] = stalls.get(reason, 0.0) + value


_Row = tuple[Code, Mapping[str, float]]


def allowances(kernels: Sequence[Kernel]) -> list[tuple[int, int]]:
    """Return how many lines and instructions each kernel may show.

    Every kernel shows the least; of the rest each takes what it has, the longest first and at most
    half of what is left: whoever looks at a report of many kernels looks at those.
    """
    sizes = [max(len(kernel.code), len(kernel.instructions)) for kernel in kernels]
    order = sorted(
        (at for at, size in enumerate(sizes) if size),
        key=lambda at: -(kernels[at].duration_s or 0.0),
    )
    lines = _dealt(sizes, order, LINES, LEAST_LINES)
    return list(zip(lines, _dealt(sizes, order, INSTRUCTIONS, LEAST_INSTRUCTIONS), strict=True))


def _dealt(sizes: Sequence[int], order: Sequence[int], most: int, least: int) -> list[int]:
    found = [least] * len(sizes)
    room = max(most - least * len(order), 0)
    for at in order:
        more = min(max(sizes[at] - least, 0), room if at == order[-1] else room // 2)
        found[at] += more
        room -= more
    return found


def source_view(kernel: Kernel, most: tuple[int, int] = (LINES, INSTRUCTIONS)) -> SourceView | None:
    """Return where a kernel's cost lies, None without counters per instruction.

    Args:
        kernel: as read.
        most: lines and instructions to show; what is left out is in the totals.
    """
    if not kernel.instructions:
        return None
    rows = _rows(kernel)
    heat = _heater(kernel)
    total = _summed(rows)
    weight = _weigher(total)
    lines = _lines(rows)
    ranked = sorted(lines, key=lambda key: (-weight(lines[key]), key))
    kept = _heaviest([row for row in rows if _says(row[0])], weight, most[1])
    unplaced = [row for row in rows if row[0].line is None]
    return SourceView(
        lines=tuple(
            SourceLine(*key, lines[key].count, heat(lines[key])) for key in ranked[: most[0]]
        ),
        instructions=tuple(_sass(item, heat(_summed([(item, values)]))) for item, values in kept),
        lines_total=len(lines),
        instructions_total=len(rows),
        total=heat(total),
        unplaced=heat(_summed(unplaced)) if unplaced else None,
        complete=len(kept) == len(rows) and _has_no_gap(kernel.code),
    )


def every_instruction(kernel: Kernel) -> list[Instruction]:
    """Return all instructions of a kernel that was read as a whole, executions included.

    Where it was not, those that have counters of their own.
    """
    return [
        Instruction(item.pc, item.sass, item.file, item.line, values, item.function, item.chain)
        for item, values in _rows(kernel)
    ]


def _rows(kernel: Kernel) -> list[_Row]:
    """Return every instruction with its counters, in the order of the code."""
    if not kernel.code:
        return [(_code(row), row.values) for row in kernel.instructions]
    counted = {(row.function, row.pc): row.values for row in kernel.instructions}
    rows: list[_Row] = []
    columns = [(name, column) for name, column in _executions(kernel) if column]
    for position, item in enumerate(kernel.code):
        values = dict(counted.get((item.function, item.pc), {}))
        for name, column in columns:
            values[name] = column[position]
        rows.append((item, values))
    return rows


def _executions(kernel: Kernel) -> tuple[tuple[str, Sequence[float]], ...]:
    """Return the columns that stand beside the code."""
    return (EXECUTED, kernel.executed), (THREADS, kernel.threads)


def _says(item: Code) -> bool:
    """Say whether an instruction tells anybody anything: its text, or where it came from."""
    return bool(item.sass) or item.line is not None


def _code(row: Instruction) -> Code:
    return Code(row.pc, row.sass, row.file, row.line, row.function, row.chain)


def _summed(rows: Iterable[_Row]) -> _Sum:
    found = _Sum()
    for _, values in rows:
        found.add(values)
    return found


def _lines(rows: Iterable[_Row]) -> dict[tuple[str, int], _Sum]:
    """Sum by file and line: two files may share a line number."""
    found: dict[tuple[str, int], _Sum] = {}
    for item, values in rows:
        if item.file is not None and item.line is not None:
            found.setdefault((item.file, item.line), _Sum()).add(values)
    return found


def _weigher(total: _Sum) -> Callable[[_Sum], float]:
    """Return what says how much of the kernel's cost something is: the sum of its shares."""
    samples = total.values.get(SAMPLES, 0.0)
    excess = [(name, ideal, _excess(total, name, ideal)) for name, ideal in _WASTE]

    def weight(item: _Sum) -> float:
        shares = item.values.get(SAMPLES, 0.0) / samples if samples else 0.0
        for name, ideal, whole in excess:
            shares += _excess(item, name, ideal) / whole if whole > 0 else 0.0
        # Something has to decide between those that cost nothing of all this.
        ran = total.values.get(EXECUTED, 0.0)
        return shares + (1e-3 * item.values.get(EXECUTED, 0.0) / ran if ran else 0.0)

    return weight


_WASTE = ((WAVEFRONTS, WAVEFRONTS_IDEAL), (SECTORS, SECTORS_IDEAL), (LOCAL, ""))


def _excess(item: _Sum, name: str, ideal: str) -> float:
    return item.values.get(name, 0.0) - item.values.get(ideal, 0.0)


def _heaviest(rows: Sequence[_Row], weight: Callable[[_Sum], float], most: int) -> list[_Row]:
    if len(rows) <= most:
        return list(rows)
    ranked = sorted(range(len(rows)), key=lambda at: (-weight(_summed([rows[at]])), at))
    return [rows[at] for at in sorted(ranked[:most])]


def _heater(kernel: Kernel) -> Callable[[_Sum], Heat]:
    """Return what turns sums into heat; what the kernel lacks is unknown, not zero."""
    known = {name for row in kernel.instructions for name in row.values}
    known |= {name for name in (*_COLUMNS, *_IDEALS) if name in kernel.metrics}
    known |= {name for name, column in _executions(kernel) if column}

    def value(item: _Sum, name: str, ideal: str = "") -> float | None:
        if name not in known or (ideal and ideal not in known):
            return None
        return _excess(item, name, ideal)

    def heat(item: _Sum) -> Heat:
        executed, threads = value(item, EXECUTED), value(item, THREADS)
        return Heat(
            samples=value(item, SAMPLES),
            stalls=dict(sorted(item.stalls.items(), key=lambda pair: (-pair[1], pair[0]))),
            executed=executed,
            active_threads=threads / executed if executed and threads is not None else None,
            excess_wavefronts=value(item, WAVEFRONTS, WAVEFRONTS_IDEAL),
            excess_sectors=value(item, SECTORS, SECTORS_IDEAL),
            local_sectors=value(item, LOCAL),
            divergent_branches=value(item, DIVERGENT),
        )

    return heat


_COLUMNS = (SAMPLES, EXECUTED, THREADS, WAVEFRONTS, SECTORS, LOCAL, DIVERGENT)
_IDEALS = (WAVEFRONTS_IDEAL, SECTORS_IDEAL)


def _sass(item: Code, heat: Heat) -> SassLine:
    return SassLine(item.pc, item.function, item.sass, item.file, item.line, heat, item.chain)


def _has_no_gap(code: Sequence[Code]) -> bool:
    return bool(code) and all(
        after.function != item.function or after.pc - item.pc == _STEP
        for item, after in pairwise(code)
    )
