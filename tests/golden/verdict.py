"""A diagnosis as a short text that changes only when the verdict does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kprof.model import Finding, KernelReport, Place


def verdict(kernel: KernelReport) -> str:
    """Write down what kprof says of a kernel: numbers rounded, paths without folders."""
    return "\n".join(_lines(kernel)) + "\n"


def _lines(kernel: KernelReport) -> Iterator[str]:
    yield f"kernel: {kernel.name}"
    yield f"bound: {kernel.bound}"
    top = kernel.limiter
    yield f"limiter: {f'{top.metric} ({top.resource}) {top.pct:.1f} %' if top else 'unknown'}"
    yield f"roof: {_roof(kernel)}"
    yield "findings:" if kernel.findings else "findings: none"
    for number, finding in enumerate(kernel.findings, 1):
        yield from _finding(number, finding)
    yield f"clear: {_listed(kernel.clear)}"
    yield f"skipped: {_listed(f'{s.rule} ({_listed(s.missing)})' for s in kernel.skipped)}"
    yield f"quality: {_listed(note.check for note in kernel.quality)}"


def _roof(kernel: KernelReport) -> str:
    roof = kernel.roofline
    if roof is None or roof.roof is None or roof.roof_pct is None:
        return "unknown"
    return f"{roof.roof} {roof.roof_pct:.1f} %"


def _finding(number: int, finding: Finding) -> Iterator[str]:
    gain = finding.estimated_speedup
    gained = f"{gain.low:.2f} to {gain.high:.2f} times" if gain else "no estimate"
    yield f"  {number}. {finding.rule}: {finding.severity}, confidence {finding.confidence}, {gained}"
    yield f"     {finding.headline}"
    if finding.source:
        yield f"     {_place(finding.source[0])}"


def _place(place: Place) -> str:
    file = place.file.rsplit("/", 1)[-1] if place.file else "?"
    return f"at {file}:{place.line or '?'} {place.sass} ({place.share:.0%})"


def _listed(items: Iterable[str]) -> str:
    return ", ".join(items) or "none"
