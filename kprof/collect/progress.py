"""Following ncu's log while it grows.

::

    ==PROF== Connected to process 4711 (/usr/bin/python3)
    ==PROF== Profiling "vector_add" - 0: 0%....50%....100% - 12 passes
    ==PROF== Disconnected from process 4711
    ==PROF== Report: /tmp/x.ncu-rep

The percentages arrive while the kernel is replayed, so a line is useful before it ends; and ncu
may break into it with another message. Other versions write ``"name": 0%`` or
``"name" - 0 (1/3): 0%``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["connected", "started", "finished", "warning", "error", "report"]

_START = re.compile(r'==PROF== Profiling "(?P<name>.*)"(?: - (?P<number>\d+))?(?=[:\s]|$)')
_PASSES = re.compile(r"100% - (?P<passes>\d+) pass(?:es)?\b")
_CONNECTED = re.compile(r"==PROF== Connected to process \d+ \((?P<program>.*)\)")
_DISCONNECTED = "==PROF== Disconnected from process "
_REPORT = re.compile(r"==PROF== Report: (?P<path>.*)")
_MESSAGE = re.compile(r"==(?P<level>WARNING|ERROR)== (?P<text>.*)")
_AVAILABLE = re.compile(r"\s*\d+\. (?P<name>.+)")
_EXIT = re.compile(r"The application returned an error code \((?P<status>\d+)\)")
_FAILED = re.compile(r'Failed to profile "')
# A program with many kernels may get as many warnings; the first say it all.
_KEPT = 1000
_BROKEN_INTO = re.compile(r"(?<!^)(?===(?:PROF|WARNING|ERROR)== )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing ncu said.

    Attributes:
        kind: ``started`` and ``finished`` are of a kernel.
        text: kernel name, message, program or path.
        passes: replay passes of a finished kernel.
    """

    kind: Kind
    text: str
    passes: int | None = None


@dataclass(slots=True)
class NcuLog:
    """Everything ncu said so far.

    Attributes:
        profiled: kernels finished.
        passes: passes of the kernel that needed most, 0 before the first.
        programs: processes ncu connected to.
        warnings: its first warnings.
        errors: its first errors.
        available: kernels it saw while nothing matched the filter.
        nothing_profiled: it said that no kernel was profiled.
        target_status: the target's exit status where ncu printed one.
    """

    profiled: int = 0
    passes: int = 0
    programs: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    available: list[str] = field(default_factory=list)
    nothing_profiled: bool = False
    target_status: int | None = None
    _pending: str = ""
    _running: tuple[str | None, str] | None = None
    _replaying: bool = False
    _connected: int = 0
    _listing: bool = False

    @property
    def replaying(self) -> str | None:
        """The kernel that ncu is working on, None while the program runs by itself."""
        return self._running[1] if self._running and self._replaying else None

    def feed(self, text: str) -> list[Event]:
        """Take more of the log and return what is new in it."""
        *lines, self._pending = (self._pending + text).split("\n")
        events = [event for line in lines for event in self._line(line)]
        return events + self._unfinished(self._pending)

    def close(self) -> list[Event]:
        """Take what is left as the last line."""
        return self.feed("\n") if self._pending else []

    def _line(self, line: str) -> list[Event]:
        return [event for part in _BROKEN_INTO.split(line) for event in self._part(part)]

    def _part(self, part: str) -> list[Event]:
        part = part.rstrip("\r")
        events = self._start(part) + self._finish(part)
        if found := _CONNECTED.match(part):
            self._connected += 1
            self.programs.append(found["program"])
            events.append(Event("connected", found["program"]))
        elif part.startswith(_DISCONNECTED):
            self._leave()
        elif found := _REPORT.match(part):
            events.append(Event("report", found["path"]))
        elif found := _MESSAGE.match(part):
            events.append(self._message(found["level"], found["text"].strip()))
        else:
            self._list(part)
        return events

    def _unfinished(self, part: str) -> list[Event]:
        # Only the start can be told from half a line; the rest waits for its end.
        if "%" not in part:
            return []
        events = self._start(part)
        self._replaying |= self._running is not None
        return events

    def _start(self, part: str) -> list[Event]:
        found = _START.match(part)
        if found is None or (found["number"], found["name"]) == self._running:
            return []
        self._running = (found["number"], found["name"])
        self._replaying = "%" in part[found.end() :]
        return [Event("started", found["name"])]

    def _finish(self, part: str) -> list[Event]:
        found = _PASSES.search(part)
        if found is None or self._running is None:
            return []
        name, passes = self._running[1], int(found["passes"])
        self._running, self._replaying = None, False
        self.profiled += 1
        self.passes = max(self.passes, passes)
        return [Event("finished", name, passes)]

    def _message(self, level: str, text: str) -> Event:
        self.nothing_profiled |= "No kernels were profiled" in text
        if found := _EXIT.search(text):
            self.target_status = int(found["status"])
        if _FAILED.match(text):
            self._running, self._replaying = None, False
        said = self.warnings if level == "WARNING" else self.errors
        if len(said) < _KEPT:
            said.append(text)
        return Event("warning" if level == "WARNING" else "error", text)

    def _leave(self) -> None:
        # The lines do not say whose kernel it was: with the last process gone it is nobody's.
        self._connected -= 1
        if self._connected <= 0:
            self._replaying = False

    def _list(self, part: str) -> None:
        if part.strip() == "Available Kernels:":
            self._listing = True
        elif self._listing and (found := _AVAILABLE.fullmatch(part)):
            self.available.append(found["name"].strip())
