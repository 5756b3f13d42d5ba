"""Machines on which everything fits: the doctor calls nothing wrong, whatever it is told of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

from kprof.audit import matrix
from tests.audit.snapshots import driver, errors, gpu, machine

# Name, what lspci calls it, capability.
GPUS = (
    ("NVIDIA GeForce GTX 1080 Ti", "GP102 [GeForce GTX 1080 Ti]", "6.1"),
    ("Tesla V100-SXM2-32GB", "GV100GL [Tesla V100 SXM2 32GB]", "7.0"),
    ("NVIDIA GeForce RTX 2080 Ti", "TU102 [GeForce RTX 2080 Ti]", "7.5"),
    ("NVIDIA A100-SXM4-80GB", "GA100 [A100 SXM4 80GB]", "8.0"),
    ("NVIDIA GeForce RTX 4090", "AD102 [GeForce RTX 4090]", "8.9"),
    ("NVIDIA H200", "GH100 [H200 SXM 141GB]", "9.0"),
    ("NVIDIA B200", "GB100 [B200]", "10.0"),
    ("NVIDIA GeForce RTX 5090", "GB202 [GeForce RTX 5090]", "12.0"),
)
BRANCHES = (470, 525, 535, 550, 570, 580, 595, 610, 615)
CUDAS = ("11.8", "12.1", "12.6", "12.8", "13.0", "13.2")
PLACES = ("host", "docker", "kubernetes", "podman", "apptainer")


@dataclass(frozen=True)
class Machine:
    name: str
    bus: str
    capability: str
    branch: int
    cuda: str
    place: str

    def __str__(self) -> str:
        return f"{self.name}, R{self.branch}, CUDA {self.cuda}, {self.place}"

    @property
    def fits(self) -> bool:
        major, minor = map(int, self.capability.split("."))
        drives = matrix.branch_supports(self.branch, (major, minor))
        least = matrix.min_driver(int(self.cuda.split(".", maxsplit=1)[0]))
        assert drives is not None
        assert least is not None
        return bool(drives.value) and self.branch >= int(least.value.split(".")[0])


def machines() -> Iterator[Machine]:
    for (name, bus, capability), branch, cuda, place in product(GPUS, BRANCHES, CUDAS, PLACES):
        one = Machine(name, bus, capability, branch, cuda, place)
        if one.fits:
            yield one


def snapshot(one: Machine) -> dict[str, Any]:
    version = f"{one.branch}.{99 if one.branch > 460 else 10}.02"
    cuda = matrix.branch_cuda(one.branch)
    assert cuda is not None
    generation = matrix.generation_of_name(one.bus)
    needed = matrix.modules_needed(generation or "")
    assert needed is not None
    container = None if one.place == "host" else one.place
    capability = one.capability.replace(".", "")
    build = f"cu{one.cuda.replace('.', '')}"
    return machine(
        os={"container": container, "kernel": "6.8.0-49-generic"},
        gpus=[
            gpu(one.name, one.capability, mig="disabled", compute_mode="default"),
            gpu(one.name, one.capability, mig="disabled", compute_mode="default"),
        ],
        lspci_gpus=[f"NVIDIA Corporation {one.bus}"] * 2,
        pci_drivers=["nvidia", "nvidia"],
        driver=driver(
            version,
            str(cuda.value),
            module_flavor="proprietary" if needed.value == "proprietary" else "open",
            params={"RmProfilingAdminOnly": 0},
            dmesg=[
                f"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  {version}",
                "PM: suspend exit",
            ],
            nvidia_smi_text=f"| NVIDIA-SMI {version}  Driver Version: {version}  CUDA Version: ",
        ),
        libcuda={
            "path": f"/usr/lib/x86_64-linux-gnu/libcuda.so.{version}",
            "version": version,
            "kind": "driver",
            "init_code": 0,
            "device_count": 2,
        },
        process={"euid": 1000, "capabilities": []},
        env={"PATH": "/usr/bin", "LD_LIBRARY_PATH": ""},
        torch={
            "version": f"2.7.1+{build}",
            "cuda": one.cuda,
            "arch_list": [f"sm_{capability}"],
            "cuda_available": True,
        },
        toolkits=[
            {
                "root": f"/usr/local/cuda-{one.cuda}",
                "version": one.cuda,
                "source": "/usr/local/cuda",
            }
        ],
        files={"/dev/nvidiactl": {"exists": True}, "/dev/nvidia-uvm": {"exists": True}},
        services={"nvidia-fabricmanager": None, "mps": None},
        container_runtime={"nvidia": True, "gpus_flag": True, "requires": f"cuda>={one.cuda}"}
        if container
        else {"tools": ["/usr/bin/nvidia-ctk"]},
    )


def accused(facts: dict[str, Any]) -> list[str]:
    """The errors of the checks that are about the driver, the GPU and how it gets in here."""
    own = ("driver.", "compat.", "gpu.", "system.", "container.", "wsl.", "sandbox.")
    return [name for name in errors(facts) if name.startswith(own)]


ALL = tuple(machines())
# One of each driver, GPU and place for what is tried many times.
SOME = tuple(ALL[:: len(ALL) // 6])


def test_there_are_many() -> None:
    assert len(ALL) > 400
    assert {one.branch for one in ALL} == set(BRANCHES)
    assert {one.name for one in ALL} == {name for name, _, _ in GPUS}


@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_wrong(place: str) -> None:
    wrong = {str(one): found for one in ALL if one.place == place
             if (found := accused(snapshot(one)))}  # fmt: skip
    assert wrong == {}


@pytest.mark.parametrize("one", SOME, ids=str)
def test_a_fact_that_is_not_known_is_no_fault(one: Machine) -> None:
    facts = snapshot(one)
    for part in facts:
        rest = {name: value for name, value in facts.items() if name != part}
        assert accused(rest) == [], part
        for key in facts[part] if isinstance(facts[part], dict) else ():
            partial = copy.deepcopy(facts)
            del partial[part][key]
            assert accused(partial) == [], f"{part}.{key}"


@pytest.mark.parametrize("one", SOME, ids=str)
def test_a_fact_that_stands_alone_is_no_fault(one: Machine) -> None:
    for part, value in snapshot(one).items():
        assert accused({part: value}) == [], part


def test_wsl_with_a_gpu() -> None:
    facts = machine(
        os={"wsl": 2, "kernel": "6.6.87.2-microsoft-standard-WSL2"},
        gpus=[gpu("NVIDIA GeForce RTX 4080", "8.9", mig="disabled", compute_mode="default")],
        driver={"version": "581.42", "cuda_version": "13.0", "modules_loaded": [], "dmesg": [],
                "module_version": None},
        libcuda={"path": "/usr/lib/wsl/drivers/nv_dispi.inf_amd64_1/libcuda.so.1.1", "kind": "wsl",
                 "init_code": 0, "device_count": 1},
        torch={"version": "2.11.0+cu130", "cuda": "13.0", "cuda_available": True},
        lspci_gpus=[],
        files={"/dev/dxg": {"exists": True}, "/dev/nvidiactl": {"exists": False}},
    )  # fmt: skip
    assert accused(facts) == []


@pytest.mark.parametrize("version", ["JetPack 5.1.3 (L4T 35.5.0)", "JetPack 6.2 (L4T 36.4.3)"])
def test_a_jetson(version: str) -> None:
    facts = machine(
        os={"jetson": version, "arch": "aarch64"},
        gpus=[gpu("Orin", "8.7")],
        driver={"version": "540.4.0", "cuda_version": "12.6", "modules_loaded": ["nvgpu"],
                "module_version": None, "dmesg": []},
        libcuda={"path": "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1", "kind": "driver",
                 "init_code": 0, "device_count": 1},
        torch={"version": "2.5.0a0+nv24.8", "cuda": "12.6", "cuda_available": True},
        lspci_gpus=[],
        files={"/dev/nvidiactl": {"exists": False}, "/dev/nvidia-uvm": {"exists": False}},
    )  # fmt: skip
    assert accused(facts) == []


def test_a_laptop_without_gpu_is_called_that_alone() -> None:
    facts = machine(
        gpus=[],
        lspci_gpus=[],
        driver={"modules_loaded": [], "module_version": None, "dmesg": [], "nvidia_smi": None},
        libcuda={"path": None, "error": "libcuda.so.1: cannot open shared object file"},
        torch={"version": "2.8.0+cpu", "cuda": None, "cuda_available": False},
        files={"/dev/nvidiactl": {"exists": False}, "/dev/nvidia-uvm": {"exists": False}},
        services={"nvidia-fabricmanager": None, "mps": None},
    )
    assert accused(facts) == ["gpu.missing"]
