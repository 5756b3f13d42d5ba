"""Which file the dynamic loader would take for a library name.

The order is that of ld.so(8): the RPATH of the object that asks and of those that brought it in
(unless it has a RUNPATH), ``LD_LIBRARY_PATH``, its RUNPATH, the cache of ldconfig, the system's
folders.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from kprof.audit.probes import elf
from kprof.audit.probes.machine import Machine, output

_LDCONFIG_S = 3.0
_SYSTEM = (
    "/lib64",
    "/usr/lib64",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib",
    "/usr/lib",
)
_CACHED = re.compile(r"^\s+(\S+) \(libc6,(?:x86-64|AArch64)[^)]*\) => (/.+)$", re.MULTILINE)


class Loader:
    """The loader as a new process in the machine's environment would meet it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._cache: dict[str, str] | None = None
        self._read: dict[str, elf.Dynamic | None] = {}

    def dynamic(self, path: str) -> elf.Dynamic | None:
        """Return what a library asks for, None when it is none that can be loaded."""
        if path not in self._read:
            self._read[path] = elf.dynamic(self._machine.path(path))
        return self._read[path]

    def find(self, name: str, chain: Sequence[str] = ()) -> str | None:
        """Return the file for a name.

        Args:
            name: as libraries ask for it, ``libcudart.so.12``.
            chain: the library that asks, then the one that brought it in, and so on.
        """
        for folder in self._folders(chain):
            path = f"{folder}/{name}"
            if self.dynamic(path) is not None:
                return path
        cached = self._cached().get(name)
        if cached is not None:
            return cached
        return next((f"{f}/{name}" for f in _SYSTEM if self.dynamic(f"{f}/{name}")), None)

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder."""
        return self._machine.names(folder)

    def library_path(self) -> list[str]:
        """Return the absolute folders of ``LD_LIBRARY_PATH``."""
        entries = re.split("[:;]", self._machine.environ.get("LD_LIBRARY_PATH", ""))
        return [os.path.normpath(entry) for entry in entries if entry.startswith("/")]

    def _folders(self, chain: Sequence[str]) -> Iterator[str]:
        asks = self.dynamic(chain[0]) if chain else None
        if asks is None or not asks.runpath:
            for path in chain:
                seen = self.dynamic(path)
                if seen is not None and not seen.runpath:
                    yield from _expanded(seen.rpath, path)
        yield from self.library_path()
        if asks is not None:
            yield from _expanded(asks.runpath, chain[0])

    def _cached(self) -> dict[str, str]:
        if self._cache is None:
            listed = output(self._machine.run([self._machine.tool("ldconfig"), "-p"], _LDCONFIG_S))
            self._cache = {}
            for name, path in _CACHED.findall(listed or ""):
                self._cache.setdefault(name, path)
        return self._cache


def _expanded(folders: Sequence[str], path: str) -> Iterator[str]:
    origin = os.path.dirname(path)  # noqa: PTH120 - a text of another machine's tree
    for folder in folders:
        place = re.sub(r"\$ORIGIN|\$\{ORIGIN\}", lambda _: origin, folder)
        if place.startswith("/"):
            yield os.path.normpath(place)
