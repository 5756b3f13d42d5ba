"""Running ncu: the target keeps kprof's standard streams, ncu's log is followed, all of it ends."""

from __future__ import annotations

import codecs
import io
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kprof import process
from kprof.collect import stop, tree
from kprof.collect.progress import Event, NcuLog
from kprof.errors import KprofError, NcuFailed, OutputNotWritable

KERNEL_TIMEOUT_S = 600.0
_POLL_S = 0.1
_ORPHAN_GRACE_S = 1.0
# No look counts for more: between two of them kprof itself may have been stopped (Ctrl-Z).
_LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Collected:
    """How a run of ncu ended.

    Attributes:
        report: the file ncu wrote, None when there is none.
        log: what ncu said.
        status: ncu's exit status, negative for the signal that ended it.
        target_exit: the target's exit status, None when not known.
        signum: the signal that asked kprof to stop, None without one.
        timed_out: kprof's own time limit ended the run.
        elapsed_s: wall time.
        hung: the kernel that ncu got no further with, so that kprof ended the run; else None.
    """

    report: Path | None
    log: NcuLog
    status: int
    target_exit: int | None
    signum: int | None
    timed_out: bool
    elapsed_s: float
    hung: str | None = None


def collect(
    argv: Sequence[str],
    *,
    report: Path,
    log: Path,
    timeout_s: float | None = None,
    kernel_timeout_s: float = KERNEL_TIMEOUT_S,
    env: Mapping[str, str] | None = None,
    output: Path | None = None,
    on_event: Callable[[Event], None] = lambda _: None,
) -> Collected:
    """Run ncu to its end, or until Ctrl-C, SIGTERM or a time limit, and leave nothing running.

    Args:
        argv: the whole command line.
        report: the file named in it as ``--export``.
        log: the file named in it as ``--log-file``.
        timeout_s: seconds for the whole run, None for no limit.
        kernel_timeout_s: seconds that ncu may work on one kernel without getting any further, 0
            for no limit. The program's own work between kernels does not count.
        env: environment of the run, None for kprof's own.
        output: file for what the target writes, None for kprof's own streams.
        on_event: called for everything ncu says, while it says it.

    Raises:
        NcuFailed: ncu cannot be started.
        OutputNotWritable: the file for the target's output cannot be written.
    """
    began = time.monotonic()
    follower = _Follower(log, on_event)
    with stop.catching_signals() as signals, tree.adopting_orphans():
        mine = set(tree.descendants(os.getpid()))
        try:
            child = process.start(argv, env=env, output=output)
        except OSError as error:
            raise _not_started(argv, output, error) from error
        try:
            watchdog = _Watchdog(kernel_timeout_s, lambda: _written(report, log))
            timed_out = _wait(child, follower, signals, watchdog, timeout_s)
            if timed_out or watchdog.hung or signals.first is not None:
                stop.stop(child, signals, written=lambda: _written(report, log))
        finally:
            _leave_nothing(child, mine)
        follower.finish()
    status = child.wait()
    return Collected(
        report=report if _written(report) else None,
        log=follower.parsed,
        status=status,
        target_exit=_target_exit(status, follower.parsed),
        signum=signals.first,
        timed_out=timed_out,
        elapsed_s=time.monotonic() - began,
        hung=watchdog.hung,
    )


def watch(
    argv: Sequence[str],
    *,
    trace: Path,
    timeout_s: float | None,
    env: Mapping[str, str],
    output: Path | None,
) -> Collected:
    """Run the target itself, without ncu, as :func:`collect` does.

    Args:
        argv: its command line.
        trace: the file that what it writes is gathered in, not there yet.
        timeout_s: seconds for the whole run, None for no limit.
        env: environment of the run.
        output: file for what the target writes, None for kprof's own streams.

    Raises:
        NcuFailed: it cannot be started.
    """
    log = trace.with_suffix(".log")  # nobody writes one
    ended = collect(argv, report=trace, log=log, timeout_s=timeout_s, env=env, output=output)
    status = ended.status if ended.status >= 0 else 128 - ended.status  # as a shell counts
    return replace(ended, target_exit=status)


def _not_started(argv: Sequence[str], output: Path | None, error: OSError) -> KprofError:
    if output is not None and str(error.filename) == str(output):
        return OutputNotWritable(
            f"{output.parent} cannot be written: {error.strerror}",
            hint="see that the disk has space, and that nothing removes files below -o meanwhile",
        )
    return NcuFailed(f"{argv[0]} cannot be started: {error.strerror}")


def _wait(
    child: process.Child,
    follower: _Follower,
    signals: stop.Signals,
    watchdog: _Watchdog,
    timeout_s: float | None,
) -> bool:
    # True when the time for all of it was up.
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    while not process.ended(child, _POLL_S):
        follower.pump()
        if signals.first is not None or watchdog.bites(follower.parsed.replaying):
            return False
        if deadline is not None and time.monotonic() >= deadline:
            return True
    return False


def _leave_nothing(child: process.Child, mine: set[int]) -> None:
    # A clean run may leave a daemon on purpose, as it would without kprof. After a failure
    # whatever is left was abandoned.
    if child.poll() is None:
        tree.end_all([child.pid], grace_s=_ORPHAN_GRACE_S)
    left = [pid for pid in tree.descendants(os.getpid()) if pid not in mine]
    if child.poll() != 0 and left:
        tree.end_all(left, grace_s=_ORPHAN_GRACE_S)


def _target_exit(status: int, log: NcuLog) -> int | None:
    # ncu ends with its target's status and says so. Any other status is ncu's own.
    if log.target_status is not None:
        return log.target_status
    return 0 if status == 0 else None


def _written(*paths: Path) -> int:
    return sum(_size(path) for path in paths)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # not there yet, or removed meanwhile
        return 0


class _Watchdog:
    """Notices a kernel that ncu gets no further with."""

    def __init__(self, limit_s: float, written: Callable[[], int]) -> None:
        self.hung: str | None = None
        self._limit_s = limit_s
        self._written = written  # grows with every step of a replay
        self._before: tuple[str | None, int] = (None, 0)
        self._idle_s = 0.0
        self._looked = time.monotonic()

    def bites(self, kernel: str | None) -> bool:
        """Look again; ``kernel`` is what ncu works on, None when it is the program's turn."""
        now, before = time.monotonic(), self._before
        self._before = (kernel, self._written())
        if kernel is None or self._before != before:
            self._idle_s = 0.0
        else:
            self._idle_s += min(now - self._looked, _LOOK_S)
        self._looked = now
        if self._limit_s and self._idle_s >= self._limit_s:
            self.hung = kernel
        return self.hung is not None


class _Follower:
    """Reads a growing log file."""

    def __init__(self, path: Path, on_event: Callable[[Event], None]) -> None:
        self.parsed = NcuLog()
        self._path = path
        self._on_event = on_event
        self._file: io.FileIO | None = None  # stays open: what is removed can still be read
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def pump(self) -> None:
        if self._file is None:
            try:
                self._file = io.FileIO(self._path)
            except OSError:  # not there yet
                return
        self._tell(self.parsed.feed(self._decoder.decode(self._file.readall())))

    def finish(self) -> None:
        self.pump()
        if self._file is not None:
            self._file.close()
        self._tell(self.parsed.close())

    def _tell(self, events: list[Event]) -> None:
        for event in events:
            self._on_event(event)
