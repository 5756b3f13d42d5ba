"""Streams, signals and limits of the machine, with the installed command and a real report."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="tries what Linux does")

KPROF = Path(sys.executable).with_name("kprof")
DEMO = Path(__file__).resolve().parents[2] / "sample_kernels" / "recordings" / "demo.ncu-rep.xz"


def shell(line: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a shell line in which $K is kprof and $R a report."""
    names = {"K": str(KPROF), "R": str(DEMO)}
    return subprocess.run(
        ["/bin/bash", "-c", line],
        capture_output=True,
        encoding="latin-1",
        timeout=120,
        check=False,
        env={**os.environ, **names, **env},
    )


@pytest.mark.parametrize("command", ["analyze $R", "rules", "--help", "--version"])
@pytest.mark.parametrize("stdout", [">/dev/full", ">&-"])
def test_standard_output_that_takes_nothing(command: str, stdout: str) -> None:
    done = shell(f"$K {command} {stdout}")
    assert done.returncode == 2
    assert done.stderr.startswith("Error: standard output cannot be written: ")
    assert len(done.stderr.splitlines()) == 2


def test_no_error_stream_changes_no_exit_status(tmp_path: Path) -> None:
    assert shell(f"cd {tmp_path}; $K analyze $R -o x.json 2>&-").returncode == 0
    assert shell(f"cd {tmp_path}; $K analyze nothing.ncu-rep 2>&-").returncode == 2
    assert shell(f"cd {tmp_path}; $K analyze $R -o y.json 0<&- 1>&- 2>&-").returncode == 0
    assert (tmp_path / "x.json").read_bytes() == (tmp_path / "y.json").read_bytes()


def test_characters_the_terminal_has_not_are_replaced() -> None:
    done = shell("$K analyze $R -v", PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "?" in done.stdout


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("ulimit -n 6; $K analyze $R", "ulimit -n"),
        ("$K analyze $R -o $(printf %300s | tr ' ' x).json", "-o"),
        ("$K analyze $(printf %300s | tr ' ' x)", "check"),
        ("d=$(mktemp -d); cd $d; rmdir $d; $K analyze $R -o a.json", "the current folder is gone"),
    ],
)
def test_limits_of_the_machine_are_messages(line: str, hint: str) -> None:
    done = shell(line)
    assert "Traceback" not in done.stderr
    assert hint in done.stderr
    assert done.returncode == 2


def test_a_lower_limit_of_memory_than_the_readers_own_stays() -> None:
    done = shell("ulimit -v 3000000; $K analyze $R")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def slow(tmp_path: Path) -> dict[str, str]:
    """An environment in which the reader never gets to read, with a place of its own for files."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "ncu_report.py").write_text(
        f"import os, time\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "time.sleep(60)\n"
    )
    (tmp_path / "tmp").mkdir()
    return {"PYTHONPATH": str(tmp_path / "lib"), "TMPDIR": str(tmp_path / "tmp")}


@pytest.mark.parametrize(
    ("signum", "status"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)],
)
def test_a_signal_ends_analyze_at_once_and_leaves_nothing(
    slow: dict[str, str], tmp_path: Path, signum: int, status: int
) -> None:
    child, reader = _reading(slow, tmp_path)
    began = time.monotonic()
    child.send_signal(signum)
    _, said = child.communicate(timeout=20)
    assert time.monotonic() - began < 5
    assert child.returncode == status
    assert b"Traceback" not in said
    assert not _runs(reader)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_the_reader_ends_with_a_kprof_that_is_killed(slow: dict[str, str], tmp_path: Path) -> None:
    child, reader = _reading(slow, tmp_path)
    child.kill()
    child.communicate(timeout=20)
    deadline = time.monotonic() + 5
    while _runs(reader) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(reader)


@pytest.mark.parametrize("fault", ["raise RuntimeError('odd')", "1 / 0", "raise ImportError('x')"])
def test_a_library_that_cannot_be_loaded(tmp_path: Path, fault: str) -> None:
    (tmp_path / "ncu_report.py").write_text(f"{fault}\n")
    done = shell("$K analyze $R", PYTHONPATH=str(tmp_path))
    assert done.returncode == 2
    assert "cannot be imported" in done.stderr
    assert "pip install" in done.stderr


def _reading(slow: dict[str, str], folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start analyze and return it and the reader's process id once that is at work."""
    child = subprocess.Popen(
        [KPROF, "analyze", DEMO, DEMO],
        env={**os.environ, **slow},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError, ValueError):
            return child, int((folder / "pid").read_text())
        time.sleep(0.02)
    child.kill()
    raise AssertionError("the reader did not start")


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
