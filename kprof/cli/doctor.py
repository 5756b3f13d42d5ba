"""``kprof doctor``: audit this machine, or a snapshot of another one."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from kprof import doctor_input, presence
from kprof import output as outputs
from kprof.audit import Audit, audit
from kprof.audit.verdict import PURPOSES, Purpose
from kprof.cli import delivery, options
from kprof.cli.delivery import STDOUT, Destination
from kprof.collect.target import check_python, choose_python
from kprof.doctor_input import Snapshot
from kprof.doctor_result import DoctorReport, document, result
from kprof.errors import BadSnapshot, OutputExists
from kprof.names import one_line, printable

FORMATS = ("text", "html", "json", "github")
ERRORS = 1


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says; see the options of the same names."""

    purpose: Purpose | None
    python: str | None
    import_torch: bool
    source: str | None
    save: str | None
    page: str | None
    open_page: bool
    force: bool
    quiet: bool
    verbose: int
    no_color: bool


@click.command(short_help="Audit this machine: driver, toolkits, torch, ncu.")
@click.option(
    "--for",
    "purpose",
    type=click.Choice(PURPOSES),
    help="Count as errors only what keeps this from working.  [default: everything]",
)
@click.option("--python", metavar="PY", help="Audit the torch of this interpreter.")
@click.option(
    "--import-torch",
    is_flag=True,
    help="Import torch there and let it start CUDA: slower, and sees what only that shows.",
)
@click.option(
    "--matrix",
    is_flag=True,
    help="Print which versions work together, and where this machine stands.",
)
@click.option(
    "--from",
    "source",
    callback=options.path_name,
    metavar="FILE",
    help="Audit a saved snapshot instead (- for stdin).",
)
@click.option(
    "--save",
    callback=options.path_name,
    metavar="FILE",
    help="Write what the probes saw, redacted (- for stdout).",
)
@click.option(
    "--html", "page", callback=options.path_name, metavar="FILE", help="Write the page too."
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@options.apply(
    options.output,
    options.formats_of(FORMATS),
    options.open_page,
    options.force,
    options.quiet,
)
@click.option("-v", "--verbose", count=True, help="Every check, with evidence, fix and source.")
@options.apply(options.no_color)
@click.pass_context
def doctor(
    ctx: click.Context,
    /,
    *,
    output: str | None,
    formats: tuple[str, ...] | None,
    as_json: bool,
    matrix: bool,
    **given: Any,
) -> None:
    """Find what keeps CUDA, torch or ncu from working here, and say how to fix it.

    The driver, toolkits, GPUs, torch and ncu are looked at and compared with each other; nothing
    is changed. Exit status: 0 no error, 1 an error was found, 2 the audit could not be done or
    nothing could be judged.
    """
    settings = Settings(**given)
    _check(settings)
    to = _destination(_formats(formats, as_json=as_json), output, settings)
    _check_matrix(settings, matrix=matrix, other=bool(output or formats or as_json))
    seen = _seen(settings)
    _save(seen, settings)
    _tell_faults(seen, settings)
    if matrix:
        click.echo(_matrix(seen, settings), nl=False)
        if settings.page is not None or settings.open_page:
            _pages(_audited(seen, settings), [], to, settings)
        return
    reports = _audited(seen, settings)
    report = reports.local
    _deliver(reports, to, settings)
    if not report.judged:
        raise BadSnapshot(
            "nothing could be judged: no check has the facts that it needs",
            hint="kprof doctor --save FILE writes them all; docs/doctor.md says how they are named",
        )
    ctx.exit(ERRORS if report.of("error") else 0)


@dataclass(frozen=True, slots=True)
class _Reports:
    """One audit for its two readers: who sits at the machine, and anybody else."""

    local: DoctorReport  # commands with this machine's own paths, to be copied
    found: Audit
    seen: Snapshot

    def of(self, kind: str) -> DoctorReport:
        if kind == "text":
            return self.local
        return document(self.found, self.seen.shareable, self.seen.conceal)


def _audited(seen: Snapshot, settings: Settings) -> _Reports:
    found = audit(seen.facts, settings.purpose)
    return _Reports(result(found, seen.shareable), found, seen)


def _check_matrix(settings: Settings, *, matrix: bool, other: bool) -> None:
    if matrix and other:
        raise click.UsageError("--matrix is text on standard output; the page has it too")
    if matrix and settings.save == STDOUT:
        raise click.UsageError("standard output has room for one: give --save a file")


def _formats(formats: tuple[str, ...] | None, *, as_json: bool) -> tuple[str, ...] | None:
    if as_json and formats not in (None, ("json",)):
        raise click.UsageError("--json and another --format exclude each other")
    return ("json",) if as_json else formats


def _check(settings: Settings) -> None:
    """Refuse what does not go together, before anything is looked at."""
    looking = {
        "--python": settings.python is not None,
        "--import-torch": settings.import_torch,
        "--save": settings.save is not None,
    }
    for name, given in looking.items():
        if given and settings.source is not None:
            raise click.UsageError(f"{name} looks at this machine, --from at a file")
    if settings.page == STDOUT:
        raise click.UsageError("--html needs a file; --format html writes to standard output")
    for path in (settings.page, settings.save):
        if path is not None and path != STDOUT:
            outputs.check_free(Path(path), force=settings.force)


def _destination(
    formats: tuple[str, ...] | None, path: str | None, settings: Settings
) -> Destination:
    to = delivery.destination(formats, path, force=settings.force, known=FORMATS)
    unknown = [name for name in to.formats if name not in FORMATS]
    if unknown:
        raise click.UsageError(f"an audit is written as {', '.join(FORMATS)}, not {unknown[0]}")
    if settings.save == STDOUT and to.path is None and formats is not None:
        raise click.UsageError("standard output has room for one: give --save or -o a file")
    places = _outputs(to, settings)
    _keep_distinct(places)
    if settings.source is not None:
        _keep_apart(places, Path(settings.source))
    return to


def _outputs(to: Destination, settings: Settings) -> list[Path]:
    """Return every file that will be written."""
    named = [Path(one) for one in (settings.save, settings.page) if one and one != STDOUT]
    if to.path is not None and to.directory:
        return [*named, *(to.path / f"doctor{outputs.SUFFIXES[kind]}" for kind in to.formats)]
    return [*named, to.path] if to.path is not None else named


def _keep_distinct(named: Sequence[Path]) -> None:
    """Refuse two outputs of one name, whatever ``--force`` says; a device takes any number."""
    seen: set[str] = set()
    for path in named:
        place = presence.real(path)
        if place in seen and (presence.is_file(path) or not presence.exists(path)):
            raise OutputExists(
                f"two outputs would be written to {path}", hint="give each a file of its own"
            )
        seen.add(place)


def _keep_apart(named: Sequence[Path], source: Path) -> None:
    for path in named:
        if presence.real(path) == presence.real(source):
            raise OutputExists(
                f"the output {path} would replace the snapshot", hint="choose another name"
            )


def _seen(settings: Settings) -> Snapshot:
    if settings.source == STDOUT:
        return doctor_input.read(sys.stdin.buffer, "standard input")
    if settings.source is not None:
        return doctor_input.load(settings.source)
    interpreter, why = choose_python(settings.python, os.environ)
    if settings.python is not None:
        check_python(interpreter)
    if not settings.quiet:
        click.echo(f"python: {printable(interpreter)} ({why})", err=True)
    return doctor_input.look(interpreter, import_torch=settings.import_torch)


def _tell_faults(seen: Snapshot, settings: Settings) -> None:
    if settings.quiet:
        return
    silent = seen.facts.text("errors.python")
    if silent:
        told = one_line(silent)[:300]
        click.echo(f"Warning: {told}; what is installed there is not known", err=True)
    for fault in seen.facts.faults:
        click.echo(f"Warning: in the snapshot, {one_line(fault)}: not used", err=True)


def _save(seen: Snapshot, settings: Settings) -> None:
    if settings.save == STDOUT:
        click.echo(seen.text(), nl=False)
    elif settings.save is not None:
        snapshot = (Path(settings.save), seen.text())
        delivery.write([snapshot], force=settings.force, quiet=settings.quiet)


def _matrix(seen: Snapshot, settings: Settings) -> str:
    from kprof.audit.standing import standing
    from kprof.doctor_matrix import matrix_text

    return matrix_text(
        standing(seen.facts),
        width=options.terminal_width(),
        color=options.colored(no_color=settings.no_color),
        verbose=settings.verbose,
    )


def _render(kind: str, reports: _Reports, to: Destination, settings: Settings) -> str:
    report = reports.of(kind)
    if kind == "html":
        from kprof import doctor_html

        return doctor_html.render(report)
    if kind == "text":
        from kprof import doctor_text

        told = to.path is None and not settings.quiet  # on standard error
        return doctor_text.summary(
            replace(report, faults=()) if told else report,
            width=options.terminal_width(),
            color=to.path is None and options.colored(no_color=settings.no_color),
            verbose=settings.verbose,
        )
    from kprof import doctor_export

    return doctor_export.to_json(report) if kind == "json" else doctor_export.github(report)


def _deliver(reports: _Reports, to: Destination, settings: Settings) -> None:
    written: list[Path] = []
    if settings.save != STDOUT or to.path is not None:
        written += delivery.bring(
            lambda kind: _render(kind, reports, to, settings), to, "doctor", quiet=settings.quiet
        )
    _pages(reports, written, to, settings)


def _pages(reports: _Reports, written: list[Path], to: Destination, settings: Settings) -> None:
    if settings.page is not None:
        page = (Path(settings.page), _render("html", reports, to, settings))
        written += delivery.write([page], force=settings.force, quiet=settings.quiet)
    if settings.open_page:
        delivery.open_in_browser(_page(reports, written, to, settings), quiet=settings.quiet)


def _page(reports: _Reports, written: list[Path], to: Destination, settings: Settings) -> Path:
    pages = [path for path in written if outputs.format_of(path) == "html"]
    if pages:
        return pages[0]
    page = Path(tempfile.mkdtemp(prefix="kprof-")) / "doctor.html"
    outputs.write(page, _render("html", reports, to, settings))
    return page
