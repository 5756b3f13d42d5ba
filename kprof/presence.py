"""Whether something is at a path, whatever the system refuses on the way to it.

``pathlib`` raises where a folder above may not be searched or a name is too long; a search for a
program must pass such places over, and what the user named must become a message.
"""

from __future__ import annotations

import os
from pathlib import Path


def is_file(path: Path | str) -> bool:
    """Say whether a file can be seen there."""
    return os.path.isfile(path)  # noqa: PTH113 - pathlib raises


def is_dir(path: Path | str) -> bool:
    """Say whether a directory can be seen there."""
    return os.path.isdir(path)  # noqa: PTH112 - pathlib raises


def exists(path: Path | str) -> bool:
    """Say whether anything can be seen there, links followed."""
    return os.path.exists(path)  # noqa: PTH110 - pathlib raises


def real(path: Path | str) -> str:
    """Return the absolute name without links; a loop of links stays as it is."""
    return os.path.realpath(path)


def refusal(path: Path | str) -> str | None:
    """Return why the system does not show what is at a path, None when it does or it is absent."""
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return error.strerror or str(error)
    except ValueError:
        return "the name holds a null byte"
    return None
