"""Stopping ncu so that what it has measured is kept and nothing stays behind.

ncu 2025.3 ignores a SIGINT of its own while it profiles; one that reaches its target as well, as
Ctrl-C at a terminal does, makes it end the target and write the report at once. Where it does not
(the signal was ignored when it started, or the target hangs), ending the target lets ncu finish as
usual. SIGTERM makes ncu drop the target and leave: that comes last (docs/decisions/0009).
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType

from kprof import process
from kprof.collect import tree
from kprof.signals import ENDING, heard_by

# Ctrl-C at a terminal reaches ncu and the target too; they get this long before a second one.
_SHARED_GRACE_S = 2.0
# The rest add up to some 13 s when nobody answers. Each grows while ncu writes: up to a limit
# while the target lives, since a target that goes on gives ncu more to write.
_SAVE_GRACE_S = 5.0
_SAVE_LIMIT_S = 20.0
_TARGET_GRACE_S = 3.0
_TARGET_LIMIT_S = 120.0
_LAST_GRACE_S = 2.0
_POLL_S = 0.1


@dataclass(slots=True)
class Signals:
    """Signals that asked kprof to stop, in the order they came."""

    seen: list[int] = field(default_factory=list)

    @property
    def first(self) -> int | None:
        """The one that decides the exit status."""
        return self.seen[0] if self.seen else None


@contextlib.contextmanager
def catching_signals() -> Iterator[Signals]:
    """Note SIGINT, SIGTERM and SIGHUP instead of dying; a signal that is ignored stays ignored."""
    signals = Signals()

    def note(signum: int, _frame: FrameType | None) -> None:
        signals.seen.append(signum)

    with heard_by(note, ENDING):
        yield signals


def stop(child: process.Child, signals: Signals, *, written: Callable[[], int]) -> None:
    """End ncu and its target, gently first.

    Args:
        child: ncu, or its launcher.
        signals: a further signal skips the waiting.
        written: how much ncu has written; while that grows ncu is saving and is given more time.
    """
    wait = _Wait(child, signals, written, len(signals.seen))
    if signals.first == signal.SIGINT and wait.ended(_SHARED_GRACE_S, _SHARED_GRACE_S):
        return
    heard = [pid for pid in _profiler(child.pid) if not tree.ignores(pid, signal.SIGINT)]
    tree.send([*heard, *_target(child.pid)], signal.SIGINT)
    if heard and wait.ended(_SAVE_GRACE_S, _SAVE_LIMIT_S):
        return
    for signum in (signal.SIGTERM, signal.SIGKILL):
        tree.send(_target(child.pid), signum)
        if wait.ended(_TARGET_GRACE_S, _TARGET_LIMIT_S):
            return
    tree.send(_profiler(child.pid), signal.SIGTERM)
    if not process.ended(child, _LAST_GRACE_S):
        tree.send([child.pid, *tree.descendants(child.pid)], signal.SIGKILL)
        child.wait()


@dataclass(frozen=True, slots=True)
class _Wait:
    child: process.Child
    signals: Signals
    written: Callable[[], int]
    asked: int

    def ended(self, grace_s: float, limit_s: float) -> bool:
        """Wait for the child while it writes, ``limit_s`` at most; over when the user asks again."""
        size, now = self.written(), time.monotonic()
        deadline, last = now + grace_s, now + limit_s
        while time.monotonic() < min(deadline, last) and len(self.signals.seen) == self.asked:
            if process.ended(self.child, _POLL_S):
                return True
            if self.written() != size:
                size, deadline = self.written(), time.monotonic() + grace_s
        return self.child.poll() is not None


def _profiler(pid: int) -> list[int]:
    # The child itself may be the launcher script; the tool below it is named ncu as well.
    return [pid, *(below for below in tree.descendants(pid) if _is_profiler(below))]


def _target(pid: int) -> list[int]:
    return [below for below in tree.descendants(pid) if not _is_profiler(below)]


def _is_profiler(pid: int) -> bool:
    # TreeLauncherSubreaper sits between ncu and the processes it follows.
    return tree.name(pid).startswith(("ncu", "TreeLauncher"))
