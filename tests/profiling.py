"""What the tests of ``kprof profile`` share: its command line, targets, and processes watched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAKE = ROOT / "tests" / "fakes" / "ncu"
REPORT = {"report.html", "report.json", "report.ncu-rep"}

Run = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., subprocess.Popen[str]]

# Sleeps, with a grandchild in a session of its own; writes both pids.
LONG = (
    "import os, sys, time, subprocess\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'],"
    " start_new_session=True)\n"
    "open('pids', 'w').write(f'{os.getpid()} {child.pid}')\n"
    "time.sleep(60)\n"
)
DEAF = (
    "import signal\n"
    "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
)


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "kprof", "profile", "--no-preflight", *args]


def script(name: str, code: str) -> str:
    Path(name).write_text(code)
    return name


def written(folder: str) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


def logged() -> str:
    return "".join(path.read_text() for path in Path("kprof-t").glob(".kprof-*/*.log"))


def wait_for(condition: Callable[[], bool], limit_s: float = 20) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def assert_nothing_left() -> None:
    pids = [int(pid) for pid in Path("pids").read_text().split()]
    assert [pid for pid in pids if alive(pid)] == []


def kill(children: Iterable[subprocess.Popen[str]]) -> None:
    """End process groups that a failed test has left running."""
    for child in children:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def end(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = child.communicate(timeout=60)
    assert_no_traceback(err)
    return child.returncode, out, err


def assert_no_traceback(err: str) -> None:
    # The target's own may be there.
    assert f'File "{ROOT / "kprof"}' not in err, err
