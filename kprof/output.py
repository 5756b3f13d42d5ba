"""Where results go: whole files or none, and nothing overwritten unasked."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from kprof import presence
from kprof.errors import OutputExists, OutputNotWritable

_FORMATS = {
    ".txt": "text",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
    ".md": "markdown",
    ".markdown": "markdown",
    ".sarif": "sarif",
    ".github": "github",
}
SUFFIXES = {
    "text": ".txt",
    "html": ".html",
    "json": ".json",
    "csv": ".csv",
    "parquet": ".parquet",
    "markdown": ".md",
    "sarif": ".sarif",
    "github": ".github",
}


def format_of(path: Path) -> str | None:
    """Return the format a file's suffix stands for, None when it stands for none."""
    return _FORMATS.get(path.suffix.lower())


def check_free(path: Path, *, force: bool = False) -> None:
    """Fail early, before hours of work, when ``path`` could not be written at the end.

    Raises:
        OutputExists: it exists and ``force`` is not given.
        OutputNotWritable: its folder does not exist or cannot be written.
    """
    if os.path.lexists(path) and not force and not _is_stream(path):
        raise OutputExists(f"{path} already exists", hint="choose another name or add --force")
    folder = path.parent
    reason = presence.refusal(path)
    if reason is not None:
        raise OutputNotWritable(
            f"{path} cannot be written: {reason}", hint="choose another place with -o"
        )
    if not presence.is_dir(folder):
        raise OutputNotWritable(f"the folder {folder} does not exist", hint=f"mkdir -p {folder}")
    if not os.access(folder, os.W_OK | os.X_OK) and not _is_stream(path):
        raise OutputNotWritable(f"the folder {folder} cannot be written", hint="choose another -o")


def write(path: Path, content: str | bytes, *, force: bool = False) -> None:
    """Write a whole file: whoever looks sees the old one, none, or the complete new one.

    Text is written as UTF-8. An existing pipe or device (``/dev/stdout``) is written to directly.

    Raises:
        OutputExists: it exists and ``force`` is not given.
        OutputNotWritable: the system refuses; nothing is left behind.
    """
    check_free(path, force=force)
    data = content.encode("utf-8") if isinstance(content, str) else content
    with _refusals(path):
        if _is_stream(path):
            path.write_bytes(data)
        else:
            _replace(path, data)


def new_directory(path: Path, *, force: bool = False) -> Path:
    """Create the directory the user asked for, its parents too, and return it.

    Raises:
        OutputExists: it exists and ``force`` is not given, or it is a file.
        OutputNotWritable: the system refuses.
    """
    with _refusals(path):
        try:
            path.mkdir(parents=True)
        except FileExistsError as error:
            if not presence.is_dir(path):
                raise OutputExists(
                    f"{path} is a file, not a directory", hint="choose another -o"
                ) from error
            if not force:
                raise OutputExists(
                    f"{path} already exists", hint="choose another name or add --force"
                ) from error
    return path


def unused_directory(base: Path) -> Path:
    """Create and return ``base``, or ``base-2``, ``base-3``, …: the first that is not there.

    Raises:
        OutputNotWritable: the system refuses.
    """
    with _refusals(base):
        for number in itertools.count(1):
            path = base if number == 1 else base.with_name(f"{base.name}-{number}")
            with contextlib.suppress(FileExistsError):
                path.mkdir()
                return path
    raise AssertionError("unreachable: the count does not end")


def unused_names(names: list[str]) -> list[str]:
    """Return the names with ``-2``, ``-3``, … where one repeats, in the same order."""
    taken: set[str] = set()
    result = []
    for name in names:
        numbered = (name if n == 1 else f"{name}-{n}" for n in itertools.count(1))
        free = next(candidate for candidate in numbered if candidate not in taken)
        taken.add(free)
        result.append(free)
    return result


def _replace(path: Path, data: bytes) -> None:
    # In the same folder, so that the rename stays within one file system and is atomic.
    temporary = path.with_name(f".{path.name[:100]}.{os.getpid()}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _is_stream(path: Path) -> bool:
    return presence.exists(path) and not presence.is_file(path) and not presence.is_dir(path)


@contextlib.contextmanager
def _refusals(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputNotWritable(
            f"{path} cannot be written: {error.strerror or error}",
            hint="choose another place with -o",
        ) from error
