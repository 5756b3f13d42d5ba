"""Following the process that runs a bench file: what it tells, whether it lives, its end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kprof import process
from kprof.bench import worker as program
from kprof.collect import tree
from kprof.errors import BenchFailed
from kprof.names import one_line

_POLL_S = 0.05
_GRACE_S = 1.0
_TAIL_BYTES = 4096

Event = Mapping[str, Any]


class Ended(Exception):
    """The process ended, or was ended, before it had done what it was told.

    Attributes:
        during: the last step that it began.
        hung: whether it was ended because a step took too long.
        message: why.
    """

    def __init__(self, during: Event, message: str, *, hung: bool = False) -> None:
        super().__init__(message)
        self.during, self.message, self.hung = during, message, hung


class Worker:
    """A process that runs a bench file."""

    def __init__(self, python: str, folder: Path, job: Mapping[str, Any], step_s: float) -> None:
        """Start it.

        Args:
            python: the target's interpreter.
            folder: an empty one, for what is said to and fro.
            job: see :mod:`kprof.bench.worker`.
            step_s: seconds that each step may take.

        Raises:
            BenchFailed: it cannot be started.
        """
        self._folder, self._step_s, self._orders = folder, step_s, 0
        self._read, self._during = 0, {"step": "start"}
        said = json.dumps({**job, "parent": os.getpid()})
        (folder / "job.json").write_text(said, encoding="utf-8")
        self._events = folder / "events.jsonl"
        self._events.touch()
        self._others = set(tree.descendants(os.getpid()))
        try:
            self._child = process.start(command(python, folder), output=self._output)
        except OSError as error:
            raise BenchFailed(
                f"{python} cannot be started: {error.strerror}", hint="choose one with --python"
            ) from error

    def order(self, step: str, **fields: Any) -> Iterator[Event]:
        """Tell it what to do and yield what it says, until it is done.

        Raises:
            Ended: it ended before.
        """
        write_orders(self._folder, self._orders, step, **fields)
        self._orders += 1
        for event in self.events():
            if event["event"] == "finished":
                return
            yield event

    def events(self) -> Iterator[Event]:
        """Yield what it says, without what begins.

        Raises:
            Ended: it ended, a step took too long, or the GPU was lost.
        """
        began = time.monotonic()
        while True:
            over = process.ended(self._child, _POLL_S)
            for event in self._new():
                began = time.monotonic()
                if event["event"] == "begin":
                    self._during = dict(event)
                elif event["event"] == "lost":
                    raise Ended(self._during, str(event["message"]))
                else:
                    yield event
            if over:
                raise Ended(self._during, self._why())
            if time.monotonic() - began > self._step_s:
                said = f"no end after {self._step_s:g} s"
                raise Ended(self._during, said, hung=True)

    def unread(self) -> Iterator[Event]:
        """Yield what it has said and nobody has read yet, without waiting for more."""
        yield from (event for event in self._new() if event["event"] != "begin")

    def close(self) -> None:
        """Let it go, or end it, and everything that it started."""
        with contextlib.suppress(OSError):
            write_orders(self._folder, self._orders, "quit")
        if not process.ended(self._child, _GRACE_S):
            tree.end_all([self._child.pid], grace_s=_GRACE_S)
            self._child.wait()

    def kill(self) -> None:
        """End it at once, and everything that it started."""
        if self._child.poll() is None:
            tree.end_all([self._child.pid], grace_s=0.0)
            self._child.wait()
        # Where it ended first, as by a terminal's Ctrl-C, what it started is kprof's to end.
        left = [pid for pid in tree.descendants(os.getpid()) if pid not in self._others]
        if left:
            tree.end_all(left, grace_s=0.0)

    @property
    def _output(self) -> Path:
        return self._folder / "output.txt"

    def _new(self) -> Iterator[Event]:
        with self._events.open("rb") as file:
            file.seek(self._read)
            # The last line may not be there as a whole yet.
            lines = file.read().split(b"\n")
        for line in lines[:-1]:
            self._read += len(line) + 1  # one by one: a signal may end this in between
            yield json.loads(line)

    def _why(self) -> str:
        status = self._child.wait()
        how = f"signal {_signal(-status)}" if status < 0 else f"exit status {status}"
        said = last_line(self._output)
        return f"its process ended with {how}" + (f": {said}" if said else "")


def command(python: str, folder: Path) -> list[str]:
    """Return the command line of a process for the job in a folder."""
    return [python, str(Path(program.__file__).resolve()), str(folder)]


def write_orders(folder: Path, number: int, step: str, **fields: Any) -> None:
    """Write an order where the process looks for it: whole, or not at all."""
    place = folder / f"orders-{number}.json"
    fresh = place.with_suffix(".part")
    fresh.write_text(json.dumps({"step": step, **fields}), encoding="utf-8")
    fresh.replace(place)


def last_line(path: Path) -> str:
    """Return the last line of what a process wrote, shortened; empty when it wrote nothing."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    lines = [line for line in text.splitlines() if line.strip()]
    return one_line(lines[-1])[:200] if lines else ""


def _signal(number: int) -> str:
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)
