"""What a fix says follows from what is known, and its commands do something."""

from __future__ import annotations

from typing import Any

import pytest

from kprof.audit.verdict import Remedy
from tests.audit.snapshots import RTX_4090, driver, errors, gpu, judged, machine

REFUSED = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
    "Performance Counters on the target device 0."
)
NO_CODE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"


def remedy(check: str, facts: dict[str, Any]) -> Remedy:
    found = judged(check, facts).remedy
    assert found is not None
    return found


def test_a_build_of_the_same_name_is_told_from_pytorchs_own() -> None:
    facts = machine(
        os={"arch": "aarch64", "jetson": "JetPack 7.0"}, gpus=[gpu("NVIDIA Thor", "11.0")],
        driver=driver("580.00", "13.0"),
        torch={"version": "2.11.0+cu130", "cuda": "13.0", "arch_list": ["sm_80", "sm_90"]},
    )  # fmt: skip
    assert "it is not that build" in remedy("torch.arch_missing", facts).text
    other = {**facts, "torch": {**facts["torch"], "version": "2.9.0+cu126"}}
    assert "it is not that build" not in remedy("torch.arch_missing", other).text


def test_a_log_alone_installs_nothing() -> None:
    assert remedy("torch.arch_missing", {"log": NO_CODE}).commands == ("kprof doctor",)
    bare = machine(torch=None, python={"executable": "/opt/python"})
    assert remedy("torch.missing", bare).commands == ("/opt/python -m pip install torch",)


def test_a_log_alone_tells_nothing_about_the_user() -> None:
    facts = {"log": REFUSED}
    assert judged("ncu.perm", facts).message == "the driver keeps the counters to administrators"
    ways = [one.text for one in remedy("ncu.perm", facts).alternatives]
    assert any(one.startswith("On Windows: ") for one in ways)
    assert any(one.startswith("In a container: ") for one in ways)


@pytest.mark.parametrize(
    ("process", "says"),
    [
        ({"euid": 1000, "capabilities": []}, "this user has neither CAP_SYS_ADMIN nor"),
        ({"euid": 1000}, "this user has neither CAP_SYS_ADMIN nor"),
        ({"euid": 0, "capabilities": []}, "root has neither CAP_SYS_ADMIN nor"),
    ],
)
def test_what_the_process_lacks_is_said_where_it_is_known(
    process: dict[str, Any], says: str
) -> None:
    facts = machine(log=REFUSED, process=process)
    assert says in judged("ncu.perm", facts).message
    assert len(remedy("ncu.perm", facts).alternatives) == 1


def test_a_containers_capabilities_are_not_made_up() -> None:
    facts = machine(os={"container": "docker"}, log=REFUSED)
    assert "is refused them" in judged("container.no_sys_admin", facts).message
    facts["process"] = {"euid": 0, "capabilities": ["CAP_CHOWN"]}
    assert "has no CAP_SYS_ADMIN" in judged("container.no_sys_admin", facts).message


def compat(path: str | None, container: str | None) -> Remedy:
    libcuda = (
        {"path": path, "kind": "compat", "version": "580.65.06"} if path else {"kind": "compat"}
    )
    facts = machine(
        os={"container": container}, gpus=[RTX_4090], driver=driver("580.65.06", "13.0"),
        libcuda=libcuda, log="Error 804: forward compatibility was attempted on non supported HW",
    )  # fmt: skip
    assert errors(facts)[0] == "compat.forward_lib_on_unsupported"
    return remedy("compat.forward_lib_on_unsupported", facts)


def test_a_container_gets_its_image_changed() -> None:
    found = compat("/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06", "docker")
    assert "Dockerfile" in found.commands[0]
    assert not any("mv" in one for one in found.commands)
    assert found.commands[-1] == "docker run --gpus all IMAGE"


def test_only_a_compat_directory_is_moved_away() -> None:
    inside = compat("/usr/local/cuda-13.0/compat/libcuda.so.1", None)
    assert inside.commands[0].startswith("sudo mv /usr/local/cuda-13.0/compat ")
    for path in ("/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06", None):
        commands = compat(path, None).commands
        assert commands[1] == "sudo apt-get purge -y 'cuda-compat-*'"
        assert not any(" mv " in one for one in commands)


@pytest.mark.parametrize(
    ("check", "said", "command"),
    [
        ("ncu.no_kernels", "==WARNING== No kernels were profiled.", "kprof profile TARGET"),
        ("ncu.savestate", "Insufficient memory and disk space to save context state",
         "kprof profile --replay-mode application TARGET"),
        ("ncu.preinit", "Cuda is initialized before the tool",
         "unset LD_PRELOAD CUDA_INJECTION64_PATH"),
    ],
)  # fmt: skip
def test_a_message_of_ncu_comes_with_a_command(check: str, said: str, command: str) -> None:
    assert command in remedy(check, {"log": said}).commands
