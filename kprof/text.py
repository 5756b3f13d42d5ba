"""A report as terminal text: the ranked kernels, and for the top ones what to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kprof.collection_text import collected
from kprof.doubts import doubts
from kprof.kernel_text import details, headline, kernel_block, not_evaluated
from kprof.model import KernelReport, Report
from kprof.names import one_line, short
from kprof.ranking import Group, gpu_time, ranked
from kprof.survey_text import NOT_IN_DEPTH, cut_off, program, rests
from kprof.terminal import NARROWEST, drawn
from kprof.units import UNKNOWN, count, percent, share, si
from kprof.words import bound_label, has_foreign_duration, limit

ROWS = 10
DISCUSSED = 5
HEADS = ("#", "time", "share", "bound", "busiest")
ENOUGH = 0.8  # of the GPU time: kernels beyond it are not discussed unless asked for


def summary(report: Report, *, width: int = 80, color: bool = False, verbose: int = 0) -> str:
    """Return what a person needs to know of a report, as text that ends in a newline.

    Args:
        report: what was diagnosed.
        width: columns to fill, at least 40.
        color: whether to write terminal escapes.
        verbose: 0 for the top kernels and their first finding, 1 for every kernel, finding,
            number and rule that could not be evaluated.
    """
    width = max(width, NARROWEST)
    return drawn(_parts(report, width, verbose), width=width, color=color)


def _parts(report: Report, width: int, verbose: int) -> Iterator[RenderableType]:
    yield from _head(report)
    groups = ranked(report)
    if not groups:
        yield Text("No kernel in this report.")
        return
    deep = tuple(group for group in groups if not group.kernel.timed_only)
    yield from _ranking(deep, width, verbose)
    yield from _left_out(groups, width, verbose)
    silent = () if verbose else tuple(group for group in deep if _is_silent(group))
    telling = deep if verbose else tuple(group for group in deep if not _is_silent(group))
    discussed = tuple(_discussed(telling, verbose))
    for group in discussed:
        yield Text("")
        yield from kernel_block(group, width, verbose)
    if len(discussed) < len(telling):
        yield Text("")
        yield Text(_undiscussed(len(telling) - len(discussed)), style="dim")
    if silent:
        yield Text("")
        yield Text(_unknown(silent, deep))
    for finding in report.findings:
        yield Text("")
        yield headline(finding)
        yield details(finding, verbose)
    yield from _closing(deep, verbose)


def _head(report: Report) -> Iterator[Text]:
    yield _title(report)
    seen = program(report)
    if seen:
        yield Text(seen)
    yield Text(one_line(collected(report)), style="dim")
    yield from (Text(f"! {one_line(note)}", style="yellow") for note in _warnings(report))


def _ranking(groups: Sequence[Group], width: int, verbose: int) -> Iterator[RenderableType]:
    if not groups:
        return
    shown = groups if verbose else groups[:ROWS]
    yield Text("")
    yield _table(HEADS, [(group, _cells(group)) for group in shown], width)
    if len(shown) < len(groups):
        yield Text(_rest(groups[len(shown) :]), style="dim")


def _left_out(groups: Sequence[Group], width: int, verbose: int) -> Iterator[RenderableType]:
    """Say what was only timed and why; those among the top of the program are listed."""
    top = groups if verbose else groups[:ROWS]
    found = rests(groups)
    if found:
        yield Text("")
        yield Text(NOT_IN_DEPTH, style="bold")
    for rest in found:
        shown = [group for group in top if group in rest.groups]
        more = len(rest.groups) - len(shown)
        hint = f"; {'-v lists them' if not shown else f'{count(more)} of them with -v'}"
        yield Text(f"{rest.kernels}: {rest.reason}{hint if more else ''}")
        if shown:
            yield _table(HEADS[:3], [(group, _cells(group)[:3]) for group in shown], width)


def _title(report: Report) -> Text:
    facts = [", ".join(dict.fromkeys(one_line(device.name) for device in report.devices))]
    facts[0] = facts[0] or "GPU unknown"
    if report.collection.survey is None:  # else the next line says it of the whole program
        time = gpu_time(report.kernels)
        facts.insert(0, count(len(report.kernels), "kernel"))
        facts.append("GPU time unknown" if time is None else f"{si(time, 's')} of GPU time")
    untimed = sum(kernel.duration_s is None for kernel in report.kernels)
    if untimed:
        facts.append(f"{count(untimed, 'kernel')} without a duration")
    return Text.assemble((one_line(Path(report.source.path).name), "bold"), ": " + ", ".join(facts))


def _warnings(report: Report) -> Iterator[str]:
    if report.source.truncated:
        yield "The file is cut off or damaged: these are its complete kernels, others are lost."
    if report.source.target_exit:
        yield f"The profiled program failed with exit status {report.source.target_exit}."
    missed = cut_off(report)
    if missed:
        yield missed
    yield from report.notes


def _table(
    heads: Sequence[str], rows: Sequence[tuple[Group, tuple[str, ...]]], width: int
) -> Table:
    columns = zip(heads, *(cells for _, cells in rows), strict=True)
    taken = sum(2 + max(map(len, column)) for column in columns)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for head in heads:
        table.add_column(head, justify="left" if head == "bound" else "right", no_wrap=True)
    table.add_column("kernel", no_wrap=True, overflow="ellipsis")
    for group, cells in rows:
        times = f" ×{group.launches:,}" if group.launches > 1 else ""
        name = group.kernel.demangled or group.kernel.name
        table.add_row(*cells, short(name, max(8, width - taken - len(times))) + times)
    return table


def _cells(group: Group) -> tuple[str, ...]:
    kernel = group.kernel
    return (
        str(kernel.index),
        si(group.total_s, "s"),
        share(group.share),
        bound_label(limit(kernel)),
        percent(kernel.limiter.pct) if kernel.limiter else UNKNOWN,
    )


def _rest(groups: Sequence[Group]) -> str:
    shares = [group.share for group in groups if group.share is not None]
    part = share(sum(shares)) if shares else UNKNOWN
    return f"and {count(len(groups))} more, {part} of the time (-v lists all)"


def _discussed(groups: Sequence[Group], verbose: int) -> Iterator[Group]:
    covered = 0.0
    for place, group in enumerate(groups):
        if not verbose and (place >= DISCUSSED or covered >= ENOUGH):
            return
        covered += group.share or 0.0
        yield group


def _undiscussed(kernels: int) -> str:
    return f"{kernels:,} more kernel{'s: -v shows them' if kernels > 1 else ': -v shows it'}"


def _is_silent(group: Group) -> bool:
    kernel = group.kernel
    return kernel.bound == "unknown" and not kernel.findings and not kernel.clear


def _unknown(silent: Sequence[Group], deep: Sequence[Group]) -> str:
    launches, kernels = (sum(len(group.members) for group in part) for part in (silent, deep))
    others = any(group.kernel.bound == "unknown" and not _is_silent(group) for group in deep)
    which = f"{launches:,} of {kernels:,} kernels"
    if others:  # told before
        which = f"{count(launches, 'more kernel')} of {kernels:,}"
    elif launches == kernels:
        which = "each kernel"
    if all(has_foreign_duration(group.kernel) for group in silent):
        return f"What limits {which} is unknown: the time measured is not their own."
    return (
        f"What limits {which} is unknown: the report lacks the counters that would tell, and no "
        "rule had its data. kprof profile collects them."
    )


def _closing(groups: Sequence[Group], verbose: int) -> Iterator[RenderableType]:
    if verbose:
        return
    kernels = sorted((kernel for group in groups for kernel in group.members), key=_place)
    notes = [Text(f"! {one_line(line)}", style="yellow") for line in doubts(groups, more="-v")]
    missing = [Text(line, style="dim") for line in not_evaluated(kernels)]
    for lines in (notes, missing):
        if lines:
            yield Text("")
            yield from lines


def _place(kernel: KernelReport) -> int:
    return kernel.index
