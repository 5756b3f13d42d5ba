"""From what the user named to the report files to read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kprof import presence
from kprof.errors import KprofError, UnreadableReport

SUFFIXES = (".ncu-rep", ".nsight-cuprof-report")
COMPRESSIONS = ("", ".xz", ".gz")


@dataclass(frozen=True, slots=True)
class Failure:
    """An input that gave no report.

    Attributes:
        path: as the user named it, or as found in a directory.
        cause: one line.
        hint: what to do next, None where nothing can be advised.
    """

    path: str
    cause: str
    hint: str | None = None

    @classmethod
    def of(cls, path: Path | str, error: KprofError) -> Failure:
        """Keep an error beside the input it belongs to."""
        return cls(str(path), error.message, error.hint)


def expand(arguments: Iterable[Path | str]) -> tuple[Path | Failure, ...]:
    """Return the report files behind files and directories, in the order given.

    A directory stands for every report below it (``.ncu-rep``, ``.nsight-cuprof-report``, also
    ``.xz`` and ``.gz``), sorted by path. A file is taken whatever its name. A file that is named
    twice is read once. What does not exist, holds no report or may not be looked into becomes a
    :class:`Failure` in its place so that the other inputs still get their turn.
    """
    found: list[Path | Failure] = []
    seen: set[str] = set()
    for argument in arguments:
        try:
            paths = _behind(argument)
        except UnreadableReport as error:
            found.append(Failure.of(argument, error))
            continue
        for path in paths:
            real = presence.real(path) if isinstance(path, Path) else None
            if real is None or real not in seen:
                found.append(path)
            if real is not None:
                seen.add(real)
    return tuple(found)


def is_report_name(name: str) -> bool:
    """Say whether a file of this name is taken from a directory."""
    lower = name.lower()
    return any(lower.endswith(suffix + end) for suffix in SUFFIXES for end in COMPRESSIONS)


def stem(path: Path | str) -> str:
    """Return the file's name without the suffixes of a report."""
    name = Path(path).name
    for end in COMPRESSIONS[1:]:
        name = name.removesuffix(end)
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name or "report"


def _behind(argument: Path | str) -> Sequence[Path | Failure]:
    if not os.fspath(argument):
        raise UnreadableReport("an empty path names no report", hint="name a file or a directory")
    path = Path(argument)
    if presence.is_dir(path):
        return _below(path)
    reason = presence.refusal(path)
    if reason is not None:
        raise UnreadableReport(f"{path} cannot be read: {reason}", hint=_check(path))
    if not os.path.lexists(path):
        raise UnreadableReport(f"{path} does not exist", hint="check the path")
    return [path]


def _below(folder: Path) -> Sequence[Path | Failure]:
    """Return the reports below a folder, then the folders that could not be looked into."""
    refused: list[OSError] = []
    paths = sorted(_walk(folder, refused.append))
    if not paths and not refused:
        raise UnreadableReport(
            f"no report in the directory {folder}",
            hint=f"reports end in {' or '.join(SUFFIXES)}, optionally with .xz or .gz",
        )
    return [*paths, *(_unsearched(error) for error in refused)]


def _walk(folder: Path, refuse: Callable[[OSError], None]) -> Iterator[Path]:
    # os.walk does not follow links to directories, so a link to a parent cannot loop.
    for place, _, names in os.walk(folder, onerror=refuse):
        yield from (Path(place, name) for name in names if is_report_name(name))


def _unsearched(error: OSError) -> Failure:
    path = str(error.filename)
    return Failure(
        path, f"the directory {path} cannot be searched: {error.strerror}", _check(Path(path))
    )


def _check(path: Path) -> str:
    if os.path.islink(path):  # noqa: PTH114 - pathlib raises
        return "the link may lead back to itself; name the file it was meant for"
    return "check the name, and that you may read it and search the folders above it"


def sha256(path: Path) -> str:
    """Return the hex digest of a file's bytes, of which few are in memory at a time.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
