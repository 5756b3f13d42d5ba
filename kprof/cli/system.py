"""What the operating system does to a command: signals that end it, and refusals."""

from __future__ import annotations

import contextlib
import errno
import signal
import sys
from pathlib import Path
from types import FrameType

from kprof.cli import streams
from kprof.errors import KprofError
from kprof.signals import FROM_OUTSIDE, heard_by

# What a stream answers that takes nothing; files are named in the error, or told of closer by.
_NOT_WRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EBADF, errno.EIO, errno.EFBIG}


def ending_on_signals() -> contextlib.AbstractContextManager[None]:
    """Let SIGTERM and SIGHUP end the command as Ctrl-C does: what it started and wrote goes too.

    A signal that is ignored (nohup) stays ignored; a command that handles them itself may.
    """
    return heard_by(_end, FROM_OUTSIDE)


def _end(signum: int, _frame: FrameType | None) -> None:
    for other in FROM_OUTSIDE:  # a second one must not break the cleaning up
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + signum)


def _has_folder() -> bool:
    try:
        Path.cwd()
    except OSError:
        return False
    return True


def refused(error: OSError) -> KprofError:
    """Turn what the system refused, and nobody closer to it expected, into a message."""
    reason = error.strerror or str(error)
    if error.filename is None and error.errno in _NOT_WRITTEN:
        streams.silence_stdout()
        return KprofError(
            f"standard output cannot be written: {reason}", hint="write to a file with -o"
        )
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        return KprofError(reason, hint="raise the limit with: ulimit -n 1024")
    if reason.startswith("No usable temporary directory"):
        return KprofError(
            "there is no temporary directory to work in",
            hint="set TMPDIR to a folder that can be written",
        )
    if not _has_folder():
        return KprofError("the current folder is gone", hint="change to one that exists")
    place = f"{error.filename}: " if error.filename is not None else ""
    return KprofError(
        f"{place}{reason}", hint="the system refused this; check the place and its rights"
    )
