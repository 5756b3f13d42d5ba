"""Whether this process may read the GPU's performance counters.

The order is the driver's: what its parameter says, what this process may do, and from which driver
branch on a capability counts. Source: NVIDIA development tools, ERR_NVGPUCTRPERM
<https://developer.nvidia.com/nvidia-development-tools-solutions-ERR_NVGPUCTRPERM-permission-issue-performance-counters>.
"""

from __future__ import annotations

from kprof.audit import derive, matrix
from kprof.audit.facts import Facts

PARAMETER = "driver.params.RmProfilingAdminOnly"


def restricted(facts: Facts) -> bool | None:
    """Say whether the driver keeps the counters to administrators; None where it is not known."""
    value = facts.number(PARAMETER)
    if value is not None:
        return value != 0
    first = matrix.rule_value("counters_restricted")
    have = derive.version(derive.driver_version(facts))
    since = derive.version(first.value) if first else None
    if have is None or since is None or derive.wsl(facts) or have >= since:
        return None
    return False  # drivers before that kept nothing back


def privileged(facts: Facts) -> bool | None:
    """Say whether this process counts as an administrator; None where it is not known.

    In a container being root is not enough, and a capability inside a user namespace is none for
    the driver.
    """
    capabilities = facts.texts("process.capabilities")
    user = facts.number("process.euid")
    if capabilities is not None:
        return _by_capability(facts, capabilities)
    if user is None:
        return None
    if user != 0:
        return False
    if not facts.known("os.container") or derive.in_container(facts):
        return None
    return True


def allowed(facts: Facts) -> bool | None:
    """Say whether the counters can be read; None where it is not known."""
    kept, may = restricted(facts), privileged(facts)
    if kept is False or may:
        return True
    return False if kept and may is False else None


def perfmon_counts(facts: Facts) -> bool | None:
    """Say whether this driver takes CAP_PERFMON for CAP_SYS_ADMIN."""
    first, branch = matrix.rule_value("cap_perfmon"), derive.driver_branch(facts)
    if first is None or not first.certain or branch is None:
        return None
    return branch >= int(first.value)


def _by_capability(facts: Facts, capabilities: tuple[str, ...]) -> bool | None:
    if facts.flag("process.user_namespace"):
        return False
    if "CAP_SYS_ADMIN" in capabilities:
        return True
    return perfmon_counts(facts) if "CAP_PERFMON" in capabilities else False
