"""Containers, sandboxes and WSL: how the GPU gets in, and what a profiler may do there."""

from __future__ import annotations

from typing import Any

import pytest

from kprof.audit import requirements
from kprof.audit.facts import Facts
from tests.audit.snapshots import (
    A100,
    H100,
    RTX_4090,
    assert_proven,
    driver,
    errors,
    gpu,
    judged,
    machine,
)

DOCKER = {"container": "docker"}
WSL = {"wsl": 2}
LIBCUDA = {"path": "/usr/lib/x86_64-linux-gnu/libcuda.so.570.133.20", "kind": "driver"}
WSL_LIBCUDA = {"path": "/usr/lib/wsl/lib/libcuda.so.1", "kind": "wsl"}
NODE = {"/dev/nvidiactl": {"exists": True}}
NO_NODE = {"/dev/nvidiactl": {"exists": False}}
ENGINE = 'docker: Error response from daemon: could not select device driver "" with capabilities'
CDI = "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all"
DETECTED = "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available."
UNMET = (
    "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0, please update your "
    "driver to a newer version, or use an earlier cuda container: unknown"
)
NO_PERMISSION = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance "
    "Counters on the target device 0."
)
# As NVIDIA's images of CUDA 12.8 declare it, shortened.
REQUIRES = (
    "cuda>=12.8 brand=unknown,driver>=535,driver<536 brand=tesla,driver>=535,driver<536 "
    "brand=geforce,driver>=535,driver<536 brand=geforcertx,driver>=550,driver<551"
)


def rights(*capabilities: str, restricted: int | None = 1, **more: object) -> dict[str, Any]:
    parameters = None if restricted is None else {"RmProfilingAdminOnly": restricted}
    return machine(
        os=DOCKER,
        gpus=[H100],
        driver=driver("580.95.05", params=parameters),
        process={"euid": 0, "capabilities": list(capabilities)},
        **more,
    )


ROOTLESS = rights("CAP_SYS_ADMIN")
ROOTLESS["process"]["user_namespace"] = True


CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "the engine knows no GPU": (
        "container.runtime_unconfigured", "error", machine(log=ENGINE),
    ),
    "podman has no description of the devices": (
        "container.runtime_unconfigured", "error", {"log": CDI},
    ),
    "started without the flag": (
        "container.runtime_unconfigured", "error",
        machine(os=DOCKER, container_runtime={"nvidia": True, "gpus_flag": False}, files=NO_NODE),
    ),
    "an engine without the runtime": (
        "container.runtime_unconfigured", "error",
        machine(os=DOCKER, container_runtime={"nvidia": False}, libcuda={"path": None}),
    ),
    "nothing inside": (
        "container.runtime_unconfigured", "error",
        machine(os=DOCKER, libcuda={"path": None}, files=NO_NODE),
    ),
    "by the image's own words": (
        "container.runtime_unconfigured", "error", machine(os=DOCKER, log=DETECTED),
    ),
    "the libraries without the devices": (
        "container.runtime_unconfigured", "error",
        machine(os={"container": "podman"}, libcuda=LIBCUDA, files=NO_NODE),
    ),
    "no nvidia-smi, and libcuda works": (
        "container.runtime_unconfigured", "ok",
        machine(os=DOCKER, libcuda={**LIBCUDA, "init_code": 0, "device_count": 1},
                driver={"nvidia_smi": {"path": None}}, container_runtime={"nvidia": False}),
    ),
    "devices mounted by hand": (
        "container.runtime_unconfigured", "ok",
        machine(os=DOCKER, gpus=[H100], container_runtime={"nvidia": False, "gpus_flag": False}),
    ),
    "docker inside WSL has no such node": (
        "container.runtime_unconfigured", "ok",
        machine(os={**DOCKER, **WSL}, libcuda=WSL_LIBCUDA, files=NO_NODE),
    ),
    "a host without GPU": (
        "container.runtime_unconfigured", "skipped",
        machine(os=DOCKER, lspci_gpus=[], libcuda={"path": None}, container_runtime={"nvidia": False}),
    ),
    "a host whose driver is loaded, whatever the bus shows": (
        "container.runtime_unconfigured", "error",
        machine(os=DOCKER, lspci_gpus=[], libcuda={"path": None},
                driver={"module_version": "570.133.20"}, container_runtime={"nvidia": False}),
    ),
    "a host with docker and no container": (
        "container.runtime_unconfigured", "skipped", machine(container_runtime={"nvidia": False}),
    ),
    "container not known": ("container.runtime_unconfigured", "unknown", {"log": "hello"}),
    "nothing known of the container": (
        "container.runtime_unconfigured", "unknown", machine(os=DOCKER),
    ),
    "device rules dropped": (
        "container.cgroup_lost", "error",
        machine(os=DOCKER, driver={"nvml_error": "Unknown Error"}, files=NODE),
    ),
    "device rules dropped, by the control node": (
        "container.cgroup_lost", "error",
        machine(os={"container": "kubernetes"}, driver={"nvml_error": "No Permission"},
                files={"/dev/nvidiactl": {"exists": True, "open_error": "Operation not permitted"}}),
    ),
    "it never had the devices": (
        "container.cgroup_lost", "ok",
        machine(os=DOCKER, driver={"nvml_error": "Unknown Error"}, files=NO_NODE),
    ),
    "another error of NVML": (
        "container.cgroup_lost", "ok",
        machine(os=DOCKER, driver={"nvml_error": "Driver/library version mismatch"}),
    ),
    "it works": ("container.cgroup_lost", "ok", machine(os=DOCKER, gpus=[H100])),
    "an unknown error on a host": (
        "container.cgroup_lost", "skipped", machine(driver={"nvml_error": "Unknown Error"}),
    ),
    "an unknown error somewhere": (
        "container.cgroup_lost", "unknown", {"driver": {"nvml_error": "Unknown Error"}},
    ),
    "refused by the runtime": (
        "container.require_unsatisfied", "error", {"log": UNMET},
    ),
    "would be refused": (
        "container.require_unsatisfied", "error",
        machine(driver=driver("550.144.03", "12.4"), container_runtime={"requires": "cuda>=12.8"}),
    ),
    "started without the check": (
        "container.require_unsatisfied", "warning",
        machine(os=DOCKER, gpus=[RTX_4090], driver=driver("550.144.03", "12.4"),
                container_runtime={"requires": "cuda>=13.0"}),
    ),
    "met by another alternative": (
        "container.require_unsatisfied", "ok",
        machine(os=DOCKER, gpus=[A100], driver=driver("535.183.01", "12.2"),
                container_runtime={"requires": REQUIRES}),
    ),
    "met": (
        "container.require_unsatisfied", "ok",
        machine(os=DOCKER, driver=driver("570.133.20", "12.8"), container_runtime={"requires": REQUIRES}),
    ),
    "an image that asks for nothing": (
        "container.require_unsatisfied", "skipped", machine(container_runtime={"requires": None}),
    ),
    "driver not known": (
        "container.require_unsatisfied", "unknown", machine(container_runtime={"requires": REQUIRES}),
    ),
    "an unreadable condition": (
        "container.require_unsatisfied", "unknown",
        machine(driver=driver("550.144.03", "12.4"), container_runtime={"requires": "moon>=full"}),
    ),
    "root without the capability": ("container.no_sys_admin", "error", rights()),
    "refused, nothing else known": (
        "container.no_sys_admin", "error", machine(os=DOCKER, ncu={"error": NO_PERMISSION}),
    ),
    "CAP_PERFMON for a driver too old for it": (
        "container.no_sys_admin", "error",
        {**rights("CAP_PERFMON"), "driver": driver("550.90.07", params={"RmProfilingAdminOnly": 1})},
    ),
    "CAP_PERFMON": ("container.no_sys_admin", "ok", rights("CAP_PERFMON")),
    "CAP_SYS_ADMIN": ("container.no_sys_admin", "ok", rights("CAP_SYS_ADMIN")),
    "counters open to all": ("container.no_sys_admin", "ok", rights(restricted=0)),
    "a host is no container": (
        "container.no_sys_admin", "skipped", machine(ncu={"error": NO_PERMISSION}),
    ),
    "parameters not known": ("container.no_sys_admin", "unknown", rights(restricted=None)),
    "a capability of a user namespace": ("container.no_sys_admin", "error", ROOTLESS),
    "compute left out": (
        "container.driver_capabilities", "error",
        machine(os=DOCKER, env={"NVIDIA_DRIVER_CAPABILITIES": "graphics,display"}),
    ),
    "compute left out, CUDA works": (
        "container.driver_capabilities", "warning",
        machine(os=DOCKER, container_runtime={"driver_capabilities": "utility"},
                libcuda={**LIBCUDA, "device_count": 1}),
    ),
    "compute among others": (
        "container.driver_capabilities", "ok",
        machine(os=DOCKER, env={"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}),
    ),
    "the default": ("container.driver_capabilities", "ok", machine(os=DOCKER, env={})),
    "not in a container": (
        "container.driver_capabilities", "skipped",
        machine(env={"NVIDIA_DRIVER_CAPABILITIES": "graphics"}),
    ),
    "environment not known": ("container.driver_capabilities", "unknown", machine(os=DOCKER)),
    "gVisor": ("sandbox.gvisor", "error", machine(os={"sandbox": "gvisor"})),
    "gVisor by its boot": (
        "sandbox.gvisor", "error", {"driver": {"dmesg": ["[    0.000000] Starting gVisor..."]}},
    ),
    "no sandbox": ("sandbox.gvisor", "ok", machine(os=DOCKER)),
    "sandbox not known": ("sandbox.gvisor", "unknown", {"os": {"system": "linux"}}),
    "a Linux driver inside WSL": (
        "wsl.libcuda_shadowed", "error",
        machine(os=WSL, libcuda={"path": "/usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01",
                                 "version": "535.183.01", "kind": "driver"}),
    ),
    "WSL's own": ("wsl.libcuda_shadowed", "ok", machine(os=WSL, libcuda=WSL_LIBCUDA)),
    "WSL's own, kind not known": (
        "wsl.libcuda_shadowed", "ok", machine(os=WSL, libcuda={"path": "/usr/lib/wsl/lib/libcuda.so"}),
    ),
    "a container inside WSL": (
        "wsl.libcuda_shadowed", "ok",
        machine(os={**WSL, **DOCKER}, gpus=[RTX_4090],
                libcuda={"path": "/usr/lib/x86_64-linux-gnu/libcuda.so.1.1", "kind": "driver"}),
    ),
    "plain Linux": ("wsl.libcuda_shadowed", "skipped", machine(libcuda=LIBCUDA)),
    "libcuda not known": ("wsl.libcuda_shadowed", "unknown", machine(os=WSL)),
    "blocked by Windows": (
        "wsl.no_device", "error",
        machine(os=WSL, driver={"nvml_error": "GPU access blocked by the operating system"}),
    ),
    "the first WSL": ("wsl.no_device", "error", machine(os={"wsl": 1})),
    "no /dev/dxg": ("wsl.no_device", "error", machine(os=WSL, files={"/dev/dxg": {"exists": False}})),
    "an empty list": ("wsl.no_device", "error", machine(os=WSL, gpus=[])),
    "cuInit answers 100": (
        "wsl.no_device", "error",
        machine(os=WSL, libcuda={**WSL_LIBCUDA, "init_code": 100}),
    ),
    "WSL with a GPU": (
        "wsl.no_device", "ok", machine(os=WSL, gpus=[RTX_4090], driver={"modules_loaded": []}),
    ),
    "no device on plain Linux": ("wsl.no_device", "skipped", machine(gpus=[])),
    "GPUs not known": ("wsl.no_device", "unknown", machine(os=WSL)),
    "periodic sampling": (
        "wsl.profiling_limits", "error",
        machine(os=WSL, gpus=[RTX_4090],
                log="CUPTI PM sampling failed: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"),
    ),
    "an ncu from before WSL": (
        "wsl.profiling_limits", "error",
        machine(os=WSL, gpus=[RTX_4090], ncu={"path": "/usr/bin/ncu", "version": "2021.3.1"}),
    ),
    "refused for being WSL": (
        "wsl.profiling_limits", "error",
        machine(os=WSL, ncu={"error": "Profiling is not supported on device 0 as it uses the Windows "
                                      "Subsystem for Linux (WSL)."}),
    ),
    "WSL as it is": (
        "wsl.profiling_limits", "warning",
        machine(os=WSL, gpus=[RTX_4090], ncu={"path": "/usr/bin/ncu", "version": "2025.3.1"}),
    ),
    "sampling refused on plain Linux": (
        "wsl.profiling_limits", "skipped",
        machine(log="CUPTI PM sampling failed: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"),
    ),
    "nothing known of WSL": ("wsl.profiling_limits", "unknown", machine(os=WSL)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_verdict(case: str) -> None:
    check, status, facts = CASES[case]
    verdict = judged(check, facts)
    assert verdict.status == status, verdict


@pytest.mark.parametrize(
    "case", [case for case, (_, status, _) in CASES.items() if status in ("error", "warning")]
)
def test_what_is_wrong_comes_with_proof_and_remedy(case: str) -> None:
    check, _, facts = CASES[case]
    assert_proven(judged(check, facts))


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("cuda>=12.2", True),
        ("cuda>=12.4", False),
        ("cuda>=12.4 driver>=535,driver<536", True),
        ("cuda>=12.4 driver>=535,driver<535.100", False),
        ("cuda>=12.4 brand=tesla,driver>=535,driver<536", True),
        ("cuda>=12.4 brand=geforce,driver>=535,driver<536", False),
        ("cuda>=12.0,arch>=8.0", True),
        ("cuda>=12.0,arch>=9.0", False),
        ("cuda>=12.0,weather=fine", None),
        ("weather=fine cuda>=12.0", True),
        ("", None),
    ],
)
def test_requirements_are_alternatives_of_conditions(text: str, met: bool | None) -> None:
    facts = machine(gpus=[A100], driver=driver("535.183.01", "12.2"))
    assert requirements.satisfied(Facts(facts), text) is met


def test_a_compat_library_does_not_raise_what_the_host_offers() -> None:
    facts = machine(gpus=[A100], driver=driver("535.183.01", "13.0"))
    assert requirements.satisfied(Facts(facts), "cuda>=12.8") is False


def test_inside_a_container_the_remedy_is_a_letter_with_the_hosts_commands() -> None:
    remedy = judged("container.no_sys_admin", rights()).remedy
    assert remedy is not None
    assert remedy.who == "host"
    assert "Send this to the host's admin" in remedy.text
    assert remedy.commands[0] == "docker run --gpus all --cap-add=SYS_ADMIN IMAGE"
    assert any("NVreg_RestrictProfilingToAdminUsers=0" in one for one in remedy.commands)


def test_a_missing_capability_explains_the_profilers_complaint() -> None:
    assert errors(rights(ncu={"path": "/usr/bin/ncu", "error": NO_PERMISSION}))[0] == (
        "container.no_sys_admin"
    )


def test_what_the_runtime_refused_is_not_said_twice() -> None:
    facts = machine(driver=driver("550.144.03", "12.4"), log=UNMET)
    assert errors(facts) == ["container.require_unsatisfied"]


def test_a_linux_driver_explains_that_wsl_sees_no_gpu() -> None:
    facts = machine(
        os=WSL,
        gpus=[],
        libcuda={"path": "/usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01", "kind": "driver"},
    )
    assert errors(facts)[0] == "wsl.libcuda_shadowed"
    assert "gpu.missing" not in errors(facts)


def test_a_lost_container_explains_everything_that_fails_in_it() -> None:
    facts = machine(
        os=DOCKER,
        driver=driver("570.133.20", nvml_error="Unknown Error"),
        files={**NODE, "/dev/nvidia-uvm": {"exists": True}},
        libcuda={**LIBCUDA, "init_code": 999},
    )
    assert errors(facts)[0] == "container.cgroup_lost"


def test_a_jetson_in_a_container_is_not_told_about_server_drivers() -> None:
    facts = machine(
        os={**DOCKER, "jetson": "JetPack 6.2", "arch": "aarch64"},
        gpus=[gpu("Orin", "8.7")],
        libcuda={"path": "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1", "kind": "driver"},
        files=NO_NODE,
    )
    assert errors(facts) == []


@pytest.mark.parametrize("check", ["container.no_sys_admin", "ncu.perm"])
@pytest.mark.parametrize(
    ("kind", "start"),
    [
        ("podman", "sudo podman run --device nvidia.com/gpu=all --cap-add=SYS_ADMIN IMAGE"),
        ("docker", "docker run --gpus all --userns=host --cap-add=SYS_ADMIN IMAGE"),
        ("lxc", None),
    ],
)
def test_without_root_of_the_host_a_capability_is_no_fix(
    check: str, kind: str, start: str | None
) -> None:
    remedy = judged(check, {**ROOTLESS, "os": {**ROOTLESS["os"], "container": kind}}).remedy
    assert remedy is not None
    first = remedy.commands[0]
    assert first == start if start else first.startswith("echo 'options nvidia NVreg_Restrict")


@pytest.mark.parametrize(("kind", "word"), [("apptainer", "--add-caps"), ("kubernetes", "kubectl")])
def test_each_kind_of_container_is_started_its_own_way(kind: str, word: str) -> None:
    facts = rights()
    remedy = judged("ncu.perm", {**facts, "os": {**facts["os"], "container": kind}}).remedy
    assert remedy is not None
    assert word in remedy.commands[0]


def test_root_of_a_container_on_a_jetson_is_not_told_to_be_root() -> None:
    facts = machine(
        os={"container": "docker", "jetson": "R36.4.0"}, process={"euid": 0, "capabilities": []},
        libcuda={"init_code": 0, "device_count": 1, "kind": "driver"}, driver={"params": {}},
    )  # fmt: skip
    assert judged("ncu.perm", facts).status == "unknown"
