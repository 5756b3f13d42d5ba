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
from kprof.model import Report
from kprof.names import one_line, short
from kprof.ranking import Group, gpu_time, ranked
from kprof.terminal import NARROWEST, drawn
from kprof.units import UNKNOWN, count, percent, share, si
from kprof.words import bound_label

ROWS = 10
DISCUSSED = 5
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
    yield _title(report)
    yield Text(one_line(collected(report)), style="dim")
    yield from (Text(f"! {one_line(note)}", style="yellow") for note in _warnings(report))
    groups = ranked(report)
    if not groups:
        yield Text("No kernel in this report.")
        return
    shown = groups if verbose else groups[:ROWS]
    yield Text("")
    yield _table(shown, width)
    if len(shown) < len(groups):
        yield Text(_rest(groups[len(shown) :]), style="dim")
    silent = () if verbose else tuple(group for group in groups if _is_silent(group))
    telling = groups if verbose else tuple(group for group in groups if not _is_silent(group))
    discussed = tuple(_discussed(telling, verbose))
    for group in discussed:
        yield Text("")
        yield from kernel_block(group, width, verbose)
    if len(discussed) < len(telling):
        yield Text("")
        yield Text(_undiscussed(len(telling) - len(discussed)), style="dim")
    if silent:
        yield Text("")
        yield Text(_unknown(silent, len(report.kernels)))
    for finding in report.findings:
        yield Text("")
        yield headline(finding)
        yield details(finding, verbose)
    yield from _closing(report, groups, verbose)


def _title(report: Report) -> Text:
    devices = ", ".join(dict.fromkeys(one_line(device.name) for device in report.devices))
    time = gpu_time(report.kernels)
    untimed = sum(kernel.duration_s is None for kernel in report.kernels)
    facts = [
        count(len(report.kernels), "kernel"),
        devices or "GPU unknown",
        "GPU time unknown" if time is None else f"{si(time, 's')} of GPU time",
    ]
    if untimed:
        facts.append(f"{count(untimed, 'kernel')} without a duration")
    return Text.assemble((one_line(Path(report.source.path).name), "bold"), ": " + ", ".join(facts))


def _warnings(report: Report) -> Iterator[str]:
    if report.source.truncated:
        yield "The file is cut off: these are its complete kernels, others are lost."
    if report.source.target_exit:
        yield f"The profiled program failed with exit status {report.source.target_exit}."
    yield from report.notes


def _table(groups: Sequence[Group], width: int) -> Table:
    heads = ("#", "time", "share", "bound", "busiest")
    rows = [_cells(group) for group in groups]
    taken = sum(2 + max(map(len, column)) for column in zip(heads, *rows, strict=True))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for head in heads:
        table.add_column(head, justify="left" if head == "bound" else "right", no_wrap=True)
    table.add_column("kernel", no_wrap=True, overflow="ellipsis")
    for group, cells in zip(groups, rows, strict=True):
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
        bound_label(kernel.bound),
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


def _unknown(groups: Sequence[Group], kernels: int) -> str:
    launches = sum(len(group.members) for group in groups)
    which = "each kernel" if launches == kernels else f"{launches:,} of {kernels:,} kernels"
    return (
        f"What limits {which} is unknown: the report lacks the counters that would tell, and no "
        "rule had its data. kprof profile collects them."
    )


def _closing(report: Report, groups: Sequence[Group], verbose: int) -> Iterator[RenderableType]:
    if verbose:
        return
    notes = [Text(f"! {one_line(line)}", style="yellow") for line in doubts(groups, more="-v")]
    missing = [Text(line, style="dim") for line in not_evaluated(report.kernels)]
    for lines in (notes, missing):
        if lines:
            yield Text("")
            yield from lines
