"""One run of ``kprof profile``: check, collect, diagnose, write, say."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import webbrowser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from kprof import output
from kprof.cli import options as shared
from kprof.cli import threshold
from kprof.cli.live import progress
from kprof.collect import failures, find, preflight
from kprof.collect.command import Options, ncu_argv, shell
from kprof.collect.plan import metrics_for
from kprof.collect.run import Collected, collect
from kprof.collect.target import Target, resolve
from kprof.errors import KprofError, OutputNotWritable
from kprof.model import Report
from kprof.rule import Rule, registry, select

# ncu writes here while it runs; the name says that it is not finished.
_PART = "report.part.ncu-rep"
_LOG = "ncu.log"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says beside what to collect; see the options of the same names."""

    timeout: float | None = None
    ncu: str | None = None
    python: str | None = None
    output: str | None = None
    force: bool = False
    open_page: bool = False
    fail_on: str = "never"
    rules: tuple[str, ...] | None = None
    rules_dir: str | None = None
    no_preflight: bool = False
    quiet: bool = False
    verbose: int = 0
    no_color: bool = False


def dry_run(
    command: Sequence[str], module: str | None, options: Options, settings: Settings
) -> str:
    """Return the exact ncu command line, quoted for a shell; start nothing."""
    target = resolve(command, module=module, python=settings.python, check_module=False)
    folder = Path(settings.output or f"kprof-{target.name}")
    options, _ = _with_rules(options, settings)
    ncu = settings.ncu or find.first_name(os.environ)
    return shell(ncu_argv(ncu, options, target.argv, report=folder / _PART, log=folder / _LOG))


def run(command: Sequence[str], module: str | None, options: Options, settings: Settings) -> int:
    """Profile the target and return kprof's exit status."""
    target = resolve(command, module=module, python=settings.python)
    if not settings.no_preflight:
        preflight.check(preflight.look())
    ncu = find.find(settings.ncu)
    options, rules = _with_rules(options, settings)
    _say(settings, f"ncu {ncu.version}: {ncu.path}")
    if target.python is not None:
        _say(settings, f"python: {target.python}")
    with _folder(target, settings) as folder, _scratch(folder) as scratch:
        report, log = scratch / _PART, scratch / _LOG
        argv = ncu_argv(str(ncu.path), options, target.argv, report=report, log=log)
        if settings.verbose:
            _say(settings, shell(argv))
        collected = _collect(argv, report, log, settings)
        if collected.report is None or collected.log.nothing_profiled:
            report.unlink(missing_ok=True)
            return _failed(failures.why(collected, argv, target.argv, options), collected)
        kept = folder / "report.ncu-rep"
        shutil.move(report, kept)
        diagnosed = _diagnose(kept, target, options, collected, rules)
        page = _write(diagnosed, folder, settings)
        _show(diagnosed, page, settings)
        return _status(diagnosed, collected, settings)


def _with_rules(options: Options, settings: Settings) -> tuple[Options, tuple[Rule, ...]]:
    # Before anything runs: a misspelt rule must not cost a profile.
    known = registry(Path(settings.rules_dir) if settings.rules_dir else None)
    chosen = known if settings.rules is None else select(known, settings.rules)
    # All are collected for, so that the kept profile can answer to the others later.
    return replace(options, metrics=metrics_for(options.depth, known)), chosen


@contextlib.contextmanager
def _folder(target: Target, settings: Settings) -> Iterator[Path]:
    new = settings.output is None or not Path(settings.output).exists()
    if settings.output is None:
        folder = output.unused_directory(Path(f"kprof-{target.name}"))
    else:
        folder = output.new_directory(Path(settings.output), force=settings.force)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputNotWritable(f"{folder} cannot be written", hint="choose another -o")
    for name in (_PART, _LOG):  # ncu refuses to overwrite what a killed run left behind
        (folder / name).unlink(missing_ok=True)
    try:
        yield folder
    finally:
        (folder / _LOG).unlink(missing_ok=True)
        if new:
            with contextlib.suppress(OSError):  # not empty: something was kept
                folder.rmdir()


@contextlib.contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """Where ncu writes while it runs: the output folder, unless its path holds a %.

    ncu 2025.3 expands %p, %h and the like in --export, where %% escapes them, and takes the name
    of --log-file as it is.
    """
    if "%" not in str(folder.resolve()):
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="kprof-") as elsewhere:
        yield Path(elsewhere)


def _collect(argv: Sequence[str], report: Path, log: Path, settings: Settings) -> Collected:
    # What other parts of kprof have printed must come before the target's own output.
    sys.stdout.flush()
    with progress(
        quiet=settings.quiet, verbose=settings.verbose > 0, color=not settings.no_color
    ) as on_event:
        return collect(argv, report=report, log=log, timeout_s=settings.timeout, on_event=on_event)


def _failed(error: KprofError, collected: Collected) -> int:
    if collected.signum is None:
        raise error
    click.echo(f"Interrupted: {error.message}", err=True)
    return 128 + collected.signum


def _diagnose(
    path: Path, target: Target, options: Options, collected: Collected, rules: Sequence[Rule]
) -> Report:
    from kprof.diagnosis import diagnose
    from kprof.reader import load

    try:
        profile = load(path, extra_metrics=[n for r in rules for q in r.requires for n in q.names])
    except KprofError:
        click.echo(f"The profile itself is kept: {path}", err=True)
        raise
    source = replace(profile.source, command=tuple(target.argv), target_exit=collected.target_exit)
    collection = replace(
        profile.collection,
        depth=options.depth,
        clock_control=options.clock_control,
        cache_control=options.cache_control,
        replay_mode=options.replay_mode,
        passes=profile.collection.passes or collected.log.passes or None,
    )
    noted = (*profile.notes, *failures.notes(collected), *_ending(collected))
    return diagnose(
        replace(profile, source=source, collection=collection, notes=noted), rules=rules
    )


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
    click.echo(f"Report: {page}")
    if settings.open_page and not webbrowser.open(page.resolve().as_uri()):
        click.echo("No browser could be opened.", err=True)


def _status(report: Report, collected: Collected, settings: Settings) -> int:
    for line in _ending(collected):
        click.echo(f"Error: {line}", err=True)
    if collected.signum is not None:
        return 128 + collected.signum
    if _ending(collected):
        return 2
    reason = threshold.failing([report], settings.fail_on)
    if reason is None:
        return 0
    click.echo(reason, err=True)
    return 1


def _ending(collected: Collected) -> tuple[str, ...]:
    """Say how the run ended, if not well."""
    kept = "the report holds what was measured until then"
    if collected.signum is not None:
        return (f"interrupted; {kept}",)
    if collected.timed_out:
        return (f"stopped after {collected.elapsed_s:.0f} s by --timeout; {kept}",)
    if collected.target_exit:
        return (f"the target ended with {failures.exit_text(collected.target_exit)}; {kept}",)
    if collected.status != 0:
        return (f"ncu ended with {failures.exit_text(collected.status)}; {kept}",)
    return ()


def _say(settings: Settings, line: str) -> None:
    if not settings.quiet:
        click.echo(line, err=True)
