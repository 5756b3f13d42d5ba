"""Programs that are asked before kprof itself is loaded."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kprof.audit.probes.machine import Machine
from kprof.audit.probes.profiler import ncu
from kprof.cli import early

PATIENCE_S = 10.0


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a program the ncu that is found first."""

    def make(script: str) -> None:
        path = tmp_path / "ncu"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)

    return make


def test_a_question_asked_early_is_asked_once(tool: Callable[[str], None], tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    tool(f'echo "$1" >> {asked}; echo "Version 2025.3.1.0"')
    with early.asking_ncu(needed=True) as runner:
        found = ncu(Machine(runner=runner))
    assert found["ncu"]["version"] == "2025.3.1.0"
    assert sorted(asked.read_text().split()) == sorted(early.QUESTIONS)


def test_nothing_is_asked_that_nobody_wants_to_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "in_thread", lambda _: pytest.fail("asked"))
    with early.asking_ncu(needed=False):
        pass


def test_an_ncu_that_does_not_answer_is_not_left_behind(
    tool: Callable[[str], None], tmp_path: Path
) -> None:
    tool(f"echo $$ > {tmp_path}/pid$1; exec sleep 60")
    started = [tmp_path / f"pid{question}" for question in early.QUESTIONS]
    with early.asking_ncu(needed=True):
        wait_until(lambda: all(file.exists() and file.read_text() for file in started))
    ids = [int(file.read_text()) for file in started]
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in ids))


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
