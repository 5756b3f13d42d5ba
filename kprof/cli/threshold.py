"""``--fail-on``: which findings reach the threshold, and why kprof exits with 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kprof.cli.options import SEVERITIES
from kprof.inputs import stem
from kprof.model import Finding, Report
from kprof.names import printable, short
from kprof.ranking import ranked

NAMED = 3  # findings said in words; the rest is counted
NAME_WIDTH = 40


def failing(reports: Sequence[Report], fail_on: str) -> str | None:
    """Say which findings reach the threshold, worst first; None when there is none."""
    found = _reaching(reports, fail_on)
    if not found:
        return None
    level = "high" if fail_on == "high" else f"{fail_on} or above"
    count = f"{len(found):,} finding{'s' if len(found) != 1 else ''}"
    more = f" and {len(found) - NAMED:,} more" if len(found) > NAMED else ""
    return f"Failing: {count} of severity {level}: {', '.join(found[:NAMED])}{more}"


def at_least(severity: str, threshold: str) -> bool:
    """Say whether a severity reaches a threshold of ``--fail-on``; ``info`` never does."""
    if threshold == "never" or severity not in SEVERITIES:
        return False
    return SEVERITIES.index(severity) <= SEVERITIES.index(threshold)


def _reaching(reports: Sequence[Report], fail_on: str) -> list[str]:
    """Name the findings that count, each once however often its kernel was launched."""
    found: dict[tuple[str, ...], tuple[int, str]] = {}
    for report in reports:
        of = f" of {stem(report.source.path)}" if len(reports) > 1 else ""
        for finding, kernel, where in _placed(report):
            if at_least(finding.severity, fail_on):
                rank = SEVERITIES.index(finding.severity)
                entry = (rank, f"{finding.rule} {where}{of}")
                key = (report.source.path, finding.rule, kernel)
                found[key] = min(found.get(key, entry), entry, key=lambda item: item[0])
    # sorted() is stable: within a severity the kernel with most GPU time stays first.
    return [text for _, text in sorted(found.values(), key=lambda item: item[0])]


def _placed(report: Report) -> Iterator[tuple[Finding, str, str]]:
    """Yield every finding with its kernel's name and the words for where it is."""
    for finding in report.findings:
        yield finding, "", f"across {len(finding.kernels):,} kernels"
    for group in ranked(report):
        for kernel in group.members:
            name = kernel.demangled or kernel.name
            where = f"in #{kernel.index} {printable(short(name, NAME_WIDTH))}"
            yield from ((finding, name, where) for finding in kernel.findings)
