"""No fix takes away what works: a GPU that another driver would drop, or everybody's instances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kprof.audit.devices import devices
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy
from tests.audit.snapshots import A100, RTX_4090, driver, errors, gpu, judged, machine

RTX_5090 = gpu("NVIDIA GeForce RTX 5090", "12.0")
BLACKWELL = "NVIDIA Corporation GB202 [GeForce RTX 5090]"
ADA = "NVIDIA Corporation AD102 [GeForce RTX 4090]"
PASCAL = "NVIDIA Corporation GP107 [GeForce GTX 1050]"
KEPLER = "NVIDIA Corporation GK110 [GeForce GTX 780]"
FLAVOR, BRANCH = "driver.proprietary_modules_required", "driver.gpu_unsupported_by_branch"
PARTED = {**A100, "mig": "enabled"}
FINDS_ONE = {"init_code": 0, "device_count": 1, "kind": "driver"}


def beside(works: dict[str, object], name: str, second: str, holder: str | None) -> dict[str, Any]:
    """A machine whose first GPU works under the open modules, with a second one on the bus."""
    return machine(
        gpus=[works], lspci_gpus=[name, second], pci_drivers=["nvidia", holder], libcuda=FINDS_ONE,
        driver=driver("580.95.05", "13.0", module_flavor="open"),
    )  # fmt: skip


def advised(check: str, facts: dict[str, Any]) -> Remedy:
    remedy = judged(check, facts).remedy
    assert remedy is not None
    return remedy


@pytest.mark.parametrize("check", [FLAVOR, BRANCH])
@pytest.mark.parametrize("second", [PASCAL, KEPLER])
def test_a_gpu_of_a_virtual_machine_is_not_left_out(check: str, second: str) -> None:
    assert judged(check, beside(RTX_5090, BLACKWELL, second, "vfio-pci")).status == "ok"


def test_no_modules_that_drop_the_gpu_that_works() -> None:
    remedy = advised(FLAVOR, beside(RTX_5090, BLACKWELL, PASCAL, None))
    assert not remedy.commands
    assert "RTX 5090, which works" in remedy.text


def test_modules_that_drive_both_are_installed() -> None:
    remedy = advised(FLAVOR, beside(RTX_4090, ADA, PASCAL, None))
    assert "proprietary" in remedy.text
    assert remedy.commands


@pytest.mark.parametrize(("works", "name"), [(RTX_4090, ADA), (RTX_5090, BLACKWELL)])
def test_no_older_branch_that_drops_the_gpu_that_works(works: dict[str, object], name: str) -> None:
    assert not advised(BRANCH, beside(works, name, KEPLER, None)).commands


def test_the_gpu_that_the_host_keeps_decides_about_the_driver() -> None:
    facts = machine(
        lspci_gpus=[PASCAL, BLACKWELL], pci_drivers=["vfio-pci", None],
        driver={"module_version": None, "modules_loaded": []}, libcuda=None,
    )  # fmt: skip
    assert "open" in advised("driver.missing", facts).text


def test_software_is_chosen_for_the_gpus_that_the_host_keeps() -> None:
    facts = machine(lspci_gpus=[PASCAL, BLACKWELL], pci_drivers=["vfio-pci", "nvidia"])
    assert [one.capability for one in devices(Facts(facts))] == [(12, 0)]


def test_a_gpu_of_a_virtual_machine_alone_is_missing() -> None:
    facts = machine(gpus=[], lspci_gpus=[PASCAL], pci_drivers=["vfio-pci"])
    assert "vfio-pci" in judged("gpu.missing", facts).message


@pytest.mark.parametrize(
    ("check", "facts"),
    [
        ("gpu.mig_selection", machine(gpus=[PARTED], log="invalid device ordinal")),
        ("gpu.mig_selection", machine(gpus=[{**PARTED, "mig_devices": []}])),
        ("gpu.mig_selection", machine(gpus=[PARTED])),
        ("ncu.mig_limits", machine(gpus=[PARTED])),
        ("ncu.mig_limits", machine(gpus=[PARTED], os={"container": "docker"})),
    ],
)
def test_turning_mig_off_is_a_way_of_its_own(check: str, facts: dict[str, Any]) -> None:
    ways = list(each(advised(check, facts)))
    off = [way for way in ways if "sudo nvidia-smi -mig 0" in way.commands]
    assert [way.commands for way in off] == [("sudo nvidia-smi -mig 0",)]
    assert off[0].who in ("root", "host")
    assert ways[0] is not off[0]


def each(remedy: Remedy) -> Iterator[Remedy]:
    yield remedy
    yield from remedy.alternatives


def test_where_there_is_no_instance_one_is_made() -> None:
    remedy = advised("gpu.mig_selection", machine(gpus=[{**PARTED, "mig_devices": []}]))
    assert "sudo nvidia-smi mig -cgi PROFILE -C" in remedy.commands


def test_an_instance_is_named_where_nothing_is_parted() -> None:
    whole = {**A100, "mig": "disabled"}
    facts = machine(gpus=[whole], env={"CUDA_VISIBLE_DEVICES": "MIG-0"}, libcuda=FINDS_ONE)
    assert advised("gpu.mig_selection", facts).commands == ("unset CUDA_VISIBLE_DEVICES",)


def test_the_only_instance_need_not_be_named() -> None:
    one = {**PARTED, "mig_devices": [{"name": "1g.10gb"}]}
    facts = machine(gpus=[one], libcuda=FINDS_ONE, driver=driver("570.195.03", "12.8"))
    assert judged("gpu.mig_selection", facts).status == "ok"
    two = machine(gpus=[{**one, "mig_devices": [{}, {}]}], libcuda=FINDS_ONE)
    assert judged("gpu.mig_selection", two).status == "warning"
    assert errors(facts) == []


def test_mps_is_reported_once() -> None:
    facts = machine(gpus=[A100], services={"mps": "running"}, driver=driver("570.195.03", "12.8"))
    found = [one for one in ("system.mps", "ncu.mps") if judged(one, facts).status == "warning"]
    assert found == ["ncu.mps"]


def test_a_daemon_that_was_started_is_not_left_aside() -> None:
    remedy = advised("system.mps", machine(log="MPS client failed to connect to the MPS server"))
    assert [way.commands for way in each(remedy)] == [
        ("nvidia-cuda-mps-control -d",),
        ("unset CUDA_MPS_PIPE_DIRECTORY",),
    ]
