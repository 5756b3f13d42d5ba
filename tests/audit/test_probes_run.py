"""The runner of the probes: one snapshot, in time, whatever a probe does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kprof.audit import moment, parse
from kprof.audit.probes import run
from kprof.audit.probes.machine import Machine
from kprof.audit.probes.run import Task
from kprof.audit.probes.together import together
from kprof.process import Completed

NEVER_S = 30.0


def facts_of(*tasks: Task, machine: Machine | None = None, budget_s: float = 5.0) -> dict[str, Any]:
    snapshot = run.run(tasks, machine or Machine(python=sys.executable), budget_s)
    assert snapshot["schema"] == "kprof.snapshot/1"
    assert moment.read(snapshot["taken"]) == snapshot["taken"]
    found: dict[str, Any] = snapshot["facts"]
    return found


def telling(facts: Any) -> Task:
    return Task("telling", lambda _: facts)


def sleeping(name: str = "sleeping", limit_s: float = 0.2, **more: Any) -> Task:
    def probe(machine: Machine) -> dict[str, Any]:
        time.sleep(NEVER_S)
        return {}

    return Task(name, probe, limit_s, **more)


# --- merging ---------------------------------------------------------------------------------


def test_objects_of_two_probes_become_one() -> None:
    found = facts_of(
        telling({"driver": {"version": "580.1", "params": {"A": 1}}, "gpus": []}),
        telling({"driver": {"cuda_version": "13.0", "params": {"B": 0}}}),
    )
    assert found == {
        "driver": {"version": "580.1", "params": {"A": 1, "B": 0}, "cuda_version": "13.0"},
        "gpus": [],
    }


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": None}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
    ],
)
def test_of_everything_else_the_later_probe_is_believed(
    first: dict[str, Any], second: dict[str, Any], merged: dict[str, Any]
) -> None:
    assert facts_of(telling(first), telling(second)) == merged


def test_merging_leaves_what_a_probe_returned_alone() -> None:
    first: dict[str, Any] = {"driver": {"version": "580.1"}}
    facts_of(telling(first), telling({"driver": {"cuda_version": "13.0"}}))
    assert first == {"driver": {"version": "580.1"}}


# --- probes that do not behave ---------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError("no such thing"), SystemExit(3), MemoryError()])
def test_a_probe_that_raises_costs_nothing_but_itself(error: BaseException) -> None:
    def probe(machine: Machine) -> dict[str, Any]:
        raise error

    found = facts_of(Task("broken", probe), telling({"gpus": []}))
    assert found["gpus"] == []
    assert found["errors"]["broken"].startswith(type(error).__name__)


@pytest.mark.parametrize("answer", [None, [1], "text"])
def test_a_probe_that_returns_no_facts_is_an_error(answer: Any) -> None:
    found = facts_of(Task("odd", lambda _: answer), telling({"gpus": []}))
    assert found == {
        "gpus": [],
        "errors": {"odd": f"returned {type(answer).__name__}, no facts"},
    }


def test_a_probe_that_hangs_is_left_behind() -> None:
    start = time.monotonic()
    found = facts_of(sleeping(), telling({"gpus": []}))
    assert found == {"gpus": [], "errors": {"sleeping": "no answer within 0.2 s"}}
    assert time.monotonic() - start < 5


def test_hanging_probes_are_waited_for_side_by_side() -> None:
    start = time.monotonic()
    found = facts_of(*(sleeping(f"s{index}", limit_s=0.5) for index in range(8)))
    assert len(found["errors"]) == 8
    assert time.monotonic() - start < 2.5  # one after the other: 4 s and more


def test_the_budget_ends_what_has_a_longer_limit() -> None:
    start = time.monotonic()
    found = facts_of(sleeping(limit_s=NEVER_S), budget_s=0.2)
    assert found["errors"] == {"sleeping": "no answer within 0.2 s"}
    assert time.monotonic() - start < 5


def test_a_late_answer_can_have_a_stand_in() -> None:
    late = {"torch": {"import": "not waited for"}}
    found = facts_of(telling({"torch": {"version": "2.9.1"}}), sleeping(late=late))
    assert found == {"torch": {"version": "2.9.1", "import": "not waited for"}}


def test_a_probe_that_hangs_does_not_keep_the_process_alive() -> None:
    code = (
        "import time; from kprof.audit.probes import run; from kprof.audit.probes.machine import *;"
        "print(run.run([run.Task('s', lambda machine: time.sleep(60), 0.1)], Machine(), 1))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30, check=True)
    assert b"no answer within 0.1 s" in done.stdout


# --- few threads -----------------------------------------------------------------------------


def few_threads(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    real, running = threading.Thread.start, threading.active_count()

    def start(self: threading.Thread) -> None:
        if threading.active_count() >= running + limit:
            raise RuntimeError("can't start new thread")
        real(self)

    monkeypatch.setattr(threading.Thread, "start", start)


def test_where_there_are_few_threads_probes_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def probe(machine: Machine) -> dict[str, Any]:
        def part() -> int:
            time.sleep(0.02)
            return 1

        return {"packages": {threading.current_thread().name: str(sum(together([part] * 3)))}}

    few_threads(monkeypatch, 2)
    found = facts_of(*(Task(f"t{n}", probe, 5.0) for n in range(6)))
    assert "errors" not in found
    assert set(found["packages"].values()) == {"3"}
    assert len(found["packages"]) == 6


def test_without_any_thread_every_probe_is_an_error_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few_threads(monkeypatch, 0)
    start = time.monotonic()
    found = facts_of(*(sleeping(f"s{n}", limit_s=0.3) for n in range(9)))
    assert time.monotonic() - start < 3
    assert found["errors"] == {
        f"s{n}": "NoThread: the system allows no more threads" for n in range(9)
    }


# --- their programs --------------------------------------------------------------------------


def test_the_program_of_a_probe_ends_with_its_time(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    code = f"import os, time; open({str(noted)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    def probe(machine: Machine) -> dict[str, Any]:
        done = machine.run([sys.executable, "-S", "-c", code], NEVER_S)
        return {"os": {"kernel": "timed out" if done and done.timed_out else "answered"}}

    start = time.monotonic()
    found = facts_of(Task("hanging", probe, limit_s=2.0))
    assert time.monotonic() - start < 10
    assert found == {"os": {"kernel": "timed out"}}, "what it learned until then is kept"
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text()), 0)


def test_ctrl_c_leaves_no_program_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def probe(machine: Machine) -> dict[str, Any]:
        machine.run([sys.executable, "-S", "-c", "import time; time.sleep(60)"], NEVER_S)
        ended.set()
        return {}

    def interrupted(*_: object, **__: object) -> None:
        time.sleep(0.5)
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        facts_of(Task("waiting", probe, limit_s=NEVER_S), budget_s=NEVER_S)
    assert ended.wait(5)


def test_no_program_is_started_after_the_time() -> None:
    started = []

    def runner(argv: Sequence[str], environ: Mapping[str, str], timeout_s: float) -> Completed:
        started.append(argv)
        return Completed(0, b"", b"")

    ended = threading.Event()

    def probe(machine: Machine) -> dict[str, Any]:
        try:
            time.sleep(0.3)
            machine.run(["nvidia-smi"], 5)
        finally:
            ended.set()
        return {}

    facts_of(Task("slow", probe, limit_s=0.1), machine=Machine(runner=runner))
    assert ended.wait(5)
    assert started == []


def test_a_program_gets_no_more_than_what_is_left() -> None:
    limits = []

    def runner(argv: Sequence[str], environ: Mapping[str, str], timeout_s: float) -> Completed:
        limits.append(timeout_s)
        return Completed(0, b"", b"")

    def probe(machine: Machine) -> dict[str, Any]:
        machine.run(["a"], 60)
        machine.run(["b"], 0.5)
        return {}

    facts_of(Task("asking", probe, limit_s=4), machine=Machine(runner=runner))
    assert 3 < limits[0] <= 4
    assert limits[1] == 0.5


def test_a_program_that_two_probes_ask_for_runs_once() -> None:
    started = []

    def runner(argv: Sequence[str], environ: Mapping[str, str], timeout_s: float) -> Completed:
        started.append(argv)
        time.sleep(0.2)
        return Completed(0, b"said", b"")

    def asking(key: str) -> Task:
        def probe(machine: Machine) -> dict[str, Any]:
            done = machine.run(["nvidia-smi", "-q"], 5)
            machine.run(["nvidia-smi", "-q"], 5, env={"OTHER": key})
            return {key: done.stdout.decode() if done else None}

        return Task(key, probe)

    found = facts_of(asking("a"), asking("b"), machine=Machine(runner=runner))
    assert found == {"a": "said", "b": "said"}
    assert len(started) == 3, "another environment is another question"


def test_an_error_of_a_shared_program_reaches_everybody() -> None:
    def runner(argv: Sequence[str], environ: Mapping[str, str], timeout_s: float) -> Completed:
        raise PermissionError("refused")

    def probe(machine: Machine) -> dict[str, Any]:
        machine.run(["nvidia-smi"], 5)
        return {}

    found = facts_of(Task("a", probe), Task("b", probe), machine=Machine(runner=runner))
    assert found["errors"] == dict.fromkeys(("a", "b"), "PermissionError: refused")


FLOODED = ("nvidia-smi", "nvcc", "ncu", "dmesg", "lspci", "ldconfig", "modinfo", "gcc", "python")


def test_programs_that_write_without_end_cost_little_time_and_memory(tmp_path: Path) -> None:
    for name in FLOODED:
        (tmp_path / name).write_text("#!/bin/sh\nexec cat /dev/zero\n")
        (tmp_path / name).chmod(0o755)
    code = (
        "import json; from kprof.audit.probes import run;"
        "from kprof.audit.probes.machine import Machine;"
        f"facts = run.probe(Machine(python={str(tmp_path / 'python')!r}))['facts'];"
        # Not getrusage: after a fork that counts the memory of the process that tests, too.
        "used = int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]);"
        "print(json.dumps([used, facts['errors']]))"
    )
    env = {**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env, check=True)
    assert time.monotonic() - start < 5, "less than the limit of a single probe"
    used_kib, errors = json.loads(done.stdout)
    assert used_kib < 400 * 1024
    assert errors["nvidia_smi"] == "wrote without end"
    assert errors["python"].endswith("wrote without end")
    assert not any("within" in text or "in time" in text for text in errors.values())


# --- the probes there are ---------------------------------------------------------------------


def test_probes_can_be_chosen() -> None:
    snapshot = run.probe(Machine(python=sys.executable), only={"job", "python"})
    assert set(snapshot["facts"]) == {"job", "python"}


def test_names_are_of_one_probe_each() -> None:
    names = [task.name for task in run.tasks()]
    assert len(names) == len(set(names))


def test_torch_is_loaded_by_default_and_imported_when_asked() -> None:
    usual = {task.name: task for task in run.tasks()}
    asked = {task.name: task for task in run.tasks(import_torch=True)}
    assert usual.keys() ^ asked.keys() == {"torch_load", "torch_import"}
    assert usual["torch_load"].limit_s < 2
    assert asked["torch_import"].limit_s == 60


# The names of docs/doctor.md that a machine without a GPU has, too.
NAMES = {
    "os", "lspci_gpus", "driver", "libcuda", "process", "env", "toolkits", "nvcc", "host_compiler",
    "python", "other_pythons", "job", "torch", "loaded_libraries", "packages", "extensions",
    "triton", "ncu", "ncu_report", "services", "files", "container_runtime",
}  # fmt: skip


def test_this_machine_has_every_fact_or_the_reason_why_not() -> None:
    start = time.monotonic()
    snapshot = run.probe(Machine(python=sys.executable))
    assert time.monotonic() - start < run.BUDGET_S + 1
    missing = NAMES - snapshot["facts"].keys()
    assert not missing or snapshot["facts"].get("errors")
    assert parse(run.dump(snapshot)).need_text("python.version") == sys.version.split()[0]


def test_an_interpreter_that_is_none_is_said_and_costs_its_facts_alone(tmp_path: Path) -> None:
    found = run.probe(Machine(python=str(tmp_path / "python")))["facts"]
    assert "cannot be started" in found["errors"]["python"]
    assert {"os", "toolkits", "ncu"} <= found.keys()


def test_a_snapshot_is_text_that_reads_back() -> None:
    snapshot = {
        "schema": "kprof.snapshot/1",
        "facts": {"python": {"version": "3.11", "x": "é</b>"}},
    }
    assert parse(run.dump(snapshot)).raw() == snapshot["facts"]
    assert parse(run.dump({**snapshot, "facts": {"a": Path("/x")}})).raw() == {"a": "/x"}
