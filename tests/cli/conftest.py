"""``kprof profile`` with a stand-in for ncu, to its end or while it runs."""

from __future__ import annotations

import lzma
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.profiling import (
    FAKE,
    LONG,
    ROOT,
    Run,
    Start,
    assert_no_traceback,
    command,
    kill,
    logged,
    script,
    wait_for,
)
from tests.tracing import Traced

DEMO = ROOT / "sample_kernels" / "recordings" / "demo.ncu-rep.xz"
CUPTI = ROOT / "tests" / "fakes" / "cupti.c"
OURS = sorted(
    (ROOT / "tests" / "data" / "h200" / "plan").glob("*.ncu-rep.xz"), key=lambda p: p.stat().st_size
)
SHARED = sorted(
    (ROOT.parent / "shared" / "reports" / "public").glob("*.ncu-rep.xz"),
    key=lambda p: p.stat().st_size,
)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small real report, for the stand-in to write."""
    found = OURS or SHARED
    if not found:
        pytest.skip("no recorded report in tests/data/h200 or in the shared folder")
    path = tmp_path_factory.mktemp("recorded") / "small.ncu-rep"
    path.write_bytes(lzma.decompress(found[0].read_bytes()))
    return path


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment in which ncu is the stand-in, and a working folder of its own."""
    monkeypatch.chdir(tmp_path)
    folder = str(Path(sys.executable).parent)
    return {
        "PATH": os.pathsep.join([str(FAKE.parent), folder, "/usr/bin", "/bin"]),
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "KPROF_CUPTI": "",  # ncu times launches, whatever this machine has
    }


@pytest.fixture
def kprof(env: dict[str, str], recorded: Path) -> Run:
    """Run ``kprof profile`` to its end."""

    def run(*args: str, stdin: str = "", **fake: str) -> subprocess.CompletedProcess[str]:
        more = {f"FAKE_NCU_{name.upper()}": value for name, value in fake.items()}
        done = subprocess.run(
            command(*args),
            env={**env, "FAKE_NCU_REPORT": str(recorded), **more},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert_no_traceback(done.stderr)
        return done

    return run


@pytest.fixture
def running(env: dict[str, str], recorded: Path) -> Iterator[Start]:
    """Start ``kprof profile`` on a target that sleeps, with a grandchild in a session of its own."""
    children = []

    def start(
        *args: str, kernels: str = "a,b", code: str = LONG, **fake: str
    ) -> subprocess.Popen[str]:
        more = {f"FAKE_NCU_{name.upper()}": value for name, value in fake.items()}
        child = subprocess.Popen(
            command(*args, script("t.py", code)),
            env={**env, "FAKE_NCU_REPORT": str(recorded), "FAKE_NCU_KERNELS": kernels, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            # A background job inherits an ignored SIGINT; a person's shell does not.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        children.append(child)
        wait_for(lambda: Path("pids").exists() and Path("pids").read_text().count(" ") == 1)
        # ncu has measured something, or never will.
        wait_for(lambda: not kernels or "passes" in logged())
        return child

    yield start
    kill(children)


@pytest.fixture(scope="session")
def cupti(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to build the tracer and CUPTI's stand-in with")
    path = tmp_path_factory.mktemp("cupti") / "libcupti.so.13"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(path), str(CUPTI)], check=True)
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
