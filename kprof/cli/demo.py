"""``kprof demo``: the whole pipeline, live where it can be, else from a recorded report."""

from __future__ import annotations

import dataclasses
from importlib.resources import as_file, files
from pathlib import Path

import click

from kprof import output as outputs
from kprof.cli import delivery, options
from kprof.errors import KprofError
from kprof.formats import Job, render
from kprof.model import Collection, Report

DIRECTORY = Path("kprof-demo")
SAMPLE = "transpose/unpadded"
CONTENT = "kprof.sample_kernels"
RECORDING = "recordings/demo.ncu-rep.xz"
# As scripts/record_demo.sh asks for; a report file does not keep it.
RECORDED_WITH = Collection(clock_control="none", cache_control="all", replay_mode="kernel")


@click.command(short_help="Show the whole pipeline on this machine.")
@click.option(
    "-o", "--output", metavar="DIR", help="Directory for the report.  [default: kprof-demo]"
)
@options.apply(
    options.open_page,
    options.force,
    options.quiet,
    options.verbose,
    options.no_color,
)
@click.pass_context
def demo(  # noqa: PLR0917 - click passes every option by name
    ctx: click.Context,
    output: str | None,
    open_page: bool,
    force: bool,
    quiet: bool,
    verbose: int,
    no_color: bool,
) -> None:
    """Profile a sample kernel and write its report, or replay a recorded one.

    With a GPU, ncu and nvcc a sample kernel is built and profiled here. Otherwise a report that
    was recorded on real hardware and ships with kprof is analysed, and the page says so. The
    last line printed is the page's path.
    """
    if output is not None:
        folder = outputs.new_directory(Path(output), force=force)
    else:
        folder = outputs.unused_directory(DIRECTORY)
    try:
        status = _live(folder, quiet=quiet, verbose=verbose, no_color=no_color)
    except KprofError as error:
        if not quiet:
            click.echo(f"Replaying a recorded report: {error.message}", err=True)
        job = Job(
            [recorded(error.message)],
            width=options.terminal_width(),
            color=options.colored(no_color=no_color),
            verbose=verbose,
        )
        delivery.deliver_into(folder, job, force=force)
        click.echo(render("text", job))
        status = 0
    page = folder / "report.html"
    click.echo(page)
    if open_page:
        delivery.open_in_browser(page, quiet=quiet)
    ctx.exit(status)


def _live(folder: Path, *, quiet: bool, verbose: int, no_color: bool) -> int:
    """Build and profile the sample; return the exit status.

    Raises:
        KprofError: it cannot be done on this machine.
    """
    from kprof import samples
    from kprof.cli import preflight, session
    from kprof.collect.command import Options

    preflight.ready(quiet=True)  # the cheap checks first: no compiler runs for nothing
    program = samples.build(samples.select(SAMPLE)[0])
    settings = session.Settings(
        output=str(folder), force=True, quiet=quiet, verbose=verbose, no_color=no_color
    )
    return session.run([str(program)], None, Options(), settings)


def recorded(reason: str) -> Report:
    """Diagnose the report that ships, and say on it what it is and why it is shown."""
    from kprof.analysis import Analysis

    with as_file(files(CONTENT).joinpath(RECORDING)) as path:
        report = Analysis().of(path)
    devices = ", ".join(dict.fromkeys(device.name for device in report.devices))
    note = (
        f"Replayed from a recording of kprof's sample kernels on {devices}; "
        f"nothing was profiled on this machine: {reason}."
    )
    return dataclasses.replace(
        report,
        source=dataclasses.replace(report.source, path=Path(RECORDING).name),
        collection=dataclasses.replace(
            RECORDED_WITH, passes=report.collection.passes, depth=report.collection.depth
        ),
        notes=(note, *report.notes),
    )
