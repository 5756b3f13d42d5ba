"""A report as Markdown: for pull requests, issues and notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from kprof.model import Finding, KernelReport, Report
from kprof.names import printable, short
from kprof.ranking import Group, ranked
from kprof.units import UNKNOWN, percent, quantity, share, si
from kprof.words import bound_label, gain, verdict

NAME_WIDTH = 60
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
    yield f"{escaped(devices)}, ncu {escaped(version)}, {len(report.kernels)} kernels"
    yield ""
    if report.source.truncated:
        yield "> The file is cut off: these are its complete kernels, others are lost."
        yield ""
    for note in report.notes:
        yield f"> {escaped(note)}"
        yield ""
    groups = ranked(report)
    if groups:
        yield from _table(groups)
    for group in groups:
        yield from _kernel(group.kernel)
    for finding in report.findings:
        yield from _finding(finding)
        yield ""


def _table(groups: Sequence[Group]) -> Iterator[str]:
    yield "| # | time | share | bound | busiest | kernel | first finding |"
    yield "| ---: | ---: | ---: | --- | ---: | --- | --- |"
    for group in groups:
        kernel, first = group.kernel, group.first
        times = f" ×{group.launches:,}" if group.launches > 1 else ""
        cells = (
            str(kernel.index),
            si(group.total_s, "s"),
            share(group.share),
            bound_label(kernel.bound),
            percent(kernel.limiter.pct) if kernel.limiter else UNKNOWN,
            escaped(short(kernel.demangled or kernel.name, NAME_WIDTH)) + times,
            f"{first.rule} ({first.severity})" if first else "",
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _kernel(kernel: KernelReport) -> Iterator[str]:
    yield f"### {kernel.index}: {escaped(short(kernel.demangled or kernel.name, NAME_WIDTH))}"
    yield ""
    yield escaped(verdict(kernel))
    yield ""
    for finding in kernel.findings:
        yield from _finding(finding)
    for note in kernel.quality:
        yield f"- Note: {escaped(note.message)}"
    if kernel.skipped:
        yield f"- Not evaluated: {', '.join(skip.rule for skip in kernel.skipped)}"
    yield ""


def _finding(finding: Finding) -> Iterator[str]:
    estimate = (
        f"; fixing it: {gain(finding.estimated_speedup)}" if finding.estimated_speedup else ""
    )
    yield f"- **{finding.rule}** ({finding.severity}{estimate}): {escaped(finding.headline)}"
    yield f"  - {escaped(finding.detail)}"
    for item in finding.evidence:
        yield f"  - `{item.metric}`: {quantity(item.value, item.unit)}"
    for place in finding.source[:3]:
        if place.file and place.line:
            yield f"  - at {escaped(place.file)}:{place.line}, {share(place.share)} of the total"
    for advice in finding.advice:
        yield f"  - Fix: {escaped(advice)}"
