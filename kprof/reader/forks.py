"""Work in processes that may die: each task in a fork of this one.

The tasks share the loaded report at no cost, and what the library leaks goes with them.
"""

from __future__ import annotations

import errno
import os
import pickle
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from kprof.reader.job import NO_MEMORY, NO_SPACE
from kprof.reader.lifeline import die_with_parent

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Death:
    """A task without a result.

    Attributes:
        status: exit status of its process, negative for a signal.
    """

    status: int


@dataclass(frozen=True, slots=True)
class Forks:
    """Runs tasks side by side.

    Attributes:
        folder: where results are handed over.
        processes: how many tasks run at a time.
    """

    folder: Path
    processes: int

    def run(self, tasks: Sequence[Callable[[], Result]]) -> list[Result | Death]:
        """Return each task's result, or how it died, in the order of the tasks.

        Raises:
            OSError: the folder's disk is full.
        """
        if not hasattr(os, "fork"):  # Windows: in this process, unprotected
            return [task() for task in tasks]
        running: dict[int, int] = {}
        ended: dict[int, int] = {}
        results: dict[int, Result | Death] = {}
        waiting = list(range(len(tasks)))
        while waiting or running:
            while waiting and len(running) < self.processes:
                position = waiting.pop(0)
                running[self._start(tasks[position], position)] = position
            self._take_ready(ended, results)  # beside the one just started
            pid, status = os.wait()
            if pid in running:  # else not one of ours; whoever started it finds it gone
                ended[running.pop(pid)] = os.waitstatus_to_exitcode(status)
        self._take_ready(ended, results)
        if Death(NO_SPACE) in results.values():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return [results[position] for position in range(len(tasks))]

    def _start(self, task: Callable[[], object], position: int) -> int:
        parent = os.getpid()
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            die_with_parent(parent)
            status = attempt(task, self._file(position))
        finally:  # whatever happens, the child must not go on as if it were its parent
            os._exit(status)

    def _take_ready(self, ended: dict[int, int], results: dict[int, Any]) -> None:
        """Move tasks that have ended, by their exit status, to their results."""
        while ended:
            position, status = ended.popitem()
            results[position] = self._result(position, status)

    def _file(self, position: int) -> Path:
        return self.folder / f"task-{position}"

    def _result(self, position: int, status: int) -> Any:
        if status:
            return Death(status)
        file = self._file(position)
        result = pickle.loads(file.read_bytes())  # noqa: S301 - written by the fork
        file.unlink()
        return result


def attempt(task: Callable[[], object], file: Path) -> int:
    """Write what a task returns into a file as a pickle, and return the exit status."""
    try:
        file.write_bytes(pickle.dumps(task(), pickle.HIGHEST_PROTOCOL))
    except MemoryError:
        return NO_MEMORY
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return NO_SPACE
        traceback.print_exc()
        return 1
    except Exception:  # noqa: BLE001 - shown by whoever started the worker
        traceback.print_exc()
        return 1
    return 0
