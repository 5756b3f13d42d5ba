from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kprof import process
from kprof.signals import HeldSignals


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_returns_status_and_both_streams() -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"
    done = process.run(python(code), timeout_s=30)
    assert done == process.Completed(7, b"out\n", b"err\n", timed_out=False)


def test_a_signal_is_a_negative_status() -> None:
    done = process.run(python("import os; os.kill(os.getpid(), 6)"), timeout_s=30)
    assert done.returncode == -6


def test_input_reaches_the_program() -> None:
    code = "import sys; sys.stdout.write(sys.stdin.read()[::-1])"
    assert process.run(python(code), timeout_s=30, input_bytes=b"abc").stdout == b"cba"


def test_without_input_the_program_does_not_read_the_terminal() -> None:
    code = "import sys; print(repr(sys.stdin.read()))"
    assert process.run(python(code), timeout_s=30).stdout == b"''\n"


def test_environment_and_directory(tmp_path: Path) -> None:
    code = "import os; print(os.environ['KPROF_X'], os.getcwd())"
    env = {**os.environ, "KPROF_X": "é"}
    done = process.run(python(code), timeout_s=30, env=env, cwd=tmp_path)
    assert done.stdout.decode() == f"é {tmp_path.resolve()}\n"


def test_a_missing_program_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        process.run([tmp_path / "absent"], timeout_s=30)


def test_timeout_kills_grandchildren_and_keeps_output() -> None:
    code = (
        "import subprocess, sys, time;"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        "print(p.pid, flush=True); time.sleep(60)"
    )
    began = time.monotonic()
    done = process.run(python(code), timeout_s=1.5)
    assert done.timed_out
    assert done.returncode == -9
    assert time.monotonic() - began < 10
    assert_gone(int(done.stdout))


def test_timeout_does_not_wait_for_a_process_that_left_the_group() -> None:
    code = (
        "import subprocess, sys, time;"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(8)'],"
        " start_new_session=True); time.sleep(60)"
    )
    began = time.monotonic()
    assert process.run(python(code), timeout_s=1).timed_out
    assert time.monotonic() - began < 6


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_program_that_writes_without_end_is_ended_at_the_limit(stream: str) -> None:
    code = (
        "import subprocess, sys;"
        "p = subprocess.Popen(['sleep', '60']); print(p.pid, file=sys.stdout, flush=True)\n"
        f"while True: sys.{stream}.write('x' * 5000)"
    )
    began = time.monotonic()
    done = process.run(python(code), timeout_s=50, max_output_bytes=100_000)
    assert time.monotonic() - began < 10
    assert (done.cut, done.timed_out, done.returncode) == (True, False, -9)
    assert len(getattr(done, stream)) == 100_000
    assert_gone(int(done.stdout.split(maxsplit=1)[0].rstrip(b"x")))


def test_output_of_just_the_limit_is_no_more() -> None:
    code = "import sys; sys.stdout.write('x' * 100_000)"
    done = process.run(python(code), timeout_s=30, max_output_bytes=100_000)
    assert done == process.Completed(0, b"x" * 100_000, b"")


def test_much_input_and_much_output_do_not_wait_for_each_other() -> None:
    code = "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer, 100)"
    text = bytes(range(256)) * 8192
    done = process.run(python(code), timeout_s=50, input_bytes=text)
    assert done == process.Completed(0, text, b"")


def test_a_program_need_not_read_its_input() -> None:
    done = process.run(python("print('done')"), timeout_s=30, input_bytes=b"x" * 10**6)
    assert done == process.Completed(0, b"done\n", b"")


def test_a_program_that_closes_its_outputs_is_still_waited_for() -> None:
    code = "import os, time; os.close(1); os.close(2); time.sleep({}); os._exit(3)"
    assert process.run(python(code.format(0.3)), timeout_s=30).returncode == 3
    assert process.run(python(code.format(60)), timeout_s=1).timed_out


def test_no_descriptor_is_left_open() -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    process.run(python("print(1)"), timeout_s=30, input_bytes=b"x")
    with pytest.raises(FileNotFoundError):
        process.run(["/nowhere/program"], timeout_s=30)
    process.run(python("import time; time.sleep(60)"), timeout_s=0.2)
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_memory_limit_makes_a_greedy_program_fail() -> None:
    code = "import time; time.sleep(0.2); x = bytearray(900 * 1024 * 1024); print(len(x))"
    assert process.run(python(code), timeout_s=30).returncode == 0
    done = process.run(python(code), timeout_s=30, memory_limit_bytes=400 * 1024 * 1024)
    assert done.returncode != 0
    assert b"MemoryError" in done.stderr


def test_a_limit_of_the_system_below_ours_stays() -> None:
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from kprof import process
limit = "import resource; print(resource.getrlimit(resource.RLIMIT_AS)[0] >> 20)"
for most in (4 << 30, 1 << 30):
    done = process.run([{sys.executable!r}, "-c", limit], timeout_s=30, memory_limit_bytes=most)
    print(done.stdout.decode().strip())
"""
    done = process.run(python(code), timeout_s=60)
    assert done.stdout.split() == [b"3072", b"1024"], done.stderr


def test_a_thread_that_is_late_starts_nothing_after_the_end() -> None:
    known = process.ends()
    process.end_all()
    caught: list[OSError] = []

    def late() -> None:
        process.as_of(known)
        try:
            process.run(python("pass"), timeout_s=30)
        except OSError as error:
            caught.append(error)

    thread = threading.Thread(target=late)
    thread.start()
    thread.join()
    assert [error.errno for error in caught] == [errno.ECANCELED]
    assert process.run(python("pass"), timeout_s=30).returncode == 0  # another thread may


ECHO = "import sys; sys.stdout.write(sys.stdin.read().upper())"


def test_a_ready_program_waits_for_its_input() -> None:
    ready = process.Ready(python(ECHO))
    time.sleep(0.3)
    assert not ready.ended
    assert ready.run(b"now", timeout_s=30) == process.Completed(0, b"NOW", b"")


def test_a_ready_program_has_the_limits_of_any_other() -> None:
    code = "import sys; sys.stdin.read(); x = bytearray(900 << 20)"
    ready = process.Ready(python(code), memory_limit_bytes=400 << 20)
    assert b"MemoryError" in ready.run(b"now", timeout_s=30).stderr
    assert process.Ready(python("import time; time.sleep(60)")).run(b"", timeout_s=0.2).timed_out


def test_a_ready_program_that_nobody_wants_is_ended() -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    ready = process.Ready(python(ECHO))
    assert not ready.ended
    ready.end()
    assert ready.ended
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


class Stop(BaseException):
    """What a handler raises."""


def _ends(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # as kprof's own handler does
    raise Stop


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[process.Child]:
    """Every program that is started, each with a SIGTERM to this process on its heels."""
    children: list[process.Child] = []

    class Signalled(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            children.append(self)
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(subprocess, "Popen", Signalled)
    return children


@pytest.fixture
def _handler(request: pytest.FixtureRequest) -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, request.param)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("_handler")
@pytest.mark.parametrize("_handler", [_ends], indirect=True)
@pytest.mark.parametrize("start", [process.run, process.Ready])
def test_a_signal_while_a_program_starts_leaves_none_behind(
    start: Callable[..., object], started: list[process.Child]
) -> None:
    options = {"timeout_s": 60} if start is process.run else {}
    with pytest.raises(Stop):
        start(["sleep", "60"], **options)
    assert [child.wait(5) for child in started] == [-signal.SIGKILL]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


def test_of_several_signals_held_one_is_enough() -> None:
    told: list[int] = []

    def ends(signum: int, _: object) -> None:
        told.append(signum)
        raise Stop

    before = {signum: signal.signal(signum, ends) for signum in (signal.SIGHUP, signal.SIGTERM)}
    with HeldSignals() as held:
        for signum in before:
            os.kill(os.getpid(), signum)
        with pytest.raises(Stop):
            held.release()
    assert len(told) == 1
    for signum, handler in before.items():
        signal.signal(signum, handler)


CAME: list[int] = []


@pytest.mark.usefixtures("_handler")
@pytest.mark.parametrize("_handler", [lambda signum, _: CAME.append(signum)], indirect=True)
def test_a_signal_that_is_only_noted_ends_nothing(started: list[process.Child]) -> None:
    CAME.clear()
    handler = signal.getsignal(signal.SIGTERM)
    assert process.run(["echo", "there"], timeout_s=20).stdout == b"there\n"
    assert len(started) == 1
    assert CAME == [signal.SIGTERM]
    assert signal.getsignal(signal.SIGTERM) is handler


@pytest.mark.usefixtures("_handler")
@pytest.mark.parametrize("_handler", [_ends], indirect=True)
def test_a_program_that_cannot_be_started_keeps_no_signal(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        process.run([tmp_path / "missing"], timeout_s=5)
    assert signal.getsignal(signal.SIGTERM) is _ends


def test_started_program_is_waited_for() -> None:
    child = process.start(python("import time; time.sleep(0.5)"))
    assert not process.ended(child, 0.05)
    assert process.ended(child, 20)
    assert child.returncode == 0


def assert_gone(pid: int) -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":  # ended, not yet collected by whoever inherited it
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} is still running")
