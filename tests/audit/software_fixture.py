"""A machine made of a few files and programs, for the probes of the software."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kprof.audit.probes.machine import Machine
from kprof.audit.probes.target_child import MARK
from kprof.process import Completed

PYTHON = "/opt/venv/bin/python"
SITE = "/opt/venv/lib/python3.11/site-packages"
LOOK = {
    "executable": PYTHON,
    "version": "3.11.7",
    "prefix": "/opt/venv",
    "base_prefix": "/usr",
    "path": ["/usr/lib/python3.11", SITE],
    "torch": None,
}

Reply = Completed | bytes | None


def said(facts: object) -> bytes:
    """What the script in the target's interpreter prints."""
    return f"{MARK}{json.dumps(facts)}\n".encode()


@dataclass
class Fake:
    """A file tree, an environment, and what programs answer by the words in their command line."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)
    replies: dict[tuple[str, ...], Reply] = field(default_factory=dict)
    started: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.answers(LOOK, "look")

    def answers(self, facts: object, *words: str) -> None:
        """Let the target's interpreter answer these arguments of the script."""
        self.replies[words] = said(facts)

    def machine(self) -> Machine:
        return Machine(self.root, self.environ, PYTHON, self._run)

    def put(self, name: str, content: str | bytes = b"", *, program: bool = False) -> Path:
        path = self.root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if program:
            path.chmod(0o755)
        return path

    def install(self, name: str, version: str, metadata: str = "", record: str = "") -> None:
        folder = f"{SITE}/{name}-{version}.dist-info"
        self.put(f"{folder}/METADATA", metadata)
        self.put(f"{folder}/RECORD", record)

    def _run(
        self, argv: Sequence[str], environ: Mapping[str, str], timeout_s: float
    ) -> Completed | None:
        self.started.append(list(argv))
        words = [word.removeprefix(str(self.root)) for word in argv]
        for wanted, reply in self.replies.items():
            if set(wanted) <= set(words):
                return Completed(0, reply, b"") if isinstance(reply, bytes) else reply
        return None


def library(
    *,
    needed: Sequence[str] = (),
    soname: str | None = None,
    rpath: str | None = None,
    runpath: str | None = None,
) -> bytes:
    """A 64-bit shared library that consists of its dynamic section."""
    strings = b"\0"
    entries: list[tuple[int, int]] = []
    wanted = [*((1, name) for name in needed), (14, soname), (15, rpath), (29, runpath)]
    for tag, text in wanted:
        if text is not None:
            entries.append((tag, len(strings)))
            strings += text.encode() + b"\0"
    base = 0x10000  # where the file is mapped: offsets and addresses differ
    start = 64 + 2 * 56
    strings_at = start + (len(entries) + 2) * 16
    table = b"".join(
        struct.pack("<qQ", tag, value) for tag, value in [*entries, (5, base + strings_at), (0, 0)]
    )
    size = strings_at + len(strings)
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 4096)
    dynamic = struct.pack("<IIQQQQQQ", 2, 6, start, base + start, 0, len(table), len(table), 8)
    return header + load + dynamic + table + strings
