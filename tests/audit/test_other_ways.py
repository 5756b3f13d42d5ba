"""What else than a new driver helps: the compat package, an older image, an older toolkit."""

from __future__ import annotations

from typing import Any

import pytest

from kprof.audit import remedies
from kprof.audit.compat_install import install_compat
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy
from tests.audit.snapshots import A100, H100, RTX_4090, driver, judged, machine

NVCC_13 = {
    "toolkits": [{"root": "/usr/local/cuda-13.0", "version": "13.0", "source": "PATH"}],
    "nvcc": {"path": "/usr/local/cuda-13.0/bin/nvcc", "version": "13.0"},
}
TORCH_130 = {"version": "2.13.0+cu130", "cuda": "13.0"}


def old(device: dict[str, object], **more: Any) -> dict[str, Any]:
    return machine(gpus=[device], driver=driver("535.183.01", "12.2"), **more)


@pytest.mark.parametrize("device", [A100, H100])
@pytest.mark.parametrize(
    ("check", "parts"),
    [
        ("driver.too_old_for_toolkit", NVCC_13),
        ("driver.too_old_for_torch", {"torch": TORCH_130}),
        ("driver.too_old_for_container", {**NVCC_13, "os": {"container": "docker"}}),
    ],
)
def test_a_data_center_gpu_may_take_the_compat_package(
    device: dict[str, object], check: str, parts: dict[str, Any]
) -> None:
    remedy = judged(check, old(device, **parts)).remedy
    assert remedy is not None
    commands = [one for way in remedy.alternatives for one in way.commands]
    assert any(one.endswith("install -y cuda-compat-13-0") for one in commands)
    assert any("/usr/local/cuda-13.0/compat" in one for one in commands)


@pytest.mark.parametrize(
    "facts",
    [
        old(RTX_4090),
        old(A100, os={"wsl": 2}),
        machine(driver=driver("535.183.01")),
        old(A100, libcuda={"path": "/usr/local/cuda/compat/libcuda.so.1", "kind": "compat"}),
    ],
    ids=["GeForce", "WSL", "no GPU known", "one is loaded"],
)
def test_elsewhere_it_is_not_offered(facts: dict[str, Any]) -> None:
    assert install_compat(Facts(facts), (13, 0)) is None


def test_a_system_that_is_not_known_is_told_the_package() -> None:
    found = install_compat(Facts(old(A100, os={"distro": "void"})), (13, 0))
    assert found is not None
    assert "cuda-compat-13-0" in found.text
    assert found.commands == ()


def test_an_older_toolkit_that_is_here_does_too() -> None:
    older = {"root": "/usr/local/cuda-12.2", "version": "12.2", "source": "/usr/local"}
    parts = {**NVCC_13, "toolkits": [*NVCC_13["toolkits"], older]}
    remedy = judged("driver.too_old_for_toolkit", old(RTX_4090, **parts)).remedy
    assert remedy is not None
    assert remedy.alternatives[-1].commands[0] == "export CUDA_HOME=/usr/local/cuda-12.2"


def test_an_older_image_does_too() -> None:
    facts = old(RTX_4090, container_runtime={"requires": "cuda>=12.8"})
    remedy = judged("container.require_unsatisfied", facts).remedy
    assert remedy is not None
    assert "nvidia-driver-580-open" in remedy.commands[1]
    assert [one.text for one in remedy.alternatives] == ["Use an image of CUDA 12.2 or older."]


def test_ways_are_on_one_level() -> None:
    inner = Remedy("b", alternatives=(Remedy("c"),))
    found = remedies.either(Remedy("a", alternatives=(Remedy("x"),)), inner, None, Remedy("d"))
    assert [one.text for one in found.alternatives] == ["x", "b", "c", "d"]
    assert not any(one.alternatives for one in found.alternatives)
