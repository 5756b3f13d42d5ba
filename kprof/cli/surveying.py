"""The survey: every launch timed while the program runs, from within it or else by ncu."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from kprof.cli.runner import Runner, Stage
from kprof.collect import stages
from kprof.collect.command import Options
from kprof.collect.target import Target
from kprof.collect.trace import Trace, profile, read
from kprof.collect.tracer import Tracer, built, tracer
from kprof.model import Profile

_ONCE = "its standard input can be read once, and a trace may turn out to be of no use"
_NO_GPU = "no process of it used a GPU that can be traced"
_NO_LAUNCH = "nothing was launched"
_CUT_SHORT = "a process ended without a word"


@dataclass(frozen=True, slots=True)
class Surveyed:
    """A survey.

    Attributes:
        stage: the run that gave it.
        shown: the run whose output was shown, where there is a profile.
        profile: what it read, None where there is nothing.
        complete: False when the program launched more than a survey takes.
    """

    stage: Stage
    shown: Stage
    profile: Profile | None
    complete: bool = True


def survey_of(runner: Runner, options: Options, *, muted: bool, start: stages.Position) -> Surveyed:
    """Time every launch of the target.

    That takes no longer than the target alone where it can be traced. Else ncu does it, which
    takes some 8 ms for each launch, and one more run where the trace turned out to be of no use.

    Args:
        runner: runs the target.
        options: what to collect in depth.
        muted: hide the target's output.
        start: where standard input stood.

    Raises:
        KprofError: ncu cannot be started, or a survey that was written cannot be read.
    """
    wanted = stages.surveying(options)
    how = tracing(options, runner.ncu, runner.target, runner.scratch)
    how = how if isinstance(how, str) else built(how, limit_s=runner.left_s()) or how
    if isinstance(how, str):
        if runner.verbose:
            runner.say(f"ncu times the launches: {how}")
        return _by_ncu(runner, wanted, muted=muted)
    runner.say("Timing every launch while the program runs.")
    stage = runner.trace("survey", wanted, how, muted=muted)
    trace = (
        Trace()
        if stage.empty
        else read(stage.report, with_communication=options.with_communication)
    )
    trouble = _trouble(stage, trace)
    if trouble is None:
        path = stage.report
        return Surveyed(stage, stage, profile(trace, path), complete=trace.complete)
    if stage.stopped:
        nothing = replace(stage, collected=replace(stage.collected, report=None))
        return Surveyed(nothing, nothing, None)
    runner.say(f"Timed by ncu once more, output hidden: the program cannot be traced ({trouble}).")
    stages.rewind(start)
    again = _by_ncu(runner, wanted, muted=True)
    return Surveyed(again.stage, stage, again.profile, again.complete)


def tracing(options: Options, ncu: str, target: Target, folder: Path) -> Tracer | str:
    """Return how the target is traced, or why it cannot be; see :func:`tracer`."""
    if stages.stdin_position() == "gone":
        return _ONCE
    python = target.argv[0] if target.python else None
    return tracer(options, ncu=ncu, folder=folder, python=python)


def _trouble(stage: Stage, trace: Trace) -> str | None:
    """Return why a trace is of no use, None where it is."""
    if stage.empty:
        return _NO_GPU
    failed = stage.stopped or stage.collected.target_exit != 0
    if not trace.ended and not (failed and trace.kernels):
        return trace.trouble or _CUT_SHORT
    return trace.trouble or (None if trace.kernels else _NO_LAUNCH)


def _by_ncu(runner: Runner, wanted: Options, *, muted: bool) -> Surveyed:
    from kprof.reader import load

    stage = runner.run("survey", wanted, muted=muted)
    if stage.empty:
        return Surveyed(stage, stage, None)
    complete = stage.collected.log.profiled <= stages.MOST
    return Surveyed(stage, stage, load(stage.report, timing=True), complete)
