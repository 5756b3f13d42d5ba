"""What a container or a sandbox withholds from a profiler."""

from __future__ import annotations

import re

from kprof.audit import derive, engines, gpustate, grant, permission, references, remedies
from kprof.audit.facts import Facts, Unknown
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_NO_PERMISSION = r"ERR_NVGPUCTRPERM|permission to access NVIDIA GPU Performance Counters"
_GVISOR = r"Starting gVisor|\brunsc\b"
_RIGHTS = (
    "process.euid", "process.capabilities", "process.user_namespace", "driver.params.RmProfilingAdminOnly",
)  # fmt: skip


@check(
    "sandbox.gvisor",
    "sandbox",
    hurts=("profile",),
    explains=(
        "container.no_sys_admin", "ncu.perm", "ncu.lib", "ncu.missing", "ncu.launcher_stub",
        "ncu.chip_unsupported", "ncu.driver_too_old", "ncu.resource_busy", "ncu.prepare",
    ),
)  # fmt: skip
def gvisor(facts: Facts) -> Verdict:
    """GVisor passes on the driver calls that CUDA needs, not those of a profiler."""
    sandbox = facts.text("os.sandbox")
    line = derive.logged(facts, _GVISOR)
    if sandbox is None and line is None:
        if not facts.known("os.sandbox"):
            raise Unknown("os.sandbox")
        return ok("there is no sandbox around this process")
    if sandbox is not None and not re.search("gvisor|runsc", sandbox, re.IGNORECASE):
        return ok(f"the sandbox {derive.brief(sandbox, 40)} is not known to block profilers")
    return Verdict(
        "error",
        "this runs in the sandbox gVisor: CUDA works there, but Nsight Compute cannot reach the "
        "driver calls it needs",
        (
            *derive.values(facts, "os.sandbox", "os.container", "ncu.error"),
            *((line,) if line else ()),
        ),
        remedies.letter(
            "I want to profile with Nsight Compute. gVisor (runsc) does not pass on the driver "
            "calls it needs: please start my container with the runtime runc, or give me a virtual "
            "machine.",
            engines.of(facts).unsandboxed,
        ),
        references.GVISOR,
    )


@check(
    "container.no_sys_admin",
    "the container's right to the counters",
    hurts=("profile",),
    live=True,
    explains=("ncu.perm",),
)
def no_sys_admin(facts: Facts) -> Verdict:
    """In a container even root needs a capability to read the counters that the driver guards."""
    kind = derive.in_container(facts)
    if kind is None:
        if not facts.known("os.container"):
            raise Unknown("os.container")
        return skipped("this is no container")
    line = derive.logged(facts, _NO_PERMISSION)
    answer = permission.allowed(facts)
    if derive.wsl(facts):
        return skipped("under WSL the counters are opened in Windows")
    if answer and line is None:
        return ok("this container may read the counters")
    if line is None and answer is None:
        raise Unknown(_missing(facts))
    if line is not None and permission.privileged(facts):
        return ok("the container has the capability")
    return Verdict(
        "error",
        f"the driver keeps the counters for administrators, and this {derive.brief(kind, 20)} "
        f"container {_lacks(facts)}",
        (*derive.values(facts, "os.container", *_RIGHTS), *((line,) if line else ())),
        grant.from_the_host(facts),
        references.rule("counters_in_containers"),
    )


def _lacks(facts: Facts) -> str:
    if facts.flag("process.user_namespace"):
        return "is in a user namespace (rootless), where no capability counts for the driver"
    known = facts.texts("process.capabilities") is not None
    return "has no CAP_SYS_ADMIN" if known else "is refused them, as one without CAP_SYS_ADMIN is"


def _missing(facts: Facts) -> str:
    if permission.restricted(facts) is None:
        return "driver.params.RmProfilingAdminOnly"
    return "process.capabilities"


@check(
    "container.driver_capabilities",
    "driver libraries in the container",
    hurts=("profile", "run"),
    explains=("driver.jit_library_missing", "gpu.missing"),
)
def driver_capabilities(facts: Facts) -> Verdict:
    """NVIDIA_DRIVER_CAPABILITIES picks the libraries that are handed over; CUDA needs 'compute'."""
    if derive.in_container(facts) is None:
        if not facts.known("os.container"):
            raise Unknown("os.container")
        return skipped("this is no container")
    value = facts.text("container_runtime.driver_capabilities") or facts.text(
        "env.NVIDIA_DRIVER_CAPABILITIES"
    )
    if value is None:
        if facts.absent("container_runtime.driver_capabilities") or facts.sub("env") is not None:
            return ok("NVIDIA_DRIVER_CAPABILITIES is not set: compute and utility are the default")
        raise Unknown("env.NVIDIA_DRIVER_CAPABILITIES")
    if {"compute", "all"} & set(re.split(r"[,\s]+", value[:500])) or not value.strip():
        return ok(f"NVIDIA_DRIVER_CAPABILITIES={derive.brief(value, 60)} has compute")
    return Verdict(
        "warning" if gpustate.works(facts) else "error",
        f"NVIDIA_DRIVER_CAPABILITIES={derive.brief(value, 60)} leaves out compute: the container "
        "gets no libcuda",
        derive.values(facts, "container_runtime", "env.NVIDIA_DRIVER_CAPABILITIES", "libcuda"),
        Remedy("Start the container with it.", engines.of(facts).compute),
        references.CONTAINER_VARIABLES,
    )
