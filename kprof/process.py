"""Starting other programs: the only module that does.

:func:`run` waits for a program and returns what it wrote, bounded in time and memory.
:func:`start` starts one that shares kprof's terminal and returns at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

try:
    import resource
except ImportError:  # Windows, where reports can still be analysed
    resource = None  # type: ignore[assignment]

# A program that is running, as start() returns it.
Child = subprocess.Popen[bytes]

# How long to wait for the pipes of a group that has been killed; a process that left the group
# may hold them open, and its output is not worth waiting for.
_DRAIN_S = 2.0

# What run() waits for at the moment, in whichever thread.
_waited_for: set[Child] = set()


@dataclass(frozen=True, slots=True)
class Completed:
    """A program that has ended.

    Attributes:
        returncode: its exit status, negative for the signal that ended it.
        stdout: everything it wrote there.
        stderr: everything it wrote there.
        timed_out: True when kprof ended it because its time was up.
    """

    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    timeout_s: float | None,
    env: Mapping[str, str] | None = None,
    input_bytes: bytes | None = None,
    memory_limit_bytes: int | None = None,
    cwd: Path | None = None,
) -> Completed:
    """Run a program to its end in a process group of its own.

    Args:
        argv: the program and its arguments; no shell is involved.
        timeout_s: seconds until the whole group is killed, None for no limit.
        env: its whole environment, None for kprof's own.
        input_bytes: its standard input; None means an empty one.
        memory_limit_bytes: limit of its address space, where the system has such limits.
        cwd: its working directory.

    Raises:
        OSError: the program cannot be started.
    """
    child = subprocess.Popen(
        [os.fspath(part) for part in argv],
        stdin=subprocess.DEVNULL if input_bytes is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        cwd=cwd,
        start_new_session=True,
    )
    _waited_for.add(child)
    with child:
        try:
            if memory_limit_bytes is not None:
                _limit_memory(child.pid, memory_limit_bytes)
            stdout, stderr = child.communicate(input_bytes, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            stdout, stderr = _kill_and_drain(child)
            return Completed(child.wait(), stdout, stderr, timed_out=True)
        except BaseException:  # Ctrl-C included: nothing may stay behind
            _kill_and_drain(child)
            raise
        finally:
            _waited_for.discard(child)
    return Completed(child.returncode, stdout, stderr)


def end_all() -> None:
    """Kill every program that :func:`run` waits for; the waiting threads see it end."""
    for child in tuple(_waited_for):
        if child.returncode is None:
            _kill_group(child)


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


def _limit_memory(pid: int, limit_bytes: int) -> None:
    # Set from outside, after the start: code between fork and exec is not safe in a process
    # with threads. A program needs longer to grow than this takes.
    if resource is not None and hasattr(resource, "prlimit"):
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_AS, (limit_bytes, limit_bytes))


def _kill_and_drain(child: Child) -> tuple[bytes, bytes]:
    _kill_group(child)
    try:
        return child.communicate(timeout=_DRAIN_S)
    except subprocess.TimeoutExpired as late:
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                pipe.close()
        # The standard library keeps the bytes read so far on the exception, from 3.5 as bytes.
        return bytes(late.stdout or b""), bytes(late.stderr or b"")


def _kill_group(child: Child) -> None:
    if not hasattr(os, "killpg"):
        child.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
