"""What a traced program may do, and what must not happen to it, with stand-ins for CUPTI and ncu."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.profiling import script
from tests.tracing import PROGRAM, Traced, report

MORE = "\nlaunch([('_Z4tinyPi', 1, 1, 1000, 5)])\n"
GOES_ELSEWHERE = PROGRAM.replace("# loss", "os.chdir('/') # loss")
CLOSES_ALL = f"""
{PROGRAM}
os.closerange(3, 256)
own = os.open("mine", os.O_CREAT | os.O_RDWR)
os.write(own, b"mine"){MORE}
"""
UNLOADS = f"""
{PROGRAM}
import _ctypes
_ctypes.dlclose(ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])._handle)
_ctypes.dlclose(ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])._handle)
_ctypes.dlclose(ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])._handle){MORE}
"""
FORKS = f"""
import threading, time
{PROGRAM}
def hand_over():
    {MORE.strip()}
    ctypes.CDLL(os.environ["FAKE_LIBRARY"]).cuptiActivityFlushAll(1)
thread = threading.Thread(target=hand_over)
thread.start()
for _ in range(5):  # while the tracer reads what it was handed
    time.sleep(0.02)
    if os.fork() == 0: sys.exit(0)
    os.wait()
thread.join()
"""


@pytest.mark.parametrize(
    ("program", "mode", "launches"),
    [
        (GOES_ELSEWHERE, "", 93),
        (CLOSES_ALL, "prompt", 98),
        (UNLOADS, "prompt", 98),
        (FORKS, "slow", 98),
    ],
)
def test_a_program_may_do_as_it_likes(
    traced: Traced, program: str, mode: str, launches: int
) -> None:
    done = traced("--plan", script("t.py", program), FAKE_CUPTI=mode)
    assert done.returncode == 0, done.stderr
    assert f"Survey: {launches} launches of 3 kernels" in done.stdout, done.stderr
    assert not Path("mine").exists() or Path("mine").read_text() == "mine"


def test_a_limit_of_files_sizes_ends_nobody(traced: Traced) -> None:
    limit = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
    )
    done = traced("--plan", script("t.py", limit + PROGRAM + "\nopen('ran', 'w')"))
    assert done.returncode == 0, done.stderr
    assert Path("ran").exists()
    assert "a process ended without a word" in done.stderr  # its trace stops where it was full


def test_a_handler_that_ends_the_program_does_not_wait_for_itself(traced: Traced) -> None:
    code = (
        "\nimport signal\nlibrary = ctypes.CDLL(None)\n"
        "ended = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda number: library.exit(7))\n"
        "library.signal(signal.SIGALRM, ended)\n"
        "library.ualarm(50_000, 0)\n"
        "ctypes.CDLL(os.environ['FAKE_LIBRARY']).cuptiActivityFlushAll(1)\n"
        "import time; time.sleep(60)"
    )
    done = traced("--timeout", "30", script("t.py", PROGRAM + code), FAKE_CUPTI="slow")
    assert report()["source"]["target_exit"] == 7, done.stderr


def test_a_folder_that_the_program_removes_is_told(traced: Traced) -> None:
    done = traced(script("t.py", PROGRAM + "\nimport shutil; shutil.rmtree('kprof-t')"))
    assert done.returncode == 2
    assert "cannot be written: No such file" in done.stderr
    assert "see that the disk has space" in done.stderr
