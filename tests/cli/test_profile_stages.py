"""A program with many launches: a trial, a survey, depth, with a stand-in for ncu."""

from __future__ import annotations

import json
import lzma
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.profiling import LONG, ROOT, Start, assert_no_traceback, command, script

MANY = "a*50"  # more launches than a trial takes
OTHER = ROOT / "sample_kernels" / "recordings" / "demo.ncu-rep.xz"
TRAINS = "print('hello')\n# loss.backward()"
WHOLE = {"report.html", "report.json", "report.ncu-rep", "survey.ncu-rep.xz"}

Staged = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def staged(env: dict[str, str], recorded: Path) -> Staged:
    """Run ``kprof profile`` without standard input: a pipe could not be read twice."""

    def run(*args: str, stdin: Path | None = None, **fake: str) -> subprocess.CompletedProcess[str]:
        known = {"report": str(recorded), "survey": str(recorded), "calls": "calls", "seconds": "0"}
        fakes = {f"FAKE_NCU_{name.upper()}": value for name, value in {**known, **fake}.items()}
        with (stdin or Path("/dev/null")).open() as source:
            done = subprocess.run(
                command(*args),
                env={**env, **fakes},
                stdin=source,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
        assert_no_traceback(done.stderr)
        return done

    return run


def calls() -> list[list[str]]:
    return [shlex.split(line) for line in Path("calls").read_text().splitlines()]


def option(call: list[str], name: str) -> str | None:
    return call[call.index(name) + 1] if name in call else None


def written(folder: str) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


def report(folder: str = "kprof-t") -> dict[str, object]:
    found: dict[str, object] = json.loads(Path(folder, "report.json").read_text())
    return found


def survey_of(found: dict[str, object]) -> dict[str, object] | None:
    collection = found["collection"]
    assert isinstance(collection, dict)
    return collection.get("survey")


def test_few_launches_need_no_survey(staged: Staged) -> None:
    done = staged(script("t.py", "print('hello')"), kernels="a*40")
    assert done.returncode == 0, done.stderr
    assert len(calls()) == 1
    assert survey_of(report()) is None
    assert done.stdout.count("hello") == 1


def test_many_launches_are_surveyed_and_measured(staged: Staged) -> None:
    done = staged(script("t.py", "print('hello')"), kernels=MANY)
    assert done.returncode == 0, done.stderr
    trial, survey, depth = calls()
    assert option(trial, "--launch-count") == "41"
    assert option(survey, "--metrics") == "gpu__time_duration.sum"
    assert option(survey, "--import-sass") == "no"
    assert option(depth, "--filter-mode") == "per-launch-config"
    assert option(depth, "--kernel-name-base") == "mangled"
    assert written("kprof-t") == WHOLE
    assert done.stdout.count("hello") == 1  # of the first run alone
    assert "More than 40 launches" in done.stderr
    seen = survey_of(report())
    assert seen is not None
    assert seen["launches"] == 1
    assert seen["covered"] == 1.0


def test_a_script_that_trains_is_surveyed_at_once(staged: Staged) -> None:
    done = staged(script("t.py", TRAINS), kernels=MANY)
    assert done.returncode == 0, done.stderr
    assert [option(call, "--launch-count") for call in calls()] == ["10001", "1"]
    assert done.stdout.startswith("hello\n")


@pytest.mark.parametrize(
    "options", [("--survey", "never"), ("--launch-count", "45"), ("--as-in-app",)]
)
def test_one_run_where_one_is_asked_for(staged: Staged, options: tuple[str, ...]) -> None:
    done = staged(*options, script("t.py", TRAINS), kernels=MANY)
    assert done.returncode == 0, done.stderr
    assert len(calls()) == 1


def test_a_pipe_is_read_once(kprof: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    code = "print(input()[::-1])  # .backward("
    done = kprof(script("t.py", code), stdin="abc\n", kernels=MANY, calls="calls", seconds="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("cba\n")
    assert len(calls()) == 1


def test_a_file_is_read_again_by_every_run(staged: Staged) -> None:
    Path("input").write_text("abc\n")
    code = "open('read', 'a').write(input())  # .backward("
    done = staged(script("t.py", code), stdin=Path("input"), kernels=MANY)
    assert done.returncode == 0, done.stderr
    assert Path("read").read_text() == "abcabc"


def test_the_plan_is_printed_and_nothing_written(staged: Staged) -> None:
    done = staged("--plan", script("t.py", "print('hello')"), kernels=MANY)
    assert done.returncode == 0, done.stderr
    assert len(calls()) == 1
    assert "Plan: 1 kernel in depth, 100.0 % of that time, some 8 passes each" in done.stdout
    assert not Path("kprof-t").exists()


def test_the_survey_is_kept_where_depth_fails(staged: Staged) -> None:
    done = staged(script("t.py", TRAINS), kernels=MANY, mode="nothing-deep")
    assert done.returncode == 2
    assert "a later run of the target, for depth, gave nothing" in done.stderr
    assert depths() == {"survey"}
    assert "survey.ncu-rep.xz" in written("kprof-t")


def test_what_was_not_met_is_measured_by_another_name(staged: Staged) -> None:
    done = staged(script("t.py", TRAINS), kernels=MANY, mode="mangled")
    assert done.returncode == 0, done.stderr
    _, depth, rest = calls()
    assert option(depth, "--kernel-name-base") == "mangled"
    assert option(rest, "--kernel-name-base") == "function"
    assert "1 of the chosen kernels was not met; once more, for it." in done.stderr
    assert depths() == {"standard"}
    assert written("kprof-t") == WHOLE


def test_the_trial_is_kept_where_the_survey_fails(staged: Staged) -> None:
    done = staged(script("t.py", ""), kernels=MANY, mode="once")
    assert done.returncode == 2
    assert "a later run of the target, for the survey, gave nothing" in done.stderr
    assert written("kprof-t") == {"report.html", "report.json", "report.ncu-rep"}


def test_a_target_that_fails_every_time_is_measured_and_said(staged: Staged) -> None:
    done = staged(script("t.py", "import sys\nsys.exit(3)  # .backward("), kernels=MANY)
    assert done.returncode == 2
    assert "the target ended with status 3" in done.stderr
    source = report()["source"]
    assert isinstance(source, dict)
    assert source["target_exit"] == 3
    assert written("kprof-t") == WHOLE


def test_ctrl_c_keeps_what_a_survey_saw(running: Start, recorded: Path) -> None:
    code = f"{LONG}\n# .backward("
    child = running(kernels="a*2000", code=code, survey=str(recorded), seconds="0.02")
    os.killpg(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert_no_traceback(err)
    assert child.returncode == 130, err
    assert "interrupted" in err
    assert depths() == {"survey"}


def test_the_time_limit_is_for_all_runs_and_keeps_both(staged: Staged) -> None:
    code = (
        "import os, time\nif os.path.exists('ran'): time.sleep(60)\nopen('ran', 'w')  # .backward("
    )
    began = time.monotonic()
    done = staged("--timeout", "5", script("t.py", code), kernels=MANY)
    assert time.monotonic() - began < 40
    assert done.returncode == 2
    assert "by --timeout" in done.stderr
    assert depths() == {"standard"}
    assert written("kprof-t") == WHOLE


def depths() -> set[object]:
    kernels = report()["kernels"]
    assert isinstance(kernels, list)
    return {kernel["depth"] for kernel in kernels}


# --- one more run, where what limits a kernel is open ------------------------------------------


@pytest.fixture
def open_report(recorded: Path, tmp_path: Path) -> Path:
    """A report like the recorded one in which device memory gave no number."""
    plain = recorded.read_bytes()
    for unit in (b"dram__throughput.avg", b"dram__cycles_active.avg"):
        assert unit in plain
        plain = plain.replace(unit, b"x" + unit[1:])
    path = tmp_path / "open.ncu-rep"
    path.write_bytes(plain)
    return path


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A report of another kernel."""
    path = tmp_path / "other.ncu-rep"
    path.write_bytes(lzma.decompress(OTHER.read_bytes()))
    return path


def verdict() -> tuple[str, set[str]]:
    kernels = report()["kernels"]
    assert isinstance(kernels, list)
    (only,) = kernels
    return only["bound"], {note["check"] for note in only["quality"]}


@pytest.mark.parametrize("code", ["", TRAINS])
def test_an_open_limiter_is_followed_up(
    staged: Staged, open_report: Path, recorded: Path, code: str
) -> None:
    where = {"report": str(open_report), "follow_up": str(recorded)}
    done = staged(script("t.py", code), kernels="a*40" if not code else MANY, **where)
    assert done.returncode == 0, done.stderr
    assert "What limits 1 kernel (100 % of the GPU time) is still open" in done.stderr
    further = calls()[-1]
    asked = (option(further, "--metrics") or "").split(",")
    assert asked[:2] == ["gpu__time_duration.sum", "smsp__inst_executed.sum"]
    assert "dram__cycles_active.avg.pct_of_peak_sustained_elapsed" in asked
    assert not any(name.startswith("lts__") for name in asked)
    assert option(further, "--kernel-name-base") == "mangled"
    assert verdict()[0] == "launch"
    assert "other-run" in verdict()[1]
    assert "follow-up.ncu-rep" in written("kprof-t")
    assert done.stdout.count("hello") == (1 if code else 0)


def test_an_open_limiter_stays_open_where_the_option_says_so(
    staged: Staged, open_report: Path
) -> None:
    done = staged("--no-follow-up", script("t.py", ""), kernels="a", report=str(open_report))
    assert done.returncode == 0, done.stderr
    assert len(calls()) == 1
    assert verdict()[0] == "unknown"


@pytest.mark.parametrize(
    "options", [("--survey", "never"), ("--timeout", "300", "--depth", "quick")]
)
def test_no_further_run_where_one_is_asked_for(
    staged: Staged, open_report: Path, options: tuple[str, ...]
) -> None:
    done = staged(*options, script("t.py", ""), kernels="a", report=str(open_report))
    assert done.returncode == 0, done.stderr
    assert len(calls()) == 1


def test_a_known_limiter_needs_no_further_run(staged: Staged) -> None:
    done = staged(script("t.py", ""), kernels="a")
    assert done.returncode == 0, done.stderr
    assert len(calls()) == 1


def test_a_further_run_that_meets_nothing_changes_nothing(
    staged: Staged, open_report: Path
) -> None:
    done = staged(script("t.py", ""), kernels="a", mode="once", report=str(open_report))
    assert done.returncode == 0, done.stderr
    assert len(calls()) == 2
    assert verdict()[0] == "unknown"
    notes = report()["notes"]
    assert isinstance(notes, list)
    assert any("What limits 1 launch stays open" in note for note in notes)


def test_runs_that_differed_are_not_followed_up(
    staged: Staged, open_report: Path, other: Path
) -> None:
    where = {"report": str(open_report), "survey": str(other)}
    done = staged(script("t.py", TRAINS), kernels=MANY, **where)
    assert done.returncode == 0, done.stderr
    assert len(calls()) == 3  # a survey, depth, and what that did not meet
    assert "still open" not in done.stderr


def test_it_goes_by_the_names_that_were_met(
    staged: Staged, open_report: Path, recorded: Path
) -> None:
    where = {"report": str(open_report), "follow_up": str(recorded), "mode": "mangled"}
    done = staged(script("t.py", TRAINS), kernels=MANY, **where)
    assert done.returncode == 0, done.stderr
    assert option(calls()[-1], "--kernel-name-base") == "function"
    assert verdict()[0] == "launch"


def test_a_further_run_of_other_work_changes_nothing(
    staged: Staged, open_report: Path, other: Path
) -> None:
    where = {"report": str(open_report), "follow_up": str(other)}
    done = staged(script("t.py", ""), kernels="a", **where)
    assert done.returncode == 0, done.stderr
    assert len(calls()) == 2
    assert verdict() == ("unknown", verdict()[1] - {"other-run"})


def test_a_target_that_failed_is_not_run_again(staged: Staged, open_report: Path) -> None:
    code = "import sys\nsys.exit(3)"
    done = staged(script("t.py", code), kernels="a", report=str(open_report))
    assert done.returncode == 2
    assert len(calls()) == 1


def test_a_pipe_is_not_read_again_for_it(
    kprof: Callable[..., subprocess.CompletedProcess[str]], open_report: Path
) -> None:
    done = kprof(
        script("t.py", "print(input())"), stdin="abc\n", kernels="a", calls="calls", seconds="0",
        report=str(open_report),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(calls()) == 1


def test_the_plan_tells_of_a_further_run_and_what_it_costs_at_most(staged: Staged) -> None:
    told = staged("--plan", script("t.py", ""), kernels=MANY)
    assert "one more run for the counters that decide" in told.stdout
    assert "s at most (--no-follow-up leaves it out)" in told.stdout
    silent = staged("--plan", "--no-follow-up", script("t.py", ""), kernels=MANY)
    assert "one more run" not in silent.stdout


def test_a_dry_run_tells_of_it(staged: Staged) -> None:
    told = staged("--dry-run", script("t.py", TRAINS))
    assert "; once again should what limits a kernel stay open" in told.stdout.splitlines()[1]
    for options in (("--no-follow-up",), ("--survey", "never"), ("--depth", "quick")):
        assert "once again should" not in staged("--dry-run", *options, "t.py").stdout
