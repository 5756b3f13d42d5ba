"""Work in threads that wait for other programs, and end at once when nobody wants the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from kprof import process

Item = TypeVar("Item")
Result = TypeVar("Result")

_POLL_S = 0.05


def results(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    jobs: int,
    meanwhile: Callable[[], object] = lambda: None,
) -> Iterator[Result]:
    """Yield what ``work`` returns for each item, in their order.

    Leaving early (Ctrl-C, a signal, an error, a closed iterator) ends the programs that the
    threads wait for, so that no thread keeps the process alive.

    Args:
        work: called in a thread; waits for programs with :func:`kprof.process.run` only.
        items: what it is called with.
        jobs: how many at a time.
        meanwhile: called here once the first threads are at work.
    """
    pool = ThreadPoolExecutor(max_workers=jobs)
    futures = [pool.submit(work, item) for item in items]
    try:
        meanwhile()
        for future in futures:
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        _abandon(futures)
        pool.shutdown()


def _abandon(futures: Sequence[Future[Result]]) -> None:
    # Again and again: a thread may be just about to start its program.
    while not all(future.done() for future in futures):
        process.end_all()
        time.sleep(_POLL_S)
