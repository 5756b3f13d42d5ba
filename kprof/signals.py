"""Signals that have to wait for a moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class HeldSignals:
    """Keeps back what signals lead to until :meth:`release`, or the end of the block.

    A handler that raises while a program is being started would leave that behind: nobody has it
    yet who could end it. The handlers are exchanged, because a program inherits blocked signals.
    In another thread than the main one nothing is held, as handlers do not run there.
    """

    def __init__(self) -> None:
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._came: list[tuple[int, FrameType | None]] = []
        self._own = self._note  # one object, to be known again

    def __enter__(self) -> HeldSignals:
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
                signum = getattr(signal, name, None)
                handler = None if signum is None else signal.getsignal(signum)
                if signum is not None and callable(handler):
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
