"""Where the doctor's facts come from: the probes, or a file that anybody may have made."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from kprof.audit.facts import MAX_BYTES, SCHEMA, Facts, parse
from kprof.doctor_result import plain
from kprof.errors import BadSnapshot
from kprof.names import json_printable

_HINT = "kprof doctor --save FILE writes a snapshot"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known of a machine.

    Attributes:
        facts: as they were seen, for the checks: their commands need real paths.
        shareable: the same without what tells who and where, for documents.
        conceal: does the same to a text about this machine; None for a file, which is shown as
            it is.
    """

    facts: Facts
    shareable: Mapping[str, Any]
    conceal: Callable[[str], str] | None = None

    def text(self) -> str:
        """Return the shareable form as the text of a snapshot file."""
        from kprof.audit.probes.run import dump

        taken = {"taken": self.facts.taken} if self.facts.taken else {}
        return json_printable(dump({"schema": SCHEMA, **taken, "facts": plain(self.shareable)}))


def look(python: str, *, import_torch: bool = False) -> Snapshot:
    """Look at this machine; takes a second or two, and up to a minute with ``import_torch``.

    Args:
        python: the interpreter whose torch is looked at, a path.
        import_torch: wait for torch's import to its end.
    """
    from kprof.audit.probes.machine import Machine
    from kprof.audit.probes.run import probe
    from kprof.audit.redact import Redactor

    machine = Machine(python=python)
    seen = probe(machine, import_torch=import_torch)
    facts = Facts(seen["facts"], taken=seen["taken"])
    redactor = Redactor.of(facts.raw(), machine.environ)
    return Snapshot(facts, redactor.facts(facts.raw()), redactor.text)


def load(path: Path | str) -> Snapshot:
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


def read(file: BinaryIO, name: str) -> Snapshot:
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
        facts = parse(data.decode(_encoding(data)), path=name)
    except UnicodeDecodeError as error:
        raise BadSnapshot(f"{name} is no text", hint=_HINT) from error
    return Snapshot(facts, facts.raw())


def _encoding(data: bytes) -> str:
    # Windows PowerShell writes what is sent to a file in UTF-16, with a mark in front.
    return "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
