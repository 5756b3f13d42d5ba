"""One kernel in the terminal: verdict, finding, evidence, place and fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kprof.doubts import doubts
from kprof.finding_text import part, prospect, threshold
from kprof.model import Evidence, Finding, KernelReport, Place
from kprof.names import one_line, short
from kprof.own_code import named
from kprof.producer import loads
from kprof.ranking import Group
from kprof.survey_text import timing
from kprof.units import count, quantity, share
from kprof.words import standing, standstill, unexplained, verdict

EVIDENCE = 3
WAITED_FOR = 2  # loads that the first place waits for

_STYLES = {"high": "bold red", "medium": "yellow", "low": "cyan", "info": "dim"}


def kernel_block(group: Group, width: int, verbose: int) -> Iterator[RenderableType]:
    """Say what limits a kernel and what to change: the first finding, or all when verbose."""
    kernel = group.kernel
    name = short(kernel.demangled or kernel.name, width - 12)
    yield Text.assemble((f"#{kernel.index} {name}", "bold"))
    yield _body(Text(one_line(" ".join((verdict(kernel), *standstill(kernel))))))
    timed = timing(kernel)
    if timed:
        yield _body(Text(timed, style="dim"))
    findings = kernel.findings if verbose else kernel.findings[:1]
    for finding in findings:
        yield _body(headline(finding))
        yield details(finding, verbose)
    if len(findings) < len(kernel.findings):
        others = ", ".join(f"{item.rule} ({standing(item)})" for item in kernel.findings[1:])
        yield _body(Text(f"also: {others}", style="dim"))
    if not findings:
        yield _body(Text(unexplained(kernel)))
    if verbose:
        notes = doubts([group]) if len(group.members) > 1 else _messages(kernel)
        yield from (_body(Text(f"! {one_line(note)}", "yellow")) for note in notes)
        yield from (_body(Text(line, style="dim")) for line in not_evaluated([kernel]))


def _messages(kernel: KernelReport) -> Iterator[str]:
    yield from (note.message for note in kernel.quality)


def headline(finding: Finding) -> Text:
    """Say a finding in one sentence, severity and rule first."""
    text = Text.assemble(
        (standing(finding).upper(), _STYLES[finding.severity]),
        (f" {finding.rule}", "bold"),
        f": {one_line(finding.headline)}",
    )
    expected = prospect(finding)
    return text.append(f" ({expected})") if expected else text


def details(finding: Finding, verbose: int) -> RenderableType:
    """Show what a finding rests on, where it is and how to fix it."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(ratio=1)
    for label, value in _labelled(finding, verbose):
        grid.add_row(label, Text(one_line(value)))
    return Padding(grid, (0, 0, 0, 4))


def _labelled(finding: Finding, verbose: int) -> Iterator[tuple[str, str]]:
    if verbose:
        yield "why", finding.detail
    if finding.evidence:
        shown = finding.evidence if verbose else finding.evidence[:EVIDENCE]
        yield "evidence", "; ".join(_evidence(item) for item in shown)
    for place in finding.source if verbose else finding.source[:1]:
        yield "at", _place(place)
    for place in _loads(finding, verbose):
        yield "waits for", _place(place)
    for advice in finding.advice if verbose else finding.advice[:1]:
        yield "fix", advice
    if verbose:
        yield "sure", f"{finding.confidence} confidence; wrong if: {finding.refuted_by}"
    if finding.kernels:
        yield "kernels", ", ".join(f"#{index}" for index in finding.kernels)


def _loads(finding: Finding, verbose: int) -> tuple[Place, ...]:
    """Return the loads that are waited for: those of the first place, or all when verbose."""
    found = loads(finding.waits if verbose else finding.waits[:1])
    return found if verbose else found[:WAITED_FOR]


def _evidence(item: Evidence) -> str:
    text = f"{item.metric} {quantity(item.value, item.unit)}"
    limit = threshold(item)
    if limit is None:
        return text
    source = f"; {item.threshold_source}" if item.threshold_source else ""
    return f"{text} (threshold: {limit}{source})"


def _place(place: Place) -> str:
    where = named(place)
    code = _code(place)
    if where and code and place.instructions > 1 and place.instruction_share is not None:
        most = f"{code} alone {share(place.instruction_share)}"
        return f"{where}, {part(place)} ({place.instructions} instructions; {most})"
    parts = [part for part in (where, code) if part]
    return f"{' '.join(parts) or 'place unknown'}, {part(place)}"


def _code(place: Place) -> str | None:
    if place.pc is None:
        return place.sass
    return f"{place.sass or 'not disassembled'} (+0x{place.pc:x})"


def not_evaluated(kernels: Sequence[KernelReport]) -> Iterator[str]:
    """Say which rules lacked data: they are not clean, they are unknown."""
    rules = Counter(skip.rule for kernel in kernels for skip in kernel.skipped)
    if not rules:
        return
    missing = _most_missed(kernels)
    where = f" on some of {count(len(kernels), 'kernel')}" if len(kernels) > 1 else ""
    if len(kernels) > 1 and min(rules.values()) == len(kernels):
        where = " on any kernel"
    yield f"Not evaluated{where}: {one_line(', '.join(sorted(rules)))}"
    yield f"Data not in the report: {one_line(', '.join(missing))}"


def _most_missed(kernels: Iterable[KernelReport]) -> list[str]:
    lacks = (name for kernel in kernels for skip in kernel.skipped for name in skip.missing)
    counted = Counter(lacks).most_common()
    more = [f"{len(counted) - 8} more"] if len(counted) > 8 else []
    return [name for name, _ in counted[:8]] + more


def _body(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2))
