"""One run of the target after the other, each into files of its own: under ncu, or traced."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from kprof.cli.live import EACH, progress
from kprof.collect import stages
from kprof.collect.command import Options, assignments, ncu_argv, readable, shell
from kprof.collect.progress import Event
from kprof.collect.run import Collected, collect, watch
from kprof.collect.selection import Group, Selection, function_names
from kprof.collect.target import Target
from kprof.collect.trace import gather
from kprof.collect.tracer import Tracer


@dataclass(frozen=True, slots=True)
class Stage:
    """One run of the target, under ncu unless it is traced.

    Attributes:
        options: what it collected.
        argv: its command line.
        target: the part of it that is the target.
        collected: how it ended.
        traced: the target ran by itself, and a library within it timed its launches.
    """

    options: Options
    argv: tuple[str, ...]
    target: tuple[str, ...]
    collected: Collected
    traced: bool = False

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

    @property
    def timed_by(self) -> str:
        """What timed the launches, where this was the survey."""
        return "cupti" if self.traced else "ncu"

    def plain_s(self, selection: Selection) -> float:
        """Return the target's own wall time in seconds, where this was the survey."""
        return stages.plain_s(self.collected.elapsed_s, selection, traced=self.traced)


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
        done: the runs that have ended, by name.
    """

    ncu: str
    target: Target
    scratch: Path
    quiet: bool
    verbose: bool
    color: bool
    deadline: float | None
    kernel_timeout_s: float
    done: dict[str, Stage] = field(default_factory=dict)

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
        self.done[name] = Stage(options, argv, tuple(self.target.argv), collected)
        return self.done[name]

    def trace(self, name: str, options: Options, tracer: Tracer, *, muted: bool = False) -> Stage:
        """Run the target once by itself, with the tracer in it; see :meth:`run`."""
        trace, merged = self.scratch / f"{name}.trace", self.scratch / f"{name}.tsv"
        variables = tracer.environment(trace)
        if self.verbose:
            self.say(readable(" ".join((assignments(variables), shell(self.target.argv)))))
        sys.stdout.flush()
        collected = watch(
            self.target.argv,
            trace=trace,
            timeout_s=self.left_s(),
            env={**os.environ, **variables},
            output=self.scratch / f"{name}.out" if muted else None,
        )
        collected = replace(collected, report=merged if gather(trace, merged) else None)
        if self.verbose:
            self.say(f"{name}: the program ran for {collected.elapsed_s:.1f} s")
        argv = self.target.argv
        self.done[name] = Stage(options, argv, argv, collected, traced=True)
        return self.done[name]

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
