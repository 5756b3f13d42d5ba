"""The runs of one profile: once in depth, or a survey of all launches and then depth."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from kprof.cli.live import EACH, progress
from kprof.cli.packing import FASTEST, pack
from kprof.cli.plan_text import lines
from kprof.collect import stages
from kprof.collect.command import Options, ncu_argv, readable, shell
from kprof.collect.progress import Event
from kprof.collect.run import Collected, collect
from kprof.collect.selection import Group, Selection, config, function_names, select
from kprof.collect.target import Target
from kprof.errors import UnreadableReport
from kprof.model import Profile

_MANY = (
    f"More than {stages.FEW} launches: timing all of them now, then measuring those that matter. "
    "The program runs twice more, its output hidden."
)


@dataclass(frozen=True, slots=True)
class Stage:
    """One run of ncu.

    Attributes:
        options: what it collected.
        argv: its command line.
        target: the part of it that is the target.
        collected: how it ended.
    """

    options: Options
    argv: tuple[str, ...]
    target: tuple[str, ...]
    collected: Collected

    @property
    def empty(self) -> bool:
        """Whether there is nothing to read."""
        log = self.collected.log
        # One of several processes without a kernel makes ncu say that nothing was profiled, too.
        return self.collected.report is None or (log.nothing_profiled and not log.profiled)

    @property
    def report(self) -> Path:
        """The file that ncu wrote; ask :attr:`empty` before."""
        if self.collected.report is None:
            raise ValueError("there is no report")
        return self.collected.report

    @property
    def stopped(self) -> bool:
        """Whether the user or a time limit ended it."""
        ended = self.collected
        return ended.signum is not None or ended.timed_out or ended.hung is not None


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
class Runner:
    """Starts ncu on one target, each time into files of its own.

    Attributes:
        ncu: the program.
        target: what to profile.
        scratch: folder for ncu's files.
        quiet: show no progress.
        verbose: show commands and ncu's messages.
        color: color the progress.
        deadline: ``time.monotonic()`` when all runs must be over, None for no limit.
        kernel_timeout_s: seconds that one kernel may get no further, 0 for no limit.
    """

    ncu: str
    target: Target
    scratch: Path
    quiet: bool
    verbose: bool
    color: bool
    deadline: float | None
    kernel_timeout_s: float

    def run(
        self,
        name: str,
        options: Options,
        *,
        muted: bool = False,
        groups: Sequence[Group] = (),
    ) -> Stage:
        """Run ncu once; a muted target's output goes to a file beside the report.

        Args:
            name: of the run, and of its files.
            options: what to collect.
            muted: keep the target's output to itself.
            groups: what is measured by mangled names, to be told by their functions' names.
        """
        name_of = function_names(groups)
        report, log = self.scratch / f"{name}.ncu-rep", self.scratch / f"{name}.log"
        argv = ncu_argv(self.ncu, options, self.target.argv, report=report, log=log)
        if self.verbose:
            self.say(readable(shell(argv)))
        # What other parts of kprof have printed must come before the target's own output.
        sys.stdout.flush()
        each = 0 if options.depth == "survey" else EACH
        with progress(
            quiet=self.quiet, verbose=self.verbose, color=self.color, each=each
        ) as on_event:
            collected = collect(
                argv,
                report=report,
                log=log,
                timeout_s=self.left_s(),
                kernel_timeout_s=self.kernel_timeout_s,
                output=self.scratch / f"{name}.out" if muted else None,
                on_event=lambda event: on_event(_named(event, name_of)),
            )
        if collected.hung is not None:
            collected = replace(collected, hung=name_of(collected.hung))
        if self.verbose:
            self.say(f"{name}: ncu ran for {collected.elapsed_s:.1f} s")
        return Stage(options, argv, tuple(self.target.argv), collected)

    def left_s(self) -> float | None:
        """Return the seconds left, None without a limit."""
        return None if self.deadline is None else max(0.1, self.deadline - time.monotonic())

    def say(self, line: str) -> None:
        """Tell what happens, unless quiet."""
        if not self.quiet:
            click.echo(line, err=True)


def _named(event: Event, name_of: Callable[[str], str]) -> Event:
    of_a_kernel = event.kind in {"started", "finished"}
    return replace(event, text=name_of(event.text)) if of_a_kernel else event


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line says about a survey.

    Attributes:
        survey: ``auto``, ``first`` or ``never``.
        coverage: share 0..1 of the GPU time to measure in depth.
        top: at most this many kernels, None for no limit.
        plan_only: stop after the plan.
        follow_up: run once more for kernels whose limiter stays open.
    """

    survey: str = "auto"
    coverage: float = 0.95
    top: int | None = None
    plan_only: bool = False
    follow_up: bool = True


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
    how = "survey" if wanted.plan_only else stages.strategy(options, runner.target, wanted.survey)
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
    survey = runner.run("survey", stages.surveying(options), muted=trial is not None)
    first = trial or survey
    if survey.empty:
        return Measured(first, first, trouble=survey if trial else None)
    profile = _timed(survey.report)
    if survey.stopped:
        chosen = select(profile.kernels, coverage=0, complete=False)
        return Measured(first, survey, surveyed=survey, survey=profile, selection=chosen)
    selection = select(
        profile.kernels,
        coverage=wanted.coverage,
        top=wanted.top,
        complete=survey.collected.log.profiled <= stages.MOST,
    )
    follows = wanted.follow_up and options.depth == "standard" and start != "gone"
    plan = lines(selection, survey.collected.elapsed_s, options.depth, follows=follows)
    _tell(runner, plan, wanted)
    if wanted.plan_only:
        return Measured(first, None, survey=profile, selection=selection)
    if not selection.selected:
        return Measured(first, survey, surveyed=survey, survey=profile, selection=selection)
    stages.rewind(start)
    last = _in_depth(runner, options, selection, survey)
    deep = None if last.empty else _read(last, read)
    more = _rest(runner, options, selection, last, deep=deep, start=start)
    trouble = last if last.empty and not more else None
    if last.empty and more:
        last, more = more[0], ()
    return Measured(first, last, more, survey, profile, selection, trouble, deep, start)


def _timed(survey: Path) -> Profile:
    from kprof.reader import load

    return load(survey, timing=True)


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
