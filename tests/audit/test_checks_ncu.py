"""Nsight Compute: there, real, fit for the GPU, let at the counters, and alone."""

from __future__ import annotations

from typing import Any

import pytest

from kprof.audit import matrix
from kprof.audit.facts import Facts
from kprof.audit.permission import privileged, restricted
from tests.audit.snapshots import (
    A100,
    H100,
    RTX_4090,
    driver,
    errors,
    gpu,
    judged,
    machine,
    one_sided,
)

V100 = gpu("Tesla V100-SXM2-32GB", "7.0")
RTX_5050 = gpu("NVIDIA GeForce RTX 5050 Laptop GPU", "12.0")
RTX_5090 = gpu("NVIDIA GeForce RTX 5090", "12.0")
PASCAL = gpu("NVIDIA GeForce GTX 1080 Ti", "6.1")
GA = ["ga100", "ga102", "ga103", "ga104", "ga106", "ga107", "ga10b"]
CHIPS_2022 = ["gv100", "gv11b", "tu102", "tu104", "tu106", "ad102", "ad103", "gh100", *GA]
DENIED = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
    "Performance Counters on the target device 0."
)
BUSY = (
    "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other "
    "tool (like DCGM) is concurrently collecting profiling data."
)
NCCL = '==PROF== Profiling "ncclDevKernel_AllReduce_Sum_f32_RING_LL" - 0: 0%'
LOCK = "/tmp/nsight-compute-lock"  # noqa: S108 - a name in a snapshot


def ncu(version: str | None = "2025.3.1", path: str = "/opt/ncu/ncu", **more: object) -> Any:
    return {"path": path, "version": version, **more}


def counters(closed: int = 1, version: str = "580.95.05", **process: object) -> dict[str, Any]:
    return {
        "driver": driver(version, params={"RmProfilingAdminOnly": closed}),
        "process": {"euid": 1000, "capabilities": [], **process},
    }


# name -> check, status, snapshot
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    # --- is it there --------------------------------------------------------------------------
    "no ncu": ("ncu.missing", "error", machine(ncu={"path": None})),
    "no ncu on PATH, one elsewhere": (
        "ncu.missing", "error",
        machine(ncu={"path": None, "installs": [{"path": "/opt/ncu/ncu", "version": "2025.1"}]}),
    ),
    "said by the shell": ("ncu.missing", "error", {"log": "bash: ncu: command not found"}),
    "ncu": ("ncu.missing", "ok", machine(ncu=ncu())),
    "ncu not looked for": ("ncu.missing", "unknown", machine()),
    "the toolkit's launcher": (
        "ncu.launcher_stub", "error",
        machine(ncu=ncu(None, "/usr/local/cuda/bin/ncu", error="ERROR : nsight-compute directory is "
                        "not found under /usr/local/cuda/bin/../ or /opt/nvidia. Nsight Compute is "
                        "not installed on your system.")),
    ),
    "a launcher that says nothing": (
        "ncu.launcher_stub", "error", machine(ncu={"path": "/usr/bin/ncu", "error": "ncu: exit 1"})
    ),
    "ncu answers": ("ncu.launcher_stub", "ok", machine(ncu=ncu())),
    "ncu answers, and a profile failed": (
        "ncu.launcher_stub", "ok", machine(ncu=ncu(error=DENIED))
    ),
    "ncu not asked": ("ncu.launcher_stub", "unknown", machine(ncu={"path": "/usr/bin/ncu"})),
    # --- does it know the GPU -------------------------------------------------------------------
    "older than the GPU": (
        "ncu.chip_unsupported", "error", machine(gpus=[RTX_5090], ncu=ncu("2024.1.1"))
    ),
    "older than the GPU, by its list": (
        "ncu.chip_unsupported", "error", machine(gpus=[RTX_5090], ncu=ncu(None, chips=CHIPS_2022))
    ),
    "Volta is in the list and refused": (
        "ncu.chip_unsupported", "error",
        machine(gpus=[V100], ncu=ncu("2025.1.1", chips=CHIPS_2022)),
    ),
    "Volta while it was supported": (
        "ncu.chip_unsupported", "ok", machine(gpus=[V100], ncu=ncu("2024.1.1", chips=CHIPS_2022))
    ),
    "Pascal": ("ncu.chip_unsupported", "error", machine(gpus=[PASCAL], ncu=ncu("2022.3.0"))),
    "said by ncu": (
        "ncu.chip_unsupported", "error",
        {"log": "==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer "
                "--list-chips option."},
    ),
    "one of two": (
        "ncu.chip_unsupported", "warning", machine(gpus=[A100, PASCAL], ncu=ncu("2025.1.1"))
    ),
    "Hopper": ("ncu.chip_unsupported", "ok", machine(gpus=[H100], ncu=ncu("2025.3.1"))),
    "a list of a few chips is no whole list": (
        "ncu.chip_unsupported", "ok",
        machine(gpus=[RTX_4090], ncu=ncu("2025.3.1", chips=["ga102", "gh100"])),
    ),
    "a relative in a whole list": (
        "ncu.chip_unsupported", "ok",
        machine(gpus=[gpu("NVIDIA RTX A-something", "8.6")], ncu=ncu(None, chips=CHIPS_2022)),
    ),
    "not known to anybody": (
        "ncu.chip_unsupported", "unknown", machine(gpus=[gpu("NVIDIA X", "42.0")], ncu=ncu())
    ),
    "unsourced is not known": (
        "ncu.chip_unsupported", "unknown",
        machine(gpus=[gpu("GeForce GTX 980", "5.2")], ncu=ncu("2022.3.0")),
    ),
    "nothing to ask": ("ncu.chip_unsupported", "skipped", machine(gpus=[H100], ncu={"path": None})),
    # --- the driver and the reader --------------------------------------------------------------
    "the driver is too old": (
        "ncu.driver_too_old", "error",
        machine(driver=driver("470.82.01", "11.4"), ncu=ncu(
            "2025.3.1", error="Insufficient driver version to profile on the device.")),
    ),
    "in other words": (
        "ncu.driver_too_old", "error",
        {"log": "==ERROR== Cuda driver is not compatible with Nsight Compute."},
    ),
    "a newer driver": (
        "ncu.driver_too_old", "ok",
        machine(driver=driver("580.95.05", "13.0"), ncu=ncu("2023.2.2")),
    ),
    "an older driver of the same major": (
        "ncu.driver_too_old", "ok",
        machine(driver=driver("550.54.15", "12.4"), ncu=ncu("2025.1.1")),
    ),
    "no minimum is published": (
        "ncu.driver_too_old", "unknown",
        machine(driver=driver("550.54.15", "12.4"), ncu=ncu("2025.3.1")),
    ),
    "an older reader": (
        "ncu.report_reader_older", "warning",
        machine(ncu=ncu("2026.2.0"), ncu_report={"version": "2025.3.1"}),
    ),
    "an older reader, among the packages": (
        "ncu.report_reader_older", "warning",
        machine(ncu=ncu("2026.2.0"), packages={"ncu-report": "2025.3.1"}),
    ),
    "a newer reader": (
        "ncu.report_reader_older", "ok",
        machine(ncu=ncu("2025.3.1"), ncu_report={"version": "2026.3.1"}),
    ),
    "reader not known": ("ncu.report_reader_older", "unknown", machine(ncu=ncu())),
    # --- permission -----------------------------------------------------------------------------
    "closed to this user": ("ncu.perm", "error", machine(**counters())),
    "closed, by ncu's word": ("ncu.perm", "error", {"log": DENIED}),
    "open, and refused all the same": (
        "ncu.perm", "error", machine(os={"container": "docker"}, ncu=ncu(error=DENIED), **counters(0))
    ),
    "open": ("ncu.perm", "ok", machine(**counters(0))),
    "closed, with CAP_SYS_ADMIN": (
        "ncu.perm", "ok", machine(**counters(capabilities=["CAP_SYS_ADMIN"]))
    ),
    "closed, with CAP_PERFMON from R565 on": (
        "ncu.perm", "ok", machine(**counters(version="570.133.20", capabilities=["CAP_PERFMON"]))
    ),
    "closed, with CAP_PERFMON before R565": (
        "ncu.perm", "error", machine(**counters(version="550.54.15", capabilities=["CAP_PERFMON"]))
    ),
    "closed, root in a container without capability": (
        "ncu.perm", "error", machine(os={"container": "docker"}, **counters(euid=0))
    ),
    "closed, capabilities of a user namespace": (
        "ncu.perm", "error",
        machine(**counters(capabilities=["CAP_SYS_ADMIN"], user_namespace=True)),
    ),
    "a driver from before the restriction": (
        "ncu.perm", "ok", machine(driver=driver("410.104", "10.0"))
    ),
    "a Jetson's user": (
        "ncu.perm", "warning",
        machine(os={"jetson": "JetPack 6.0"}, process={"euid": 1000, "capabilities": []}),
    ),
    "the parameter is not known": (
        "ncu.perm", "unknown", machine(driver=driver("580.95.05"), process={"euid": 1000})
    ),
    "the process is not known": (
        "ncu.perm", "unknown",
        machine(driver=driver("580.95.05", params={"RmProfilingAdminOnly": 1})),
    ),
    "Windows decides": ("ncu.perm", "unknown", machine(os={"wsl": 2}, process={"euid": 0})),
    "a virtual GPU": (
        "ncu.vgpu_perm", "error",
        {"log": "==ERROR== The user does not have permission to access NVIDIA GPU Performance "
                "Counters on the target vGPU device 0"},
    ),
    "no virtual GPU": ("ncu.vgpu_perm", "skipped", machine(ncu=ncu(error=DENIED))),
    "ncu not heard": ("ncu.vgpu_perm", "unknown", machine()),
    # --- what is in the way -----------------------------------------------------------------------
    "counters held by DCGM": (
        "ncu.resource_busy", "error", machine(services={"dcgm-exporter": "running"}, log=BUSY)
    ),
    "counters held by somebody": ("ncu.resource_busy", "error", {"log": BUSY}),
    "DCGM runs": (
        "ncu.resource_busy", "warning", machine(services={"nv-hostengine": "running"})
    ),
    "another profiler runs": ("ncu.resource_busy", "warning", machine(services={"nsys": "running"})),
    "nothing runs": (
        "ncu.resource_busy", "ok",
        machine(services={"dcgm-exporter": None, "nvidia-fabricmanager": "running"}),
    ),
    "services not known": ("ncu.resource_busy", "unknown", machine()),
    "injected": (
        "ncu.injection_conflict", "error",
        machine(env={"CUDA_INJECTION64_PATH": "/opt/nsys/libToolsInjection64.so"}),
    ),
    "not injected": ("ncu.injection_conflict", "ok", machine(env={})),
    "injected by nothing": (
        "ncu.injection_conflict", "ok", machine(env={"CUDA_INJECTION64_PATH": ""})
    ),
    "environment not known": ("ncu.injection_conflict", "unknown", machine()),
    "somebody else's lock": (
        "ncu.lock_file", "error", machine(files={LOCK: {"owner": "root", "writable": False}})
    ),
    "a lock elsewhere": (
        "ncu.lock_file", "error",
        machine(files={"/scratch/tmp/nsight-compute-lock": {"exists": True, "writable": False}}),
    ),
    "said of the lock": ("ncu.lock_file", "error", {"log": "==ERROR== InterprocessLockFailed"}),
    "no lock yet": ("ncu.lock_file", "ok", machine(files={LOCK: {"exists": False}})),
    "lock not looked at": ("ncu.lock_file", "unknown", machine(files={})),
    "no temporary directory": (
        "ncu.tmp", "error", machine(files={"TMPDIR": {"exists": False, "writable": False}})
    ),
    "a temporary directory": ("ncu.tmp", "ok", machine(files={"TMPDIR": {"writable": True}})),
    "temporary directory not known": ("ncu.tmp", "unknown", machine()),
    "HOME is read-only": (
        "ncu.home_unwritable", "warning", machine(files={"HOME": {"writable": False}})
    ),
    "HOME, by ncu's word": (
        "ncu.home_unwritable", "error",
        {"log": '==ERROR== Could not deploy stock section files to "/root/Documents".'},
    ),
    "HOME": ("ncu.home_unwritable", "ok", machine(files={"HOME": {"writable": True}})),
    "HOME not known": ("ncu.home_unwritable", "unknown", machine()),
    "MIG": ("ncu.mig_limits", "warning", machine(gpus=[{**A100, "mig": "enabled"}])),
    "MIG, and a metric was asked for": (
        "ncu.mig_limits", "error",
        {"log": "it is not possible to collect metrics from GPU units that are shared with other "
                "MIG instances"},
    ),
    "no MIG": ("ncu.mig_limits", "ok", machine(gpus=[{**A100, "mig": "disabled"}])),
    "MIG not known": ("ncu.mig_limits", "unknown", machine(gpus=[A100])),
    "MPS": ("ncu.mps", "warning", machine(services={"mps": "running"})),
    "no MPS": ("ncu.mps", "ok", machine(services={"mps": None})),
    "MPS not known": ("ncu.mps", "unknown", machine()),
    "a collective under ncu": ("ncu.multi_rank_hang", "error", {"log": NCCL}),
    "a job of two": ("ncu.multi_rank_hang", "warning", machine(job={"ranks": 2}, ncu=ncu())),
    "an allocation of two": (
        "ncu.multi_rank_hang", "warning",
        machine(job={"ranks": 2, "source": "SLURM_NTASKS"}, ncu=ncu()),
    ),
    "a job of one": ("ncu.multi_rank_hang", "ok", machine(job={"ranks": 1}, ncu=ncu())),
    "NCCL's own words, without ncu": (
        "ncu.multi_rank_hang", "ok",
        machine(job={"ranks": 1}, log="NCCL INFO comm rank 0 nranks 2 - Init COMPLETE"),
    ),
    "job not known": ("ncu.multi_rank_hang", "unknown", machine(ncu=ncu())),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_verdict(case: tuple[str, str, dict[str, Any]]) -> None:
    name, status, facts = case
    assert judged(name, facts).status == status, judged(name, facts)


def test_each_check_is_seen_firing_passing_and_at_a_loss() -> None:
    assert one_sided(CASES.values()) == set()


# --- the catalogue -----------------------------------------------------------------------------

SAID = {
    "ncu.cmp": "==ERROR== ERR_NVCMPGPU - Profiling is not supported on the NVIDIA Crypto Mining",
    "ncu.confidential": "==ERROR== cannot run in a secure confidential computing environment",
    "ncu.sli": "==ERROR== device 0 cannot be profiled as it is part of an active SLI group",
    "ncu.lib": "==ERROR== LibraryNotLoaded",
    "ncu.libver": "==ERROR== LibraryInvalidVersion",
    "ncu.memory": "==WARNING== Insufficient free memory for profiling on the device",
    "ncu.savestate": "==ERROR== Unable to create backup storage for kernel replay!",
    "ncu.prepare": "==ERROR== Failed to prepare kernel for profiling",
    "ncu.no_kernels": "==WARNING== No kernels were profiled.",
    "ncu.child": "profiling kernels launched by child processes requires the --target-processes all "
    "option.",
    "ncu.script": "==ERROR== The target application appears to be a shell script.",
    "ncu.early_exit": "==ERROR== Target process 7 terminated before first instrumented API call.",
    "ncu.preinit": "==ERROR== Cuda is initialized before the tool",
    "ncu.clock": "==WARNING== Failed to lock GPU clock frequencies",
}


@pytest.mark.parametrize(("name", "line"), SAID.items(), ids=SAID)
def test_each_other_message_is_a_check(name: str, line: str) -> None:
    facts = {"ncu": ncu(error=line)}
    severity = {one.id: one.severity for one in matrix.ncu_messages()}[name]
    verdict = judged(name, facts)
    assert verdict.status == severity
    assert verdict.evidence == (line,)
    assert verdict.remedy is not None
    assert verdict.remedy.text
    assert judged(name, {"ncu": ncu(error="all is well")}).status == "ok"
    assert judged(name, {}).status == "unknown"


def test_every_message_of_the_catalogue_has_a_check() -> None:
    for known in matrix.ncu_messages():
        assert judged(known.id, {}).status == "unknown", known.id


def test_a_general_failure_is_explained_by_the_one_before_it() -> None:
    log = f"{DENIED}\n==ERROR== Failed to prepare kernel for profiling"
    assert errors({"log": log}) == ["ncu.perm", "ncu.prepare"]


# --- permission, step by step ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("process", "system", "answer"),
    [
        ({"capabilities": ["CAP_SYS_ADMIN"]}, {}, True),
        ({"capabilities": [], "euid": 0}, {}, False),
        ({"euid": 0}, {"container": None}, True),
        ({"euid": 0}, {"container": "docker"}, None),
        ({"euid": 1000}, {}, False),
        ({"capabilities": ["CAP_PERFMON"]}, {}, None),  # no driver branch
        ({}, {}, None),
    ],
)
def test_who_counts_as_an_administrator(
    process: dict[str, Any], system: dict[str, Any], answer: bool | None
) -> None:
    assert privileged(Facts(machine(process=process, os=system))) is answer


def test_the_driver_says_whether_it_keeps_them() -> None:
    assert restricted(Facts({"driver": {"params": {"RmProfilingAdminOnly": 1}}})) is True
    assert restricted(Facts({"driver": {"params": {"RmProfilingAdminOnly": 0}}})) is False
    assert restricted(Facts({"driver": {"params": {}, "version": "580.95.05"}})) is None
    assert restricted(Facts({"driver": {"version": "591.74"}, "os": {"wsl": 2}})) is None


# --- remedies -----------------------------------------------------------------------------------


def commands(name: str, facts: dict[str, Any]) -> tuple[str, ...]:
    remedy = judged(name, facts).remedy
    assert remedy is not None
    return remedy.commands


@pytest.mark.parametrize(
    ("distro", "initramfs"),
    [
        ("ubuntu 24.04", "sudo update-initramfs -u"),
        ("rocky 9.4", "sudo dracut --regenerate-all -f"),
        ("arch", "sudo mkinitcpio -P"),
    ],
)
def test_root_opens_the_counters_for_good(distro: str, initramfs: str) -> None:
    verdict = judged("ncu.perm", machine(os={"distro": distro}, **counters()))
    assert verdict.remedy is not None
    assert verdict.remedy.who == "root"
    assert verdict.remedy.commands == (
        "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' "
        "| sudo tee /etc/modprobe.d/kprof-nvidia.conf",
        initramfs,
        "sudo reboot",
    )
    (once,) = verdict.remedy.alternatives
    assert once.commands == ('sudo -E env "PATH=$PATH" kprof profile TARGET',)


def test_inside_a_container_there_is_a_letter_for_the_hosts_admin() -> None:
    verdict = judged("ncu.perm", machine(os={"container": "docker"}, **counters(euid=0)))
    assert verdict.remedy is not None
    assert verdict.remedy.who == "host"
    assert "Inside this container nothing can change this" in verdict.remedy.text
    assert "--cap-add=SYS_ADMIN" in verdict.remedy.commands[0]
    assert "root in this docker" in verdict.message


def test_a_pod_asks_for_its_security_context() -> None:
    verdict = judged("ncu.perm", machine(os={"container": "kubernetes"}, **counters(euid=0)))
    assert verdict.remedy is not None
    assert "securityContext" in verdict.remedy.commands[0]


def test_under_wsl_windows_opens_them() -> None:
    verdict = judged("ncu.perm", machine(os={"wsl": 2}, log=DENIED))
    assert verdict.remedy is not None
    assert verdict.remedy.who == "windows"


def test_the_driver_branch_is_named_where_perfmon_does_not_count() -> None:
    facts = machine(**counters(version="550.54.15", capabilities=["CAP_PERFMON"]))
    assert "R565" in judged("ncu.perm", facts).message
    assert "R550" in judged("ncu.perm", facts).message


def test_an_ncu_that_is_here_and_knows_the_gpu_is_used() -> None:
    installs = [
        {"path": "/opt/nvidia/nsight-compute/2024.1.1/ncu", "version": "2024.1.1"},
        {"path": "/opt/my ncu/ncu", "version": "2025.3.1"},
    ]
    facts = machine(gpus=[RTX_5090], ncu=ncu("2024.1.1", installs=installs))
    assert commands("ncu.chip_unsupported", facts) == (
        "kprof profile --ncu '/opt/my ncu/ncu' TARGET",
    )


@pytest.mark.parametrize(
    ("device", "cuda", "version"),
    [
        (RTX_5090, ("570.133.20", "12.8"), "2025.1.1"),
        (V100, ("580.95.05", "13.0"), "2024.3.2"),
        (RTX_5090, ("550.54.15", "12.4"), "2025.1.0"),  # none of the driver's CUDA knows it
    ],
)
def test_the_ncu_to_install_suits_gpu_and_driver(
    device: dict[str, Any], cuda: tuple[str, str], version: str
) -> None:
    facts = machine(gpus=[device], driver=driver(*cuda), ncu={"path": None})
    *first, last = commands("ncu.missing", facts)
    assert last == f"sudo apt-get install -y nsight-compute-{version}"
    assert "/ubuntu2404/x86_64/cuda-keyring" in first[0]


def test_conda_installs_it_where_python_is_condas() -> None:
    facts = machine(gpus=[H100], python={"environment": "conda"}, ncu={"path": None})
    assert commands("ncu.missing", facts)[0].startswith("conda install -y -c conda-forge")


def test_a_launcher_gives_way_to_the_ncu_behind_it() -> None:
    facts = machine(
        ncu={
            "path": "/usr/local/cuda/bin/ncu",
            "error": "Nsight Compute is not installed",
            "installs": [{"path": "/opt/ncu", "version": "2025.3.1"}],
        }
    )
    assert commands("ncu.launcher_stub", facts) == ("kprof profile --ncu /opt/ncu TARGET",)


def test_dcgm_is_paused_and_another_profiler_ended() -> None:
    facts = CASES["counters held by DCGM"][2]
    assert commands("ncu.resource_busy", facts)[0] == "dcgmi profile --pause"
    assert commands("ncu.resource_busy", CASES["another profiler runs"][2]) == ()
    inside = machine(os={"container": "docker"}, log=BUSY)
    remedy = judged("ncu.resource_busy", inside).remedy
    assert remedy is not None
    assert remedy.who == "host"


def test_a_chip_that_came_late_is_told_from_its_family() -> None:
    gb207 = machine(gpus=[RTX_5050], ncu=ncu("2025.1.0"))
    assert judged("ncu.chip_unsupported", gb207).status == "error"
    assert judged("ncu.chip_unsupported", {**gb207, "ncu": ncu("2025.3.0")}).status == "ok"
