"""``kprof profile`` with programs that behave badly: each ends in time, says why, keeps the rest."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.profiling import (
    DEAF,
    LONG,
    REPORT,
    Run,
    Start,
    alive,
    assert_nothing_left,
    command,
    end,
    script,
    written,
)

KEPT = "the report holds what was measured until then"


def report(folder: str = "kprof-t") -> Any:
    assert written(folder) == REPORT
    return json.loads(Path(folder, "report.json").read_text())


# A kernel that hangs -----------------------------------------------------------------------------


def test_a_kernel_that_hangs_ends_the_run_and_keeps_the_others(running: Start) -> None:
    child = running("--kernel-timeout", "1", mode="stuck", kernels="good,spin_on_flag")
    status, out, err = end(child)
    assert status == 2, err
    assert "Error: ncu got no further with spin_on_flag, and was stopped (--kernel-timeout)" in err
    assert KEPT in err
    assert "--kernel '^(?!.*spin_on_flag)'" in err
    assert "--as-in-app" in err
    assert "Report: kprof-t/report.html" in out
    assert "spin_on_flag" in Path("kprof-t/report.html").read_text()
    assert written("kprof-t") == REPORT
    assert_nothing_left()


def test_the_first_kernel_hangs(kprof: Run) -> None:
    done = kprof("--kernel-timeout", "1", script("t.py", LONG), mode="stuck", kernels="spin")
    assert done.returncode == 2
    assert "Error: ncu got no further with spin, and was stopped (--kernel-timeout)" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("Hint: a kernel that waits for the CPU")
    assert not Path("kprof-t").exists()
    assert_nothing_left()


def test_communication_that_hangs_is_known_for_it(kprof: Run) -> None:
    target = script("t.py", LONG)
    done = kprof(
        "--with-communication", "--kernel-timeout", "1", target,
        mode="stuck", kernels="good,ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    )  # fmt: skip
    assert done.returncode == 2
    assert "it waits for other GPUs" in done.stderr
    assert written("kprof-t") == REPORT


def test_a_hanging_kernel_of_a_program_that_hears_no_signal(running: Start) -> None:
    child = running("--kernel-timeout", "1", mode="stuck", code=DEAF + LONG)
    began = time.monotonic()
    assert end(child)[0] == 2
    assert time.monotonic() - began < 20
    assert written("kprof-t") == REPORT
    assert_nothing_left()


def test_only_what_kprof_started_is_ended(running: Start) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        assert end(running("--kernel-timeout", "1", mode="stuck"))[0] == 2
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
    assert_nothing_left()


def test_the_program_may_compute_between_kernels_as_long_as_it_likes(kprof: Run) -> None:
    target = script("t.py", "import time; time.sleep(3)")
    done = kprof("--kernel-timeout", "1", target, kernels="a,b")
    assert done.returncode == 0, done.stderr
    assert written("kprof-t") == REPORT


def test_a_kernel_that_moves_slowly_is_waited_for(kprof: Run) -> None:
    done = kprof("--kernel-timeout", "1", script("t.py", ""), kernels="a,b", seconds="1.4")
    assert done.returncode == 0, done.stderr
    assert "kernel 2: b: 9 passes in" in done.stderr


def test_a_kernel_timeout_of_zero_waits_for_ever(running: Start) -> None:
    status, _, err = end(running("--kernel-timeout", "0", "--timeout", "3", mode="stuck"))
    assert status == 2
    assert f"by --timeout; {KEPT}" in err


# A program that hangs, forks, spawns, ignores signals --------------------------------------------


def test_a_program_that_hangs_before_its_first_kernel(kprof: Run) -> None:
    done = kprof("--timeout", "2", script("t.py", LONG), kernels="")
    assert done.returncode == 2
    assert "stopped before the first kernel was measured" in done.stderr
    assert "Hint: give the run more time" in done.stderr
    assert not Path("kprof-t").exists()
    assert_nothing_left()


def test_a_program_that_hangs_and_hears_no_signal(kprof: Run) -> None:
    began = time.monotonic()
    done = kprof("--timeout", "2", script("t.py", DEAF + LONG), kernels="a*10", seconds="0")
    assert time.monotonic() - began < 25
    assert done.returncode == 2
    assert f"by --timeout; {KEPT}" in done.stderr
    assert written("kprof-t") == REPORT
    assert_nothing_left()


FORKS = """
import os, sys, time
for number in range(8):
    if os.fork() == 0:
        print('child', number, flush=True)
        os._exit(0)
for _ in range(8):
    os.wait()
print('parent', flush=True)
"""


def test_a_program_that_forks(kprof: Run) -> None:
    done = kprof(script("t.py", FORKS))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()[:9]
    assert sorted(lines[:8]) == [f"child {number}" for number in range(8)]
    assert lines[8] == "parent"
    assert written("kprof-t") == REPORT


DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open('pids', 'w').write(str(os.getpid()))
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        time.sleep(60)
    os._exit(0)
os.wait()
while not os.path.exists('pids') or not open('pids').read():
    time.sleep(0.01)
"""


def test_a_daemon_that_a_program_leaves_on_purpose_stays(kprof: Run) -> None:
    done = kprof(script("t.py", DAEMON))
    daemon = int(Path("pids").read_text())
    try:
        assert done.returncode == 0, done.stderr
        assert alive(daemon)
    finally:
        os.kill(daemon, 9)


def test_a_daemon_of_a_program_that_fails_goes_with_it(kprof: Run) -> None:
    done = kprof(script("t.py", f"{DAEMON}\nraise SystemExit(3)"))
    assert done.returncode == 2
    assert_nothing_left()
    assert report()["source"]["target_exit"] == 3


SPAWNS = """
import subprocess, sys
depth = int(sys.argv[1])
print('depth', depth, flush=True)
if depth:
    sys.exit(subprocess.run([sys.executable, __file__, str(depth - 1)]).returncode)
sys.exit(5)
"""


def test_a_program_that_spawns_others(kprof: Run) -> None:
    done = kprof(script("t.py", SPAWNS), "4")
    assert done.returncode == 2
    assert done.stdout.startswith("".join(f"depth {n}\n" for n in range(4, -1, -1)))
    assert report()["source"]["target_exit"] == 5


# A program that ends too early -------------------------------------------------------------------


def test_a_program_that_exits_before_its_first_kernel(kprof: Run) -> None:
    done = kprof(script("t.py", "raise SystemExit(0)"), kernels="")
    assert done.returncode == 2
    assert "the target did no CUDA work that ncu could see" in done.stderr


def test_a_program_that_launches_nothing(kprof: Run) -> None:
    done = kprof(script("t.py", ""), mode="idle")
    assert done.returncode == 2
    assert "the target used CUDA but launched no kernel" in done.stderr
    assert "Hint: check that it reaches its kernels" in done.stderr


def test_a_segmentation_fault_after_ten_kernels(kprof: Run) -> None:
    target = script("t.py", "import ctypes, time; time.sleep(0.5); ctypes.string_at(0)")
    done = kprof(target, kernels="k*10", seconds="0")
    assert done.returncode == 2
    assert f"status 11, as after SIGSEGV (segmentation fault); {KEPT}" in done.stderr
    assert "kernel 10: k: 9 passes" in done.stderr
    assert report()["source"]["target_exit"] == 11


def test_no_room_to_save_what_a_kernel_overwrites(kprof: Run) -> None:
    done = kprof(script("t.py", ""), mode="memory")
    assert done.returncode == 2
    assert "there is too little memory to save what the kernel overwrites" in done.stderr
    assert "ncu says: Insufficient free memory for profiling on the device" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("Hint: --as-in-app needs no copies")


def test_communication_alone(kprof: Run) -> None:
    done = kprof(script("t.py", ""), kernels="ncclDevKernel_Generic,nvshmemi_barrier")
    assert done.returncode == 2
    assert (
        "only communication between GPUs was there to measure, which is left out: "
        "ncclDevKernel_Generic, nvshmemi_barrier" in done.stderr
    )
    assert kprof("--with-communication", "t.py", kernels="ncclDevKernel_Generic").returncode == 0


# A program that does something to its surroundings -----------------------------------------------


def test_a_program_that_changes_directory(kprof: Run) -> None:
    done = kprof(script("t.py", "import os; os.chdir('/'); print(os.getcwd())"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("/\n")
    assert written("kprof-t") == REPORT


def test_a_program_that_deletes_its_own_script(kprof: Run) -> None:
    done = kprof(script("t.py", "import os; os.remove(__file__); print('gone')"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("gone\n")
    assert not Path("t.py").exists()
    assert written("kprof-t") == REPORT


def test_fifty_thousand_launches_are_followed_without_effort(kprof: Run) -> None:
    began = time.monotonic()
    done = kprof("--survey", "never", script("t.py", ""), kernels="tiny*50000", seconds="0")
    assert done.returncode == 0, done.stderr
    # The stand-in itself takes a second or two; the first kernels get a line each, then seldom.
    assert time.monotonic() - began < 60
    assert len(done.stderr.splitlines()) < 60


# Attached or not, the program does the same ------------------------------------------------------

LOUD = """
import hashlib, os, sys
sys.stdout.flush()
block = hashlib.sha256(b'kprof').digest() * 2048
for number in range(128):
    os.write(1, block)
    os.write(2, block[:100])
"""
ECHOES = "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"
SEES = """
import os, resource, signal, sys
print(sorted(os.environ.items()))
print(os.getcwd(), sys.argv, sys.flags, os.umask(0o22), os.nice(0))
print([signal.getsignal(number) for number in sorted(signal.valid_signals()) if number < 32])
print(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
print([resource.getrlimit(limit) for limit in range(10)])
print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:-1])
print([os.isatty(n) for n in range(3)])
"""


def plainly(target: str, env: dict[str, str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    python = shutil.which("python3", path=env["PATH"])
    assert python is not None
    return subprocess.run(
        [python, target], env=env, input=data, capture_output=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("code", "data"),
    [
        (LOUD, b""),
        (ECHOES, bytes(range(256)) * 16384),
        (SEES, b""),
        ("raise SystemExit(77)", b""),
        ("import sys; sys.exit('a message')", b""),
        (FORKS.replace("print('child', number, flush=True)", ""), b""),
    ],
    ids=["loud", "echoes", "sees", "fails", "message", "forks"],
)
def test_output_and_exit_status_are_those_of_a_plain_run(
    env: dict[str, str], recorded: Path, code: str, data: bytes
) -> None:
    env["FAKE_NCU_REPORT"] = str(recorded)
    plain = plainly(script("t.py", code), env, data)
    done = subprocess.run(
        command("-q", "t.py"), env=env, input=data, capture_output=True, timeout=60, check=False
    )
    assert done.stdout.startswith(plain.stdout)
    assert done.stdout[len(plain.stdout) :].decode().count("Report: kprof-t/report.html") == 1
    assert report()["source"]["target_exit"] == plain.returncode
    assert (done.returncode == 0) == (plain.returncode == 0)
    said = done.stderr[: len(plain.stderr)]
    assert said == plain.stderr


SLEEPS = """
import os, time
open('pids', 'w').write(f'{os.getpid()} {os.getpid()}')
time.sleep(5)
"""


def test_ctrl_z_does_not_make_a_kernel_hang(running: Start) -> None:
    # Stopped together with kprof, the kernel gets no further for a while, and is not to blame.
    child = running("--kernel-timeout", "2", kernels="a,b", seconds="1.6", code=SLEEPS)
    os.killpg(child.pid, signal.SIGSTOP)
    time.sleep(3)
    os.killpg(child.pid, signal.SIGCONT)
    status, _, err = end(child)
    assert status == 0, err
    assert "got no further" not in err
