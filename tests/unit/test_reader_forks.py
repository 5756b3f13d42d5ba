from __future__ import annotations

import faulthandler
import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from kprof.reader.forks import Death, Forks
from kprof.reader.job import NO_MEMORY

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    # The worker has one thread; a test runner may have more, and Python 3.12 warns of that.
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]


def _die(signal_number: int) -> int:
    faulthandler.disable()  # pytest's would print a traceback
    os.kill(os.getpid(), signal_number)
    time.sleep(60)
    return 0


def _late(delay_s: float, number: int) -> int:
    time.sleep(delay_s)
    return number


def _raise(error: Exception) -> int:
    raise error


def test_results_come_in_the_order_of_the_tasks(tmp_path: Path) -> None:
    tasks = [partial(_late, 0.05 * (3 - number), number) for number in range(4)]
    assert Forks(tmp_path, 3).run(tasks) == [0, 1, 2, 3]
    assert not list(tmp_path.iterdir())


def test_every_task_has_a_process_of_its_own(tmp_path: Path) -> None:
    pids = Forks(tmp_path, 2).run([os.getpid] * 3)
    assert len({os.getpid(), *pids}) == 4


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGKILL, signal.SIGSEGV])
def test_a_death_takes_no_other_task_along(tmp_path: Path, number: int) -> None:
    results = Forks(tmp_path, 2).run([lambda: 1, lambda: _die(number), lambda: 3])
    assert results == [1, Death(-number), 3]


def test_errors_are_deaths_too(tmp_path: Path) -> None:
    tasks = [lambda: _raise(ValueError("odd")), lambda: _raise(MemoryError())]
    assert Forks(tmp_path, 1).run(tasks) == [Death(1), Death(NO_MEMORY)]


def test_no_tasks(tmp_path: Path) -> None:
    assert Forks(tmp_path, 2).run([]) == []


def test_without_fork_the_tasks_run_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    assert Forks(tmp_path, 2).run([os.getpid]) == [os.getpid()]
