from __future__ import annotations

import errno
import faulthandler
import os
import signal
import sys
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


def test_a_full_disk_is_told_apart_from_a_broken_task(tmp_path: Path) -> None:
    def full() -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left") as caught:
        Forks(tmp_path, 2).run([full, lambda: 1])
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_tasks_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    started = tmp_path / "pid"

    def stay() -> None:
        started.write_text(str(os.getpid()))
        time.sleep(60)

    parent = os.fork()
    if not parent:
        Forks(tmp_path, 1).run([stay])
        os._exit(0)
    while not (started.exists() and started.read_text()):
        time.sleep(0.01)
    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    for _ in range(200):
        if not _runs(int(started.read_text())):
            return
        time.sleep(0.01)
    pytest.fail("the task lives on")


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
