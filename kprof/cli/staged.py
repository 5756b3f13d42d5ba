"""The runs of one profile: once in depth, or a survey of all launches and then depth."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import click

from kprof.cli.packing import FASTEST, pack
from kprof.cli.plan_text import lines
from kprof.cli.runner import Runner, Stage
from kprof.cli.surveying import survey_of
from kprof.collect import stages
from kprof.collect.command import Options
from kprof.collect.selection import Selection, config, select
from kprof.collect.target import Target
from kprof.errors import UnreadableReport
from kprof.model import Profile

_MANY = (
    f"More than {stages.FEW} launches: timing all of them now, then measuring those that matter. "
    "The program runs twice more, its output hidden."
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What all runs together gave.

    Attributes:
        first: the run whose output was shown and whose exit status counts.
        last: the run to report on; None when ``--plan`` ended it before. It may be empty where
            there is a survey.
        more: runs for what ``last`` did not meet.
        surveyed: the run that timed every launch, None without a survey.
        survey: what it read.
        selection: what was chosen from it.
        trouble: a later run that gave nothing, None when all went well.
        deep: what ``last`` read, None where it was not read yet.
        start: where standard input stood, ``gone`` where the target may not run again.
        followed: a run for what would name limiters that were open, None without one.
    """

    first: Stage
    last: Stage | None
    more: tuple[Stage, ...] = ()
    surveyed: Stage | None = None
    survey: Profile | None = None
    selection: Selection | None = None
    trouble: Stage | None = None
    deep: Profile | None = None
    start: stages.Position = "gone"
    followed: Stage | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line says about a survey.

    Attributes:
        survey: ``auto``, ``first`` or ``never``.
        coverage: share 0..1 of the GPU time to measure in depth.
        top: at most this many kernels, None for no limit.
        plan_only: stop after the plan.
        follow_up: run once more for kernels whose limiter stays open.
        passes: replay passes of a kernel in depth, None where that is not known.
    """

    survey: str = "auto"
    coverage: float = 0.95
    top: int | None = None
    plan_only: bool = False
    follow_up: bool = True
    passes: int | None = None


def strategy(options: Options, target: Target, wanted: Wanted) -> stages.Strategy:
    """Decide how to start; a plan needs the survey alone."""
    return "survey" if wanted.plan_only else stages.strategy(options, target, wanted.survey)


def measure(runner: Runner, options: Options, wanted: Wanted, read: stages.Read) -> Measured:
    """Run the target as often as it takes.

    Args:
        runner: starts ncu.
        options: what to collect in depth.
        wanted: about the survey.
        read: reads a report of a run in depth.

    Raises:
        KprofError: ncu cannot be started, or a survey that was written cannot be read.
    """
    how = strategy(options, runner.target, wanted)
    if how == "once":
        stage = runner.run("report", options)
        return Measured(stage, stage)
    start = stages.stdin_position()
    if how == "survey":
        return _surveyed(runner, options, wanted, read, trial=None, start=start)
    trial = runner.run("trial", stages.trial(options))
    if trial.stopped or trial.collected.log.profiled <= stages.FEW:
        return Measured(trial, trial, start=start)
    runner.say(_MANY)
    stages.rewind(start)
    return _surveyed(runner, options, wanted, read, trial=trial, start=start)


def _surveyed(
    runner: Runner,
    options: Options,
    wanted: Wanted,
    read: stages.Read,
    *,
    trial: Stage | None,
    start: stages.Position,
) -> Measured:
    surveyed = survey_of(runner, options, muted=trial is not None, start=start)
    survey, profile = surveyed.stage, surveyed.profile
    if profile is None:
        return Measured(trial or survey, trial or survey, trouble=trial and survey)
    first = trial or surveyed.shown
    if survey.stopped:
        chosen = select(profile.kernels, coverage=0, complete=False, timed_by=survey.timed_by)
        return Measured(first, survey, surveyed=survey, survey=profile, selection=chosen)
    selection = select(
        profile.kernels,
        coverage=_coverage(wanted, len(profile.kernels)),
        top=wanted.top,
        complete=surveyed.complete,
        timed_by=survey.timed_by,
    )
    follows = wanted.follow_up and options.depth == "standard" and start != "gone"
    plan = lines(
        selection,
        survey.plain_s(selection),
        options.depth,
        passes=wanted.passes,
        follows=follows,
    )
    _tell(runner, plan, wanted)
    if wanted.plan_only:
        return Measured(first, None, survey=profile, selection=selection)
    if not selection.selected:
        return Measured(first, survey, surveyed=survey, survey=profile, selection=selection)
    stages.rewind(start)
    last = _in_depth(runner, options, selection, survey)
    deep = None if last.empty else _read(last, read)
    if deep is not None and survey.traced:
        selection = selection.named_by(deep.kernels)
    more = _rest(runner, options, selection, last, deep=deep, start=start)
    trouble = last if last.empty and not more else None
    if last.empty and more:
        last, more = more[0], ()
    return Measured(first, last, more, survey, profile, selection, trouble, deep, start)


def _coverage(wanted: Wanted, launches: int) -> float:
    # Without the survey all of so few were measured in depth: what a script's text was taken for
    # must not cost a kernel.
    few = wanted.survey == "auto" and launches <= stages.FEW
    return 1.0 if few else wanted.coverage


def _read(stage: Stage, read: stages.Read) -> Profile | None:
    # What cannot be read is told by who reports on it, where it is kept all the same.
    with contextlib.suppress(UnreadableReport):
        return read(stage.report)
    return None


def _tell(runner: Runner, told: list[str], wanted: Wanted) -> None:
    for line in told:
        if wanted.plan_only:  # then it is the result
            click.echo(line)
        else:
            runner.say(line)


def _in_depth(runner: Runner, options: Options, selection: Selection, survey: Stage) -> Stage:
    packing = pack(survey.report, FASTEST)  # it is kept beside the report
    try:
        deep = stages.deepening(options, selection.selected)
        return runner.run("depth", deep, muted=True, groups=selection.selected)
    finally:
        packing.join()


def _rest(
    runner: Runner,
    options: Options,
    selection: Selection,
    last: Stage,
    *,
    deep: Profile | None,
    start: stages.Position,
) -> tuple[Stage, ...]:
    """Measure what the run in depth did not meet, if that is much of the time."""
    unread = deep is None and not last.empty
    if last.stopped or unread or (last.empty and last.collected.target_exit):
        return ()
    seen = [config(kernel) for kernel in deep.kernels] if deep else []
    missing = selection.missing(seen)
    if sum(group.total_s for group in missing) <= stages.WORTH * selection.summary().total_s:
        return ()
    were, them = ("was", "it") if len(missing) == 1 else ("were", "them")
    runner.say(f"{len(missing)} of the chosen kernels {were} not met; once more, for {them}.")
    stages.rewind(start)
    stage = runner.run("rest", stages.again(options, missing), muted=True)
    return () if stage.empty else (stage,)
