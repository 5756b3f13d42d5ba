"""All checks at once: sound machines stay unaccused, and nonsense gets no verdict and no time."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kprof.audit import audit, matrix
from kprof.audit.facts import Facts
from kprof.audit.verdict import PURPOSES, registered
from tests.audit.snapshots import driver, gpu, machine

GPUS = {
    "7.0": "Tesla V100-SXM2-32GB",
    "7.5": "Tesla T4",
    "8.0": "NVIDIA A100-SXM4-80GB",
    "8.6": "NVIDIA GeForce RTX 3090",
    "8.9": "NVIDIA GeForce RTX 4090",
    "9.0": "NVIDIA H100 80GB HBM3",
    "10.0": "NVIDIA B200",
    "12.0": "NVIDIA GeForce RTX 5090",
}
DRIVERS = {
    "525.147.05": "12.0",
    "535.183.01": "12.2",
    "550.90.07": "12.4",
    "560.35.05": "12.6",
    "570.133.20": "12.8",
    "580.95.05": "13.0",
    "595.71.05": "13.2",
    "615.71.09": "13.4",
}
RELEASES = ("2.1.0", "2.6.0", "2.9.1", "2.11.0", "2.14.1")
GCC = {12: "12.3.0", 13: "13.3.0"}


def healthy() -> Iterator[dict[str, Any]]:
    """Every GPU with every driver that drives it and every torch that the table lets run there."""
    for (capability, name), (version, cuda), release in itertools.product(
        GPUS.items(), DRIVERS.items(), RELEASES
    ):
        known = matrix.branch_supports(
            int(version[:3]), (int(capability[:-2]), int(capability[-1]))
        )
        if known is None or not known.value:
            continue
        yield from _with_torch(capability, name, version, cuda, release, "x86_64")
    for version, release in itertools.product(list(DRIVERS)[4:], RELEASES[2:]):
        yield from _with_torch(
            "9.0", "NVIDIA GH200 480GB", version, DRIVERS[version], release, "aarch64"
        )


def _with_torch(
    capability: str, name: str, version: str, cuda: str, release: str, arch: str
) -> Iterator[dict[str, Any]]:
    major, minor = map(int, capability.split("."))
    builds = matrix.fitting_wheels(version, (major, minor), arch, torch=release)
    for torch, variant in builds:
        archs = matrix.wheel_archs(torch, variant, arch)
        assert archs is not None
        for arch_list in (list(archs.value), [], None):
            yield _machine(gpu(name, capability), version, cuda, arch, torch, variant, arch_list)


def _machine(
    device: dict[str, object],
    version: str,
    cuda: str,
    arch: str,
    torch: str,
    variant: str,
    arch_list: list[str] | None,
) -> dict[str, Any]:
    """A machine in order: no toolkit, counters open, nothing in the way."""
    pins = matrix.torch_release(torch)
    assert pins is not None
    built = matrix.cuda_of(variant)
    return machine(
        os={"arch": arch},
        gpus=[{**device, "mig": "disabled", "compute_mode": "default"}],
        driver=driver(version, cuda, params={"RmProfilingAdminOnly": 0}),
        libcuda={"path": f"/usr/lib/libcuda.so.{version}", "version": version, "kind": "driver"},
        process={"euid": 1000, "capabilities": []},
        env={"PATH": "/opt/venv/bin:/usr/bin", "LD_LIBRARY_PATH": ""},
        python={"executable": "/opt/venv/bin/python", "version": pins.python[-1].rstrip("t")},
        other_pythons=[{"executable": "/usr/bin/python3", "torch": "2.4.0+cpu"}],
        torch={
            "version": f"{torch}+{variant}", "cuda": built, "cuda_available": True,
            **({} if arch_list is None else {"arch_list": arch_list}),
        },
        packages={"triton": pins.triton, "ncu-report": "2026.3.1"},
        extensions=[{"package": "flash-attn", "cuda": f"{str(built).split('.')[0]}.1"}],
        services={"nvidia-fabricmanager": "running", "nv-hostengine": None},
        files={"HOME": {"writable": True}, "TMPDIR": {"writable": True}},
    )  # fmt: skip


def test_machines_in_order_are_not_accused() -> None:
    accused: dict[str, str] = {}
    count = 0
    for count, facts in enumerate(healthy(), 1):  # noqa: B007 - counted
        for one in audit(Facts(facts)).errors:
            accused[one.check.id] = f"{one.verdict.message} | {json.dumps(facts)[:600]}"
    assert accused == {}
    assert count > 300


@pytest.mark.parametrize("toolkit", ["12.4", "12.6", "12.8"])
@pytest.mark.parametrize("driver_cuda", [("550.90.07", "12.4"), ("570.133.20", "12.8")])
@pytest.mark.parametrize("gcc", GCC.values())
def test_a_toolkit_of_torchs_major_is_no_error(
    toolkit: str, driver_cuda: tuple[str, str], gcc: str
) -> None:
    root = f"/usr/local/cuda-{toolkit}"
    facts = machine(
        gpus=[gpu("NVIDIA GeForce RTX 4090", "8.9")],
        driver=driver(*driver_cuda),
        env={"CUDA_HOME": root, "PATH": f"{root}/bin:/usr/bin", "LD_LIBRARY_PATH": f"{root}/lib64"},
        toolkits=[
            {"root": root, "version": toolkit, "source": "PATH"},
            {"root": "/usr/local/cuda-12.1", "version": "12.1", "source": "/usr/local/cuda"},
        ],
        nvcc={"path": f"{root}/bin/nvcc", "version": toolkit},
        host_compiler={"name": "gcc", "version": gcc},
        torch={"version": "2.7.1+cu126", "cuda": "12.6", "cuda_available": True},
    )
    assert [one.check.id for one in audit(Facts(facts)).errors] == []


@pytest.mark.parametrize(
    "facts",
    [
        {},
        machine(gpus=[], torch=None, toolkits=[], nvcc={"path": None}, ncu=None, driver={}),
        machine(gpus=[], torch={"version": "2.8.0+cpu", "cuda": None}, env={}, packages={}),
    ],
    ids=["nothing known", "nothing there", "a laptop"],
)
def test_a_machine_without_gpu_is_fine_to_analyze(facts: dict[str, Any]) -> None:
    assert audit(Facts(facts), "analyze").primary is None


# --- hostile -------------------------------------------------------------------------------------

LONG = 200_000
EVERY = 5  # one place in so many is replaced at a time
HOSTILE_TEXTS = {
    "nulls": "\0" * 5000,
    "newlines": "\n" * LONG,
    "one long line": "a" * LONG,
    "a line of spaces": " " * LONG,
    "digits": "9" * LONG,
    "dots": "1." * (LONG // 2),
    "cuda over and over": "cuda error " * (LONG // 11),
    "errors over and over": "ImportError: undefined symbol: cublas " * (LONG // 38),
    "quotes": "'\"`$(reboot);" * (LONG // 13),
    "markup": "<script>alert(1)</script>" * 4000,
    "escapes": "\x1b[31m\u202e" * 20_000,
    "requirements": "No matching distribution found for torch==" + "1" * LONG,
    "profiling": "==PROF== Profiling " + "ncclKernel" * (LONG // 10),
    "paths": "/" + "a/" * (LONG // 2) + "bin/nvcc",
    "surrogates": "\ud800" * 1000,
}


def names(value: Any, prefix: str = "") -> Iterator[tuple[Any, Any]]:
    """Yield every place of a snapshot: the object or list that holds it, and its key."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in items:
        yield value, key
        if isinstance(entry, (dict, list)):
            yield from names(entry)


def whole() -> dict[str, Any]:
    """A snapshot with every fact that some check reads."""
    return machine(
        gpus=[gpu("NVIDIA GeForce RTX 4090", "8.9", mig="enabled", compute_mode="default")],
        lspci_gpus=["NVIDIA Corporation AD102 [GeForce RTX 4090]"],
        driver=driver(
            "550.90.07", "12.4", params={"RmProfilingAdminOnly": 1}, dmesg=["line"],
            nvidia_smi_error="text", nvidia_smi_text="CUDA Version: 12.4", nvml_error="text",
            module_flavor="open",
        ),
        libcuda={"path": "/usr/lib/libcuda.so.1", "version": "550.90.07", "kind": "driver"},
        process={"euid": 1000, "capabilities": ["CAP_PERFMON"], "user_namespace": False},
        env={
            "CUDA_HOME": "/usr/local/cuda-12.4", "LD_LIBRARY_PATH": "/usr/local/cuda/lib64:/a/stubs",
            "CUDA_VISIBLE_DEVICES": "0,1", "CUDA_INJECTION64_PATH": "/a.so", "TMPDIR": "/t",
            "PATH": "/usr/bin",
        },
        toolkits=[{"root": "/usr/local/cuda-12.4", "version": "12.4", "source": "PATH"},
                  {"root": "/usr", "version": "11.5", "source": "distro"}],
        nvcc={"path": "/usr/bin/nvcc", "version": "12.6", "on_path": True},
        host_compiler={"name": "gcc", "version": "15.1.0", "source": "PATH"},
        python={"executable": "/v/bin/python", "version": "3.12.1", "environment": "venv"},
        other_pythons=[{"executable": "/usr/bin/python3", "torch": "2.9.1+cu130"}],
        job={"ranks": 2, "source": "WORLD_SIZE"},
        torch={"version": "2.5.1+cu124", "cuda": "12.4", "cudnn": "9.1.0", "arch_list": ["sm_70"],
               "cuda_available": False, "import_error": "text", "hip": None},
        loaded_libraries={
            "libcudart": [{"path": "/x/site-packages/nvidia/libcudart.so.12", "version": "12.4"}],
            "libcublas": [{"path": "/usr/local/cuda/lib64/libcublas.so.12", "version": "12.3"}],
            "libcudnn": [{"path": "/c/libcudnn.so.9", "version": "9.0.0"}],
        },
        packages={"nvidia-nccl-cu11": "2.1", "nvidia-nccl-cu12": "2.2", "triton": "3.3.0",
                  "torchvision": "0.20.1+cu118", "ncu-report": "2024.1"},
        extensions=[{"package": "vllm", "cuda": "13.0"}],
        triton={"version": "3.3.0", "ptxas_version": "11.1", "ptxas_blackwell_version": "12.8"},
        ncu={"path": "/usr/bin/ncu", "version": "2022.1.1", "chips": ["ga102"], "error": "text",
             "installs": [{"path": "/opt/ncu", "version": "2025.1.0"}]},
        ncu_report={"version": "2025.3.1"},
        services={"nv-hostengine": "running", "mps": "running"},
        files={"/t/nsight-compute-lock": {"owner": "root", "writable": False},
               "HOME": {"writable": False}, "CUDA_HOME": {"exists": False}},
        container_runtime={"nvidia": False, "requires": "cuda>=12.8", "gpus_flag": False},
        log="text",
    )  # fmt: skip


def assert_sane(facts: dict[str, Any]) -> None:
    for one in audit(Facts(facts)).results:
        verdict = one.verdict
        where = (one.check.id, verdict.message[:300])
        assert "the check itself failed" not in verdict.message, where
        assert "\n" not in verdict.message, where
        assert len(verdict.message) < 1000, where
        assert len(verdict.evidence) < 30, where
        assert all(len(line) < 600 for line in verdict.evidence), where
        for command in verdict.remedy.commands if verdict.remedy else ():
            assert "\n" not in command, where
            assert "$(reboot)" not in command.replace("'", ""), where


@pytest.mark.parametrize("text", HOSTILE_TEXTS.values(), ids=HOSTILE_TEXTS)
def test_hostile_output_costs_little_time(text: str) -> None:
    start = time.process_time()
    assert_sane({**whole(), "log": text})
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        7,
        -1.5,
        1e300,
        [],
        {},
        [[]],
        [None, 3],
        {"path": None},
        "",
        "x",
        *HOSTILE_TEXTS.values(),
    ],
    ids=lambda value: str(value)[:12].strip() or "blank",
)
def test_any_fact_may_be_anything(value: Any) -> None:
    short = value[:3000] if isinstance(value, str) else value
    for first in range(EVERY):
        facts = whole()
        for holder, key in list(names(facts))[first::EVERY]:
            holder[key] = short
        assert_sane(facts)


def test_random_snapshots_are_judged() -> None:
    source = random.Random(11)  # noqa: S311 - no secret
    values: list[Any] = [
        None,
        True,
        0,
        3.5,
        "",
        "12.4",
        "cuda:0",
        [],
        {},
        ["sm_90"],
        [{}],
        {"path": None},
    ]
    for _ in range(150):
        facts = whole()
        for holder, key in list(names(facts)):
            if source.random() < 0.2 and key in (
                holder if isinstance(holder, dict) else range(len(holder))
            ):
                holder[key] = source.choice(values)
        assert_sane(facts)


def test_every_check_names_a_source_that_is_one() -> None:
    for one in audit(Facts(whole())).results:
        if one.verdict.status in ("error", "warning"):
            assert one.verdict.source, one.check.id
            assert "None" not in one.verdict.source, one.check.id


def test_what_a_check_explains_is_a_check() -> None:
    known = {one.id for one in registered()}
    explained = {name for one in registered() for name in one.explains}
    assert explained - known == set()


# --- what a machine is for -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "facts", "hurt"),
    [
        ("nvcc.missing", machine(nvcc={"path": None}), "build"),
        (
            "env.cuda_home_mismatch_major",
            machine(torch={"version": "2.4.0+cu118", "cuda": "11.8"},
                    nvcc={"path": "/x/bin/nvcc", "version": "12.4"}, env={}),
            "build",
        ),
        ("ncu.missing", machine(ncu={"path": None}), "profile"),
        (
            "ncu.perm",
            machine(driver=driver("580.95.05", params={"RmProfilingAdminOnly": 1}),
                    process={"euid": 1000, "capabilities": []}),
            "profile",
        ),
    ],
)  # fmt: skip
def test_it_counts_for_what_it_hurts_and_for_nothing_else(
    name: str, facts: dict[str, Any], hurt: str
) -> None:
    for purpose in PURPOSES:
        status = {one.check.id: one.verdict.status for one in audit(Facts(facts), purpose).results}
        assert status[name] == ("error" if purpose == hurt else "skipped"), purpose


def test_without_a_purpose_what_only_a_build_needs_is_left_out() -> None:
    status = {one.check.id: one.verdict.status
              for one in audit(Facts(machine(nvcc={"path": None}))).results}  # fmt: skip
    assert status["nvcc.missing"] == "skipped"
