"""Whether the performance counters are open to this process."""

from __future__ import annotations

import dataclasses

from kprof.audit import derive, grant, permission, remedies, said, windows
from kprof.audit.facts import Facts, Unknown
from kprof.audit.references import rule
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_AS_ROOT = 'sudo -E env "PATH=$PATH" kprof profile TARGET'
_CAPABILITY_FLAG = "docker run --gpus all --cap-add=SYS_ADMIN IMAGE"
_FACTS = (
    permission.PARAMETER, "process.euid", "process.capabilities", "process.user_namespace",
    "os.container", "driver.version", "driver.module_version",
)  # fmt: skip


@check(
    "ncu.perm",
    "performance counters",
    hurts=("profile",),
    live=True,
    explains=("ncu.prepare", "ncu.resource_or_perm"),
)
def perm(facts: Facts) -> Verdict:
    """The driver keeps the counters to administrators unless its module is told otherwise."""
    line = said.line(facts, "ncu.perm")
    if line is not None:
        return _denied(facts, _because(facts), line)
    if derive.wsl(facts) or derive.native_windows(facts):
        raise Unknown("whether Windows opens the counters (NVIDIA Control Panel)")
    restricted = permission.restricted(facts)
    if restricted is False:
        return ok("the performance counters are open to every user")
    privileged = permission.privileged(facts)
    if privileged:
        return ok("this process may read the performance counters", *_evidence(facts))
    if restricted is None:
        return _board(facts, privileged)
    if privileged is None:
        raise Unknown("process.capabilities")
    return _denied(facts, _because(facts), None)


def _board(facts: Facts, privileged: bool | None) -> Verdict:
    if not derive.jetson(facts) or privileged is not False:
        raise Unknown(permission.PARAMETER)
    if facts.number("process.euid") == 0:
        raise Unknown("whether this board's driver lets root of a container read the counters")
    return Verdict(
        "warning",
        "on a Jetson only root may read the performance counters",
        _evidence(facts),
        Remedy("Profile as root", (_AS_ROOT,), "root"),
        rule("counters_restricted"),
    )


def _because(facts: Facts) -> str:
    if derive.wsl(facts) or derive.native_windows(facts):
        return "Windows keeps the performance counters to administrators"
    if permission.restricted(facts) is False:
        return (
            "ncu is refused the counters although RmProfilingAdminOnly is 0: it is the host's, "
            "or the GPU is virtual"
        )
    value = facts.number(permission.PARAMETER)
    shown = f" (RmProfilingAdminOnly is {value:.0f})" if value is not None else ""
    return f"the driver keeps the counters to administrators{shown}{_who_lacks_what(facts)}"


def _who_lacks_what(facts: Facts) -> str:
    """Return what keeps this process from counting as an administrator; "" where it is not known."""
    user, capabilities = facts.number("process.euid"), facts.texts("process.capabilities")
    if capabilities is None and not user:
        return ""
    who = "root" if user == 0 else "this user"
    lacks = "has neither CAP_SYS_ADMIN nor CAP_PERFMON"
    if "CAP_PERFMON" in (capabilities or ()):
        branch = derive.driver_branch(facts)
        driver = f"; this is R{branch}" if branch else ""
        lacks = f"has only CAP_PERFMON, which counts from driver R565 on{driver}"
    if facts.flag("process.user_namespace"):
        lacks = "is in a user namespace, where no capability counts for the driver"
    where = f" in this {derive.brief(kind, 20)}" if (kind := derive.in_container(facts)) else ""
    return f", and {who}{where} {lacks}"


def _evidence(facts: Facts) -> tuple[str, ...]:
    return derive.values(facts, *_FACTS)


def _denied(facts: Facts, message: str, line: str | None) -> Verdict:
    return Verdict(
        "error",
        message,
        (*_evidence(facts), *([line] if line else ())),
        _open_counters(facts),
        said.source("ncu.perm"),
    )


def _open_counters(facts: Facts) -> Remedy:
    if derive.wsl(facts):
        return Remedy(
            "In Windows open the NVIDIA Control Panel as administrator, turn on its developer "
            "settings, and allow all users under Manage GPU Performance Counters; then restart WSL",
            ("wsl --shutdown",),
            "windows",
        )
    if derive.native_windows(facts):
        return windows.open_counters()
    if derive.jetson(facts):
        return Remedy("Profile as root", (_AS_ROOT,), "root")
    if derive.in_container(facts):
        return grant.from_the_host(facts)
    once = Remedy("Profile as root, this once.", (_AS_ROOT,), "root")
    return Remedy(
        f"{'On Linux: give' if _nowhere(facts) else 'Give'} the module the option that opens the "
        "counters to every user, then reboot.",
        remedies.module_option(facts, grant.OPTION),
        "root",
        (once, *(_elsewhere() if _nowhere(facts) else ())),
    )


def _nowhere(facts: Facts) -> bool:
    """Say whether not even the system is known on which ncu was refused."""
    return not facts.known("os.system") and not facts.known("os.distro")


def _elsewhere() -> tuple[Remedy, ...]:
    opened = windows.open_counters()
    panel = dataclasses.replace(opened, text=f"On Windows: {opened.text}")
    return (
        Remedy("In a container: start it with the capability.", (_CAPABILITY_FLAG,), "host"),
        panel,
    )


@check("ncu.vgpu_perm", "profiling on a virtual GPU", hurts=("profile",), explains=("ncu.perm",))
def vgpu_perm(facts: Facts) -> Verdict:
    """On a virtual GPU the hypervisor decides, and a licence is needed."""
    line = said.line(facts, "ncu.vgpu_perm")
    if line is None:
        if not (facts.known("log") or facts.known("ncu.error")):
            raise Unknown("ncu.error")
        return skipped("ncu did not speak of a virtual GPU")
    return Verdict(
        "error",
        "the hypervisor does not allow profiling on this virtual GPU, or the guest has no licence",
        (line,),
        Remedy(
            "Ask the provider to enable profiling for this vGPU (the plugin parameter "
            "enable_profiling=1), and license the guest",
            (),
            "provider",
        ),
        said.source("ncu.vgpu_perm"),
    )
