"""Which signal it was that ends kprof, where it arrives as an exception."""

from __future__ import annotations

import signal

# What a signal raises in the main thread: Python's own for Ctrl-C, the command line's for others.
INTERRUPTS = (KeyboardInterrupt, SystemExit)
_SIGNALLED = 128  # and more: the exit status for a signal


def signum(error: BaseException) -> int:
    """Return the signal's number.

    Raises:
        SystemExit: the error itself, when it is no signal's.
    """
    if isinstance(error, KeyboardInterrupt):
        return int(signal.SIGINT)
    if isinstance(error, SystemExit) and isinstance(error.code, int) and error.code > _SIGNALLED:
        return error.code - _SIGNALLED
    raise error
