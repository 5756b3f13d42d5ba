"""From what the user named to the report files to read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

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
    twice is read once. What does not exist, or holds no report, becomes a :class:`Failure` in
    its place so that the other inputs still get their turn.
    """
    found: list[Path | Failure] = []
    seen: set[Path] = set()
    for argument in arguments:
        try:
            paths = _behind(Path(argument))
        except UnreadableReport as error:
            found.append(Failure.of(argument, error))
            continue
        fresh = [path for path in paths if path.resolve() not in seen]
        seen.update(path.resolve() for path in fresh)
        found.extend(fresh)
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


def _behind(path: Path) -> Sequence[Path]:
    if path.is_dir():
        paths = sorted(_walk(path))
        if not paths:
            raise UnreadableReport(
                f"no report in the directory {path}",
                hint=f"reports end in {' or '.join(SUFFIXES)}, optionally with .xz or .gz",
            )
        return paths
    if not os.path.lexists(path):
        raise UnreadableReport(f"{path} does not exist", hint="check the path")
    return [path]


def _walk(folder: Path) -> Iterator[Path]:
    # os.walk does not follow links to directories, so a link to a parent cannot loop.
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names if is_report_name(name))
