"""Signals that end a program: which there are, who hears them, and what has to wait for a moment."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]

# Windows has no SIGHUP.
FROM_OUTSIDE = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
ENDING = (signal.SIGINT, *FROM_OUTSIDE)


@contextlib.contextmanager
def heard_by(handler: Handler, signums: Iterable[int]) -> Iterator[None]:
    """Have these signals handled, in the main thread alone; one that is ignored stays ignored."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for signum in signums:
            if signal.getsignal(signum) is not signal.SIG_IGN:
                before[signum] = signal.signal(signum, handler)
    try:
        yield
    finally:
        for signum, earlier in before.items():
            signal.signal(signum, earlier)


class HeldSignals:
    """Keeps back what signals lead to until :meth:`release`, or the end of the block.

    A handler that raises while a program is being started would leave that behind: nobody has it
    yet who could end it. The handlers are exchanged, because a program inherits blocked signals.
    In another thread than the main one nothing is held, as handlers do not run there.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Handler] = {}
        self._came: list[tuple[int, FrameType | None]] = []
        self._own = self._note  # one object, to be known again

    def __enter__(self) -> HeldSignals:
        if threading.current_thread() is threading.main_thread():
            for signum in ENDING:
                handler = signal.getsignal(signum)
                if callable(handler):
                    self._handlers[signum] = handler
                    signal.signal(signum, self._own)
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Put the handlers back and let them have what came meanwhile; they may raise."""
        for signum, handler in self._handlers.items():
            # A handler that raised has left the rest to the end of the block, and may have put
            # another one in its own place.
            if signal.getsignal(signum) is self._own:
                signal.signal(signum, handler)
        came, self._came = self._came, []
        for signum, frame in came:  # the first that raises ends it: the others ask for the same
            self._handlers[signum](signum, frame)

    def _note(self, signum: int, frame: FrameType | None) -> None:
        self._came.append((signum, frame))
