"""Every kind of container gets commands of its own engine, whatever is wrong with it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kprof.audit import Facts, audit, engines
from kprof.audit.verdict import Remedy
from tests.audit.snapshots import A100, driver, judged, machine

PROGRAMS = {
    "docker": "docker",
    "podman": "podman",
    "containerd": "nerdctl",
    "kubernetes": "kubectl",
    "apptainer": "apptainer",
    "singularity": "apptainer",
    "lxc": "lxc",
    "incus": "incus",
}
ENGINE = re.compile(r"\b(docker|podman|nerdctl|kubectl|apptainer|lxc|incus) (?=[a-z])")
NVML = "Failed to initialize NVML: Driver/library version mismatch"
LOST = "Failed to initialize NVML: Unknown Error"

BROKEN: dict[str, dict[str, Any]] = {
    "driver.nvml_mismatch": {
        "driver": {"module_version": "580.95.05", "nvml_error": NVML, "nvidia_smi_error": NVML},
    },
    "container.driver_capabilities": {"env": {"NVIDIA_DRIVER_CAPABILITIES": "utility"}},
    "container.runtime_unconfigured": {
        "libcuda": {"path": None}, "files": {"/dev/nvidiactl": {"exists": False}},
    },
    "container.cgroup_lost": {
        "driver": {"module_version": "580.95.05", "nvml_error": LOST},
        "files": {"/dev/nvidiactl": {"exists": True}},
    },
    "driver.jit_library_missing": {
        "gpus": [A100], "driver": driver("580.95.05", "13.0"),
        "log": "CUDA error: PTX JIT compiler library not found (error 221)",
    },
    "driver.uvm_stale": {
        "gpus": [A100], "driver": driver("580.95.05", "13.0"),
        "files": {"/dev/nvidiactl": {"exists": True}, "/dev/nvidia-uvm": {"exists": False}},
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("check", BROKEN)
def test_no_fix_names_another_engine(kind: str, check: str) -> None:
    facts = machine(os={"container": kind}, **BROKEN[check])
    verdict = judged(check, facts)
    assert verdict.status in ("error", "warning"), verdict.message
    assert verdict.remedy is not None
    assert engines_of(verdict.remedy) == {PROGRAMS[kind]}
    every = [one.verdict.remedy for one in audit(Facts(facts)).results if one.verdict.remedy]
    assert set().union(*map(engines_of, every)) == {PROGRAMS[kind]}


def engines_of(remedy: Remedy) -> set[str]:
    found = {one[1] for command in remedy.commands for one in ENGINE.finditer(command)}
    return found.union(*map(engines_of, remedy.alternatives))


@pytest.mark.parametrize(
    ("kind", "commands"),
    [
        ("docker", ("docker run --gpus all IMAGE",)),
        ("podman", ("podman run --device nvidia.com/gpu=all IMAGE",)),
        ("containerd", ("nerdctl run --gpus all IMAGE",)),
        ("apptainer", ("apptainer exec --nv IMAGE COMMAND",)),
        ("Singularity", ("apptainer exec --nv IMAGE COMMAND",)),
        ("something else", ("docker run --gpus all IMAGE",)),
        (None, ("docker run --gpus all IMAGE",)),
    ],
)
def test_each_engine_has_its_own_flags(kind: str | None, commands: tuple[str, ...]) -> None:
    assert engines.of(Facts(machine(os={"container": kind}))).start == commands


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_compat_library_leaves_the_image_by_the_engine_that_built_it(kind: str) -> None:
    commands = engines.of(Facts(machine(os={"container": kind}))).without_compat
    assert any("rm -rf" in one and "compat" in one for one in commands)
    builders = {PROGRAMS[kind], "docker"} if kind == "kubernetes" else {PROGRAMS[kind]}
    assert engines_of(Remedy("", commands)) == builders


@pytest.mark.parametrize("kind", PROGRAMS)
def test_gvisor_is_left_by_the_engine_that_started_it(kind: str) -> None:
    remedy = judged("sandbox.gvisor", machine(os={"container": kind, "sandbox": "gvisor"})).remedy
    assert remedy is not None
    assert engines_of(remedy) <= {PROGRAMS[kind]}
    assert bool(remedy.commands) == (PROGRAMS[kind] not in ("apptainer", "lxc", "incus"))
