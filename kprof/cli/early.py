"""What profiling asks ncu first, asked while kprof itself is still loaded.

Loading takes 0.3 s and ncu half a second to say its version (measured beside an H200).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import partial

from kprof import process
from kprof.audit.probes.machine import Runner, start_and_wait
from kprof.audit.probes.together import Shared, in_thread
from kprof.collect import find

QUESTIONS = ("--version", "--list-chips")
# Longer than the preflight waits for it.
_LIMIT_S = 2.0


@contextlib.contextmanager
def asking_ncu(*, needed: bool) -> Iterator[Runner]:
    """Ask the first ncu there is, and yield a runner that has the answers or waits for them.

    Args:
        needed: whether anybody will want to know; else nothing is asked.
    """
    runner = Shared(start_and_wait).run
    if needed:
        in_thread(lambda: _ask(runner))
    try:
        yield runner
    finally:
        process.end_all()


def _ask(runner: Runner) -> None:
    environ = dict(os.environ)
    for path in find.candidates(environ)[:1]:
        for question in QUESTIONS:
            in_thread(partial(runner, [str(path.absolute()), question], environ, _LIMIT_S))
