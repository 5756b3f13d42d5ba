"""Whatever stands in a snapshot, the checks of driver, GPU and containers say something sane."""

from __future__ import annotations

import copy
import importlib
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kprof.audit.facts import SCHEMA, Facts, parse
from kprof.audit.judge import audit
from kprof.audit.verdict import Check, Verdict, registered
from tests.audit.snapshots import driver, gpu, machine

importlib.import_module("kprof.audit.checks")
OWN = ("driver.", "compat.", "gpu.", "system.", "container.", "wsl.", "sandbox.")
HUGE = 200_000
VALUES: tuple[Any, ...] = (
    None, True, -1, 1e308, [], {}, [[]], ["x"], [{}], {"path": 1}, "", "x" * HUGE,
    "CUDA error 3 " * 15_000, "cuda>=12 " * 20_000, "\x1b[31m\nred\r\n", "$(reboot)", "13.0",
    "580.95.05", "compat", "9" * 9_000,
)  # fmt: skip
FULL = machine(
    os={"container": "docker"},
    gpus=[gpu("NVIDIA GeForce RTX 4090", "8.9", mig="disabled", compute_mode="default")],
    lspci_gpus=["NVIDIA Corporation AD102 [GeForce RTX 4090]"],
    pci_drivers=["nvidia"],
    nvswitches=0,
    driver=driver(
        "550.90.07",
        "12.4",
        module_flavor="open",
        module_installed={"version": "550.90.07"},
        params={"RmProfilingAdminOnly": 1},
        dmesg=["NVRM: loading"],
        nvidia_smi_error="",
        nvidia_smi_text="",
        nvml_error="",
    ),
    libcuda={"path": "/usr/lib/libcuda.so.550.90.07", "version": "550.90.07", "kind": "driver",
             "init_code": 0, "device_count": 1},
    process={"euid": 0, "capabilities": []},
    env={"LD_LIBRARY_PATH": "/usr/local/cuda/compat", "CUDA_VISIBLE_DEVICES": "0",
         "CUDA_VERSION": "12.4.1", "NVIDIA_DRIVER_CAPABILITIES": "compute"},
    torch={"version": "2.6.0+cu124", "cuda": "12.4", "cuda_available": False},
    toolkits=[{"root": "/usr/local/cuda", "version": "12.4", "source": "PATH"}],
    nvcc={"path": "/usr/local/cuda/bin/nvcc", "version": "12.4"},
    ncu={"path": "/usr/bin/ncu", "version": "2024.1.1", "error": ""},
    python={"executable": "/usr/bin/python3", "version": "3.12"},
    services={"nvidia-fabricmanager": "inactive", "mps": None},
    files={"/dev/nvidiactl": {"exists": True, "open_error": None}},
    container_runtime={"nvidia": True, "gpus_flag": True, "requires": "cuda>=12.4"},
    log="",
)  # fmt: skip
MACHINES = {
    "container": FULL,
    "WSL": {**FULL, "os": {**FULL["os"], "wsl": 2, "container": None}},
    "no GPU listed": {**FULL, "gpus": [], "libcuda": {"path": None}},
}


def places(facts: dict[str, Any]) -> Iterator[tuple[str | int, ...]]:
    for name, value in facts.items():
        yield (name,)
        if isinstance(value, dict):
            yield from ((name, *rest) for rest in places(value))
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield from ((name, 0, key) for key in value[0])


def changed(facts: dict[str, Any], place: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    copied: Any = copy.deepcopy(facts)
    here = copied
    for step in place[:-1]:
        here = here[step]
    here[place[-1]] = value
    found: dict[str, Any] = copied
    return found


def complaints(name: str, verdict: Verdict) -> Iterator[str]:
    remedy = verdict.remedy
    commands = remedy.commands if remedy else ()
    for text, longest in ((verdict.message, 400), *((one, 700) for one in commands)):
        if not text.isprintable() or len(text) > longest:
            yield f"{name} says {text[:100]!r}"
    if "check itself failed" in verdict.message:
        yield f"{name} broke: {verdict.message[:200]}"
    if verdict.status in ("warning", "error") and remedy is None:
        yield f"{name} has no remedy"


def own() -> list[Check]:
    return [check for check in registered() if check.id.startswith(OWN)]


@pytest.mark.parametrize(
    ("kind", "value"),
    [("container", value) for value in VALUES]
    + [(kind, value) for kind in ("WSL", "no GPU listed") for value in VALUES[::4]],
    ids=lambda value: repr(value)[:16],
)
def test_one_fact_of_another_kind(kind: str, value: Any) -> None:
    said = []
    for place in places(MACHINES[kind]):
        facts = Facts(changed(MACHINES[kind], place, value))
        for check in own():
            said += [f"{place}: {text}" for text in complaints(check.id, check.run(facts))]
    assert said == []


def test_long_lists_are_looked_at_in_part() -> None:
    facts = {
        "gpus": [gpu("NVIDIA H100 80GB HBM3", "9.0")] * 20_000,
        "lspci_gpus": ["NVIDIA Corporation GH100 [H100 SXM5 80GB]"] * 20_000,
        "driver": {"dmesg": ["NVRM: something"] * 100_000},
    }
    found = {one.check.id: one.verdict for one in audit(Facts(facts)).results}
    assert found["gpu.missing"].status == "ok"


MANY = 300_000
TORCH = {"version": "2.6.0+cu124", "cuda": "12.4"}
SEARCHED = ":".join(f"/a{n}" for n in range(30_000))
LONG: dict[str, dict[str, Any]] = {
    "GPUs": {"gpus": [{}] * MANY},
    "libraries": {
        "loaded_libraries": {
            "libcublas": [{"path": f"/a/site-packages/{n}"} for n in range(20_000)]
        },
        "env": {"LD_LIBRARY_PATH": "/a"},
    },
    "families of libraries": {
        "loaded_libraries": {f"libcublas.so.{n}": [{"path": f"/b{n}/c"}] for n in range(MANY)},
        "env": {"LD_LIBRARY_PATH": SEARCHED},
        "torch": TORCH,
    },
    "folders of a library": {
        "loaded_libraries": {"libcublas": [{"path": "/a" * 20_000, "version": "11.0"}] * 500},
        "env": {"LD_LIBRARY_PATH": SEARCHED},
        "torch": TORCH,
    },
    "the kernel's log": {"driver": {"dmesg": [f"NVRM: {'x y' * 500}"] * 20_000}},
    "the program's log": {"log": "x\n" * 10_000_000},
    "toolkits": {
        "toolkits": [{"root": "/usr/local/cuda", "version": "12.4"}] * MANY,
        "nvcc": {"path": "/usr/local/cuda/bin/nvcc", "version": "12.4"},
    },
    "extensions": {"torch": TORCH, "extensions": [{"package": "a", "cuda": "11.8"}] * MANY},
    "interpreters": {"other_pythons": [{"executable": "/a", "torch": "2.6.0"}] * MANY},
    "ncu's": {"ncu": {"path": "/a", "installs": [{"path": "/b", "version": "2025.1"}] * MANY}},
    "names": {"env": {f"A{n}": "" for n in range(MANY)}, "torch": TORCH},
}


@pytest.mark.parametrize("many", LONG)
def test_very_many_of_anything_cost_no_time(many: str) -> None:
    text = json.dumps({"schema": SCHEMA, "facts": LONG[many]})
    start = time.process_time()
    facts = parse(text)
    audit(facts)
    assert time.process_time() - start < 8
    assert facts.faults or many in ("folders of a library", "the program's log")
