"""One more run of the target, for kernels whose limiter is still open after the run in depth."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kprof import units
from kprof.cli.runner import Runner, Stage
from kprof.cli.staged import Measured
from kprof.collect import chips, stages
from kprof.collect.command import Options
from kprof.collect.selection import Config, Group, Selection, config, mangled_filter, select
from kprof.errors import UnreadableReport
from kprof.model import Kernel, Profile
from kprof.rule import Rule
from kprof.survey_text import launches
from kprof.suspects import SAME_WORK, Suspect, suspect, with_counters


@dataclass(frozen=True, slots=True)
class _Case:
    """A launch whose limiter is open.

    Attributes:
        group: all launches of its configuration.
        suspect: what would decide it.
    """

    group: Group
    suspect: Suspect


def follow_up(
    runner: Runner, options: Options, measured: Measured, rules: Sequence[Rule], read: stages.Read
) -> Measured:
    """Measure once more what would name a limiter, where that is open and worth a run.

    Nothing is run where the target may not run again, where its runs were not alike, or where
    no counter would change the verdict.

    Args:
        runner: starts ncu.
        options: what was collected in depth.
        measured: the runs so far.
        rules: the whole catalogue.
        read: reads a report of a run in depth.

    Raises:
        KprofError: ncu cannot be started.
    """
    deep = _deep(measured, options, read)
    if deep is None:
        return measured
    measured = replace(measured, deep=deep)  # read once
    selection = measured.selection or select(deep.kernels, coverage=1.0)
    cases = _cases(deep, selection, rules)
    groups = _groups(cases)
    if not cases or mangled_filter(groups) is None or not _alike(measured, deep):
        return measured
    seconds = stages.estimate_follow_up_s(groups, _under_ncu_s(measured, selection))
    left_s = runner.left_s()
    if left_s is not None and left_s < seconds:
        return measured
    runner.say(_announced(cases, selection, seconds))
    stages.rewind(measured.start)
    asked = dict.fromkeys(name for case in cases.values() for name in case.suspect.metrics)
    names = (*SAME_WORK, *asked)
    met_by = measured.last.options.name_base if measured.last else "mangled"
    further = stages.following_up(options, groups, names, met_by=met_by)
    stage = runner.run("follow-up", further, muted=True, groups=groups)
    more = _merged(deep, cases, [] if stage.empty else _launches(stage, names))
    return replace(measured, deep=more, followed=stage)


def _deep(measured: Measured, options: Options, read: stages.Read) -> Profile | None:
    """Return what was measured in depth, None where no further run may follow."""
    last = measured.last
    if not options.metrics or options.depth != "standard" or measured.start == "gone":
        return None
    if last is None or last.empty or last.options.depth == "survey" or last.stopped:
        return None
    if measured.deep is not None:
        return measured.deep
    with contextlib.suppress(UnreadableReport):  # told by who reports on it
        return read(last.report)
    return None


def _alike(measured: Measured, deep: Profile) -> bool:
    """Say whether all runs so far launched the same and ended well."""
    runs = [run for run in (measured.first, measured.surveyed, measured.last) if run is not None]
    if measured.more or any(run.collected.target_exit != 0 for run in runs):
        return False
    if measured.selection is None:
        return True
    seen = {config(kernel) for kernel in deep.kernels}
    known = {group.config for group in measured.selection.groups}
    return seen <= known and not measured.selection.missing(seen)


def _cases(deep: Profile, selection: Selection, rules: Sequence[Rule]) -> dict[int, _Case]:
    """Return the launches to look at again, by their index."""
    groups = {group.config: group for group in selection.groups}
    least = stages.WORTH * selection.summary().total_s
    found: dict[int, _Case] = {}
    for kernel in deep.kernels:
        group = groups.get(config(kernel))
        chip = chips.chip_of(deep.devices[kernel.device].compute_capability or "")
        if group is None or group.total_s <= least or chip is None or kernel.workload != "kernel":
            continue
        what = suspect(kernel, rules, chip)
        if what is not None:
            found[kernel.index] = _Case(group, what)
    return found


def _groups(cases: Mapping[int, _Case]) -> list[Group]:
    return list({case.group.config: case.group for case in cases.values()}.values())


def _announced(cases: Mapping[int, _Case], selection: Selection, seconds: float) -> str:
    groups, total_s = _groups(cases), selection.summary().total_s
    part = sum(group.total_s for group in groups) / total_s if total_s else 0.0
    what = ", ".join(dict.fromkeys(case.suspect.name for case in cases.values()))
    return (
        f"What limits {units.count(len(groups), 'kernel')} ({100 * part:.0f} % of the GPU time) is "
        f"still open. The program runs once more, its output hidden, to measure: {what}; "
        f"{seconds:.0f} s at most. --no-follow-up leaves that out."
    )


def _under_ncu_s(measured: Measured, selection: Selection) -> float:
    if measured.surveyed is None:  # that run was in depth: it takes no longer without
        return measured.first.collected.elapsed_s
    return measured.surveyed.plain_s(selection) + stages.ATTACH_S


def _launches(stage: Stage, names: Sequence[str]) -> list[Kernel]:
    from kprof.reader import load

    with contextlib.suppress(UnreadableReport):
        return list(load(stage.report, extra_metrics=names, instructions=False).kernels)
    return []


def _merged(deep: Profile, cases: Mapping[int, _Case], others: Sequence[Kernel]) -> Profile:
    """Put the counters to the kernels they belong to, and say so."""
    by_config: dict[Config, list[Kernel]] = {}
    for other in others:
        by_config.setdefault(config(other), []).append(other)
    found = {}
    for kernel in deep.kernels:
        case = cases.get(kernel.index)
        same = by_config.get(config(kernel), ())
        more = case and with_counters(kernel, case.suspect, same)
        if more:
            found[kernel.index] = more
    kernels = tuple(found.get(kernel.index, kernel) for kernel in deep.kernels)
    return replace(deep, kernels=kernels, notes=(*deep.notes, *_notes(len(found), len(cases))))


def _notes(decided: int, cases: int) -> list[str]:
    notes = []
    if decided:
        notes.append(
            f"What limits {launches(decided)} was open: "
            "further counters come from one more run of the program; the notes of each say which."
        )
    if cases > decided:
        notes.append(
            f"What limits {launches(cases - decided)} stays open: one more run of the program, for the counters that "
            "would decide, measured no launch that did the same work."
        )
    return notes
