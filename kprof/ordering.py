"""The order of findings: the real limiter first.

1. causes that explain the limiter (they relieve the resource that is busiest, or, when nothing
   is busy, the largest estimate of all) by more than is left at the limit itself; the general
   statement that warps wait for memory comes behind a cause that saves about as much, because
   that is why they wait; a cause that is not sure leads only where the limit itself leaves nothing
   to do;
2. the statement of the limit itself;
3. everything else by estimate and confidence;
4. statements that need no action.
"""

from __future__ import annotations

from collections.abc import Iterable

from kprof.model import Bound, Finding

# A cause explains the limiter when fixing it saves at least this share of the time.
# kprof's own, unsourced.
EXPLAINS = 0.1
CERTAINTY = {"high": 1.0, "medium": 0.7, "low": 0.4}
RESOURCES: dict[str, frozenset[str]] = {
    "dram": frozenset({"dram"}),
    "l2": frozenset({"l2"}),
    "l1": frozenset({"l1", "shared"}),
    "shared": frozenset({"shared"}),
    "issue": frozenset({"issue"}),
    "latency": frozenset({"latency", "occupancy", "launch", "dram", "l2", "l1", "shared"}),
    "launch": frozenset({"launch"}),
}
# These load whichever level is the limit, whatever resource their finding names.
LOADS_EVERY_LEVEL = frozenset({"local-memory-traffic", "uncoalesced-global-access"})
# Empty lanes waste issue slots and math pipes alike.
FILLS_SLOTS = frozenset({"partial-warps"})
# The pipe itself waits: nothing is busy, and yet it is a matter of that pipe.
KEEPS_A_PIPE_WAITING = frozenset({"tensor-pipe-underused"})
# True of any kernel that waits, whatever the reason.
GENERAL = frozenset({"memory-latency-bound"})
# What is full here is waited for as well, but more loads in flight would only queue.
FULL = frozenset({"atomic-contention", "partition-camping", "remote-memory-traffic"})
# A cause saves about as much as the general statement from this part of its saving on. kprof's own.
ABOUT = 0.8
# Findings without an estimate, and the share of the time that their place in the order stands for:
# start and end take up to 2 us of a launch that takes less than 5 (estimate.py, limiter.py).
UNESTIMATED = {"launch-overhead-bound": 0.4}
MEMORY_BOUNDS = frozenset({"dram", "l2", "l1"})
LIMITS = frozenset(
    {
        "dram-bandwidth-bound",
        "l2-bandwidth-bound",
        "l1-bandwidth-bound",
        "shared-memory-bandwidth-bound",
        "compute-bound",
        "issue-bound",
        "tensor-core-bound",
    }
)


def ordered(findings: Iterable[Finding], bound: Bound) -> tuple[Finding, ...]:
    """Return the findings with the primary limiter first."""
    found = tuple(findings)
    # A cause must be worth more than what is left to gain at the limit as it stands.
    at_the_limit = max((saved_share(item) for item in found if item.rule in LIMITS), default=0.0)
    needed = max(EXPLAINS, at_the_limit)
    to_do = any(item.rule in LIMITS and item.severity != "info" for item in found)
    in_general = max((saved_share(item) for item in found if item.rule in GENERAL), default=0.0)

    def key(finding: Finding) -> tuple[int, bool, float, str]:
        saved = saved_share(finding)
        tier = _tier(finding, bound, needed, unsure_leads=not to_do)
        why = tier == 0 and finding.rule not in GENERAL and saved >= ABOUT * in_general
        return tier, not why, -saved * CERTAINTY[finding.confidence], finding.rule

    return tuple(sorted(found, key=key))


def without_general(findings: Iterable[Finding]) -> list[Finding]:
    """Leave out that warps wait for memory where another finding says what they queue for."""
    found = list(findings)
    full = any(item.rule in FULL and item.severity in {"high", "medium"} for item in found)
    return [item for item in found if not (full and item.rule in GENERAL)]


def _tier(finding: Finding, bound: Bound, needed: float, *, unsure_leads: bool) -> int:
    if finding.rule in LIMITS:
        return 1
    if finding.severity == "info":
        return 3
    if finding.confidence == "low" and not unsure_leads:
        return 2
    return 0 if _relieves(finding, bound) and saved_share(finding) >= needed else 2


def _relieves(finding: Finding, bound: Bound) -> bool:
    if finding.rule in LOADS_EVERY_LEVEL and bound in MEMORY_BOUNDS:
        return True
    if finding.rule in FILLS_SLOTS and bound not in MEMORY_BOUNDS:
        return True
    if finding.rule in KEEPS_A_PIPE_WAITING and bound == "latency":
        return True
    return finding.resource in RESOURCES.get(bound, frozenset({"math"}))


def saved_share(finding: Finding) -> float:
    """Return the share of the time a finding's optimistic estimate saves."""
    if finding.estimated_speedup is None:
        return UNESTIMATED.get(finding.rule, 0.0)
    most = finding.estimated_speedup.high
    return 1.0 - 1.0 / most if most > 0.0 else 0.0
