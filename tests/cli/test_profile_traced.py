"""A survey made from within the program, with stand-ins for CUPTI and ncu."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.profiling import alive, command, end, script, wait_for
from tests.tracing import LAUNCHES, PROGRAM, Traced, calls, report, survey

WHOLE = {"report.html", "report.json", "report.ncu-rep", "survey.tsv.xz"}


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


@pytest.mark.parametrize(("options", "told"), [((), "tiny"), (("--survey", "first"), "")])
def test_of_few_launches_no_kernel_is_left_out(
    traced: Traced, options: tuple[str, ...], told: str
) -> None:
    few = tuple((*launch[:4], min(launch[4], 12)) for launch in LAUNCHES)
    done = traced(*options, script("t.py", PROGRAM.replace(repr(LAUNCHES), repr(few))))
    assert done.returncode == 0, done.stderr
    assert survey()["launches"] == 27
    names = calls()[0][calls()[0].index("--kernel-name") + 1]
    assert ("tiny" in names) == bool(told)


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


def test_a_gpu_that_the_run_in_depth_did_not_meet_is_there(traced: Traced) -> None:
    other = PROGRAM.replace("block, 0, took", "block, int(name == b'_Z4tinyPi'), took")
    done = traced(script("t.py", other))
    assert done.returncode == 0, done.stderr
    devices = report()["devices"]
    by_name = {kernel["name"]: devices[kernel["device"]]["name"] for kernel in report()["kernels"]}
    assert by_name["vector_add_simple"] == "NVIDIA H200"
    assert by_name["tiny"] == "unknown GPU"


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


def test_a_dry_run_says_how(traced: Traced, traced_env: dict[str, str], cupti: Path) -> None:
    done = traced("--dry-run", script("t.py", PROGRAM))
    folder, comment, build, run, then, deep = done.stdout.splitlines()
    assert folder == f"mkdir -p {Path('kprof-t').absolute()}"
    assert then.startswith("#")
    assert deep.startswith("# ")
    assert "--metrics gpu__time_duration.sum,sm__cycles" in deep
    assert "regex:^(?:NAMES)$" in deep
    assert not Path("kprof-t").exists()
    assert comment.startswith("# a survey")
    assert "tracer.c" in build
    assert build.endswith("libkprof-tracer.so")
    assert f"KPROF_CUPTI={cupti} " in run
    assert run.endswith("t.py")
    # As printed it works, whatever folder the reader is in.
    subprocess.run(["/bin/sh", "-e", "-c", done.stdout], env=traced_env, check=True)
    (trace,) = Path("kprof-t").glob("survey.trace.*")
    assert trace.read_text().count("\nK\t") == 93


# What kprof makes of it ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "why"), [("permission", "ERR_NVGPUCTRPERM"), ("idle", "launched no kernel")]
)
def test_where_ncu_cannot_time_them_either_it_says_why(traced: Traced, mode: str, why: str) -> None:
    done = traced(script("t.py", PROGRAM), FAKE_CUPTI="drops", FAKE_NCU_MODE=mode)
    assert done.returncode == 2
    assert why in done.stderr
    assert "survey.tsv" not in done.stderr
    assert not Path("kprof-t").exists()


def test_ncu_reads_a_pipe_because_a_trace_may_be_of_no_use(traced_env: dict[str, str]) -> None:
    target = script("t.py", PROGRAM + "\nassert sys.stdin.read() == 'input'")
    done = subprocess.run(
        command("-v", "--plan", target), env=traced_env, input="input",
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "its standard input can be read once" in done.stderr
    assert len(calls()) == 1


def test_a_hidden_survey_reads_a_file_again(traced_env: dict[str, str]) -> None:
    Path("input").write_text("input")
    target = script("t.py", PROGRAM + "\nassert sys.stdin.read() == 'input'")
    with Path("input").open() as file:
        done = subprocess.run(
            command(target), env={**traced_env, "FAKE_CUPTI": "drops"}, stdin=file,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(calls()) == 2


def test_nothing_of_an_earlier_profile_stays_beside_a_new_one(traced: Traced) -> None:
    folder = Path("out")
    folder.mkdir()
    old = (
        "survey.ncu-rep",
        "survey.ncu-rep.xz",
        "survey.tsv",
        "report-2.ncu-rep",
        "follow-up.ncu-rep.xz",
    )
    theirs = {"survey.txt", "report-a.ncu-rep", "my-survey.ncu-rep"}
    for name in (*old, *theirs):
        (folder / name).write_text("old")
    done = traced("--no-follow-up", "--force", "-o", "out", script("t.py", PROGRAM))
    assert done.returncode == 0, done.stderr
    assert {path.name for path in folder.iterdir()} == WHOLE | theirs


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_compiler_that_hangs_can_be_stopped(traced_env: dict[str, str], signum: int) -> None:
    compiler = Path(script("slow", "#!/bin/sh\necho $$ > pids\nsleep 60 & sleep 60"))
    compiler.chmod(0o755)
    child = subprocess.Popen(
        command(script("t.py", PROGRAM)), env={**traced_env, "CC": str(compiler.absolute())},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    wait_for(lambda: Path("pids").exists() and bool(Path("pids").read_text()))
    child.send_signal(signum)
    status, out, _ = end(child)
    assert (status, out) == (128 + signum, "")
    wait_for(lambda: not alive(int(Path("pids").read_text())))
    assert not Path("kprof-t").exists()


def test_the_folder_of_a_traced_profile_can_be_analyzed(traced: Traced) -> None:
    assert traced(script("t.py", PROGRAM)).returncode == 0
    kprof = command()[:3]
    done = subprocess.run(
        [*kprof, "analyze", "kprof-t"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    trace = "kprof-t/survey.tsv.xz"
    done = subprocess.run([*kprof, "analyze", trace], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{trace}: is a text file, not an Nsight Compute report" in done.stderr
