"""The process that reads a report: the only importer of NVIDIA's ``ncu_report``.

Some corrupt files abort the library, its 2026.3 releases leak every kernel they touch (1 to
10 MB each) and its metadata depends on what the process loaded before. So a process reads one
report and ends, and it forks for every slice of the report: none of them grows large, and one
that dies takes only its slice along.
"""

from __future__ import annotations

import errno
import gc
import os
import pickle
import sys
import traceback
from pathlib import Path
from typing import NoReturn

from kprof.reader.job import NO_LIBRARY, NO_MEMORY, NO_SPACE, Job
from kprof.reader.lifeline import die_with_parent
from kprof.reader.slices import Slices


def main() -> int:
    """Do the job that comes on standard input, and return the exit status.

    Its argument is the process that asks, with which it ends.
    """
    die_with_parent(int(sys.argv[1]))
    try:
        import ncu_report
    except MemoryError:
        return NO_MEMORY
    except Exception:  # noqa: BLE001 - a library that is broken in any way
        traceback.print_exc()
        return NO_LIBRARY
    given = sys.stdin.buffer.read()
    if not given:  # whoever had one in mind has gone
        return 0
    job = Job.from_json(given)
    gc.disable()  # nothing here forms cycles, and the process ends soon
    try:
        answer = Slices(job, ncu_report.load_report).read()
        Path(job.output).write_bytes(pickle.dumps(answer, pickle.HIGHEST_PROTOCOL))
    except MemoryError:
        return NO_MEMORY
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return NO_SPACE
        raise
    return 0


def _end(status: int) -> NoReturn:
    """End at once: to give back what the library holds, piece by piece, takes it 30 ms."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _end(main())
