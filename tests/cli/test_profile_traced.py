"""A survey made from within the program, with stand-ins for CUPTI and ncu."""

from __future__ import annotations

import json
import lzma
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.profiling import ROOT, assert_no_traceback, command, script, wait_for

SOURCE = ROOT / "tests" / "fakes" / "cupti.c"
DEMO = ROOT / "sample_kernels" / "recordings" / "demo.ncu-rep.xz"
WHOLE = {"report.html", "report.json", "report.ncu-rep", "survey.tsv.xz"}
# Three kernels of the recorded report, and one that takes too little time to be looked at.
LAUNCHES = (
    ("_Z17vector_add_simplePKfS0_Pfm", 262144, 256, 230_000, 50),
    ("_Z22vector_add_grid_stridePKfS0_Pfm", 1056, 256, 220_000, 40),
    ("_Z4tinyPi", 1, 1, 1_000, 3),
)
# What the CUDA driver does, and a program that launches.
PROGRAM = f"""
import ctypes, os, sys
print("hello")
def launch(launches):
    if "CUDA_INJECTION64_PATH" not in os.environ:  # under ncu
        return
    assert ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection() == 1
    fake = ctypes.CDLL(os.environ["FAKE_LIBRARY"]).fake_launch
    fake.argtypes = (ctypes.c_char_p, *[ctypes.c_int] * 3, ctypes.c_uint64)
    global names
    names = [name.encode() for name, *_ in launches]
    for name, (_, grid, block, took, times) in zip(names, launches):
        for _ in range(times):
            fake(name, grid, block, 0, took)
# loss.backward() makes it a script that trains
launch({LAUNCHES!r})
"""

Traced = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def cupti(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to build the tracer and CUPTI's stand-in with")
    path = tmp_path_factory.mktemp("cupti") / "libcupti.so.13"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(path), str(SOURCE)], check=True)
    return path


@pytest.fixture
def traced_env(env: dict[str, str], cupti: Path, tmp_path: Path) -> dict[str, str]:
    report = tmp_path / "demo.ncu-rep"
    report.write_bytes(lzma.decompress(DEMO.read_bytes()))
    fakes = {"FAKE_NCU_REPORT": str(report), "FAKE_NCU_SURVEY": str(report)}
    fakes |= {"FAKE_NCU_CALLS": "calls", "FAKE_NCU_SECONDS": "0"}
    return {**env, **fakes, "KPROF_CUPTI": str(cupti), "FAKE_LIBRARY": str(cupti)}


@pytest.fixture
def traced(traced_env: dict[str, str]) -> Traced:
    def run(*args: str, **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command(*args), env={**traced_env, **more}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert_no_traceback(done.stderr)
        return done

    return run


def calls() -> list[list[str]]:
    log = Path("calls")
    return [shlex.split(line) for line in log.read_text().splitlines()] if log.exists() else []


def report(folder: str = "kprof-t") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(folder, "report.json").read_text())
    return found


def survey(folder: str = "kprof-t") -> dict[str, Any]:
    found: dict[str, Any] = report(folder)["collection"]["survey"]
    return found


def test_every_launch_is_timed_without_ncu(traced: Traced) -> None:
    done = traced(script("t.py", PROGRAM))
    assert done.returncode == 0, done.stderr
    (depth,) = calls()
    assert "vector_add_simple" in depth[depth.index("--kernel-name") + 1]
    assert "tiny" not in depth[depth.index("--kernel-name") + 1]
    assert done.stdout.count("hello") == 1
    assert {path.name for path in Path("kprof-t").iterdir()} == WHOLE
    seen = survey()
    assert seen["timed_by"] == "cupti"
    assert seen["launches"] == 93
    assert seen["kernels"] == 3
    assert seen["total_s"] == pytest.approx(50 * 230e-6 + 40 * 220e-6 + 3e-6)
    by_name = {kernel["name"]: kernel for kernel in report()["kernels"]}
    assert by_name["vector_add_simple"]["launches"] == 50
    assert by_name["vector_add_simple"]["depth"] == "standard"
    assert by_name["tiny"]["depth"] == "survey"
    assert by_name["tiny"]["demangled"] == "tiny(int*)"
    assert by_name["tiny"]["launch"]["grid"] == [1, 1, 1]


def test_the_plan_takes_the_program_alone(traced: Traced) -> None:
    done = traced("--plan", script("t.py", PROGRAM))
    assert done.returncode == 0, done.stderr
    assert "Survey: 93 launches of 3 kernels" in done.stdout
    assert calls() == []


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("refuses", "no CUPTI works"),
        ("drops", "CUPTI lost records"),
        ("keeps", "or the program itself traces with it"),
    ],
)
def test_ncu_times_them_where_cupti_does_not(traced: Traced, mode: str, why: str) -> None:
    done = traced("--plan", script("t.py", PROGRAM), FAKE_CUPTI=mode)
    assert done.returncode == 0, done.stderr
    assert why in done.stderr
    assert "--import-sass" in calls()[0]
    assert "Survey: 8 launches" in done.stdout
    assert done.stdout.count("hello") == 1


def test_the_report_says_that_ncu_timed_them(traced: Traced) -> None:
    done = traced(script("t.py", PROGRAM), FAKE_CUPTI="refuses")
    assert done.returncode == 0, done.stderr
    assert len(calls()) == 2
    assert survey()["timed_by"] == "ncu"


def test_a_process_that_ends_without_a_word_may_have_launched_more(traced: Traced) -> None:
    more = "\nlaunch([('_Z4tinyPi', 1, 1, 1000, 5000)]); os._exit(0)"
    done = traced("--plan", script("t.py", PROGRAM + more))
    assert done.returncode == 0, done.stderr
    assert "a process ended without a word" in done.stderr
    assert "Survey: 8 launches" in done.stdout


@pytest.mark.parametrize(
    ("ending", "status"), [("sys.exit(3)", 3), ("os.kill(os.getpid(), 11)", 139)]
)
def test_what_a_failing_target_launched_is_kept(traced: Traced, ending: str, status: int) -> None:
    more = f"\nlaunch([('_Z4tinyPi', 1, 1, 1000, 5000)]); {ending}"
    done = traced(script("t.py", PROGRAM + more))
    assert done.returncode == 2
    assert report()["source"]["target_exit"] == status
    assert survey()["launches"] >= 2000


def test_children_are_traced_too(traced: Traced) -> None:
    child = "import subprocess; subprocess.run([sys.executable, 'child.py'], check=True)\n"
    script("child.py", PROGRAM)
    done = traced("--plan", script("t.py", PROGRAM + child))
    assert done.returncode == 0, done.stderr
    assert "Survey: 186 launches of 3 kernels" in done.stdout


def test_a_child_that_ends_without_a_word_may_have_launched(traced: Traced) -> None:
    code = "\nif os.fork() == 0: launch([('_Z4tinyPi', 1, 1, 1000, 5)]); os._exit(0)\nos.wait()\n"
    program = PROGRAM.replace("# loss", code + "# loss")
    done = traced("--plan", script("t.py", program))
    assert done.returncode == 0, done.stderr
    assert "a process ended without a word" in done.stderr


def test_nothing_launched_is_said(traced: Traced) -> None:
    done = traced("--plan", script("t.py", PROGRAM.replace(repr(LAUNCHES), "[]")))
    assert "nothing was launched" in done.stderr
    done = traced("--plan", "--survey", "first", script("t.py", ""))
    assert "no process of it used a GPU" in done.stderr


def test_a_forked_child_does_not_end_its_parents_trace(traced: Traced) -> None:
    fork = "\nif os.fork() == 0: sys.exit(0)\nos.wait()"
    done = traced("--plan", script("t.py", PROGRAM + fork))
    assert done.returncode == 0, done.stderr
    assert "Survey: 93 launches" in done.stdout


def test_communication_is_left_out(traced: Traced) -> None:
    more = "\nlaunch([('_Z20ncclDevKernel_Reducev', 1, 1, 10**9, 5)])"
    done = traced("--plan", script("t.py", PROGRAM + more))
    assert done.returncode == 0, done.stderr
    assert "Survey: 93 launches" in done.stdout
    told = traced("--plan", "--with-communication", script("t.py", PROGRAM + more))
    assert "Survey: 98 launches" in told.stdout


@pytest.mark.parametrize(
    ("options", "variables"),
    [
        (("--kernel", "vector"), {}),
        (("--no-from-start",), {}),
        ((), {"CUDA_INJECTION64_PATH": "/nowhere/other.so"}),
        ((), {"KPROF_CUPTI": ""}),
        ((), {"CC": "false"}),
    ],
)
def test_where_it_cannot_be_traced_ncu_times_it(
    traced: Traced, options: tuple[str, ...], variables: dict[str, str]
) -> None:
    done = traced("-v", "--plan", *options, script("t.py", ""), **variables)
    assert done.returncode == 0, done.stderr
    assert "ncu times the launches: " in done.stderr
    assert len(calls()) == 1


@pytest.mark.parametrize("mode", ["prompt", ""])
def test_ctrl_c_keeps_what_was_timed(traced_env: dict[str, str], mode: str) -> None:
    more = "\nopen('ready', 'w').close()\nimport time; time.sleep(60)"
    child = subprocess.Popen(
        command(script("t.py", PROGRAM + more)), env={**traced_env, "FAKE_CUPTI": mode}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        wait_for(Path("ready").exists)
        os.killpg(child.pid, signal.SIGINT)
        _, told = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130, told
    if not mode:  # nothing had been handed over
        assert b"Interrupted: " in told
        return
    assert survey()["launches"] == 93
    assert report()["source"]["path"].endswith("survey.tsv")
    assert Path("kprof-t/survey.tsv").exists()


def test_a_dry_run_says_how(traced: Traced, cupti: Path) -> None:
    done = traced("--dry-run", script("t.py", PROGRAM))
    comment, build, run = done.stdout.splitlines()
    assert comment.startswith("# a survey")
    assert "tracer.c" in build
    assert build.endswith("libkprof-tracer.so")
    assert f"KPROF_CUPTI={cupti} " in run
    assert run.endswith("t.py")
    assert not Path("kprof-t").exists()
