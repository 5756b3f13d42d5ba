"""The processes below ours, also those whose own parent has ended.

A profiler that is killed leaves its target running with nobody to stop it. While
:func:`adopting_orphans` is active the kernel hands such processes to kprof instead of to init, so
they stay findable, whatever session or group they moved to.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37
_PROC = Path("/proc")
_POLL_S = 0.05


@contextlib.contextmanager
def adopting_orphans() -> Iterator[None]:
    """Become the parent of descendants whose parent ends (Linux; elsewhere nothing changes)."""
    before = _subreaper()
    if before is None:
        yield
        return
    _set_subreaper(1)
    try:
        yield
    finally:
        _set_subreaper(before)


def descendants(pid: int) -> list[int]:
    """Return the running processes below ``pid``, parents before children, without zombies."""
    children: dict[int, list[int]] = {}
    states: dict[int, str] = {}
    for child, parent, state in _processes():
        children.setdefault(parent, []).append(child)
        states[child] = state
    found, waiting = [], [pid]
    while waiting:
        below = sorted(children.get(waiting.pop(0), ()))
        waiting += below
        found += [child for child in below if states[child] not in "ZX"]
    return found


def name(pid: int) -> str:
    """Return the process's program name, empty when it is gone."""
    try:
        return (_PROC / str(pid) / "comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def ignores(pid: int, signum: int) -> bool:
    """Say whether the process ignores the signal, as a shell makes its background jobs do."""
    try:
        text = (_PROC / str(pid) / "status").read_text(errors="replace")
    except OSError:
        return False
    found = re.search(r"^SigIgn:\s*([0-9a-f]+)", text, re.MULTILINE)
    return found is not None and bool(int(found.group(1), 16) >> (signum - 1) & 1)


def send(pids: Iterable[int], signum: int) -> None:
    """Send a signal to each process that is still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signum)


def end_all(pids: Iterable[int], *, grace_s: float) -> None:
    """End processes and everything below them: SIGTERM, and SIGKILL for what remains."""
    roots = list(pids)
    send(_with_descendants(roots), signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while _alive(roots) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    send(_with_descendants(roots), signal.SIGKILL)
    for pid in roots:
        reap(pid)


def reap(pid: int) -> None:
    """Collect an adopted process that has ended, so that no zombie stays."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _with_descendants(roots: Iterable[int]) -> list[int]:
    return [pid for root in roots for pid in (root, *descendants(root))]


def _alive(roots: Iterable[int]) -> bool:
    known = {pid: state for pid, _, state in _processes()}
    return any(known.get(pid, "Z") not in "ZX" for pid in roots)


def _processes() -> Iterator[tuple[int, int, str]]:
    for folder in _PROC.glob("[0-9]*"):
        try:
            # "pid (name) state parent ...": the name may hold spaces and parentheses.
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        yield int(folder.name), int(fields[1]), fields[0]


def _subreaper() -> int | None:
    if sys.platform != "linux":
        return None
    value = ctypes.c_int(0)
    result = ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(value), 0, 0, 0)
    return value.value if result == 0 else None


def _set_subreaper(value: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, value, 0, 0, 0)
