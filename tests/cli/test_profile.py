"""``kprof profile`` against a stand-in for ncu: everything but the GPU is real."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kprof.collect import tree
from tests.profiling import (
    DEAF,
    FAKE,
    LONG,
    REPORT,
    Run,
    Start,
    alive,
    assert_nothing_left,
    command,
    end,
    script,
    wait_for,
    written,
)

MEMORY = "/dev/shm"  # noqa: S108 - a file system of its own


def test_success_writes_page_json_and_profile(kprof: Run, recorded: Path) -> None:
    done = kprof(script("t.py", "print('from the target')"), "--steps", "3")
    assert done.returncode == 0, done.stderr
    assert written("kprof-t") == REPORT
    assert Path("kprof-t/report.ncu-rep").read_bytes() == recorded.read_bytes()
    source = json.loads(Path("kprof-t/report.json").read_text())["source"]
    assert source["target_exit"] == 0
    assert source["command"][1:] == ["t.py", "--steps", "3"]
    assert "Report: kprof-t/report.html" in done.stdout


def test_collection_is_what_was_asked(kprof: Run) -> None:
    options = "--depth quick --clock-control base --cache-control none --replay-mode application"
    done = kprof(*options.split(), script("t.py", ""))
    assert done.returncode == 0, done.stderr
    collection = json.loads(Path("kprof-t/report.json").read_text())["collection"]
    assert collection["depth"] == "quick"
    assert collection["clock_control"] == "base"
    assert collection["cache_control"] == "none"
    assert collection["replay_mode"] == "application"


def test_target_output_stays_apart_from_messages(kprof: Run) -> None:
    code = "import sys; print('to stdout'); print('to stderr', file=sys.stderr)"
    done = kprof(script("t.py", code))
    assert done.stdout.startswith("to stdout\n")
    assert "to stderr\n" in done.stderr
    assert "==PROF==" not in done.stdout + done.stderr
    assert "kernel 1: vector_add: 9 passes in" in done.stderr
    assert "kernel 1" not in done.stdout


def test_quiet_says_nothing_on_stderr(kprof: Run) -> None:
    assert kprof("-q", script("t.py", "")).stderr == ""


def test_stdin_reaches_the_target(kprof: Run) -> None:
    done = kprof(script("t.py", "print(input()[::-1])"), stdin="abc\n")
    assert done.stdout.startswith("cba\n")


def test_the_python_is_named(kprof: Run) -> None:
    done = kprof("--python", sys.executable, script("t.py", "import sys; print(sys.executable)"))
    assert done.stdout.startswith(f"{sys.executable}\n")
    assert f"python: {sys.executable} (--python)" in done.stderr


def test_virtual_env_python_is_preferred(kprof: Run, env: dict[str, str]) -> None:
    env["VIRTUAL_ENV"] = sys.prefix
    done = kprof(script("t.py", ""))
    assert f"python: {sys.prefix}/bin/python (the active environment, VIRTUAL_ENV)" in done.stderr


def test_module_gets_its_own_options(kprof: Run) -> None:
    Path("pkg").mkdir()
    script("pkg/__init__.py", "")
    script("pkg/bench.py", "import sys; print(sys.argv[1:])")
    done = kprof("--depth", "quick", "-m", "pkg.bench", "--depth", "7", "-q", "--lr=3", "-m", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("['--depth', '7', '-q', '--lr=3', '-m', 'x']\n")
    assert written("kprof-pkg.bench") == REPORT


def test_program_gets_its_own_options(kprof: Run) -> None:
    done = kprof("/bin/echo", "--help", "-o", "x", "--", "y")
    assert done.stdout.startswith("--help -o x -- y\n")
    assert written("kprof-echo") == REPORT


def test_shell_script_is_a_program(kprof: Run) -> None:
    Path(script("bench", "#!/bin/sh\necho ran $1\n")).chmod(0o755)
    assert kprof("bench", "it").stdout.startswith("ran it\n")


def test_spaces_percent_and_other_letters_in_paths(kprof: Run) -> None:
    folder = Path("mein Ordner ü %p")
    folder.mkdir()
    done = kprof("-o", str(folder / "bericht é"), script(str(folder / "tést it.py"), ""))
    assert done.returncode == 0, done.stderr
    assert written(str(folder / "bericht é")) == REPORT


def test_arguments_and_paths_need_not_be_text(kprof: Run) -> None:
    odd = os.fsdecode(b"a\xffb")
    Path(odd).mkdir()
    code = "import os, sys; sys.stdout.buffer.write(os.fsencode(sys.argv[1]).hex().encode())"
    target = script(f"{odd}/t.py", code)
    done = kprof("-v", "-o", f"{odd}/out", target, odd)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("61ff62")
    assert "Report: a\ufffdb/out/report.html" in done.stdout
    assert written(f"{odd}/out") == REPORT
    source = json.loads(Path(f"{odd}/out/report.json").read_text())["source"]
    assert source["command"][1:] == ["a\ufffdb/t.py", "a\ufffdb"]
    plain = subprocess.run(
        command("--dry-run", target, odd), capture_output=True, check=True, timeout=60
    )
    assert plain.stdout.endswith(b" 'a\xffb/t.py' 'a\xffb'\n")


def test_names_are_counted_up(kprof: Run) -> None:
    target = script("t.py", "")
    assert [kprof(target).returncode for _ in range(3)] == [0, 0, 0]
    assert [written(name) for name in ("kprof-t", "kprof-t-2", "kprof-t-3")] == [REPORT] * 3


def test_existing_output_is_refused_before_the_target_runs(kprof: Run) -> None:
    Path("out").mkdir()
    Path("out/mine.txt").write_text("keep")
    done = kprof("-o", "out", script("t.py", "print('ran')"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Error: out already exists" in done.stderr
    assert written("out") == {"mine.txt"}


def test_force_replaces_only_its_own_files(kprof: Run) -> None:
    Path("out").mkdir()
    theirs = {"mine.txt", "ncu.log", "report.part.ncu-rep"}
    for name in theirs | {"report.html", "report.ncu-rep"}:
        Path("out", name).write_text("old")
    done = kprof("-o", "out", "--force", script("t.py", ""))
    assert done.returncode == 0, done.stderr
    assert written("out") == theirs | REPORT
    assert {Path("out", name).read_text() for name in theirs} == {"old"}
    assert Path("out/report.html").read_text() != "old"


@pytest.mark.parametrize("name", sorted(REPORT))
def test_a_folder_in_the_way_is_found_before_the_target_runs(kprof: Run, name: str) -> None:
    Path("out", name).mkdir(parents=True)
    done = kprof("-o", "out", "--force", script("t.py", "print('ran')"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"Error: out/{name} is a directory" in done.stderr
    assert written("out") == {name}


@pytest.mark.skipif(not os.access(MEMORY, os.W_OK), reason="no second file system")
def test_a_report_from_another_file_system_arrives_whole(
    kprof: Run, env: dict[str, str], recorded: Path
) -> None:
    env["TMPDIR"] = MEMORY  # a path with a % is no place for ncu
    done = kprof("-o", "100%", script("t.py", ""))
    assert done.returncode == 0, done.stderr
    assert written("100%") == REPORT
    assert Path("100%/report.ncu-rep").read_bytes() == recorded.read_bytes()


def test_two_runs_into_one_folder_do_not_meet(env: dict[str, str], recorded: Path) -> None:
    target = script("t.py", "")
    runs = [
        subprocess.Popen(
            command("-o", "out", "--force", target),
            env={**env, "FAKE_NCU_REPORT": str(recorded), "FAKE_NCU_SECONDS": seconds},
            stderr=subprocess.PIPE,
            text=True,
        )
        for seconds in ("0.05", "0.4")
    ]
    said = [child.communicate(timeout=120)[1] for child in runs]
    assert [child.returncode for child in runs] == [0, 0], said
    assert written("out") == REPORT


def test_output_that_cannot_be_written(kprof: Run) -> None:
    Path("file").write_text("")
    done = kprof("-o", "file/out", script("t.py", "print('ran')"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[-2].startswith("Error: file/out cannot be written")


def test_fail_on_reaches_status_1_only_with_findings(kprof: Run) -> None:
    target = script("t.py", "")
    found = kprof(target)
    assert found.returncode == 0
    report = json.loads(Path("kprof-t/report.json").read_text())
    severe = {f["severity"] for k in report["kernels"] for f in k["findings"]}
    expected = 1 if severe & {"high", "medium", "low"} else 0
    done = kprof("--fail-on", "low", target)
    assert done.returncode == expected
    assert ("Failing: " in done.stderr) == bool(expected)


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ("vector_add", "the target ended with status 3; the report holds"),
        ("", "the target ended with status 3 before its first kernel"),
    ],
)
def test_failing_target_is_status_2(kprof: Run, kernels: str, message: str) -> None:
    done = kprof(script("t.py", "raise SystemExit(3)"), kernels=kernels)
    assert done.returncode == 2
    assert message in done.stderr
    assert Path("kprof-t").exists() == bool(kernels)
    if kernels:
        assert json.loads(Path("kprof-t/report.json").read_text())["source"]["target_exit"] == 3


def test_killed_target_names_the_signal(kprof: Run) -> None:
    done = kprof(script("t.py", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"))
    assert done.returncode == 2
    assert "status 11, as after SIGSEGV (segmentation fault)" in done.stderr
    assert written("kprof-t") == REPORT


def test_filter_that_matches_nothing_lists_the_kernels(kprof: Run) -> None:
    done = kprof("--kernel", "gemm", script("t.py", ""), kernels="vector_add,transpose,vector_add")
    assert done.returncode == 2
    assert (
        "--kernel gemm matched no launch; the target launched vector_add, transpose" in done.stderr
    )
    assert not Path("kprof-t").exists()


def test_no_gpu_work_says_so(kprof: Run) -> None:
    done = kprof(script("t.py", ""), kernels="")
    assert done.returncode == 2
    assert "the target did no CUDA work that ncu could see" in done.stderr


@pytest.mark.parametrize(
    ("mode", "cause", "step"),
    [
        ("permission", "ERR_NVGPUCTRPERM", "NVreg_RestrictProfilingToAdminUsers=0"),
        ("busy", "another tool holds the GPU's performance counters", "DCGM"),
        (
            "old",
            "does not know an option that kprof needs; ncu says: unrecognised option "
            "'--import-source'",
            "newer Nsight Compute",
        ),
        ("driver", "does not work with the installed NVIDIA driver", "update the driver"),
    ],
)
def test_ncu_failures_name_cause_and_fix(kprof: Run, mode: str, cause: str, step: str) -> None:
    done = kprof(script("t.py", ""), mode=mode)
    assert done.returncode == 2
    error, hint = done.stderr.splitlines()[-2:]
    assert error.startswith("Error: ")
    assert cause in error
    assert hint.startswith("Hint: ")
    assert step in hint
    assert not Path("kprof-t").exists()


@pytest.mark.parametrize("mode", ["lost", "empty", "removed"])
def test_measured_kernels_without_a_report_are_not_denied(kprof: Run, mode: str) -> None:
    done = kprof(script("t.py", ""), mode=mode, kernels="a,b", seconds="0.3")
    assert done.returncode == 2
    assert "Error: ncu measured 2 kernels, but its report is missing or empty" in done.stderr
    assert "the disk has space" in done.stderr
    assert not Path("kprof-t").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["absent.py"], "absent.py does not exist"),
        (["./absent"], "./absent does not exist"),
        (["-m", "no_such_module_here"], "finds no module named no_such_module_here"),
        (["plain.txt"], "plain.txt is not executable"),
        (["."], ". is a directory"),
        (["--python", "nopython", "t.py"], "--python nopython is not an executable file"),
        (["--ncu", "noncu", "t.py"], "--ncu noncu does not exist"),
        (["--kernel", "(", "t.py"], "'(' is not a regular expression"),
        (["--kernel", "a{", "t.py"], "'a{' has an unmatched brace"),
        (["--timeout", "nan", "t.py"], "nan is not a finite number"),
        (["--timeout", "inf", "t.py"], "inf is not a finite number"),
        (["-m"], "Option '-m' requires an argument"),
        (["-m", "--depth", "quick"], "Option '-m' needs the name of a module"),
        (["-m", ""], "Option '-m' needs the name of a module"),
        (["--rules", "no-such-rule", "t.py"], "no rule is named 'no-such-rule'"),
    ],
)
def test_what_cannot_start_is_said_before_anything_runs(
    kprof: Run, args: list[str], message: str
) -> None:
    script("t.py", "print('ran')")
    Path("plain.txt").write_text("text")
    done = kprof(*args)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
    assert not list(Path().glob("kprof-*"))


def test_launcher_without_the_tool_is_not_taken_for_ncu(
    kprof: Run, env: dict[str, str], tmp_path: Path
) -> None:
    launcher = tmp_path / "cuda" / "ncu"
    launcher.parent.mkdir()
    launcher.write_text("#!/bin/sh\necho 'ncu: Nsight Compute not found' >&2\nexit 1\n")
    launcher.chmod(0o755)
    done = kprof("--ncu", str(launcher), script("t.py", ""))
    assert done.returncode == 2
    assert (
        "is a launcher without the tool behind it (exit status 1, said: ncu: Nsight" in done.stderr
    )
    env["PATH"] = f"{launcher.parent}{os.pathsep}{env['PATH']}"
    assert kprof("t.py").returncode == 0  # the next ncu on PATH works


def test_launcher_that_starts_the_tool_works(kprof: Run, tmp_path: Path) -> None:
    launcher = tmp_path / "bin" / "ncu"
    launcher.parent.mkdir()
    launcher.write_text(f'#!/bin/sh\n{shlex.quote(str(FAKE))} "$@"\n')
    launcher.chmod(0o755)
    assert kprof("--ncu", str(launcher), script("t.py", "")).returncode == 0


def test_dry_run_prints_the_exact_command_and_runs_nothing(kprof: Run) -> None:
    target = script("my t.py", "print('ran')")
    done = kprof("--dry-run", "--kernel", "a|b", target, "x y")
    assert done.returncode == 0
    argv = shlex.split(done.stdout)
    assert argv[0] == str(FAKE)
    assert argv[-2:] == ["my t.py", "x y"]
    assert argv[argv.index("--kernel-name") + 1].endswith("(?=.*(?:a|b))")
    assert not list(Path().glob("kprof-*"))


@pytest.mark.parametrize(
    ("options", "patched"),
    [
        ((), True),
        (("--graphs", "graph"), False),
        (("--replay-mode", "range"), False),
        (("--replay-mode", "app-range"), False),
        (("--replay-mode", "application"), True),
    ],
)
def test_counters_patched_into_code_are_asked_of_single_kernels_alone(
    kprof: Run, options: tuple[str, ...], patched: bool
) -> None:
    done = kprof("--dry-run", *options, script("t.py", ""))
    assert ("sm__sass_thread_inst_executed_op_ffma_pred_on" in done.stdout) is patched
    assert "dram__throughput" in done.stdout


def test_dry_run_needs_no_ncu(kprof: Run, env: dict[str, str]) -> None:
    env["PATH"] = "/usr/bin:/bin"
    done = kprof("--dry-run", "-m", "absent_module")
    assert done.returncode == 0
    assert shlex.split(done.stdout)[0] == "ncu"


def test_missing_target_is_a_usage_error(kprof: Run) -> None:
    done = kprof()
    assert done.returncode == 2
    assert "Missing argument 'TARGET'" in done.stderr


def test_progress_on_a_terminal_moves_and_is_gone_at_the_end(
    env: dict[str, str], recorded: Path
) -> None:
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        command(script("t.py", "print('out')")),
        env={**env, "TERM": "xterm", "FAKE_NCU_REPORT": str(recorded), "FAKE_NCU_SECONDS": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = read_terminal(ours)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert out.startswith(b"out\n")
    assert re.search(r"0 kernels in \d+ s, measuring vector_add for \d+ s", shown)
    assert "kernel 1: vector_add: 9 passes in" in shown
    assert shown.rstrip().endswith("\x1b[2K")  # the moving line was erased


def read_terminal(descriptor: int) -> str:
    data = b""
    try:
        while chunk := os.read(descriptor, 4096):
            data += chunk
    except OSError:  # Linux: nobody has the other end open any more
        pass
    os.close(descriptor)
    return data.decode()


# Stopping ----------------------------------------------------------------------------------------


def test_ctrl_c_in_the_terminal_keeps_what_was_measured(running: Start) -> None:
    child = running()
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: kprof, ncu and target
    status, out, err = end(child)
    assert status == 130, err
    assert "interrupted; the report holds what was measured until then" in err
    assert written("kprof-t") == REPORT
    assert "Report: kprof-t/report.html" in out
    assert_nothing_left()


def test_sigint_to_kprof_alone_reaches_ncu(running: Start) -> None:
    child = running()
    child.send_signal(signal.SIGINT)
    status, _, err = end(child)
    assert status == 130, err
    assert written("kprof-t") == REPORT
    assert_nothing_left()


def test_sigterm_keeps_what_was_measured(running: Start) -> None:
    child = running()
    child.terminate()
    status, _, err = end(child)
    assert status == 143, err
    assert written("kprof-t") == REPORT
    assert_nothing_left()


def test_ctrl_c_before_the_first_kernel_leaves_nothing(running: Start) -> None:
    child = running(kernels="")
    os.killpg(child.pid, signal.SIGINT)
    status, out, err = end(child)
    assert (status, out) == (130, "")
    assert "stopped before the first kernel was measured" in err
    assert not Path("kprof-t").exists()
    assert_nothing_left()


def test_timeout_keeps_what_was_measured(running: Start) -> None:
    status, _, err = end(running("--timeout", "2"))
    assert status == 2
    assert "by --timeout; the report holds what was measured until then" in err
    assert written("kprof-t") == REPORT
    assert_nothing_left()


def test_ncu_that_ignores_ctrl_c_is_stopped_through_its_target(running: Start) -> None:
    status, _, err = end(running("--timeout", "2", mode="deaf"))
    assert status == 2, err
    assert written("kprof-t") == REPORT
    assert_nothing_left()


@pytest.mark.parametrize(("mode", "limit_s"), [("", 12), ("hanging", 18)])
def test_stopping_those_who_do_not_listen_takes_seconds(
    running: Start, mode: str, limit_s: float
) -> None:
    child = running("--timeout", "2", code=DEAF + LONG, mode=mode)
    began = time.monotonic()
    status, _, err = end(child)
    assert time.monotonic() - began < limit_s + 2, err
    assert status == 2
    if mode == "hanging":
        assert "stopped before ncu had written its report; the 2 kernels it had measured" in err
    else:
        assert "by --timeout; the report holds what was measured until then" in err
    assert_nothing_left()


def test_ncu_that_hangs_is_killed(running: Start) -> None:
    child = running(mode="hanging")
    child.send_signal(signal.SIGTERM)
    time.sleep(1)
    child.send_signal(signal.SIGTERM)  # impatience skips the waiting
    status, _, err = end(child)
    assert status == 143, err
    assert "stopped before ncu had written its report; the 2 kernels it had measured" in err
    assert_nothing_left()


def test_sigterm_to_the_whole_group_says_what_is_lost(running: Start) -> None:
    child = running()
    os.killpg(child.pid, signal.SIGTERM)  # ncu drops everything
    status, _, err = end(child)
    assert status == 143, err
    assert "Interrupted: stopped before ncu had written its report; the " in err
    assert "lost" in err
    assert not Path("kprof-t").exists()
    assert_nothing_left()


def test_ncu_killed_from_outside_leaves_no_target_behind(running: Start) -> None:
    child = running()
    (ncu,) = (pid for pid in children(child.pid) if tree.name(pid) == "ncu")
    os.kill(ncu, signal.SIGTERM)
    status, _, err = end(child)
    assert status == 2
    assert "ncu ended with status -15, as after SIGTERM; the report of the " in err
    assert_nothing_left()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_the_worker_that_waits_for_the_report_does_not_stay(running: Start, signum: int) -> None:
    child = running()
    (worker,) = (pid for pid in children(child.pid) if tree.name(pid) != "ncu")
    child.send_signal(signum)
    end(child)
    assert not alive(worker)


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def reading(child: subprocess.Popen[str]) -> bool:
    """Say whether the worker has got its job, for which it forks."""
    try:
        lines = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children(child.pid)}
        return any(b"kprof.reader.worker" in lines[pid] and children(pid) for pid in lines)
    except OSError:
        return False


@pytest.mark.parametrize(("signum", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_while_reading_keeps_the_profile_and_cleans_up(
    env: dict[str, str], recorded: Path, signum: int, status: int
) -> None:
    child = subprocess.Popen(
        command(script("t.py", "")),
        env={**env, "FAKE_NCU_REPORT": str(recorded)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(lambda: reading(child))
    child.send_signal(signum)
    done, _, err = end(child)
    assert done == status, err
    assert "The profile itself is kept: kprof-t/report.ncu-rep" in err
    assert written("kprof-t") == {"report.ncu-rep"}
    assert Path("kprof-t/report.ncu-rep").read_bytes() == recorded.read_bytes()


def test_without_an_error_stream_the_exit_status_stays(env: dict[str, str], recorded: Path) -> None:
    line = '"$@" 2>&-'
    argv = ["/bin/sh", "-c", line, "sh", *command("-o", "out", "/bin/true")]
    done = subprocess.run(
        argv,
        env={**env, "FAKE_NCU_REPORT": str(recorded)},
        stdout=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert Path("out", "report.html").is_file()


@pytest.mark.parametrize("options", [(), ("--no-compress",)])
def test_the_report_is_kept_plain(kprof: Run, recorded: Path, options: tuple[str, ...]) -> None:
    done = kprof(*options, script("t.py", ""))
    assert done.returncode == 0, done.stderr
    assert Path("kprof-t/report.ncu-rep").read_bytes() == recorded.read_bytes()
    assert not list(Path("kprof-t").glob("*.xz"))


def test_the_report_is_kept_compressed(kprof: Run, recorded: Path) -> None:
    done = kprof("--compress", script("t.py", ""))
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in Path("kprof-t").iterdir()) == [
        "report.html", "report.json", "report.ncu-rep.xz",
    ]  # fmt: skip
    kept = Path("kprof-t/report.ncu-rep.xz").read_bytes()
    assert lzma.decompress(kept) == recorded.read_bytes()
    source = json.loads(Path("kprof-t/report.json").read_text())["source"]
    assert source["path"] == "kprof-t/report.ncu-rep.xz"
    assert source["sha256"] == hashlib.sha256(kept).hexdigest()


def test_there_is_one_of_them(kprof: Run) -> None:
    for option, name in (("--no-compress", "report.ncu-rep"), ("--compress", "report.ncu-rep.xz")):
        for more in (option, "--compress", option):
            done = kprof(more, "--force", "-o", "out", script("t.py", ""))
            assert done.returncode == 0, done.stderr
        assert [path.name for path in Path("out").glob("*.ncu-rep*")] == [name]


def test_what_cannot_be_read_is_kept_plain(kprof: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"no report")
    done = kprof("--compress", script("t.py", ""), report=str(broken))
    assert done.returncode == 2
    assert Path("kprof-t/report.ncu-rep").read_bytes() == b"no report"
    assert not list(Path("kprof-t").glob("*.xz"))
