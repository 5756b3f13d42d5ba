"""Bring rendered reports to stdout, a file or a directory, as ``-o`` and ``--format`` say."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import click

from kprof import output, presence
from kprof.errors import OutputExists
from kprof.formats import BINARY, Job, render
from kprof.inputs import stem

IN_A_DIRECTORY = ("html", "json")
STDOUT = "-"


@dataclass(frozen=True)
class Destination:
    """Where results go, checked before any work is done.

    Attributes:
        formats: at least one.
        path: None for stdout.
        directory: whether ``path`` is a directory to make.
        force: whether to overwrite.
    """

    formats: tuple[str, ...]
    path: Path | None
    directory: bool = False
    force: bool = False


def destination(
    formats: tuple[str, ...] | None,
    path: str | None,
    *,
    force: bool,
    known: Iterable[str] = tuple(output.SUFFIXES),
) -> Destination:
    """Understand ``--format`` and ``-o`` together.

    Args:
        formats: what ``--format`` says.
        path: what ``-o`` says.
        force: whether to overwrite.
        known: the formats there are, for messages.

    Raises:
        click.UsageError: they do not go together.
        KprofError: the output exists or could not be written.
    """
    if path is None or path == STDOUT:
        return _to_stdout(formats or ("text",))
    target = Path(path)
    if _is_directory(path, formats):
        if presence.exists(target) and not force:
            output.check_free(target)
        return Destination(formats or IN_A_DIRECTORY, target, directory=True, force=force)
    chosen = formats or _by_suffix(target, known)
    output.check_free(target, force=force)
    return Destination(chosen, target, force=force)


def check_apart(to: Destination, inputs: Iterable[Path]) -> None:
    """Refuse an output that would replace an input, whatever ``--force`` says.

    Raises:
        OutputExists: it would.
    """
    if to.path is None:
        return
    place = presence.real(to.path)
    ends = tuple(output.SUFFIXES[name] for name in to.formats)
    for path in inputs:
        real = Path(presence.real(path))
        inside = to.directory and str(real.parent) == place and real.name.endswith(ends)
        if inside or str(real) == place:
            raise OutputExists(
                f"the output {to.path} would replace the report {path}",
                hint="choose another name or folder with -o",
            )


def deliver(job: Job, to: Destination, *, quiet: bool = False) -> list[Path]:
    """Render and write; return the files written, empty for stdout.

    Raises:
        KprofError: a format cannot be rendered or a file cannot be written.
    """
    if to.path is None:
        content = render(to.formats[0], job)
        click.echo(content, nl=False)
        return []
    if to.directory:
        outputs = _files(output.new_directory(to.path, force=to.force), to.formats, job)
    else:
        outputs = {to.path: (to.formats[0], job)}
    return _write(outputs, force=to.force, quiet=quiet)


def bring(
    contents: Callable[[str], str | bytes], to: Destination, name: str, *, quiet: bool = False
) -> list[Path]:
    """Write one document in every format asked for; return the files, empty for stdout.

    Args:
        contents: renders it in a format.
        to: where it goes.
        name: of the files in a directory, without suffix.
        quiet: do not tell what was written.

    Raises:
        KprofError: a file cannot be written.
    """
    if to.path is None:
        click.echo(contents(to.formats[0]), nl=False)
        return []
    if to.directory:
        folder = output.new_directory(to.path, force=to.force)
        places = {folder / f"{name}{output.SUFFIXES[kind]}": kind for kind in to.formats}
    else:
        places = {to.path: to.formats[0]}
    rendered = ((path, contents(kind)) for path, kind in places.items())
    return write(rendered, force=to.force, quiet=quiet)


def deliver_into(folder: Path, job: Job, *, force: bool) -> list[Path]:
    """Write page and JSON into a folder that is there already."""
    return _write(_files(folder, IN_A_DIRECTORY, job), force=force, quiet=True)


def page_of(job: Job, written: list[Path]) -> Path:
    """Return the page among the files written, or one made for the purpose in a temporary place."""
    pages = [path for path in written if output.format_of(path) == "html"]
    if pages:
        return pages[0]
    page = Path(tempfile.mkdtemp(prefix="kprof-")) / f"{stem(job.reports[0].source.path)}.html"
    output.write(page, render("html", _only(job, 0)))
    return page


def open_in_browser(page: Path, *, quiet: bool = False) -> None:
    """Open a page, or say where it is when no browser can be started."""
    if not webbrowser.open(page.resolve().as_uri()):
        click.echo(f"No browser could be started; the page is {page}", err=True)
    elif not quiet:
        click.echo(f"Opened {page}", err=True)


def write(contents: Iterable[tuple[Path, str | bytes]], *, force: bool, quiet: bool) -> list[Path]:
    """Write files, tell of each, and return their paths.

    Raises:
        KprofError: one cannot be written.
    """
    written = []
    for path, content in contents:
        output.write(path, content, force=force)
        written.append(path)
        if not quiet:
            click.echo(f"Wrote {path}", err=True)
    return written


def _write(outputs: dict[Path, tuple[str, Job]], *, force: bool, quiet: bool) -> list[Path]:
    rendered = ((path, render(name, part)) for path, (name, part) in outputs.items())
    return write(rendered, force=force, quiet=quiet)


def _to_stdout(formats: tuple[str, ...]) -> Destination:
    if len(formats) > 1:
        raise click.UsageError("several formats need a directory: -o DIR")
    if formats[0] in BINARY and sys.stdout.isatty():
        raise click.UsageError(f"{formats[0]} is binary: give -o FILE or redirect the output")
    return Destination(formats, None)


def _is_directory(path: str, formats: tuple[str, ...] | None) -> bool:
    if len(formats or ()) > 1 or path.endswith("/") or presence.is_dir(path):
        return True
    return formats is None and not Path(path).suffix and not presence.exists(path)


def _by_suffix(path: Path, known: Iterable[str]) -> tuple[str, ...]:
    name = output.format_of(path)
    if name is None:
        suffixes = ", ".join(output.SUFFIXES[kind] for kind in known)
        raise click.UsageError(
            f"the suffix of {path} says no format: use one of {suffixes}, or --format"
        )
    return (name,)


def _files(folder: Path, formats: tuple[str, ...], job: Job) -> dict[Path, tuple[str, Job]]:
    stems = [stem(report.source.path) for report in job.reports] if job.several else ["report"]
    names = output.unused_names(stems[: len(job.reports)])
    return {
        folder / f"{name}{output.SUFFIXES[kind]}": (kind, _only(job, place))
        for place, name in enumerate(names)
        for kind in formats
    }


def _only(job: Job, place: int) -> Job:
    return dataclasses.replace(job, reports=(job.reports[place],), failures=(), several=False)
