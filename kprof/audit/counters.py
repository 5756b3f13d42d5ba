"""Whether this process may read the GPU's performance counters."""

from __future__ import annotations

from kprof.audit import derive, matrix
from kprof.audit.facts import Facts


def restricted(facts: Facts) -> bool | None:
    """Say whether the driver keeps the counters for administrators; None where it is not known."""
    value = facts.number("driver.params.RmProfilingAdminOnly")
    return None if value is None else value != 0


def privileged(facts: Facts) -> bool | None:
    """Say whether this process counts as an administrator for the driver.

    It does with CAP_SYS_ADMIN, with CAP_PERFMON where the driver is new enough, and as root outside
    a container. None where that is not known.

    Source: NVIDIA development tools, ERR_NVGPUCTRPERM.
    """
    capabilities = facts.texts("process.capabilities")
    if capabilities is not None:
        return "CAP_SYS_ADMIN" in capabilities or _by_perfmon(facts, capabilities)
    user = facts.number("process.euid")
    if user is None or (user == 0 and derive.in_container(facts)):
        return None
    return user == 0


def allowed(facts: Facts) -> bool | None:
    """Say whether the counters can be read; None where it is not known."""
    if restricted(facts) is False:
        return True
    may = privileged(facts)
    if may:
        return True
    return False if restricted(facts) and may is False else None


def _by_perfmon(facts: Facts, capabilities: tuple[str, ...]) -> bool:
    since = matrix.rule_value("cap_perfmon")
    branch = derive.driver_branch(facts)
    if "CAP_PERFMON" not in capabilities or since is None or branch is None:
        return False
    return branch >= int(since.value)
