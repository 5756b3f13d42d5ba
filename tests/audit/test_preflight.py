"""What ``kprof profile`` checks before the target starts, on file trees made for the purpose."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from kprof.audit import Facts, audit
from kprof.audit.preflight import BUDGET_S, PROBES, after_refusal, found_ncu, preflight
from kprof.audit.probes.machine import Machine
from kprof.audit.probes.run import probe, tasks
from kprof.cli.preflight import advised, ready, refusal
from kprof.collect.find import Ncu
from kprof.doctor_result import DoctorReport, result
from kprof.errors import CountersForbidden, KprofError, NcuFailed, NotReady
from kprof.process import Completed

NO_CAPABILITIES = "0000000000000000"
SYS_ADMIN = f"{1 << 21:016x}"
PERFMON = f"{1 << 38:016x}"
DOCKER_DEFAULT = "00000000a80425fb"
VERSION = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n"
    "GCC version:  gcc version 13.3.0\n"
)
LIBCUDA = "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05"
NCU = b"NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 36398880)\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with a driver that restricts the counters, seen by a plain user."""
    put(tmp_path, "proc/driver/nvidia/version", VERSION)
    put(tmp_path, "proc/driver/nvidia/params", "Foo: 2\nRmProfilingAdminOnly: 1\nBar: 0\n")
    put(tmp_path, "proc/modules", "nvidia_uvm 1 0 - Live 0x0\nnvidia 1 1 nvidia_uvm, Live 0x0\n")
    status(tmp_path, NO_CAPABILITIES)
    for name in ("nvidiactl", "nvidia0", "nvidia-uvm"):
        put(tmp_path, f"dev/{name}", "")
    put(tmp_path, "usr/local/cuda/bin/ncu", "").chmod(0o755)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "root").mkdir()
    return tmp_path


def put(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def status(root: Path, capabilities: str, user: int = 1000) -> None:
    text = f"Name:\tx\nUid:\t{user}\t{user}\t{user}\t{user}\nCapEff:\t{capabilities}\n"
    put(root, "proc/self/status", text)


def machine(root: Path, libcuda: str | None = LIBCUDA) -> Machine:
    """A machine on which ncu and libcuda answer and nothing else can be started."""

    def run(argv: Sequence[str], _environ: object, _timeout: float) -> Completed | None:
        if any(word.endswith("libcuda_child.py") for word in argv):
            code = {"init_code": 0} if libcuda else {}
            return Completed(0, json.dumps({"path": libcuda, **code}).encode(), b"")
        known = argv[0].endswith("/ncu") and argv[1] == "--version"
        return Completed(0, NCU, b"") if known else None

    return Machine(root=root, environ={"HOME": "/root"}, runner=run)


def report(root: Path, libcuda: str | None = LIBCUDA) -> DoctorReport:
    return result(preflight(machine(root, libcuda)))


def stopped(root: Path, libcuda: str | None = LIBCUDA) -> KprofError:
    found = report(root, libcuda)
    assert found.cause is not None, found.of("unknown")
    error = refusal(found.cause)
    assert error.hint is not None
    assert "\n" not in error.message + error.hint
    return error


def test_plain_user_on_a_restricted_machine_is_stopped(root: Path) -> None:
    error = stopped(root)
    assert isinstance(error, CountersForbidden)
    assert "(ncu.perm)" in error.message
    assert "NVreg_RestrictProfilingToAdminUsers=0" in str(error.hint)
    assert "sudo" in str(error.hint)


@pytest.mark.parametrize("capabilities", [SYS_ADMIN, PERFMON, "000001ffffffffff"])
def test_privileged_user_may(root: Path, capabilities: str) -> None:
    status(root, capabilities)
    assert report(root).primary is None


def test_unrestricted_machine_lets_everyone(root: Path) -> None:
    put(root, "proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n")
    assert report(root).primary is None


def test_root_in_a_container_needs_the_capability(root: Path) -> None:
    put(root, ".dockerenv", "")
    status(root, DOCKER_DEFAULT, user=0)
    error = stopped(root)
    assert isinstance(error, CountersForbidden)
    assert "--cap-add=SYS_ADMIN" in str(error.hint)
    assert "the admin of the host" in str(error.hint)


@pytest.mark.parametrize("gone", ["proc/driver/nvidia/params", "proc/self/status"])
def test_unknown_stops_nobody(root: Path, gone: str) -> None:
    (root / gone).unlink()
    assert report(root).primary is None


def test_no_driver(root: Path) -> None:
    for name in ("proc/driver/nvidia/version", "proc/driver/nvidia/params", "dev/nvidiactl",
                 "dev/nvidia0", "dev/nvidia-uvm"):  # fmt: skip
        (root / name).unlink()
    put(root, "proc/modules", "ext4 1 0 - Live 0x0\n")
    error = stopped(root, libcuda=None)
    assert isinstance(error, NotReady)
    assert "no NVIDIA driver is installed" in error.message


def test_a_stub_in_the_place_of_the_driver(root: Path) -> None:
    error = stopped(root, libcuda="/usr/local/cuda/lib64/stubs/libcuda.so")
    assert "(env.stub_libcuda)" in error.message


def test_without_ncu_it_says_how_to_get_one(root: Path) -> None:
    put(root, "proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n")
    (root / "usr/local/cuda/bin/ncu").unlink()
    error = stopped(root)
    assert "(ncu.missing)" in error.message
    assert "Install Nsight Compute" in str(error.hint)


def test_the_ncu_that_was_named_counts(root: Path) -> None:
    put(root, "proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n")
    (root / "usr/local/cuda/bin/ncu").unlink()
    named = Ncu(Path("/opt/mine/ncu"), "2025.3.1.0")
    found = preflight(machine(root), named)
    assert found.primary is None
    assert found_ncu(found) == named


def test_the_ncu_it_saw_need_not_be_asked_again(root: Path) -> None:
    found = found_ncu(preflight(machine(root)))
    assert found == Ncu(Path("/usr/local/cuda/bin/ncu"), "2025.3.1.0")


def test_the_probes_are_some_of_the_audit_and_none_is_slow_by_nature() -> None:
    assert {task.name for task in tasks()} > PROBES
    assert not PROBES & {"nvidia_smi", "nvml", "torch", "torch_import", "kernel_log", "services"}


@pytest.mark.parametrize("late_s", [0.0, 5.0], ids=["ended in time", "not even then"])
def test_a_machine_that_does_not_answer_costs_less_than_a_second(root: Path, late_s: float) -> None:
    def hang(_argv: object, _environ: object, timeout: float) -> Completed | None:
        time.sleep(timeout + late_s)
        return Completed(-9, b"", b"", timed_out=True)

    hanging = Machine(root=root, environ={}, runner=hang)
    audit(Facts({}), "profile")  # what is loaded once is not what is measured
    began = time.monotonic()
    snapshot = probe(hanging, PROBES, BUDGET_S)
    assert time.monotonic() - began < 0.95
    assert "errors" in snapshot["facts"]
    preflight(hanging)
    assert time.monotonic() - began < 3


def test_ncus_refusal_gets_the_fix_for_this_machine(root: Path) -> None:
    said = "ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU counters"
    (root / "proc/driver/nvidia/params").unlink()
    errors = {item.check: item for item in result(after_refusal(machine(root), said)).of("error")}
    assert "NVreg_RestrictProfilingToAdminUsers=0" in str(errors["ncu.perm"].remedy)


def test_other_failures_stay_as_they_are() -> None:
    error = NcuFailed("the disk is full", hint="free space")
    assert advised(error) is error


def rank_of_eight(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this machine one process of a job of eight, that may read the counters."""
    status(root, SYS_ADMIN)
    one = machine(root)
    job = Machine(root=root, environ={**one.environ, "WORLD_SIZE": "8"}, runner=one.runner)
    monkeypatch.setattr("kprof.cli.preflight.Machine", lambda **_: job)


def test_a_job_of_several_is_profiled_without_its_collectives(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rank_of_eight(root, monkeypatch)
    assert ready().ncu.version.startswith("2025.3.1")
    assert "(ncu.multi_rank_hang)" in capsys.readouterr().err


def test_replaying_collectives_one_by_one_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rank_of_eight(root, monkeypatch)
    with pytest.raises(NotReady, match="multi_rank_hang"):
        ready(collectives=True)
