"""A worker that is ready before there is a report, and whatever may happen to it until then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kprof.model.profile import Profile
from kprof.reader import load
from kprof.reader.standby import Standby

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "sample_kernels" / "recordings" / "demo.ncu-rep.xz"


@pytest.fixture(scope="module")
def profile() -> Profile:
    """What a worker reads that was started for the report."""
    return load(REPORT)


def test_it_reads_what_any_worker_does(profile: Profile, tmp_path: Path) -> None:
    with Standby(tmp_path) as standby:
        assert load(REPORT, standby=standby) == profile
        assert standby.take() is None
        assert load(REPORT, standby=standby) == profile


def test_it_may_die_before_there_is_a_report(profile: Profile, tmp_path: Path) -> None:
    with Standby(tmp_path) as standby:
        os.kill(pid_of(standby), signal.SIGKILL)
        wait_until_gone(pid_of(standby))
        assert load(REPORT, standby=standby) == profile


def test_it_may_be_impossible(profile: Profile, tmp_path: Path) -> None:
    with Standby(tmp_path / "removed") as standby:
        assert standby.take() is None
        assert load(REPORT, standby=standby) == profile


def test_its_folder_may_go(profile: Profile, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with Standby(folder) as standby:
        folder.rmdir()
        assert load(REPORT, standby=standby) == profile


def test_it_ends_where_nobody_takes_it(tmp_path: Path) -> None:
    with Standby(tmp_path) as standby:
        pid = pid_of(standby)
    assert not Path(f"/proc/{pid}").exists()


def test_it_does_not_outlive_who_is_killed() -> None:
    code = (
        "import os, signal, pathlib; from kprof.reader.standby import Standby; "
        "print(Standby(pathlib.Path('/'))._worker._child.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=False)
    assert done.returncode == -signal.SIGKILL
    wait_until_gone(int(done.stdout))


def pid_of(standby: Standby) -> int:
    assert standby._worker is not None
    return standby._worker._child.pid


def wait_until_gone(pid: int) -> None:
    stat, deadline = Path(f"/proc/{pid}/stat"), time.monotonic() + 10
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)
