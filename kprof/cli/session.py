"""One run of ``kprof profile``: check, collect, diagnose, write, say."""

from __future__ import annotations

import contextlib
import os
import sys
import webbrowser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from kprof import output
from kprof.cli import options as shared
from kprof.cli import place, preflight, threshold
from kprof.cli.live import progress
from kprof.collect import failures, find
from kprof.collect.command import Options, ncu_argv, readable, shell
from kprof.collect.plan import metrics_for
from kprof.collect.run import Collected, collect
from kprof.collect.target import Target, resolve
from kprof.errors import KprofError
from kprof.model import Profile, Report
from kprof.rule import Rule, registry, select


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
    report, log = folder / place.REPORT, folder / place.LOG
    return shell(ncu_argv(ncu, options, target.argv, report=report, log=log))


def run(command: Sequence[str], module: str | None, options: Options, settings: Settings) -> int:
    """Profile the target and return kprof's exit status."""
    target = resolve(command, module=module, python=settings.python)
    ncu = _ncu(target, settings)
    options, rules = _with_rules(options, settings)
    _say(settings, f"ncu {ncu.version}: {ncu.path}")
    if target.python is not None:
        _say(settings, f"python: {target.python}")
    return _run(str(ncu.path), target, options, rules, settings)


def _ncu(target: Target, settings: Settings) -> find.Ncu:
    if settings.no_preflight:
        return find.find(settings.ncu)
    python = target.argv[0] if target.python else None
    return preflight.ready(settings.ncu, python=python, quiet=settings.quiet)


def _run(
    ncu: str, target: Target, options: Options, rules: Sequence[Rule], settings: Settings
) -> int:
    default = f"kprof-{target.name}"
    with (
        place.folder(settings.output, default, force=settings.force) as folder,
        place.scratch(folder) as scratch,
    ):
        report, log = scratch / place.REPORT, scratch / place.LOG
        argv = ncu_argv(ncu, options, target.argv, report=report, log=log)
        if settings.verbose:
            _say(settings, readable(shell(argv)))
        collected = _collect(argv, report, log, settings)
        if collected.report is None or _empty(collected):
            error = failures.why(collected, argv, target.argv, options)
            return _failed(preflight.advised(error), collected)
        with _keeping(report, folder / place.REPORT) as kept:
            profile = _load(report, kept, rules)
            diagnosed = _diagnose(profile, target, options, collected, rules)
            page = _write(diagnosed, folder, settings)
        _show(diagnosed, page, settings)
        return _status(diagnosed, collected, settings)


def _empty(collected: Collected) -> bool:
    # One of several processes without a kernel makes ncu say that too.
    return collected.log.nothing_profiled and not collected.log.profiled


@contextlib.contextmanager
def _keeping(report: Path, kept: Path) -> Iterator[Path]:
    """Publish ncu's report at the end, also when it could not be read or Ctrl-C came.

    It is read where no other run writes, so that the page is about this run's kernels.
    """
    try:
        yield kept
    except BaseException as error:
        place.keep(report, kept)
        click.echo(f"The profile itself is kept: {readable(str(kept))}", err=True)
        if isinstance(error, KprofError) and str(report) in error.message:
            message = error.message.replace(str(report), str(kept))
            raise type(error)(message, hint=error.hint) from error
        raise
    place.keep(report, kept)


def _with_rules(options: Options, settings: Settings) -> tuple[Options, tuple[Rule, ...]]:
    # Before anything runs: a misspelt rule must not cost a profile.
    known = registry(Path(settings.rules_dir) if settings.rules_dir else None)
    chosen = known if settings.rules is None else select(known, settings.rules)
    # All are collected for, so that the kept profile can answer to the others later.
    return replace(options, metrics=metrics_for(options.depth, known)), chosen


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


def _load(path: Path, kept: Path, rules: Sequence[Rule]) -> Profile:
    from kprof.reader import load

    profile = load(path, extra_metrics=[n for r in rules for q in r.requires for n in q.names])
    return replace(profile, source=replace(profile.source, path=readable(str(kept))))


def _diagnose(
    profile: Profile, target: Target, options: Options, collected: Collected, rules: Sequence[Rule]
) -> Report:
    from kprof.diagnosis import diagnose

    source = replace(
        profile.source,
        command=tuple(readable(word) for word in target.argv),
        target_exit=collected.target_exit,
    )
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
    click.echo(f"Report: {readable(str(page))}")
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
