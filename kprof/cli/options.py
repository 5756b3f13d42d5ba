"""Options that several commands share, each defined once."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from kprof.formats import FORMATS

SEVERITIES = ("high", "medium", "low")

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def formats_of(known: Sequence[str]) -> Decorator:
    """Return the option ``--format`` of a command that writes these formats."""

    def chosen(
        ctx: click.Context, param: click.Parameter, value: str | None
    ) -> tuple[str, ...] | None:
        names = _names(ctx, param, value.lower() if value else value)
        for name in names or ():
            if name not in known:
                raise click.BadParameter(f"{name!r} is not one of {', '.join(known)}")
        return names

    return click.option(
        "--format",
        "formats",
        callback=chosen,
        metavar="NAME,...",
        help=f"One or more of {', '.join(known)}.",
    )


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
    if not names:
        raise click.BadParameter("names nothing")
    return names


def _pattern(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> re.Pattern[str] | None:
    try:
        return None if value is None else re.compile(value)
    except re.error as error:
        raise click.BadParameter(f"{value!r} is not a regular expression: {error}") from error


def _renames(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[tuple[str, Path], ...]:
    found = []
    for word in value:
        start, equals, folder = word.partition("=")
        if not (start and equals and folder):
            raise click.BadParameter(f"{word!r} is not FROM=TO")
        if not Path(folder).is_dir():
            raise click.BadParameter(f"{folder!r} is no folder")
        found.append((start, Path(folder)))
    return tuple(found)


def path_name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse an empty name, which would stand for the current folder: a variable was not set."""
    if value is not None and not value.strip():
        raise click.BadParameter("the name is empty")
    return value


formats = formats_of(FORMATS)
output = click.option(
    "-o",
    "--output",
    callback=path_name,
    metavar="PATH",
    help="File: its suffix picks the format, unless --format does. Directory: a name that is one or "
    "ends in /, any name with several formats, and one without suffix where no format is given.",
)
force = click.option("--force", is_flag=True, help="Overwrite what -o names.")
open_page = click.option("--open", "open_page", is_flag=True, help="Open the page in a browser.")
fail_on = click.option(
    "--fail-on",
    type=click.Choice([*SEVERITIES, "never"]),
    default="never",
    show_default=True,
    help="Exit with 1 when a finding is at least this severe.",
)
quiet = click.option("-q", "--quiet", is_flag=True, help="No messages, only results and errors.")
verbose = click.option("-v", "--verbose", count=True, help="All kernels, findings and numbers.")
no_color = click.option("--no-color", is_flag=True, help="Plain text, also with NO_COLOR set.")
kernel = click.option(
    "--kernel", callback=_pattern, metavar="REGEX", help="Only kernels whose name this is found in."
)
rules = click.option("--rules", callback=_names, metavar="NAME,...", help="Only these rules.")
source_dir = click.option(
    "--source-dir",
    "source_dirs",
    multiple=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Where source files are that the report does not hold; repeatable.",
)
source_map = click.option(
    "--source-map",
    "source_map",
    multiple=True,
    metavar="FROM=TO",
    callback=_renames,
    help="Look for sources compiled below FROM in the folder TO; repeatable.",
)
rules_dir = click.option(
    "--rules-dir", metavar="DIR", help="Further rules: a directory of Python files."
)


def apply(*decorators: Decorator) -> Decorator:
    """Combine options into one decorator that lists them in this order."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return wrap


def terminal_width() -> int:
    """Return the columns of the terminal, 80 when there is none."""
    return shutil.get_terminal_size((80, 24)).columns


def colored(*, no_color: bool) -> bool:
    """Say whether results on stdout may carry colour."""
    return not no_color and not os.environ.get("NO_COLOR") and sys.stdout.isatty()
