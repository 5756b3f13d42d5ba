"""A report as Markdown: for pull requests, issues and notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from kprof.finding_text import part, prospect, threshold
from kprof.model import Finding, KernelReport, Report
from kprof.names import printable, short
from kprof.own_code import named
from kprof.ranking import Group, ranked
from kprof.survey_text import NOT_IN_DEPTH, Rest, cut_off, program, rests, timing
from kprof.units import UNKNOWN, count, percent, quantity, share, si
from kprof.words import bound_label, limit, standing, standstill, verdict

NAME_WIDTH = 60
TIMED_ROWS = 20  # of the kernels that were only timed, for each reason; the JSON has all
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&-])")


def markdown(reports: Sequence[Report]) -> str:
    """Return the reports as GitHub-flavoured Markdown, ending in a newline."""
    return "\n".join("\n".join(_report(report)).rstrip() + "\n" for report in reports)


def escaped(text: str) -> str:
    """Return text that Markdown and the HTML within it show as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", printable(" ".join(text.split())))


def _report(report: Report) -> Iterator[str]:
    devices = ", ".join(dict.fromkeys(device.name for device in report.devices)) or "GPU unknown"
    yield f"## {escaped(Path(report.source.path).name)}"
    yield ""
    version = report.source.ncu_version or "version unknown"
    seen = program(report)
    kernels = "" if seen else f", {len(report.kernels)} kernels"
    yield f"{escaped(devices)}, ncu {escaped(version)}{kernels}"
    yield ""
    if seen:
        yield escaped(seen)
        yield ""
    for note in _notes(report):
        yield f"> {note}"
        yield ""
    groups = ranked(report)
    deep = [group for group in groups if not group.kernel.timed_only]
    if deep:
        yield from _table(deep)
    for group in deep:
        yield from _kernel(group.kernel)
    for finding in report.findings:
        yield from _finding(finding)
        yield ""
    yield from _left_out(rests(groups))


def _notes(report: Report) -> Iterator[str]:
    if report.source.truncated:
        yield "The file is cut off or damaged: these are its complete kernels, others are lost."
    missed = cut_off(report)
    if missed:
        yield escaped(missed)
    yield from map(escaped, report.notes)


def _table(groups: Sequence[Group]) -> Iterator[str]:
    yield "| # | time | share | bound | busiest | kernel | first finding |"
    yield "| ---: | ---: | ---: | --- | ---: | --- | --- |"
    for group in groups:
        kernel, first = group.kernel, group.first
        cells = (
            str(kernel.index),
            si(group.total_s, "s"),
            share(group.share),
            bound_label(limit(kernel)),
            percent(kernel.limiter.pct) if kernel.limiter else UNKNOWN,
            _named(group),
            f"{first.rule} ({first.severity})" if first else "",
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _named(group: Group) -> str:
    times = f" ×{group.launches:,}" if group.launches > 1 else ""
    return escaped(short(group.kernel.demangled or group.kernel.name, NAME_WIDTH)) + times


def _left_out(found: Sequence[Rest]) -> Iterator[str]:
    if not found:
        return
    yield f"### {NOT_IN_DEPTH}"
    yield ""
    for rest in found:
        more = len(rest.groups) - TIMED_ROWS
        listed = f" The first {TIMED_ROWS}; {count(more)} more are in the JSON." if more > 0 else ""
        yield f"{rest.kernels}: {rest.reason}.{listed}"
        yield ""
        yield "| # | time | share | kernel |"
        yield "| ---: | ---: | ---: | --- |"
        for group in rest.groups[:TIMED_ROWS]:
            cells = (str(group.kernel.index), si(group.total_s, "s"), share(group.share))
            yield f"| {' | '.join((*cells, _named(group)))} |"
        yield ""


def _kernel(kernel: KernelReport) -> Iterator[str]:
    yield f"### {kernel.index}: {escaped(short(kernel.demangled or kernel.name, NAME_WIDTH))}"
    yield ""
    yield escaped(" ".join((verdict(kernel), *standstill(kernel))))
    yield ""
    timed = timing(kernel)
    if timed:
        yield escaped(timed)
        yield ""
    for finding in kernel.findings:
        yield from _finding(finding)
    for note in kernel.quality:
        yield f"- Note: {escaped(note.message)}"
    if kernel.skipped:
        yield f"- Not evaluated: {', '.join(skip.rule for skip in kernel.skipped)}"
    yield ""


def _finding(finding: Finding) -> Iterator[str]:
    expected = prospect(finding)
    estimate = f"; {expected}" if expected else ""
    yield f"- **{finding.rule}** ({standing(finding)}{estimate}): {escaped(finding.headline)}"
    yield f"  - {escaped(finding.detail)}"
    for item in finding.evidence:
        limit = threshold(item)
        compared = f" (threshold: {limit})" if limit else ""
        yield f"  - `{item.metric}`: {quantity(item.value, item.unit)}{compared}"
    for place in finding.source[:3]:
        if name := named(place, path=True):
            yield f"  - at {escaped(name)}, {part(place)}"
    for advice in finding.advice:
        yield f"  - Fix: {escaped(advice)}"
