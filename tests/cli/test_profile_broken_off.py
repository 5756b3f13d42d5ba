"""Runs in several stages that are broken off: the status says so, and what is finished is kept."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.profiling import (
    Start,
    assert_no_traceback,
    command,
    end,
    kill,
    script,
    wait_for,
    written,
)
from tests.tracing import report

# Sleeps in the run of that number.
SLEEPS_IN = """
import os, time
runs = len([name for name in os.listdir() if name.startswith("run-")])
open(f"run-{{runs + 1}}", "w").close()
if runs + 1 == {run}:
    time.sleep(60)
"""
MANY = "a*50"
Broken = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def begun(env: dict[str, str], recorded: Path) -> Iterator[Broken]:
    """Start ``kprof profile`` on a script, and return when its run of that number sleeps."""
    children = []

    def start(*args: str, run: int, more: str = "", **fake: str) -> subprocess.Popen[str]:
        known = {"report": str(recorded), "survey": str(recorded), "seconds": "0", "kernels": MANY}
        fakes = {f"FAKE_NCU_{name.upper()}": value for name, value in {**known, **fake}.items()}
        child = subprocess.Popen(
            command(*args, script("t.py", SLEEPS_IN.format(run=run) + more)),
            env={**env, **fakes}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        children.append(child)
        wait_for(Path(f"run-{run}").exists, limit_s=60)
        return child

    yield start
    kill(children)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_survey_saw_anything(
    traced_env: dict[str, str], signum: signal.Signals
) -> None:
    traced_env |= {"FAKE_NCU_KERNELS": MANY}
    child = subprocess.Popen(
        command(script("t.py", SLEEPS_IN.format(run=2))), env=traced_env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    wait_for(Path("run-2").exists, limit_s=60)
    os.killpg(child.pid, signum)
    status, _, err = end(child)
    assert status == 128 + signum, err
    assert "Error: interrupted" in err
    assert "launched more than the first 41 kernels that are shown here" in err
    assert written("kprof-t") == {"report.html", "report.json", "report.ncu-rep"}
    assert any("more than the first 41" in note for note in report()["notes"])


def test_the_time_is_up_before_the_survey_saw_anything(traced_env: dict[str, str]) -> None:
    done = subprocess.run(
        command("--timeout", "4", script("t.py", SLEEPS_IN.format(run=2))),
        env={**traced_env, "FAKE_NCU_KERNELS": MANY}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert_no_traceback(done.stderr)
    assert done.returncode == 2, done.stderr
    assert "by --timeout" in done.stderr
    assert "launched more than the first 41" in done.stderr


def test_what_the_first_run_measured_is_kept_beside_a_part_of_a_survey(
    running: Start, recorded: Path
) -> None:
    code = "import time\nopen('pids', 'w').write('1 1')\ntime.sleep(4)"
    child = running(kernels="a*2000", code=code, survey=str(recorded), seconds="0.02")
    wait_for(lambda: bool(list(Path("kprof-t").glob(".kprof-*/survey.log"))), limit_s=60)
    wait_for(lambda: "passes" in survey_log(), limit_s=60)
    os.killpg(child.pid, signal.SIGINT)
    status, _, err = end(child)
    assert status == 130, err
    assert "the first launches were measured in depth: kprof analyze first-launches.ncu-rep" in err
    assert {"first-launches.ncu-rep", "survey.ncu-rep"} <= written("kprof-t")


def survey_log() -> str:
    return "".join(path.read_text() for path in Path("kprof-t").glob(".kprof-*/survey.log"))


def test_a_signal_in_the_run_for_what_was_not_met(begun: Broken) -> None:
    child = begun(run=3, more="# .backward(", mode="mangled")
    os.killpg(child.pid, signal.SIGINT)
    status, _, err = end(child)
    assert status == 130, err
    assert "Error: interrupted" in err


def test_a_survey_that_cannot_be_read_costs_no_finished_run(
    env: dict[str, str], recorded: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"no report at all")
    fakes = {"REPORT": str(recorded), "SURVEY": str(broken), "KERNELS": MANY, "SECONDS": "0"}
    done = subprocess.run(
        command(script("t.py", "")), env={**env, **{f"FAKE_NCU_{k}": v for k, v in fakes.items()}},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert_no_traceback(done.stderr)
    assert done.returncode == 2
    assert written("kprof-t") == {"first-launches.ncu-rep", "survey.ncu-rep"}
    assert Path("kprof-t/first-launches.ncu-rep").read_bytes() == recorded.read_bytes()
    assert "kprof-t/survey.ncu-rep" in done.stderr
    assert ".kprof-" not in done.stderr


def test_a_dry_run_of_a_plan_shows_the_survey_alone(env: dict[str, str], recorded: Path) -> None:
    for options in ((), ("--survey", "never")):
        done = subprocess.run(
            command("--dry-run", "--plan", *options, script("t.py", "")), env=env,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        _, comment, survey = done.stdout.splitlines()
        assert comment == "# the survey alone"
        assert "--metrics gpu__time_duration.sum " in survey
