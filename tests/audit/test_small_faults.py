"""Small untruths: namesakes, grammar, advice that is the default, warnings nobody needs."""

from __future__ import annotations

from typing import Any

import pytest

from kprof.audit import audit
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy
from tests.audit.snapshots import RTX_4090, driver, judged, machine

BUSY = "Profiling failed because a driver resource was unavailable. Ensure that no other tool"
NCCL = '==PROF== Profiling "ncclDevKernel_AllReduce_Sum_f32_RING_LL" - 3: 0%'


def remedy(check: str, facts: dict[str, Any]) -> Remedy:
    found = judged(check, facts).remedy
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("running", "says"),
    [
        (["nv-hostengine"], "DCGM's host engine is running: while it collects"),
        (["dcgm-exporter", "nv-hostengine"], "host engine are running: while they collect"),
    ],
)
def test_one_tool_is_and_two_are(running: list[str], says: str) -> None:
    facts = machine(services=dict.fromkeys(running, "running"))
    assert says in judged("ncu.resource_busy", facts).message
    busy = judged("ncu.resource_busy", {**facts, "log": BUSY}).message
    assert busy.endswith("is running" if len(running) == 1 else "are running")


def test_the_other_profiler_has_a_number() -> None:
    facts = machine(services={"ncu": "running"}, profilers=[{"name": "ncu", "pid": 4711}])
    assert "another ncu (process 4711) is running" in judged("ncu.resource_busy", facts).message


def test_a_namesake_of_ncu_is_called_one() -> None:
    said = "/usr/bin/ncu is a launcher without the tool behind it (exit status 0, said: 17.1.3)"
    verdict = judged("ncu.launcher_stub", machine(ncu={"path": "/usr/bin/ncu", "error": said}))
    assert verdict.status == "error"
    assert "another program of that name (it calls itself 17.1.3)" in verdict.message
    failed = said.replace("status 0, said: 17.1.3", "status 1, said: nothing")
    stub = judged("ncu.launcher_stub", machine(ncu={"path": "/usr/bin/ncu", "error": failed}))
    assert "a launcher without Nsight Compute behind it" in stub.message


def test_what_kprof_does_by_itself_is_not_advised() -> None:
    found = remedy("ncu.multi_rank_hang", machine(log=NCCL))
    assert found.commands == ("kprof profile TARGET",)
    assert "--with-communication" in found.alternatives[0].commands[0]


@pytest.mark.parametrize(("owner", "modeset"), [("nouveau", True), ("nvidiafb", False)])
def test_nouveau_is_kept_off_the_gpu_too(owner: str, modeset: bool) -> None:
    facts = machine(driver={"modules_loaded": [owner]}, lspci_gpus=["NVIDIA AD102 [RTX 4090]"],
                    libcuda={"path": "/usr/lib/libcuda.so.1"})  # fmt: skip
    command = remedy("driver.nouveau_active", facts).commands[0]
    assert f"blacklist {owner}\\n" in command
    assert ("options nouveau modeset=0\\n" in command) is modeset


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01", "is not WSL's and finds no GPU"),
        ("/usr/lib/wsl/lib/libcuda.so.1", "WSL's driver library is loaded but finds no GPU"),
    ],
)
def test_a_linux_driver_in_wsl_is_not_called_wsls(path: str, says: str) -> None:
    facts = machine(os={"wsl": 2}, gpus=[], libcuda={"path": path})
    assert judged("wsl.no_device", facts).message.endswith(says)


def test_nvcc_is_missed_by_builds_alone() -> None:
    sound = machine(gpus=[RTX_4090], driver=driver("580.95.05", "13.0"), nvcc={"path": None},
                    toolkits=[], torch={"version": "2.9.1+cu128", "cuda": "12.8"})  # fmt: skip
    assert judged("nvcc.missing", sound).status == "skipped"
    found = {one.check.id: one.verdict for one in audit(Facts(sound), "build").results}
    assert found["nvcc.missing"].status == "error"
    assert found["nvcc.missing"].remedy is not None


@pytest.mark.parametrize(("version", "removes"), [("2.5.1", True), ("2.5.1+cpu", False)])
def test_pip_is_not_laid_over_conda(version: str, removes: bool) -> None:
    facts = machine(
        gpus=[RTX_4090], driver=driver("550.90.07", "12.4"),
        python={"executable": "/opt/conda/bin/python", "environment": "conda"},
        torch={"version": version, "cuda": None, "cuda_available": False},
    )  # fmt: skip
    found = remedy("torch.cpu_only", facts)
    assert (found.commands[0] == "conda remove -y --force pytorch") is removes
    assert (
        any("pytorch-gpu" in one for way in found.alternatives for one in way.commands) is removes
    )
