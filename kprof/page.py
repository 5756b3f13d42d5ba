"""What the page shows and in which order: ranked entries, shares of time, possible savings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kprof.model import Finding, KernelReport, QualityNote, Report
from kprof.ranking import Group, gpu_time, ranked
from kprof.words import limit

GROUP_ABOVE = 200  # kernels; longer lists show launches with one verdict as one entry
DETAILED = 150  # entries with a section of their own; the rest keep their row in the overview
STARTERS = 5
LEAST = 0.001  # of the GPU time; a fix that saves less is no place to start
# Quality notes that cast no doubt on the numbers that are there.
CONTEXT = {
    "clock-state", "cold-caches", "fp16-constants", "incomplete-levels", "no-line-info",
    "no-tensor-roof", "other-run",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the page: a kernel, or launches that are alike and got the same verdict.

    Attributes:
        rank: 1 for the entry that takes most GPU time.
        group: the launches.
        detailed: whether it has a section of its own.
    """

    rank: int
    group: Group
    detailed: bool

    @property
    def kernel(self) -> KernelReport:
        """The launch that stands for the entry, the longest."""
        return self.group.kernel

    @property
    def total_s(self) -> float | None:
        """Time of all launches in seconds, None when unknown."""
        return self.group.total_s

    @property
    def share(self) -> float | None:
        """Share of the report's GPU time, 0..1."""
        return self.group.share

    @property
    def anchor(self) -> str:
        """Id of the entry's section on the page."""
        return f"k{self.kernel.index}"


@dataclass(frozen=True, slots=True)
class BoundShare:
    """How much of the known GPU time goes to kernels with one bound, ``unprofiled`` included."""

    bound: str
    seconds: float
    share: float
    kernels: int


@dataclass(frozen=True, slots=True)
class Starter:
    """What fixing one rule's finding could save, over the kernels where it comes first.

    Attributes:
        finding: of the entry with the largest saving.
        entries: largest saving first.
        low_s: seconds saved if every estimate's lower end holds.
        high_s: seconds saved if every upper end holds.
        low_share: ``low_s`` as a share of the report's GPU time.
        high_share: ``high_s`` as a share of the report's GPU time.
    """

    finding: Finding
    entries: tuple[Entry, ...]
    low_s: float
    high_s: float
    low_share: float
    high_share: float


@dataclass(frozen=True, slots=True)
class Starters:
    """Where to start, and how much is not said.

    Attributes:
        listed: largest saving first.
        further: how many rules come after those.
        minor: how many rules would save less than ``LEAST`` of the GPU time.
    """

    listed: tuple[Starter, ...] = ()
    further: int = 0
    minor: int = 0


def known(value: float | None) -> float | None:
    """Return the value, or None for a number that is not finite."""
    return value if value is not None and math.isfinite(value) else None


def doubts(kernel: KernelReport) -> tuple[QualityNote, ...]:
    """Return the quality notes that cast doubt on the kernel's numbers."""
    return tuple(note for note in kernel.quality if note.check not in CONTEXT)


def remarks(kernel: KernelReport) -> tuple[QualityNote, ...]:
    """Return the quality notes that only tell how the numbers came about."""
    return tuple(note for note in kernel.quality if note.check in CONTEXT)


def entries(report: Report) -> tuple[Entry, ...]:
    """Rank what was profiled in depth by GPU time; unknown times come last."""
    groups = _ranked(report, timed_only=False)
    few = len(groups) <= GROUP_ABOVE
    return tuple(
        Entry(rank, group, detailed=few or rank <= DETAILED)
        for rank, group in enumerate(groups, start=1)
    )


def unprofiled(report: Report) -> tuple[Entry, ...]:
    """Rank what was only timed; it has no section of its own, because nothing more is known."""
    groups = _ranked(report, timed_only=True)
    return tuple(Entry(rank, group, detailed=False) for rank, group in enumerate(groups, start=1))


def _ranked(report: Report, *, timed_only: bool) -> list[Group]:
    alike = sum(kernel.timed_only is timed_only for kernel in report.kernels)
    groups = ranked(report, apart=alike <= GROUP_ABOVE and not timed_only)
    return [group for group in groups if group.kernel.timed_only is timed_only]


def by_bound(report: Report) -> tuple[BoundShare, ...]:
    """Split the GPU time by bound, largest first; empty when no time is known."""
    total = gpu_time(report.kernels)
    if not total:
        return ()
    groups: dict[str, list[KernelReport]] = {}
    for kernel in report.kernels:
        groups.setdefault(limit(kernel), []).append(kernel)
    shares = [
        BoundShare(bound, seconds, seconds / total, len(group))
        for bound, group in groups.items()
        if (seconds := gpu_time(group)) is not None
    ]
    return tuple(sorted(shares, key=lambda item: (-item.seconds, item.bound)))


def tally(report: Report) -> dict[str, int]:
    """Count findings by severity, those that span kernels included."""
    found = [*report.findings, *(f for kernel in report.kernels for f in kernel.findings)]
    severities = ("high", "medium", "low", "info")
    return {severity: sum(f.severity == severity for f in found) for severity in severities}


def starters(shown: Sequence[Entry], total_s: float | None) -> Starters:
    """List the fixes worth most, by the time their estimates say could be saved.

    One finding of a kernel counts, since the estimates of one kernel overlap: the first with
    something to gain. A limit that is reached has nothing, and may stand before a cause.
    """
    if not total_s:
        return Starters()
    by_rule: dict[str, list[_Saving]] = {}
    for entry in shown:
        saving = _saving(entry)
        if saving is not None:
            by_rule.setdefault(saving.finding.rule, []).append(saving)
    found = [_starter(savings, total_s) for savings in by_rule.values()]
    found.sort(key=lambda item: (-item.high_s, item.finding.rule))
    worth = [item for item in found if item.high_share >= LEAST]
    listed = tuple(worth[:STARTERS])
    return Starters(listed, len(worth) - len(listed), len(found) - len(worth))


@dataclass(frozen=True, slots=True)
class _Saving:
    """What one kernel's finding could save, in seconds of all its launches."""

    low_s: float
    high_s: float
    entry: Entry
    finding: Finding


def _saving(entry: Entry) -> _Saving | None:
    finding = next((item for item in entry.kernel.findings if item.severity != "info"), None)
    estimate = finding.estimated_speedup if finding else None
    if finding is None or estimate is None or not entry.total_s:
        return None
    if known(estimate.low) is None or known(estimate.high) is None:
        return None
    low, high = (entry.total_s * (1 - 1 / max(1.0, x)) for x in (estimate.low, estimate.high))
    return _Saving(low, high, entry, finding) if high > 0 else None


def _starter(savings: list[_Saving], total_s: float) -> Starter:
    savings.sort(key=lambda item: (-item.high_s, item.entry.rank))
    low, high = sum(s.low_s for s in savings), sum(s.high_s for s in savings)
    members = tuple(saving.entry for saving in savings)
    return Starter(savings[0].finding, members, low, high, low / total_s, high / total_s)
