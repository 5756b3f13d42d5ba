"""A worker that loads the library before there is a report to read.

That takes 0.2 s, which pass unnoticed while the profiled program runs.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from types import TracebackType

from kprof.process import Ready

# The library takes hundreds of megabytes in small pieces, and the system an eighth of the time to
# hand them out page by page. A C library that does not know the setting ignores it.
_LARGE_PAGES = "glibc.malloc.hugetlb=1"
_MEMORY_LIMIT = 4 << 30


def worker(folder: Path) -> Ready:
    """Start a worker, which waits for its job and ends with the thread that has started it.

    Args:
        folder: its working directory. ``-m`` puts it on the import path: nobody else may have put
            anything there.

    Raises:
        OSError: it cannot be started.
    """
    tunables = [*filter(None, [os.environ.get("GLIBC_TUNABLES")]), _LARGE_PAGES]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(_import_path()),
        "GLIBC_TUNABLES": ":".join(tunables),
    }
    return Ready(
        [sys.executable, "-m", "kprof.reader.worker", str(os.getpid())],
        env=environment,
        memory_limit_bytes=_MEMORY_LIMIT,
        cwd=folder,
    )


def _import_path() -> list[str]:
    """Return this process' import path for one that starts elsewhere."""
    return [str(Path(entry).absolute()) for entry in sys.path if entry]


class Standby:
    """One worker, for the first report that is read; where it cannot be had there is none.

    It is for the thread that makes it; see :func:`worker`.
    """

    def __init__(self, folder: Path) -> None:
        """Start the worker in a folder; see :func:`worker`."""
        self._worker: Ready | None = None
        with contextlib.suppress(OSError):  # told when a report is read
            self._worker = worker(folder)

    def take(self) -> Ready | None:
        """Return the worker the first time, None when it is taken or has ended."""
        taken, self._worker = self._worker, None
        if taken is not None and taken.ended:
            taken.end()
            return None
        return taken

    def __enter__(self) -> Standby:
        """Return the standby; at the end of the block nothing is left of it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the worker if nobody has taken it."""
        if self._worker is not None:
            self._worker.end()
