"""Starting other programs: the only module that does.

:func:`run` waits for a program and returns what it wrote, bounded in time and memory;
:class:`Ready` does so in two steps, for a program that needs long to start.
:func:`start` starts one that shares kprof's terminal and returns at once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kprof.signals import HeldSignals

try:
    import resource
except ImportError:  # Windows, where reports can still be analysed
    resource = None  # type: ignore[assignment]

# A program that is running, as start() returns it.
Child = subprocess.Popen[bytes]

# How long to wait for the pipes of a group that has been killed; a process that left the group
# may hold them open, and its output is not worth waiting for.
_DRAIN_S = 2.0

# Bytes that a program may write to each of its outputs before it is ended: far more than any that
# kprof asks, and little enough for every machine.
MAX_OUTPUT_BYTES = 64 * 2**20
# The same for a program that answers in a few lines.
SHORT_OUTPUT_BYTES = 2**20
_PIECE_BYTES = 64 * 2**10
_FED_BYTES = 512  # POSIX: a pipe that is ready takes as much without blocking

# What run() waits for at the moment, in whichever thread, and how often all of that was ended. A
# thread that has yet to start its program is told by that number: see as_of().
_waited_for: set[Child] = set()
_ends = 0
_known = threading.local()
_starting = threading.Lock()
# Longest wait for another thread that is starting a program: a file system may hang there.
_START_S = 1.0


@dataclass(frozen=True, slots=True)
class Completed:
    """A program that has ended.

    Attributes:
        returncode: its exit status, negative for the signal that ended it.
        stdout: everything it wrote there, up to the limit.
        stderr: everything it wrote there, up to the limit.
        timed_out: True when kprof ended it because its time was up.
        cut: True when kprof ended it because it wrote more than the limit.
    """

    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    cut: bool = False


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    timeout_s: float | None,
    env: Mapping[str, str] | None = None,
    input_bytes: bytes | None = None,
    memory_limit_bytes: int | None = None,
    cwd: Path | None = None,
    max_output_bytes: int = MAX_OUTPUT_BYTES,
) -> Completed:
    """Run a program to its end in a process group of its own.

    Args:
        argv: the program and its arguments; no shell is involved.
        timeout_s: seconds until the whole group is killed, None for no limit.
        env: its whole environment, None for kprof's own.
        input_bytes: its standard input; None means an empty one.
        memory_limit_bytes: limit of its address space, where the system has such limits.
        cwd: its working directory.
        max_output_bytes: what is kept of each output; writing more ends the whole group. Windows
            has no such limit.

    Raises:
        OSError: the program cannot be started.
    """
    stdin = subprocess.DEVNULL if input_bytes is None else subprocess.PIPE
    with HeldSignals() as signals:
        child = _in_group(argv, stdin, env, cwd)
        with _waiting_for(child):
            signals.release()
            _limit_memory(child.pid, memory_limit_bytes)
            return _waited(child, _pipes(child, input_bytes, max_output_bytes), timeout_s)


class Ready:
    """A program that has started and waits for its input, in a process group of its own."""

    def __init__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        env: Mapping[str, str] | None = None,
        memory_limit_bytes: int | None = None,
        cwd: Path | None = None,
    ) -> None:
        """Start it; see :func:`run`.

        Raises:
            OSError: the program cannot be started.
        """
        with HeldSignals() as signals:
            self._child = _in_group(argv, subprocess.PIPE, env, cwd)
            try:
                signals.release()
                _limit_memory(self._child.pid, memory_limit_bytes)
            except BaseException:
                self.end()
                raise

    @property
    def ended(self) -> bool:
        """Whether it has ended without its input."""
        return self._child.poll() is not None

    def run(self, input_bytes: bytes, *, timeout_s: float | None) -> Completed:
        """Give it its input, and return what it wrote when it has ended; see :func:`run`."""
        with _waiting_for(self._child):
            return _waited(
                self._child, _pipes(self._child, input_bytes, MAX_OUTPUT_BYTES), timeout_s
            )

    def end(self) -> None:
        """Kill it and its group, should nobody want it any more."""
        with self._child:
            _kill_group(self._child)
        _waited_for.discard(self._child)


def _in_group(
    argv: Sequence[str | os.PathLike[str]],
    stdin: int,
    env: Mapping[str, str] | None,
    cwd: Path | None,
) -> Child:
    with _starting:  # end_all() misses none that is started here, and none is started after it
        if getattr(_known, "ends", _ends) != _ends:
            raise OSError(errno.ECANCELED, os.strerror(errno.ECANCELED))
        child = subprocess.Popen(
            [os.fspath(part) for part in argv],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
        _waited_for.add(child)
        return child


@contextlib.contextmanager
def _waiting_for(child: Child) -> Iterator[None]:
    with child:
        try:
            yield
        except BaseException:  # Ctrl-C included: nothing may stay behind
            _kill_group(child)
            raise
        finally:
            _waited_for.discard(child)


def _waited(child: Child, pipes: _Pipes | _Threads, timeout_s: float | None) -> Completed:
    """Wait for the program, and end it when its time is up or an output is full."""
    timed_out = False
    with contextlib.closing(pipes):
        try:
            pipes.exchange(timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        if timed_out or pipes.full:
            _kill_group(child)
            with contextlib.suppress(subprocess.TimeoutExpired):
                pipes.exchange(_DRAIN_S)
        stdout, stderr = pipes.kept()
    return Completed(child.wait(), stdout, stderr, timed_out=timed_out, cut=pipes.full)


class _Pipes:
    """A program's pipes: its input is fed, and its outputs are kept up to a limit.

    Attributes:
        full: an output had more than the limit, and the rest is not read.
    """

    def __init__(self, child: Child, input_bytes: bytes | None, limit: int) -> None:
        self._child, self._limit = child, limit
        self._unfed = memoryview(input_bytes or b"")
        self._kept = {pipe.fileno(): bytearray() for pipe in (child.stdout, child.stderr) if pipe}
        self._open = selectors.PollSelector()
        for descriptor in self._kept:
            self._open.register(descriptor, selectors.EVENT_READ)
        if child.stdin is not None:
            self._open.register(child.stdin.fileno(), selectors.EVENT_WRITE)
        self.full = False

    def exchange(self, timeout_s: float | None) -> None:
        """Feed and read until the program has ended or an output is full.

        Raises:
            subprocess.TimeoutExpired: its time is up.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self._open.get_map() and not self.full:
            for key, _ in self._open.select(self._left(deadline)):
                self._take(key.fd) if key.fd in self._kept else self._feed(key.fd)
        if not self.full:
            self._child.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))

    def kept(self) -> tuple[bytes, bytes]:
        """Return what was read of the outputs."""
        stdout, stderr = map(bytes, self._kept.values())
        return stdout, stderr

    def close(self) -> None:
        """Close the pipes; a process that left the group may hold their other ends."""
        self._open.close()
        for pipe in (self._child.stdin, self._child.stdout, self._child.stderr):
            if pipe is not None:
                pipe.close()

    def _left(self, deadline: float | None) -> float | None:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise subprocess.TimeoutExpired(self._child.args, 0)
        return left

    def _take(self, descriptor: int) -> None:
        kept = self._kept[descriptor]
        piece = os.read(descriptor, _PIECE_BYTES)
        if not piece:
            self._open.unregister(descriptor)
        self.full = self.full or len(kept) + len(piece) > self._limit
        kept += piece[: self._limit - len(kept)]

    def _feed(self, descriptor: int) -> None:
        with contextlib.suppress(BrokenPipeError):  # it ended, or does not want the rest
            self._unfed = self._unfed[os.write(descriptor, self._unfed[:_FED_BYTES]) :]
            if self._unfed:
                return
        self._open.unregister(descriptor)
        if self._child.stdin is not None:
            self._child.stdin.close()


class _Threads:
    """The same where pipes cannot be waited for (Windows): the standard library's own threads."""

    full = False

    def __init__(self, child: Child, input_bytes: bytes | None) -> None:
        self._child, self._input = child, input_bytes
        self._kept = (b"", b"")

    def exchange(self, timeout_s: float | None) -> None:
        """Feed and read until the program has ended; see :meth:`_Pipes.exchange`."""
        self._kept = self._child.communicate(self._input, timeout=timeout_s)

    def kept(self) -> tuple[bytes, bytes]:
        """Return what was read of the outputs of a program that has ended."""
        return self._kept

    def close(self) -> None:
        """Leave the pipes to the program's own end."""


def _pipes(child: Child, input_bytes: bytes | None, limit: int) -> _Pipes | _Threads:
    if hasattr(selectors, "PollSelector"):
        return _Pipes(child, input_bytes, limit)
    return _Threads(child, input_bytes)


def is_waiting() -> bool:
    """Say whether :func:`run` waits for a program at the moment, in whichever thread."""
    return bool(_waited_for)


def end_all() -> None:
    """Kill every program that :func:`run` waits for; the waiting threads see it end."""
    global _ends
    held = _starting.acquire(timeout=_START_S)
    try:
        _ends += 1
        for child in tuple(_waited_for):
            if child.returncode is None:
                _kill_group(child)
    finally:
        if held:
            _starting.release()


def ends() -> int:
    """Return how often all programs were ended, for :func:`as_of`."""
    return _ends


def as_of(known: int) -> None:
    """Let this thread start no program any more once all were ended again.

    Args:
        known: what :func:`ends` returned when the thread was given its work.
    """
    _known.ends = known


def start(
    argv: Sequence[str | os.PathLike[str]],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    output: Path | None = None,
) -> Child:
    """Start a program on kprof's own standard input, output and error.

    It stays in kprof's process group: only the terminal's foreground group may read the
    keyboard, and Ctrl-C reaches all of it.

    Args:
        argv: the program and its arguments; no shell is involved.
        env: its whole environment, None for kprof's own.
        cwd: its working directory.
        output: a file for what it writes, None for kprof's own streams. It reads kprof's standard
            input then only if that is a file, since nobody would see what it asks.

    Raises:
        OSError: the program cannot be started.
    """
    words = [os.fspath(part) for part in argv]
    if output is None:
        return subprocess.Popen(words, env=env, cwd=cwd)
    stdin = None if _is_file(0) else subprocess.DEVNULL
    with output.open("wb") as file:
        return subprocess.Popen(
            words, env=env, cwd=cwd, stdin=stdin, stdout=file, stderr=subprocess.STDOUT
        )


def _is_file(descriptor: int) -> bool:
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode)
    except OSError:  # closed
        return False


def ended(child: Child, timeout_s: float) -> bool:
    """Wait up to ``timeout_s`` seconds and say whether the program has ended."""
    try:
        child.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def _limit_memory(pid: int, limit_bytes: int | None) -> None:
    # Set from outside, after the start: code between fork and exec is not safe in a process
    # with threads. A program needs longer to grow than this takes.
    if limit_bytes is not None and resource is not None and hasattr(resource, "prlimit"):
        with contextlib.suppress(ProcessLookupError):
            _, most = resource.prlimit(pid, resource.RLIMIT_AS)
            if (
                most == resource.RLIM_INFINITY or limit_bytes < most
            ):  # nobody may raise a hard limit
                resource.prlimit(pid, resource.RLIMIT_AS, (limit_bytes, limit_bytes))


def _kill_group(child: Child) -> None:
    if not hasattr(os, "killpg"):
        child.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
