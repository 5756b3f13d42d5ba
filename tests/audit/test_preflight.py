from __future__ import annotations

import time
from pathlib import Path

import pytest

from kprof.collect import preflight
from kprof.errors import CountersForbidden, DriverMissing

NO_CAPABILITIES = "0000000000000000"
SYS_ADMIN = f"{1 << 21:016x}"
PERFMON = f"{1 << 38:016x}"
DOCKER_DEFAULT = "00000000a80425fb"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with a driver that restricts the counters, seen by a plain user."""
    put(tmp_path, "proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX 580.95\nGCC\n")
    put(tmp_path, "proc/driver/nvidia/params", "Foo: 2\nRmProfilingAdminOnly: 1\nBar: 0\n")
    put(tmp_path, "proc/self/status", f"Name:\tx\nCapEff:\t{NO_CAPABILITIES}\n")
    return tmp_path


def put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def hint(root: Path) -> str:
    with pytest.raises((CountersForbidden, DriverMissing)) as caught:
        preflight.check(preflight.look(root))
    assert caught.value.hint is not None
    assert "\n" not in caught.value.hint
    return caught.value.hint


def test_plain_user_on_a_restricted_machine_is_stopped(root: Path) -> None:
    with pytest.raises(CountersForbidden, match="ERR_NVGPUCTRPERM"):
        preflight.check(preflight.look(root))
    assert "sudo" in hint(root)
    assert "NVreg_RestrictProfilingToAdminUsers=0" in hint(root)


@pytest.mark.parametrize("capabilities", [SYS_ADMIN, PERFMON, "000001ffffffffff"])
def test_privileged_user_may(root: Path, capabilities: str) -> None:
    put(root, "proc/self/status", f"CapEff:\t{capabilities}\n")
    preflight.check(preflight.look(root))


def test_unrestricted_machine_lets_everyone(root: Path) -> None:
    put(root, "proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n")
    preflight.check(preflight.look(root))


@pytest.mark.parametrize("mark", [".dockerenv", "run/.containerenv"])
def test_root_in_a_container_needs_the_capability(root: Path, mark: str) -> None:
    put(root, mark, "")
    put(root, "proc/self/status", f"CapEff:\t{DOCKER_DEFAULT}\n")
    assert "--cap-add=SYS_ADMIN" in hint(root)


def test_container_known_by_its_cgroup(root: Path) -> None:
    put(root, "proc/1/cgroup", "0::/kubepods/besteffort/pod1\n")
    assert preflight.look(root).container


@pytest.mark.parametrize("gone", ["proc/driver/nvidia/params", "proc/self/status"])
def test_unknown_is_not_an_error(root: Path, gone: str) -> None:
    (root / gone).unlink()
    preflight.check(preflight.look(root))


def test_no_driver(tmp_path: Path) -> None:
    with pytest.raises(DriverMissing, match="no NVIDIA driver"):
        preflight.check(preflight.look(tmp_path))
    assert "kprof analyze" in hint(tmp_path)
    put(tmp_path, ".dockerenv", "")
    assert "--gpus all" in hint(tmp_path)


@pytest.mark.parametrize("device", ["dev/nvidiactl", "dev/dxg"])
def test_a_device_proves_a_driver(tmp_path: Path, device: str) -> None:
    put(tmp_path, device, "")
    preflight.check(preflight.look(tmp_path))


def test_windows_has_its_own_switch(root: Path) -> None:
    put(root, "dev/dxg", "")
    assert "NVIDIA Control Panel" in hint(root)


def test_takes_milliseconds(root: Path) -> None:
    began = time.perf_counter()
    preflight.look(root)
    assert time.perf_counter() - began < 0.1
