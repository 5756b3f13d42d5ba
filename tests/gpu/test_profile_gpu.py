"""``kprof profile`` on a real GPU with the real ncu: what the stand-in cannot prove."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.gpu

SOURCE = Path(__file__).with_name("steps.cu")
REPORT = {"report.html", "report.json", "report.ncu-rep"}


@pytest.fixture(scope="session")
def built(nvcc: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the test's program and library; skips where they cannot be built or run."""
    folder = tmp_path_factory.mktemp("built")
    common = [nvcc, "-arch=native", "-lineinfo", str(SOURCE), "-ldl"]
    subprocess.run([*common, "-o", str(folder / "steps")], check=True)
    library = ["-shared", "-Xcompiler", "-fPIC", "-o", str(folder / "libsteps.so")]
    subprocess.run([*common, *library], check=True)
    return folder


@pytest.fixture
def steps(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The program, from a working folder of its own."""
    monkeypatch.chdir(tmp_path)
    return str(built / "steps")


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "kprof", "profile", *args]


def run(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command(*args), input=stdin, capture_output=True, text=True, timeout=300, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def report(folder: str = "kprof-steps") -> dict[str, Any]:
    assert {path.name for path in Path(folder).iterdir()} == REPORT
    loaded: dict[str, Any] = json.loads(Path(folder, "report.json").read_text())
    return loaded


def names(folder: str = "kprof-steps") -> list[str]:
    return [kernel["name"] for kernel in report(folder)["kernels"]]


@pytest.mark.parametrize(("depth", "limit"), [("quick", 5), ("standard", 8)])
def test_passes_stay_within_the_promise(steps: str, depth: str, limit: int) -> None:
    done = run("--depth", depth, steps, "1")
    assert done.returncode == 0, done.stderr
    found = report()
    assert names() == ["vector_add", "scale"]
    assert 1 <= found["collection"]["passes"] <= limit
    assert found["collection"]["depth"] == depth
    assert all(kernel["duration_s"] > 0 for kernel in found["kernels"])
    assert re.search(r"kernel 2: .*scale.*: \d+ passes in [\d.]+ s", done.stderr)
    assert done.stdout.startswith("pid ")
    assert "==PROF==" not in done.stdout


def test_standard_feeds_every_rule(steps: str) -> None:
    assert run(steps, "1").returncode == 0
    missing = {rule["rule"]: rule["missing"] for k in report()["kernels"] for rule in k["skipped"]}
    assert missing == {}


def test_full(steps: str) -> None:
    assert run("--depth", "full", steps, "1").returncode == 0
    throughput = report()["kernels"][0]["throughput"]
    assert throughput["compute_pct"] is not None
    assert throughput["memory_pct"] is not None


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--kernel", "scale<float>"], ["scale"] * 3),
        (["--launch-skip", "1", "--launch-count", "2"], ["scale", "vector_add"]),
        (["--nvtx", "first"], ["vector_add", "scale"]),
        (["--kernel", "vector", "--launch-count", "1"], ["vector_add"]),
    ],
)
def test_filters(steps: str, args: list[str], expected: list[str]) -> None:
    done = run("--depth", "quick", *args, steps, "3")
    assert done.returncode == 0, done.stderr
    assert names() == expected


def test_filter_that_matches_nothing(steps: str) -> None:
    done = run("--kernel", "gemm", steps, "1")
    assert done.returncode == 2
    assert "--kernel gemm matched no launch; the target launched" in done.stderr
    assert "vector_add" in done.stderr
    assert not Path("kprof-steps").exists()


def test_target_exit_status_is_kept(steps: str) -> None:
    done = run("--depth", "quick", steps, "1", "exit", "3")
    assert done.returncode == 2
    assert "the target ended with status 3; the report holds" in done.stderr
    assert report()["source"]["target_exit"] == 3


def test_crash_after_the_first_kernel_keeps_it(steps: str) -> None:
    done = run("--depth", "quick", steps, "1", "abort")
    assert done.returncode == 2
    assert "SIGABRT" in done.stderr
    assert names() == ["vector_add", "scale"]


def test_crash_before_the_first_kernel(steps: str) -> None:
    done = run(steps, "0", "exit", "5")
    assert done.returncode == 2
    assert "the target ended with status 5 before its first kernel" in done.stderr


def test_no_gpu_work(steps: str) -> None:
    done = run("/bin/true")
    assert done.returncode == 2
    assert "no CUDA work" in done.stderr


def test_unknown_ncu_option(steps: str) -> None:
    done = run("--ncu-arg", "--no-such-option", steps, "1")
    assert done.returncode == 2
    assert "--no-such-option" in done.stderr
    assert "does not know an option" in done.stderr


def test_stdin(steps: str) -> None:
    done = run("--depth", "quick", steps, "1", "echo", stdin="hello\n")
    assert "read hello\n" in done.stdout


def test_python_script_and_module(steps: str) -> None:
    library = Path(steps).with_name("libsteps.so")
    code = f"import ctypes, sys; sys.exit(ctypes.CDLL({str(library)!r}).launch(int(sys.argv[1])))"
    Path("train.py").write_text(code)
    assert run("--depth", "quick", "train.py", "1").returncode == 0
    assert names("kprof-train") == ["vector_add", "scale"]
    assert run("--depth", "quick", "-m", "train", "2").returncode == 0
    assert names("kprof-train-2") == ["vector_add", "scale"] * 2


def test_kernels_of_child_processes(steps: str) -> None:
    Path("parent.sh").write_text(f"#!/bin/sh\n'{steps}' 1\n")
    Path("parent.sh").chmod(0o755)
    assert run("--depth", "quick", "./parent.sh").returncode == 0
    assert names("kprof-parent") == ["vector_add", "scale"]


def test_percent_in_the_output_path(steps: str) -> None:
    assert run("--depth", "quick", "-o", "100 %p ü", steps, "1").returncode == 0
    assert names("100 %p ü") == ["vector_add", "scale"]


# Stopping ----------------------------------------------------------------------------------------


@pytest.fixture
def running(steps: str) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start profiling a target that waits after its kernels, and return once they are measured."""
    children = []

    def start(*args: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            command("--depth", "quick", *args, steps, "2", "wait"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # A background job inherits an ignored SIGINT; a person's shell does not.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        children.append(child)
        folder, deadline = Path("kprof-steps"), time.monotonic() + 60
        while sum(p.read_text().count("passes") for p in folder.glob(".kprof-*/*.log")) < 4:
            assert child.poll() is None, child.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        return child

    yield start
    for child in children:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def stopped(child: subprocess.Popen[str]) -> tuple[int, str]:
    began = time.monotonic()
    out, err = child.communicate(timeout=120)
    print(f"stopping took {time.monotonic() - began:.1f} s; stderr:\n{err}")
    target = int(out.split()[1])
    time.sleep(0.5)
    assert not running_still(target), "the target lives on"
    assert names() == ["vector_add", "scale"] * 2
    return child.returncode, err


def running_still(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def test_ctrl_c_keeps_what_was_measured(running: Callable[..., subprocess.Popen[str]]) -> None:
    child = running()
    os.killpg(child.pid, signal.SIGINT)
    status, err = stopped(child)
    assert status == 130
    assert "interrupted; the report holds" in err


def test_sigint_to_kprof_alone(running: Callable[..., subprocess.Popen[str]]) -> None:
    child = running()
    child.send_signal(signal.SIGINT)
    assert stopped(child)[0] == 130


def test_sigterm(running: Callable[..., subprocess.Popen[str]]) -> None:
    child = running()
    child.terminate()
    assert stopped(child)[0] == 143


def test_timeout(running: Callable[..., subprocess.Popen[str]]) -> None:
    status, err = stopped(running("--timeout", "20"))
    assert status == 2
    assert "by --timeout" in err
