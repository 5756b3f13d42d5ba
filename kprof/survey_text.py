"""What a survey saw of the whole program, in words: launches, coverage, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kprof.model import KernelReport, LeftOut, Report, Survey
from kprof.ranking import Group
from kprof.units import UNKNOWN, count, share, si

NOT_IN_DEPTH = "Not profiled in depth"

_LABELS: dict[LeftOut | None, str] = {
    "coverage": "smaller share",
    "autotuning": "autotuning",
    "missing": "not reached",
    None: "durations alone",
}
_WHY: dict[LeftOut | None, str] = {
    "coverage": "smaller shares than those chosen (`--coverage` and `--top` say how many are)",
    "autotuning": "launched in a search for the best configuration (autotuning)",
    "missing": "chosen, but the run in depth did not measure them",
    None: "only durations were recorded (`kprof profile` measures what limits them)",
}
_CACHES = {"all": ", caches flushed", "none": ", caches not flushed"}


@dataclass(frozen=True, slots=True)
class Rest:
    """Kernels that were only timed, for one reason.

    Attributes:
        why: the reason, as ``KernelReport.left_out``.
        groups: most GPU time first.
    """

    why: LeftOut | None
    groups: tuple[Group, ...]

    @property
    def kernels(self) -> str:
        """How many there are, with their launches and share: ``26 kernels (514 launches, 4.6 %)``."""
        members = [member for group in self.groups for member in group.members]
        launched = sum(group.launches for group in self.groups)
        parts = [launches(launched)] if launched > len(members) else []
        return f"{count(len(members), 'kernel')} ({', '.join([*parts, self._share])})"

    @property
    def _share(self) -> str:
        known = [group.share for group in self.groups if group.share is not None]
        return f"{share(sum(known))} of GPU time" if known else f"GPU time {UNKNOWN}"

    @property
    def reason(self) -> str:
        """Why they were left out, to follow a colon; code stands between backticks."""
        return _WHY[self.why]


def program(report: Report) -> str | None:
    """Say how much the program launched and how much of it was measured in depth.

    None where no survey was made: then the report is not about a whole program.
    """
    seen = report.collection.survey
    if seen is None:
        return None
    time = f"{si(seen.total_s, 's')} of GPU time" if seen.total_s else f"GPU time {UNKNOWN}"
    found = f"{launched(seen)} of {count(seen.kernels, 'kernel')}, {time}; {depth(seen)}."
    return found[:1].upper() + found[1:]


def launched(seen: Survey) -> str:
    """Say how many launches there were: ``at least 10,001 launches`` when not all were counted."""
    return ("" if seen.complete else "at least ") + launches(seen.launches)


def depth(seen: Survey) -> str:
    """Say how many kernels were measured in depth and how much of the GPU time they take."""
    if not seen.in_depth:
        return "none was measured in depth"
    measured = f"{count(seen.in_depth, 'kernel')} measured in depth"
    if not seen.total_s:
        return measured
    covered = "covers" if seen.in_depth == 1 else "cover"
    aside = ", autotuning aside" if seen.tuning_s else ""
    return f"{measured} {covered} {share(seen.covered)} of it{aside}"


def cut_off(report: Report) -> str | None:
    """Say that the survey did not see the whole program, None when it did."""
    seen = report.collection.survey
    if seen is None or seen.complete:
        return None
    return (
        f"The survey was cut off after {launches(seen.launches)}: what the program launched later "
        "is neither counted nor timed here."
    )


def rests(groups: Iterable[Group]) -> tuple[Rest, ...]:
    """Return the groups that were only timed, by reason; the one with most GPU time comes first."""
    found: dict[LeftOut | None, list[Group]] = {}
    for group in groups:
        if group.kernel.timed_only:
            found.setdefault(group.kernel.left_out, []).append(group)
    return tuple(Rest(why, tuple(members)) for why, members in found.items())


def left_out(kernel: KernelReport) -> str:
    """Return a short label of why a kernel was only timed."""
    return _LABELS[kernel.left_out]


def durations(kernel: KernelReport, cache_control: str | None) -> Iterator[tuple[str, float, str]]:
    """Name a kernel's durations: label, seconds, what was timed.

    One launch was measured in depth, apart from the program and as ``cache_control`` says; all of
    them were timed by the survey, as the program ran them.
    """
    if kernel.total_s is None or kernel.duration_s is None:
        return
    caches = _CACHES.get(cache_control or "", "")
    yield "Duration in depth", kernel.duration_s, f"one launch{caches}"
    if kernel.launches == 1:
        yield "In the program", kernel.total_s, "its only launch"
        return
    yield "In the program", kernel.total_s / kernel.launches, "average launch"
    yield f"All {launches(kernel.launches)}", kernel.total_s, ""


def timing(kernel: KernelReport) -> str | None:
    """Tell the duration in depth from the survey's in one line, None where there is one alone."""
    if kernel.total_s is None or kernel.timed_only:
        return None
    mean = si(kernel.total_s / kernel.launches, "s")
    many = f" (average of {launches(kernel.launches)})" if kernel.launches > 1 else ""
    return f"{si(kernel.duration_s, 's')} measured in depth, {mean} in the program{many}"


def launches(number: int) -> str:
    """Return a number of launches with its noun."""
    return "1 launch" if number == 1 else f"{number:,} launches"
