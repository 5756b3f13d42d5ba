"""Where a profile run writes: the user's folder, and a private one inside it for ncu."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from kprof import output, presence
from kprof.errors import OutputExists, OutputNotWritable

REPORT = "report.ncu-rep"
LOG = "ncu.log"
# A run in depth of the first launches alone, where what was to follow did not come to its end.
FIRST = "first-launches.ncu-rep"
# What a profile keeps of its runs in depth, and of its survey.
_DEPTH = re.compile(r"(?:report(?:-\d+)?|first-launches|follow-up)\.ncu-rep(?:\.xz)?")
_SURVEY = re.compile(r"survey\.(?:ncu-rep|tsv)(?:\.xz)?")
_ANY = re.compile(f"{_DEPTH.pattern}|{_SURVEY.pattern}")
_WRITTEN = (REPORT, f"{REPORT}.xz", "report.json", "report.html")


@contextlib.contextmanager
def folder(asked: str | None, default: str, *, force: bool) -> Iterator[Path]:
    """Create the output folder; one that is still empty at the end is removed again.

    Args:
        asked: what ``-o`` names, None without it.
        default: name to count up from without ``-o``.
        force: the folder may exist.

    Raises:
        OutputExists: it exists and ``force`` is not given.
        OutputNotWritable: the system refuses.
    """
    new = asked is None or not presence.exists(asked)
    if asked is None:
        path = output.unused_directory(Path(default))
    else:
        path = output.new_directory(Path(asked), force=force)
    if not os.access(path, os.W_OK | os.X_OK):
        raise OutputNotWritable(f"{path} cannot be written", hint="choose another -o")
    for name in _WRITTEN:  # before the target runs for nothing
        if presence.is_dir(path / name):
            raise OutputExists(f"{path / name} is a directory", hint="choose another -o")
    try:
        yield path
    finally:
        if new:
            with contextlib.suppress(OSError):  # not empty: something was kept
                path.rmdir()


@contextlib.contextmanager
def scratch(path: Path) -> Iterator[Path]:
    """Make a folder for ncu's files that no other run and no user shares, and remove it at the end.

    It is inside ``path``, so that a report of gigabytes is renamed and not copied, unless that
    holds a %: ncu 2025.3 expands %p, %h and the like in --export.

    Raises:
        OutputNotWritable: the system refuses.
    """
    parent = None if "%" in presence.real(path) else path
    try:
        if parent is not None:  # another run with the same -o may have removed it, being empty
            parent.mkdir(parents=True, exist_ok=True)
        made = tempfile.mkdtemp(prefix=".kprof-", dir=parent)
    except OSError as error:
        raise OutputNotWritable(
            f"{path} cannot be written: {error.strerror}", hint="choose another -o"
        ) from error
    try:
        yield Path(made)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def remove_outdated(kept: Collection[Path]) -> None:
    """Remove what an earlier profile has left (``--force``) and new files have made untrue.

    A new survey alone replaces the earlier one, in whatever form that was kept; a run in depth
    replaces everything.

    Args:
        kept: the files of the new profile.
    """
    new = {path.name for path in kept}
    untrue = _ANY if any(_DEPTH.fullmatch(name) for name in new) else _SURVEY
    for folder in {path.parent for path in kept}:
        with contextlib.suppress(OSError):  # it may be written and not listed
            for path in sorted(folder.iterdir()):
                if path.name not in new and untrue.fullmatch(path.name):
                    path.unlink(missing_ok=True)


def keep(report: Path, kept: Path) -> None:
    """Move ncu's report to where the user looks for it: whole or not at all.

    Raises:
        OutputNotWritable: the system refuses.
    """
    try:
        if report.stat().st_dev == kept.parent.stat().st_dev:
            report.replace(kept)
        else:
            _move_across(report, kept)
    except OSError as error:
        raise OutputNotWritable(
            f"{kept} cannot be written: {error.strerror or error}",
            hint="free space, or choose another place with -o",
        ) from error


def _move_across(report: Path, kept: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".kprof-", dir=kept.parent) as near:
        shutil.copyfile(report, Path(near) / REPORT)
        (Path(near) / REPORT).replace(kept)
