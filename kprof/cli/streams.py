"""The standard streams, whatever they are when kprof starts: closed, full, of a small encoding."""

from __future__ import annotations

import contextlib
import io
import os
import sys

import click


def prepare() -> None:
    """Make the streams usable.

    A closed one would be taken by the next file that is opened, and what is meant for the stream
    would land in there. Characters that a stream cannot hold are replaced.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None and not _is_open(number):
            setattr(sys, name, _placeholder(number))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def complain(what: str | click.ClickException) -> None:
    """Print to standard error; where that is impossible the exit status has to do."""
    with contextlib.suppress(OSError):
        if isinstance(what, str):
            click.echo(what, err=True)
        else:
            what.show()


def silence_stdout() -> None:
    """Send what is still buffered nowhere: it would raise again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _placeholder(number: int) -> io.TextIOWrapper | None:
    # Standard output is opened for reading, so that a result that goes nowhere is an error.
    # The numbers below are taken already: the system gives this file the one that is free.
    opened = os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    if opened != number:
        return None
    os.set_inheritable(opened, True)
    return open(
        opened, "r" if number == 0 else "w", encoding="utf-8", errors="replace", closefd=False
    )
