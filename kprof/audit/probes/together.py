"""Probes side by side: in threads that nothing waits for longer than it wants to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import TypeVar

from kprof import process
from kprof.audit.probes.machine import Runner
from kprof.process import Completed

T = TypeVar("T")

_KILLED = Completed(-9, b"", b"", timed_out=True)


_POLL_S = 0.02


class OutOfTime(Exception):
    """A probe wanted to start a program when its time was up."""


class NoThread(Exception):
    """The system lets kprof start no more threads, for the memory or the number of them."""


def in_thread(call: Callable[[], T], patience_s: float = 0.0) -> Future[T]:
    """Start a call in a thread that does not keep the process alive; it may never end.

    Args:
        call: what to call.
        patience_s: how long to wait for other threads to end where there may be no more; then the
            future has :class:`NoThread` as its error.
    """
    future: Future[T] = Future()
    deadline = time.monotonic() + patience_s
    while not _started(call, future):
        if time.monotonic() >= deadline:
            future.set_exception(NoThread("the system allows no more threads"))
            break
        time.sleep(_POLL_S)
    return future


def _started(call: Callable[[], T], future: Future[T]) -> bool:
    known = process.ends()

    def work() -> None:
        # After Ctrl-C this thread may live a little longer than kprof wants to.
        process.as_of(known)
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - handed to whoever asks for the result
            future.set_exception(error)

    try:
        threading.Thread(target=work, daemon=True).start()
    except (RuntimeError, MemoryError):
        return False
    return True


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Return what the calls return, made side by side; the first error is raised.

    Where there may be no more threads they are made here, one after the other.
    """
    futures = [in_thread(call) for call in calls]
    return [_result(future, call) for future, call in zip(futures, calls, strict=True)]


def _result(future: Future[T], call: Callable[[], T]) -> T:
    try:
        return future.result()
    except NoThread:
        return call()


class Shared:
    """A runner that starts every program once per audit, however many probes ask for it."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._lock = threading.Lock()
        self._started: dict[object, Future[Completed | None]] = {}

    def run(
        self, argv: Sequence[str], environ: Mapping[str, str], timeout_s: float
    ) -> Completed | None:
        """Return what came of the program, started now or before."""
        key = (tuple(argv), frozenset(environ.items()))
        with self._lock:
            future = self._started.get(key)
            if future is None:
                mine = self._started[key] = Future()
        if future is None:
            return self._start(mine, argv, environ, timeout_s)
        wait([future], timeout=timeout_s)
        return future.result() if future.done() else _KILLED

    def _start(
        self,
        future: Future[Completed | None],
        argv: Sequence[str],
        environ: Mapping[str, str],
        timeout_s: float,
    ) -> Completed | None:
        try:
            future.set_result(self._runner(argv, environ, timeout_s))
        except BaseException as error:  # noqa: BLE001 - everybody who asks gets it
            future.set_exception(error)
        return future.result()


def until(runner: Runner, deadline: float) -> Runner:
    """Return the runner with every program ended by the deadline, of :func:`time.monotonic`."""

    def run(argv: Sequence[str], environ: Mapping[str, str], timeout_s: float) -> Completed | None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise OutOfTime("its time was up")
        return runner(argv, environ, min(timeout_s, left))

    return run
