"""One run of ``kprof profile``: check, collect, diagnose, write, say."""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import click

from kprof import output
from kprof.audit.probes.machine import Runner, start_and_wait
from kprof.cli import options as shared
from kprof.cli import place, preflight, reporting, runner, staged, threshold
from kprof.cli.follow_up import follow_up
from kprof.cli.packing import Packing, described
from kprof.cli.surveying import tracing
from kprof.collect import failures, find, stages
from kprof.collect.command import RANGES, Options, assignments, ncu_argv, readable, shell
from kprof.collect.plan import in_ranges, plan_for
from kprof.collect.run import KERNEL_TIMEOUT_S
from kprof.collect.target import Target, resolve
from kprof.errors import KprofError
from kprof.model import Report
from kprof.reader.standby import Standby
from kprof.rule import Rule, registry, select
from kprof.source_text import Lookup

_DEEP = "# then in depth, with the names of the chosen kernels where it says NAMES:"
_ALONE = "# the survey alone"
_FOLLOW_UP = "once again should what limits a kernel stay open (--no-follow-up leaves it out)"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says beside what to collect; see the options of the same names."""

    wanted: staged.Wanted = field(default_factory=staged.Wanted)
    timeout: float | None = None
    kernel_timeout: float = KERNEL_TIMEOUT_S
    ncu: str | None = None
    python: str | None = None
    output: str | None = None
    force: bool = False
    compress: bool = False
    open_page: bool = False
    fail_on: str = "never"
    rules: tuple[str, ...] | None = None
    rules_dir: str | None = None
    source_dirs: tuple[Path, ...] = ()
    source_map: tuple[tuple[str, Path], ...] = ()
    no_preflight: bool = False
    quiet: bool = False
    verbose: int = 0
    no_color: bool = False


def dry_run(
    command: Sequence[str], module: str | None, options: Options, settings: Settings
) -> str:
    """Return the exact command lines, quoted for a shell; start nothing.

    What a run in depth after a survey selects is not known before: its line is a comment.
    """
    target = resolve(command, module=module, python=settings.python, check_module=False)
    folder = Path(settings.output or f"kprof-{target.name}")
    ncu = settings.ncu or find.first_name(os.environ)
    options = _planned(options, _rules(settings)[0]).options
    planning = settings.wanted.plan_only
    how = staged.strategy(options, target, settings.wanted)
    lines = [] if how == "once" else [shell(("mkdir", "-p", str(folder.absolute())))]
    follows = settings.wanted.follow_up and options.depth == "standard"
    for comment, name, stage in _stages(how, options, follows=follows, alone=planning):
        lines += [comment] if comment else []
        traced = _traced(ncu, options, target, folder) if name == "survey" else []
        log = folder / (place.LOG if how == "once" else f"{name}.log")
        report = folder / (place.REPORT if how == "once" else f"{name}.ncu-rep")
        lines += traced or [shell(ncu_argv(ncu, stage, target.argv, report=report, log=log))]
    if how != "once" and not planning:
        deep = stages.deepening_any(options)
        files = {"report": folder / "depth.ncu-rep", "log": folder / "depth.log"}
        lines += [_DEEP, f"# {shell(ncu_argv(ncu, deep, target.argv, **files))}"]
    return "\n".join(lines)


def _traced(ncu: str, options: Options, target: Target, folder: Path) -> list[str]:
    found = tracing(options, ncu, target, folder)
    if isinstance(found, str):
        return []
    variables = found.environment(folder / "survey.trace")
    return [shell(found.build), f"{assignments(variables)} {shell(target.argv)}"]


def _stages(
    how: stages.Strategy, options: Options, *, follows: bool, alone: bool
) -> Iterator[tuple[str, str, Options]]:
    if how == "once":
        yield "", "report", options
    if how == "trial":
        yield f"# first, for at most {stages.FEW} launches", "trial", stages.trial(options)
    if how != "once":
        comment = "# a survey, then once more in depth, by what it finds"
        more = f"{comment}, if there are more" if how == "trial" else comment
        more += f"; {_FOLLOW_UP}" if follows else ""
        yield _ALONE if alone else more, "survey", stages.surveying(options)


def run(
    command: Sequence[str],
    module: str | None,
    options: Options,
    settings: Settings,
    *,
    asking: Runner = start_and_wait,
) -> int:
    """Profile the target and return kprof's exit status.

    Args:
        command: the target and its arguments.
        module: what to run as ``python -m`` does, None for a script or a program.
        options: what to collect.
        settings: everything else.
        asking: starts the programs that say whether profiling can work.
    """
    target = resolve(command, module=module, python=settings.python)
    known, rules = _rules(settings)  # before anything runs: a misspelt rule must not cost a profile
    ready = _ready(target, options, settings, asking)
    planned = _planned(options, known, ready)
    _say(settings, f"ncu {ready.ncu.version}: {ready.ncu.path}")
    if target.python is not None:
        _say(settings, f"python: {target.python}")
    for note in planned.notes:
        _say(settings, note)
    return _run(str(ready.ncu.path), target, planned, rules, settings)


def _ready(target: Target, options: Options, settings: Settings, asking: Runner) -> preflight.Ready:
    if settings.no_preflight:
        return preflight.Ready(find.find(settings.ncu))
    python = target.argv[0] if target.python else None
    alone = options.with_communication and options.replay_mode == "kernel"
    return preflight.ready(
        settings.ncu, python=python, quiet=settings.quiet, collectives=alone, runner=asking
    )


def _run(
    ncu: str, target: Target, planned: _Planned, rules: Sequence[Rule], settings: Settings
) -> int:
    default = f"kprof-{target.name}"
    with (
        place.folder(settings.output, default, force=settings.force) as folder,
        place.scratch(folder) as scratch,
        Standby(scratch) as standby,
    ):
        starts = _runner(ncu, target, scratch, settings)
        threading.Thread(target=_prepare, daemon=True).start()
        sources = Lookup(settings.source_dirs, settings.source_map)
        read = partial(reporting.load, rules, sources=sources, standby=standby)
        wanted = replace(settings.wanted, passes=planned.passes)
        with _rescuing(lambda: reporting.finished(starts.done, folder)):
            measured = staged.measure(starts, planned.options, wanted, read)
        if measured.last is None:  # --plan
            return 0
        if measured.last.empty and measured.survey is None:
            return _failed(measured.last)
        with _keeping(measured, folder) as files:
            if wanted.follow_up:
                measured = follow_up(starts, planned.options, measured, planned.known, read)
                files.update(reporting.files(measured, folder))
            packing = Packing(files if settings.compress else ())
            diagnosed = reporting.report(
                measured, target, planned.options, rules, folder / place.REPORT, read=read
            )
            diagnosed = replace(diagnosed, notes=(*diagnosed.notes, *planned.notes))
            packing.finish(files)
            diagnosed = described(diagnosed, files)
            page = _write(diagnosed, folder, settings)
        _show(diagnosed, page, settings)
        return _status(diagnosed, measured, settings)


def _prepare() -> None:
    """Load, while the target runs, what the diagnosis and its pages need after it."""
    with contextlib.suppress(Exception):  # told where it is needed
        for name in ("reader.reading", "diagnosis", "whole", "export", "html", "text"):
            importlib.import_module(f"kprof.{name}")
        importlib.import_module("kprof.html").prepare()


def _runner(ncu: str, target: Target, scratch: Path, settings: Settings) -> runner.Runner:
    limit = settings.timeout
    return runner.Runner(
        ncu=ncu,
        target=target,
        scratch=scratch,
        quiet=settings.quiet,
        verbose=settings.verbose > 0,
        color=not settings.no_color,
        deadline=None if limit is None else time.monotonic() + limit,
        kernel_timeout_s=settings.kernel_timeout,
    )


@contextlib.contextmanager
def _keeping(measured: staged.Measured, folder: Path) -> Iterator[dict[Path, Path]]:
    """Publish ncu's reports at the end, also when one could not be read or Ctrl-C came.

    They are read where no other run writes, so that the page is about this run's kernels. What is
    yielded says where each goes; a later run adds its own.
    """
    files = reporting.files(measured, folder)
    with _rescuing(lambda: files):
        yield files
    _keep(files)


@contextlib.contextmanager
def _rescuing(left: Callable[[], Mapping[Path, Path]]) -> Iterator[None]:
    """Publish what is left by then, should it end in between; the error names where that is now."""
    try:
        yield
    except BaseException as error:
        files = left()
        _keep(files)
        for kept in files.values():
            click.echo(f"The profile itself is kept: {readable(str(kept))}", err=True)
        for report, kept in files.items():
            if isinstance(error, KprofError) and str(report) in error.message:
                message = error.message.replace(str(report), str(kept))
                raise type(error)(message, hint=error.hint) from error
        raise


def _keep(files: Mapping[Path, Path]) -> None:
    for report, kept in files.items():
        place.keep(report, kept)
    place.remove_outdated(files.values())


@dataclass(frozen=True, slots=True)
class _Planned:
    options: Options
    known: tuple[Rule, ...]
    notes: tuple[str, ...] = ()
    passes: int | None = None


def _rules(settings: Settings) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    known = registry(Path(settings.rules_dir) if settings.rules_dir else None)
    return known, known if settings.rules is None else select(known, settings.rules)


def _planned(
    options: Options, known: tuple[Rule, ...], ready: preflight.Ready | None = None
) -> _Planned:
    # All rules are collected for, so that the kept profile can answer to the others later.
    capability, version = (ready.capability, ready.ncu.version) if ready else (None, None)
    plan = plan_for(options.depth, known, capability, version)
    several = options.graphs == "graph" or options.replay_mode in RANGES
    metrics = in_ranges(plan.metrics) if several else plan.metrics
    chosen = replace(options, metrics=metrics, sections=plan.sections)
    return _Planned(chosen, known, plan.notes, plan.expected_passes)


def _failed(stage: runner.Stage) -> int:
    collected = stage.collected
    error = preflight.advised(failures.why(collected, stage.argv, stage.target, stage.options))
    if collected.signum is None:
        raise error
    click.echo(f"Interrupted: {error.message}", err=True)
    return 128 + collected.signum


def _write(report: Report, folder: Path, settings: Settings) -> Path:
    from kprof import export, html

    output.write(folder / "report.json", export.to_json(report), force=settings.force)
    page = folder / "report.html"
    output.write(page, html.render(report), force=settings.force)
    return page


def _show(report: Report, page: Path, settings: Settings) -> None:
    from kprof import text

    color = shared.colored(no_color=settings.no_color)
    summary = text.summary(
        report, width=shared.terminal_width(), color=color, verbose=settings.verbose
    )
    click.echo(summary, nl=False)
    click.echo(f"Report: {readable(str(page))}")
    if settings.open_page and not webbrowser.open(page.resolve().as_uri()):
        click.echo("No browser could be opened.", err=True)


def _status(report: Report, measured: staged.Measured, settings: Settings) -> int:
    wrong = reporting.ending(measured)
    for line in wrong:
        click.echo(f"Error: {line}", err=True)
    signum = reporting.signum(measured)
    if signum is not None:
        return 128 + signum
    if wrong:
        return 2
    reason = threshold.failing([report], settings.fail_on)
    if reason is None:
        return 0
    click.echo(reason, err=True)
    return 1


def _say(settings: Settings, line: str) -> None:
    if not settings.quiet:
        click.echo(line, err=True)
