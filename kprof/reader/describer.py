"""A process that gets NVIDIA's disassembler ready while the report is still read.

Starting it takes the library 0.3 s per process and GPU generation, as long as half the reading of
a large report. Here that is paid once and beside the reading. The process describes by itself: the
disassembler has threads, and a fork of it would wait for them forever.
"""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from kprof.reader.forks import Death, attempt
from kprof.reader.lifeline import die_with_parent

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Describer(Generic[Question, Answer]):
    """Answers one question in another process."""

    def __init__(
        self, folder: Path, ready: Callable[[], object], answer: Callable[[Question], Answer]
    ) -> None:
        """Start the process.

        Args:
            folder: where question and answer are handed over.
            ready: what to do before the question comes; may break the process.
            answer: the work.
        """
        self._question, self._answer = folder / "question", folder / "answer"
        self._wake: int | None = None
        self._working = False
        read, write = os.pipe()
        parent = os.getpid()
        self._pid = os.fork()
        if self._pid:
            os.close(read)
            self._wake = write
            return
        status = 1
        try:
            os.close(write)
            die_with_parent(parent)
            ready()
            if os.read(read, 1):
                status = attempt(lambda: answer(self._was_asked()), self._answer)
        finally:  # whatever happens, the child must not go on as if it were its parent
            os._exit(status)

    def ask(self, question: Question) -> None:
        """Have one question answered, while the caller goes on; see :meth:`answer`."""
        if self._wake is None:
            return
        self._question.write_bytes(pickle.dumps(question, pickle.HIGHEST_PROTOCOL))
        with contextlib.suppress(OSError):  # it has died: its end of the pipe is closed
            os.write(self._wake, b"?")
        os.close(self._wake)
        self._wake, self._working = None, True

    def answer(self) -> Answer | Death:
        """Return the answer, or how the process died before it had one."""
        if not self._working:
            return Death(1)
        self._working = False
        try:
            _, status = os.waitpid(self._pid, 0)
        except ChildProcessError:  # it died while something else was waited for
            return Death(1)
        if status:
            return Death(os.waitstatus_to_exitcode(status))
        answer: Answer = pickle.loads(self._answer.read_bytes())  # noqa: S301 - written by the fork
        return answer

    def _was_asked(self) -> Question:
        question: Question = pickle.loads(self._question.read_bytes())  # noqa: S301 - our parent's
        return question
