"""Reading a snapshot from a file that anybody may have made."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from kprof.audit.facts import MAX_BYTES, Facts, parse
from kprof.errors import BadSnapshot

_HINT = "kprof doctor --save FILE writes a snapshot"


def load(path: Path | str) -> Facts:
    """Read a snapshot file; pipes and devices are read as far as a snapshot can be long.

    Raises:
        BadSnapshot: it cannot be read, or is no snapshot of a schema this version knows.
    """
    try:
        with Path(path).open("rb") as file:
            return read(file, str(path))
    except (OSError, ValueError) as error:  # a name may hold a null byte
        reason = getattr(error, "strerror", None) or str(error)
        raise BadSnapshot(f"{path} cannot be read: {reason}", hint=_HINT) from error


def read(file: BinaryIO, name: str) -> Facts:
    """Read a snapshot from an open stream.

    Args:
        file: the stream, read to its end or to the most a snapshot may have.
        name: what to call it in messages.

    Raises:
        BadSnapshot: it is too long, or no snapshot of a schema this version knows.
    """
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise BadSnapshot(
            f"{name} is longer than a snapshot may be ({MAX_BYTES // 2**20} MiB)", hint=_HINT
        )
    if not data.strip():
        raise BadSnapshot(f"{name} is empty", hint=_HINT)
    try:
        return parse(data.decode("utf-8-sig"), path=name)
    except UnicodeDecodeError as error:
        raise BadSnapshot(f"{name} is no text", hint=_HINT) from error
