"""``kprof analyze``: the diagnosis from existing report files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click

from kprof import presence, units
from kprof.analysis import Analysis
from kprof.cli import delivery, options, threshold
from kprof.cli.delivery import Destination
from kprof.errors import KprofError
from kprof.formats import Job
from kprof.inputs import Failure, expand
from kprof.model import Report
from kprof.rule import Rule, registry, select
from kprof.source_text import Lookup

COULD_NOT = 2
THRESHOLD = 1


@click.command(short_help="Diagnose existing .ncu-rep reports.")
@click.argument("reports", nargs=-1, required=True, metavar="REPORT...", type=click.UNPROCESSED)
@options.apply(
    options.output,
    options.formats,
    options.open_page,
    options.kernel,
    options.rules,
    options.rules_dir,
    options.source_dir,
    options.source_map,
    options.fail_on,
    options.force,
)
@click.option("--jobs", type=click.IntRange(1), default=1, help="Files to read at a time.")
@options.apply(options.quiet, options.verbose, options.no_color)
@click.pass_context
def analyze(  # noqa: PLR0917 - click passes every option by name
    ctx: click.Context,
    reports: tuple[str, ...],
    output: str | None,
    formats: tuple[str, ...] | None,
    open_page: bool,
    kernel: re.Pattern[str] | None,
    rules: tuple[str, ...] | None,
    rules_dir: str | None,
    source_dirs: tuple[Path, ...],
    source_map: tuple[tuple[str, Path], ...],
    fail_on: str,
    force: bool,
    jobs: int,
    quiet: bool,
    verbose: int,
    no_color: bool,
) -> None:
    """Diagnose reports of Nsight Compute, without GPU, ncu or driver.

    REPORT is a .ncu-rep (or .nsight-cuprof-report) file, also as .xz or .gz, or a directory of
    them. The diagnosis is printed; -o writes it to a file or directory instead:
    a file holds all reports in one document, a directory a file per report and format.
    """
    to = delivery.destination(formats, output, force=force)
    folder = Path(rules_dir) if rules_dir else None
    chosen = _rules(rules, folder)
    inputs = expand(reports)
    several = len(inputs) > 1 or any(presence.is_dir(path) for path in reports)
    _check_several(to, several=several, open_page=open_page)
    delivery.check_apart(to, [path for path in inputs if isinstance(path, Path)])
    how = Analysis(chosen, kernel, Lookup(source_dirs, source_map))
    found, failures = _analyzed(inputs, how, jobs=jobs, quiet=quiet)
    job = Job(
        found,
        failures,
        several,
        width=options.terminal_width(),
        color=to.path is None and options.colored(no_color=no_color),
        verbose=verbose,
        rules_dir=folder,
    )
    _deliver(job, to, open_page=open_page, quiet=quiet)
    ctx.exit(_status(job, fail_on))


def _rules(names: tuple[str, ...] | None, folder: Path | None) -> tuple[Rule, ...] | None:
    """Return the rules asked for, None for the plain catalogue."""
    if names is None and folder is None:
        return None
    known = registry(folder)
    return known if names is None else select(known, names)


def _check_several(to: Destination, *, several: bool, open_page: bool) -> None:
    if several and not to.directory:
        if "html" in to.formats:
            raise click.UsageError("a page shows one report: give -o DIR for several")
        if open_page:
            raise click.UsageError("--open with several reports needs -o DIR")


def _analyzed(
    inputs: Sequence[Path | Failure],
    how: Analysis,
    *,
    jobs: int,
    quiet: bool,
) -> tuple[list[Report], list[Failure]]:
    found: list[Report] = []
    failures: list[Failure] = []
    for result in how.of_all(inputs, jobs=jobs):
        if isinstance(result, Report):
            found.append(result)
            _warn(result, quiet=quiet)
        else:
            failures.append(result)
            if len(inputs) > 1:
                _complain(result)
    if failures and len(inputs) == 1:
        raise KprofError(failures[0].cause, hint=failures[0].hint)
    if found and how.kernel is not None and not any(report.kernels for report in found):
        raise KprofError(
            f"no kernel's name matches {how.kernel.pattern!r}",
            hint="run without --kernel to see the names",
        )
    return found, failures


def _warn(report: Report, *, quiet: bool) -> None:
    if report.source.truncated and not quiet:
        complete = units.count(len(report.kernels), "complete kernel")
        click.echo(
            f"Warning: {report.source.path} is cut off or damaged: all that was read is {complete}",
            err=True,
        )


def _complain(failure: Failure) -> None:
    click.echo(f"Error: {failure.cause}", err=True)
    if failure.hint:
        click.echo(f"Hint: {failure.hint}", err=True)


def _deliver(job: Job, to: Destination, *, open_page: bool, quiet: bool) -> None:
    if not job.reports and to.formats != ("json",):
        return  # every failure is told; an empty file would look like a result
    written = delivery.deliver(job, to, quiet=quiet)
    if open_page and job.reports:
        delivery.open_in_browser(delivery.page_of(job, written), quiet=quiet)


def _status(job: Job, fail_on: str) -> int:
    if job.failures:
        return COULD_NOT
    reason = threshold.failing(job.reports, fail_on)
    if reason is None:
        return 0
    click.echo(reason, err=True)
    return THRESHOLD
