"""A report as terminal text: the ranked kernels, and for the top ones what to change."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kprof.model import Evidence, Finding, KernelReport, Place, Report
from kprof.names import printable, short
from kprof.ranking import Group, gpu_time, ranked
from kprof.units import UNKNOWN, count, percent, quantity, share, si, speedup
from kprof.words import bound_label, verdict

ROWS = 10
DISCUSSED = 5
ENOUGH = 0.8  # of the GPU time: kernels beyond it are not discussed unless asked for
EVIDENCE = 3
NARROWEST = 40

_STYLES = {"high": "bold red", "medium": "yellow", "low": "cyan", "info": "dim"}


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
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        legacy_windows=False,
        emoji=False,
        markup=False,
        highlight=False,
    )
    for part in _parts(report, width, verbose):
        console.print(part)
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())


def _parts(report: Report, width: int, verbose: int) -> Iterator[RenderableType]:
    yield _title(report)
    yield Text(_collected(report), style="dim")
    yield from (Text(f"! {_line(note)}", style="yellow") for note in _warnings(report))
    groups = ranked(report)
    if not groups:
        yield Text("No kernel in this report.")
        return
    shown = groups if verbose else groups[:ROWS]
    yield Text("")
    yield _table(shown, width)
    if len(shown) < len(groups):
        yield Text(_rest(groups[len(shown) :]), style="dim")
    for group in _discussed(groups, verbose):
        yield Text("")
        yield from _kernel(group, width, verbose)
    for finding in report.findings:
        yield Text("")
        yield _headline(finding)
        yield _details(finding, verbose)
    yield from _closing(report, verbose)


def _title(report: Report) -> Text:
    devices = ", ".join(dict.fromkeys(_line(device.name) for device in report.devices))
    untimed = sum(kernel.duration_s is None for kernel in report.kernels)
    facts = [
        count(len(report.kernels), "kernel"),
        devices or "GPU unknown",
        f"{si(gpu_time(report.kernels), 's')} of GPU time",
    ]
    if untimed:
        facts.append(f"{count(untimed, 'kernel')} without a duration")
    return Text.assemble((_line(Path(report.source.path).name), "bold"), ": " + ", ".join(facts))


def _collected(report: Report) -> str:
    how = report.collection
    clocks = {"none": "clocks not locked", "base": "clocks locked to base"}
    caches = {"all": "caches flushed before each pass", "none": "caches kept warm"}
    passes = None if how.passes is None else f"{how.passes} pass{'es' if how.passes != 1 else ''}"
    facts = [
        f"ncu {report.source.ncu_version or 'version unknown'}",
        how.depth and f"depth {how.depth}",
        passes,
        clocks.get(how.clock_control or "", "clock control unknown"),
        caches.get(how.cache_control or "", "cache control unknown"),
    ]
    return _line(", ".join(fact for fact in facts if fact))


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


def _kernel(group: Group, width: int, verbose: int) -> Iterator[RenderableType]:
    kernel = group.kernel
    name = short(kernel.demangled or kernel.name, width - 12)
    yield Text.assemble((f"#{kernel.index} {name}", "bold"))
    yield _body(Text(_line(verdict(kernel))))
    findings = kernel.findings if verbose else kernel.findings[:1]
    for finding in findings:
        yield _body(_headline(finding))
        yield _details(finding, verbose)
    if len(findings) < len(kernel.findings):
        others = ", ".join(f"{item.rule} ({item.severity})" for item in kernel.findings[1:])
        yield _body(Text(f"also: {others}", style="dim"))
    if not findings:
        yield _body(Text(_nothing_fired(kernel)))
    if verbose:
        yield from (_body(Text(f"! {_line(note.message)}", "yellow")) for note in kernel.quality)
        yield from (_body(Text(line, style="dim")) for line in _unevaluated([kernel]))


def _headline(finding: Finding) -> Text:
    gain = finding.estimated_speedup
    text = Text.assemble(
        (finding.severity.upper(), _STYLES[finding.severity]),
        (f" {finding.rule}", "bold"),
        f": {_line(finding.headline)}",
    )
    if gain is not None:
        text.append(f" (fixing it: an estimated {speedup(gain.low, gain.high)} as fast)")
    return text


def _details(finding: Finding, verbose: int) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(ratio=1)
    for label, value in _labelled(finding, verbose):
        grid.add_row(label, Text(_line(value)))
    return Padding(grid, (0, 0, 0, 4))


def _labelled(finding: Finding, verbose: int) -> Iterator[tuple[str, str]]:
    if verbose:
        yield "why", finding.detail
    if finding.evidence:
        shown = finding.evidence if verbose else finding.evidence[:EVIDENCE]
        yield "evidence", "; ".join(_evidence(item) for item in shown)
    for place in finding.source if verbose else finding.source[:1]:
        yield "at", _place(place)
    for advice in finding.advice if verbose else finding.advice[:1]:
        yield "fix", advice
    if verbose:
        yield "sure", f"{finding.confidence} confidence; wrong if: {finding.refuted_by}"
    if finding.kernels:
        yield "kernels", ", ".join(f"#{index}" for index in finding.kernels)


def _evidence(item: Evidence) -> str:
    text = f"{item.metric} {quantity(item.value, item.unit)}"
    if item.threshold is None:
        return text
    source = f" by {item.threshold_source}" if item.threshold_source else ""
    return f"{text} (threshold {quantity(item.threshold, item.unit)}{source})"


def _place(place: Place) -> str:
    where = f"{Path(place.file).name}:{place.line}" if place.file and place.line else ""
    code = f"{place.sass} (+0x{place.pc:x})" if place.sass and place.pc is not None else place.sass
    parts = [part for part in (where, code) if part]
    return f"{' '.join(parts) or 'place unknown'}, {share(place.share)} of the total"


def _nothing_fired(kernel: KernelReport) -> str:
    done, not_done = len(kernel.clear), len(kernel.skipped)
    if not done:
        return "No rule had the data it needs: nothing is known to be wrong or right."
    tail = f", {count(not_done, 'rule')} could not be evaluated" if not_done else ""
    return f"No rule fired: {count(done, 'rule')} had the data and found nothing{tail}."


def _closing(report: Report, verbose: int) -> Iterator[RenderableType]:
    if verbose:
        return
    doubts = [Text(line, style="yellow") for line in _doubts(report.kernels)]
    missing = [Text(line, style="dim") for line in _unevaluated(report.kernels)]
    for lines in (doubts, missing):
        if lines:
            yield Text("")
            yield from lines


def _doubts(kernels: Sequence[KernelReport]) -> Iterator[str]:
    """Say each kind of doubt about the data once, with the kernels it concerns."""
    notes = [(kernel.index, note) for kernel in kernels for note in kernel.quality]
    for check in dict.fromkeys(note.check for _, note in notes):
        message = next(note.message for _, note in notes if note.check == check)
        concerned = [f"#{index}" for index, note in notes if note.check == check]
        more = f" and {len(concerned) - EVIDENCE} more" if len(concerned) > EVIDENCE else ""
        yield f"! {', '.join(concerned[:EVIDENCE])}{more}: {_line(message)}"


def _unevaluated(kernels: Sequence[KernelReport]) -> Iterator[str]:
    """Say which rules lacked data: they are not clean, they are unknown."""
    rules = Counter(skip.rule for kernel in kernels for skip in kernel.skipped)
    if not rules:
        return
    missing = _most_missed(kernels)
    where = f" on some of {count(len(kernels), 'kernel')}" if len(kernels) > 1 else ""
    if len(kernels) > 1 and min(rules.values()) == len(kernels):
        where = " on any kernel"
    yield f"Not evaluated{where}: {_line(', '.join(sorted(rules)))}"
    yield f"for want of: {_line(', '.join(missing))}"


def _most_missed(kernels: Iterable[KernelReport]) -> list[str]:
    lacks = (name for kernel in kernels for skip in kernel.skipped for name in skip.missing)
    counted = Counter(lacks).most_common()
    more = [f"{len(counted) - 8} more"] if len(counted) > 8 else []
    return [name for name, _ in counted[:8]] + more


def _body(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2))


def _line(text: str) -> str:
    """Return text as one printable line: nothing in a report may steer the terminal."""
    return printable(" ".join(text.split()))
