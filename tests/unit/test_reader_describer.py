from __future__ import annotations

import faulthandler
import os
import signal
import time
from pathlib import Path

import pytest

from kprof.reader.describer import Describer
from kprof.reader.forks import Death, Forks

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]


def nothing() -> None:
    pass


def die() -> None:
    faulthandler.disable()  # pytest's would print a traceback
    os.kill(os.getpid(), signal.SIGABRT)
    time.sleep(60)


def die_answering(_: int) -> int:
    die()
    return 0


def fail(_: int) -> int:
    raise ValueError("odd")


def answered(describer: Describer[int, int], question: int) -> int | Death:
    describer.ask(question)
    return describer.answer()


def test_it_answers_with_what_it_got_ready(tmp_path: Path) -> None:
    ready: list[int] = []
    describer: Describer[int, int] = Describer(
        tmp_path, lambda: ready.append(40), lambda number: ready[0] + number
    )
    assert answered(describer, 2) == 42
    assert ready == [], "in the other process alone"


def test_a_process_that_dies_getting_ready_has_no_answer(tmp_path: Path) -> None:
    describer: Describer[int, int] = Describer(tmp_path, die, lambda number: number)
    time.sleep(0.2)
    assert answered(describer, 2) == Death(-signal.SIGABRT)


def test_a_process_that_dies_or_fails_answering_has_none_either(tmp_path: Path) -> None:
    assert answered(Describer(tmp_path, nothing, die_answering), 2) == Death(-signal.SIGABRT)
    assert answered(Describer(tmp_path, nothing, fail), 2) == Death(1)


def test_without_a_question_there_is_no_answer(tmp_path: Path) -> None:
    describer: Describer[int, int] = Describer(tmp_path, nothing, lambda number: number)
    assert describer.answer() == Death(1)
    assert answered(describer, 2) == 2


def test_one_question_only(tmp_path: Path) -> None:
    describer: Describer[int, int] = Describer(tmp_path, nothing, lambda number: number)
    assert answered(describer, 2) == 2
    assert answered(describer, 3) == Death(1)


def test_tasks_that_run_meanwhile_are_not_disturbed_by_its_death(tmp_path: Path) -> None:
    describer: Describer[int, int] = Describer(tmp_path, die, lambda number: number)
    results = Forks(tmp_path, 1).run([lambda: time.sleep(0.2) or 7])  # type: ignore[func-returns-value]
    assert results == [7]
    assert isinstance(answered(describer, 2), Death)
