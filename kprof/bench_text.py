"""A bench in the terminal: one table per shape, then what stands out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kprof.bench.result import (
    Bench,
    Check,
    Comparison,
    Conditions,
    ShapeResult,
    Timing,
    UnitResult,
    Why,
)
from kprof.names import one_line, short
from kprof.terminal import NARROWEST, drawn
from kprof.units import UNKNOWN, count, percent, ratio, share, si

_STYLES = {"wrong": "bold red", "failed": "red", "timeout": "red", "unsupported": "dim", "skipped": "dim"}  # fmt: skip
_WORDS = {
    "wrong": "WRONG",
    "failed": "FAILED",
    "timeout": "HANGS",
    "unsupported": "not this shape",
    "skipped": "skipped",
    "ok": "right",
}
HEADS = (
    "variant",
    "P50 µs",
    "P95",
    "min",
    "spread",
    "GB/s",
    "GFLOP/s",
    "roof",
    "copy",
    "speed-up",
)
REASONS = ("why", "memory", "compute", "occupancy", "excess", "bound", "first finding")
_NARROW = 1.25  # between the ends of an interval that still says "equal"; kprof's own
_KERNEL = 44  # columns of a kernel's name


def summary(bench: Bench, *, width: int = 80, color: bool = False, verbose: int = 0) -> str:
    """Return what a person needs to know of a bench, as text that ends in a newline.

    Args:
        bench: what was found.
        width: columns to fill, at least 40.
        color: whether to write terminal escapes.
        verbose: 1 adds every check and the confidence intervals.
    """
    return drawn(_parts(bench, verbose), width=max(width, NARROWEST), color=color)


def head(bench: Bench) -> str:
    """Say on one line what ran on what."""
    device = bench.device
    cuda = f", CUDA {device.cuda}" if device.cuda else ""
    return f"kprof bench: {bench.target} on {device.name}, torch {bench.torch}{cuda}"


def conditions(bench: Bench) -> str:
    """Say on one line how it was measured."""
    said = bench.conditions
    against = f"; compared with {said.baseline}" if said.baseline else ""
    # Nothing flushes a CPU's caches.
    cache = f"{said.l2} L2 cache, " if bench.device.cuda else ""
    return (
        f"{count(said.runs, 'run')} after {said.warmup} to warm up, {cache}"
        f"inputs from seed {said.seed}{against}"
    )


def _parts(bench: Bench, verbose: int) -> Iterator[RenderableType]:
    yield Text(head(bench), style="bold")
    yield Text(conditions(bench), style="dim")
    for shape in bench.shapes:
        yield Text("")
        yield from _shape(shape, bench.conditions, verbose)
    yield Text("")
    yield from _checks(bench, verbose)
    yield from (Text(f"Note: {note}", style="dim") for note in bench.notes)


def _shape(shape: ShapeResult, said: Conditions, verbose: int) -> Iterator[RenderableType]:
    yield Text.assemble((shape.shape, "bold"), (_yardstick(shape), "dim"))
    timed = [unit for unit in shape.units if unit.timing is not None]
    if timed:
        yield _table(timed)
    for unit in shape.units:
        if unit.timing is None:
            yield _untimed(unit)
    yield from (Text(line, style="dim") for line in remarks(shape, said))
    if verbose:
        yield from (Text(line, style="dim") for line in _intervals(timed))
    explained = [unit for unit in timed if unit.why is not None]
    if explained:
        yield _reasons(explained)
        yield from _headlines(explained)


def _yardstick(shape: ShapeResult) -> str:
    return "" if shape.copy_s is None else f"   copy of the same bytes {si(shape.copy_s, 's')}"


def _table(units: Sequence[UnitResult]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    rows = [cells(unit) for unit in units]
    used = [place for place in range(len(HEADS)) if any(row[place] for row in rows)]
    for place in used:
        first = place == 0
        table.add_column(
            HEADS[place], justify="left" if first else "right", no_wrap=not first, overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(row[place]) for place in used))
    return table


def cells(unit: UnitResult) -> tuple[str, ...]:
    """Return a timed unit's row: :data:`HEADS`; what is unknown is empty."""
    timing = unit.timing
    assert timing is not None  # noqa: S101 - asked of timed units alone
    return (
        unit.unit,
        *(ratio(1e6 * value) for value in (timing.p50_s, timing.p95_s, timing.min_s)),
        share(timing.spread),
        _giga(timing.bytes_per_s),
        _giga(timing.flops_per_s),
        "" if timing.roof_pct is None else percent(timing.roof_pct, 0),
        "" if timing.copy_pct is None else percent(timing.copy_pct, 0),
        speedup(timing),
    )


def speedup(timing: Timing) -> str:
    """Return how much faster than the baseline: ``2.31×``, ``equal``; empty for the baseline.

    Where the interval would take in a quarter of a difference ``equal`` would say too much.
    """
    found = timing.comparison
    if found is None:
        return ""
    if found.verdict == "equal":
        return "equal" if _is_narrow(found) else "unclear"
    return f"{ratio(found.speedup)}×" + ("?" if found.verdict == "unknown" else "")


def _is_narrow(found: Comparison) -> bool:
    if found.low is None or found.high is None or found.low <= 0.0:
        return False
    return found.high / found.low <= _NARROW


def word(status: str) -> str:
    """Return how a status reads."""
    return _WORDS[status]


def remarks(shape: ShapeResult, said: Conditions) -> Iterator[str]:
    """Yield what else the numbers of a shape mean, measured as the conditions say."""
    timed = [(unit.unit, unit.timing) for unit in shape.units if unit.timing is not None]
    found = [(name, timing.comparison) for name, timing in timed if timing.comparison is not None]
    for other in dict.fromkeys(item.against for _, item in found if item.against != said.baseline):
        yield f"Compared with {other} here: {said.baseline} has no time on this shape."
    equal = [(name, item) for name, item in found if item.verdict == "equal"]
    if equal:
        names, item = ", ".join(name for name, _ in equal), equal[0][1]
        yield f"Within the noise (±{percent(100 * item.noise)}) of {item.against}: {names}."
    if not all(_is_narrow(item) for _, item in equal):
        yield "Unclear: times vary too much here to tell equal from a quarter faster or slower."
    if any(item.verdict == "unknown" for _, item in found):
        yield "Too few runs to tell a difference from noise; --runs 100 is enough."
    if any(timing.method == "graph" for _, timing in timed):
        yield "Short calls: each run is a CUDA graph of many."
    others = [name for name, timing in timed if timing.method == "events"]
    if others and len(others) < len(timed):
        yield f"Not in a graph, launched one by one: {', '.join(others)}."
    if said.l2 == "cold" and _too_small(timed):
        yield "The data is too small to flush the cache between calls: warm L2 cache."


def _too_small(timed: Sequence[tuple[str, Timing]]) -> bool:
    return any(timing.method == "graph" and not timing.cold for _, timing in timed)


def _intervals(units: Sequence[UnitResult]) -> Iterator[str]:
    for unit in units:
        found = unit.timing.comparison if unit.timing else None
        if found is not None and found.low is not None and found.high is not None:
            yield (
                f"{unit.unit}: {ratio(found.speedup, 4)} times as fast as {found.against}, "
                f"99 % confidence {ratio(found.low, 4)} to {ratio(found.high, 4)}"
            )


def _untimed(unit: UnitResult) -> Text:
    style = _STYLES.get(unit.status, "green")
    return Text.assemble(
        unit.unit, "  ", (_WORDS[unit.status], style), f"  {unit.message}" if unit.message else ""
    )


def _reasons(units: Sequence[UnitResult]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for place, name in enumerate(REASONS):
        table.add_column(name, justify="right" if 0 < place < 5 else "left", overflow="fold")
    for unit in units:
        if unit.why is not None:
            table.add_row(*(Text(cell) for cell in reason(unit.unit, unit.why)))
    return table


def reason(name: str, why: Why) -> tuple[str, ...]:
    """Return the row that says what limits a unit."""
    excess = why.wavefront_excess_pct
    return (
        name,
        percent(why.memory_pct, 0),
        percent(why.compute_pct, 0),
        percent(why.occupancy_pct, 0),
        "" if excess is None else percent(excess, 0),
        why.bound or UNKNOWN,
        why.finding or "none",
    )


def _headlines(units: Sequence[UnitResult]) -> Iterator[Text]:
    for unit in units:
        why = unit.why
        if why is None:
            continue
        more = f" and {len(why.kernels) - 1} more" if len(why.kernels) > 1 else ""
        said = f": {why.headline}" if why.headline else ""
        name = short(one_line(why.kernel), _KERNEL)
        yield Text(f"{unit.unit} ran {name}{more}{said}", style="dim")


def _checks(bench: Bench, verbose: int) -> Iterator[Text]:
    wrong = bench.wrong
    said = counted([check for unit in bench.checks for check in unit.checks])
    said += f"; {', '.join(wrong)}: wrong" if wrong else ""
    yield Text(said, style="bold red" if wrong else "")
    if verbose:
        for unit in bench.checks:
            yield from (Text(f"  {unit.unit}  {checked(check)}") for check in unit.checks)


def counted(checks: Sequence[Check]) -> str:
    """Say how many results are right, of those that a variant gives at all."""
    tried = [check for check in checks if check.status != "unsupported"]
    right = sum(check.status == "ok" for check in tried)
    shapes = count(len({check.shape for check in checks}), "shape")
    rest = len(checks) - len(tried)
    more = f"; {count(rest, 'time')} a variant does not do a shape" if rest else ""
    return f"{right} of {len(tried)} results on {shapes} are right{more}"


def checked(check: Check) -> str:
    """Say on one line what a check found."""
    said = f"{check.shape}  {_WORDS[check.status]}"
    if check.max_abs_error is not None:
        said += f"  largest error {_error(check.max_abs_error)} absolute"
    if check.max_rel_error is not None:
        said += f", {_error(check.max_rel_error)} relative"
    return said + (f"  {check.message}" if check.message else "")


def _error(value: float) -> str:
    return "0" if value == 0 else f"{value:.1e}"


def _giga(value: float | None) -> str:
    return "" if value is None else ratio(1e-9 * value)
