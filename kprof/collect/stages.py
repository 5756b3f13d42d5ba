"""How many times the target runs, and what ncu measures each time.

A program with few launches runs once, every launch in depth. One with many runs first under a
survey (durations alone, one pass, no replay) and then again with the chosen launches in depth.
Which it is shows when it runs: the first run takes at most :data:`FEW` launches in depth, and one
more tells that there are many. A script whose text trains or takes times in a loop is expected to
launch many, and is surveyed at once.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Union

from kprof.collect.command import Options
from kprof.collect.selection import Group, Selection, function_filter, mangled_filter
from kprof.collect.target import Target
from kprof.model import Profile

Strategy = Literal["once", "trial", "survey"]
# Where standard input stands: an offset, None where there is nothing to go back to, "gone" for a
# pipe, which cannot be read again.
Position = Union[int, Literal["gone"], None]  # noqa: UP007 - Python 3.10 cannot or a Literal
Read = Callable[[Path], Profile]

WORTH = 0.02  # share of the GPU time for which another run is worth its time. kprof's own.
FEW = 40  # launches that are measured without a survey: some 15 s on an H200
MOST = 10_000  # launches that a survey takes: some 80 s
SURVEY_METRICS = ("gpu__time_duration.sum",)

# What ncu 2025.3 costs on an H200 (docs/decisions/0012): to attach to a program and to write its
# report, one pass of a launch, patching its code for what is counted per instruction, and timing a
# launch alone.
ATTACH_S = 3.5
PASS_S = 0.05
PATCH_S = 0.12
TIMED_S = 0.008
FULL_PASSES = 38
BYTES_PER_KERNEL = 450_000
# More than any group of a further run takes, a bound: the counted stall reasons take six, 14 units
# five (docs/decisions/0016).
FOLLOW_UP_PASSES = 8

# What trains or generates, takes times, or goes round FEW times and more.
_LAUNCHES_MANY = re.compile(
    rb"\.backward\(|\btorch\.compile\b|\.generate\(|\bTrainer\b|\bDataLoader\b|\.fit\("
    rb"|\bcuda\.Event\(|\bdo_bench\b|\bbenchmark\.Timer\b|\bperf_counter\b|\btimeit\b"
    rb"|\brange\(\s*(?:[4-9]\d|[1-9]\d\d+)\s*\)"
)
_SCRIPT_BYTES = 1 << 20


def strategy(options: Options, target: Target, survey: str) -> Strategy:
    """Decide how to start.

    Args:
        options: what to collect.
        target: what to run.
        survey: ``never``, ``first`` or ``auto``.
    """
    if survey == "first":
        return "survey"
    if survey == "never" or options.launch_count is not None or not _repeatable(options):
        return "once"
    return "survey" if _launches_many(target) else "trial"


def trial(options: Options) -> Options:
    """Return what to collect from a program that may turn out to have many launches."""
    return replace(options, launch_count=FEW + 1)


def surveying(options: Options) -> Options:
    """Return what to collect from every launch: its duration, as in the program, without code."""
    return replace(
        options,
        depth="survey",
        metrics=SURVEY_METRICS,
        launch_count=MOST + 1 if options.launch_count is None else options.launch_count,
        cache_control="none",
        code=False,
        embed_source=False,
    )


def deepening(options: Options, groups: Sequence[Group]) -> Options:
    """Return what to collect from the chosen launches: one of each, after its warm-up.

    ncu tells launches apart by the name it filters by: only mangled names differ for every
    instance of a template, and are right for every kernel (docs/decisions/0012).
    """
    names = mangled_filter(groups)
    return replace(_one_each(options, names, warm_up=_warms_up(groups)), name_base="mangled")


def deepening_any(options: Options) -> Options:
    """Return what :func:`deepening` gives while the launches are not known: any name is NAMES."""
    return replace(_one_each(options, "^(?:NAMES)$", warm_up=True), name_base="mangled")


def again(options: Options, groups: Sequence[Group]) -> Options:
    """Return what to collect where :func:`deepening` did not meet these groups."""
    names = function_filter(groups)
    return replace(_one_each(options, names, warm_up=_warms_up(groups)), name_base="function")


def following_up(
    options: Options, groups: Sequence[Group], metrics: Sequence[str], *, met_by: str
) -> Options:
    """Return what to collect in one more run of the same launches: these metrics, no code.

    Args:
        options: what was collected in depth.
        groups: the launches.
        metrics: names to collect.
        met_by: the kind of name by which ncu has met them.
    """
    deep = again(options, groups) if met_by == "function" else deepening(options, groups)
    return replace(deep, metrics=tuple(metrics), code=False, embed_source=False)


def _warms_up(groups: Sequence[Group]) -> bool:
    return min(group.launches for group in groups) > 2


def _one_each(options: Options, names: str | None, *, warm_up: bool) -> Options:
    return replace(
        options,
        kernel=names,
        # The survey has left it out where it was to be, so these names hold none of it.
        with_communication=options.with_communication or names is not None,
        per_config=True,
        launch_skip=int(warm_up),
        launch_count=1,
    )


def estimate_s(selection: Selection, plain: float, passes: int, *, patched: bool) -> float:
    """Return how long the run in depth takes, in seconds.

    Args:
        selection: the survey.
        plain: wall time of the target alone.
        passes: replay passes per kernel.
        patched: whether something is counted per instruction.
    """
    each_s = PATCH_S if patched else 0.0
    return (
        plain
        + ATTACH_S
        + sum(
            each_s + passes * (PASS_S + (group.example.duration_s or 0.0))
            for group in selection.selected
        )
    )


def estimate_follow_up_s(groups: Sequence[Group], under_ncu: float) -> float:
    """Return how long a further run for these groups takes at most, in seconds.

    Args:
        groups: what it measures.
        under_ncu: wall time of the target under ncu where nothing is measured.
    """
    return under_ncu + sum(
        FOLLOW_UP_PASSES * (PASS_S + (group.example.duration_s or 0.0)) for group in groups
    )


def plain_s(elapsed_s: float, selection: Selection, *, traced: bool) -> float:
    """Return the target's own wall time in seconds, by its survey's.

    Args:
        elapsed_s: wall time of the survey's run.
        selection: the survey.
        traced: whether it was made without ncu.
    """
    return elapsed_s if traced else max(0.0, elapsed_s - TIMED_S * selection.launches)


def estimate_full_s(selection: Selection) -> float:
    """Return how long ``--set full`` on every launch would take, in seconds."""
    return sum(
        group.launches * FULL_PASSES * PASS_S + FULL_PASSES * group.total_s
        for group in selection.groups
    )


def _repeatable(options: Options) -> bool:
    """Say whether the target may run again: what it reads must still be there."""
    return options.replay_mode == "kernel" and stdin_position() != "gone"


def stdin_position() -> Position:
    """Return where standard input stands: an offset to go back to, None where there is none.

    ``gone`` means that what was read cannot be read again: a pipe.
    """
    try:
        mode = os.fstat(0).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            return "gone"
        return os.lseek(0, 0, os.SEEK_CUR) if stat.S_ISREG(mode) else None
    except OSError:  # closed
        return None


def rewind(position: Position) -> None:
    """Go back to where standard input stood."""
    if isinstance(position, int):
        os.lseek(0, position, os.SEEK_SET)


def _launches_many(target: Target) -> bool:
    if target.python is None or len(target.argv) < 2:
        return False
    script = target.argv[1]
    if script == "-m":
        return False
    try:
        # A script may come from a pipe, which can be read once, by whoever runs it.
        if not Path(script).is_file():
            return False
        with Path(script).open("rb") as file:
            return _LAUNCHES_MANY.search(file.read(_SCRIPT_BYTES)) is not None
    except OSError:
        return False
