from __future__ import annotations

from dataclasses import replace

import pytest

from kprof.model import (
    Bound,
    KernelReport,
    Limiter,
    Occupancy,
    Resource,
    Severity,
    Skipped,
    Speedup,
)
from kprof.words import (
    at_the_limit,
    gain,
    limit,
    occupancy_limit,
    standing,
    standstill,
    unexplained,
    verdict,
)
from tests.report_fixture import TRANSPOSE, VECTOR_ADD

QUIET = replace(VECTOR_ADD, findings=(), clear=("a", "b"), skipped=(), depth="standard")
LACKING = (Skipped("c", ("metric",)),)


@pytest.mark.parametrize(
    ("occupancy", "said"),
    [
        (Occupancy(75.0, 60.0, ("registers", "shared_memory")), "registers, shared memory"),
        (Occupancy(100.0, 60.0), "nothing: every warp slot can be filled"),
        (Occupancy(99.9), "nothing: every warp slot can be filled"),
        (Occupancy(99.8, 60.0), None),
        (Occupancy(None, 60.0), None),
    ],
)
def test_what_limits_occupancy(occupancy: Occupancy, said: str | None) -> None:
    assert occupancy_limit(occupancy) == said


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.0, 1.3, "up to 1.3× as fast, estimated"),
        (1.7, 2.6, "1.7–2.6× as fast, estimated"),
        (1.0, 1.01, "no gain expected from this alone"),
    ],
)
def test_gain(low: float, high: float, said: str) -> None:
    assert gain(Speedup(low, high)) == said


@pytest.mark.parametrize("bound", ["latency", "launch"])
def test_an_idle_kernel_without_a_cause_is_not_passed_over(bound: Bound) -> None:
    said = unexplained(replace(QUIET, bound=bound, skipped=LACKING, depth="sections"))
    assert said.startswith("No unit reached 60 %, and no rule explains why with the data there is")
    assert "2 rules had the data and found nothing, 1 rule could not be evaluated" in said
    assert said.endswith("`kprof profile --depth standard` collects what the rules need.")


def test_an_unknown_bound_is_not_called_idle() -> None:
    said = unexplained(replace(QUIET, bound="unknown", depth=None, skipped=LACKING))
    assert said.startswith("What was busy is not known")
    assert "--depth standard" in said


def test_what_was_collected_is_not_advised_again() -> None:
    assert "--depth" not in unexplained(replace(QUIET, bound="latency", skipped=LACKING))
    assert "stall reasons and the source" in unexplained(replace(QUIET, bound="latency"))
    assert "look next" not in unexplained(replace(QUIET, bound="dram"))


def test_no_rule_with_data_is_not_a_clean_bill() -> None:
    said = unexplained(replace(QUIET, clear=(), skipped=LACKING, depth="survey"))
    assert "nothing is known to be wrong or right" in said


@pytest.mark.parametrize(
    ("rule", "severity", "resource", "said"),
    [
        ("dram-bandwidth-bound", "info", "dram", "at the limit"),
        ("dram-bandwidth-bound", "medium", "dram", "medium"),
        ("shared-bank-conflicts", "info", "shared", "note"),
        ("memory-latency-bound", "info", "latency", "note"),
    ],
)
def test_a_unit_at_its_roof_is_a_verdict_not_a_problem(
    rule: str, severity: Severity, resource: Resource, said: str
) -> None:
    finding = replace(TRANSPOSE.findings[0], rule=rule, severity=severity, resource=resource)
    assert standing(finding) == said
    assert at_the_limit(finding) == (said == "at the limit")


@pytest.mark.parametrize(
    ("rule", "severity", "said"),
    [
        ("tail-effect", "high", "SMs without work are the limit: on average the busiest unit"),
        ("partition-camping", "medium", "One slice of the memory system is the limit: on average"),
        ("partition-camping", "low", "Latency is the limit: the busiest unit"),
        ("memory-latency-bound", "high", "Latency is the limit: the busiest unit"),
    ],
)
def test_where_nothing_is_busy_on_average_the_first_finding_may_know_the_limit(
    rule: str, severity: Severity, said: str
) -> None:
    found = replace(TRANSPOSE.findings[0], rule=rule, severity=severity)
    top = Limiter("unit", "l2", 5.0)
    idle = replace(QUIET, bound="latency", limiter=top, findings=(found,))
    assert verdict(idle).startswith(said)
    assert verdict(idle).endswith("the L2 cache, reached only 5.0 % of its peak.")
    assert verdict(replace(idle, bound="l2")).startswith("L2 cache bandwidth is the limit")


def test_a_kernel_that_was_only_timed_has_no_unknown_limit() -> None:
    timed = replace(QUIET, bound="unknown", depth="survey")
    assert limit(timed) == "unprofiled"
    assert verdict(timed) == "Not profiled in depth: only its duration is known."
    assert limit(replace(timed, depth="sections")) == "unknown"
    assert limit(replace(timed, bound="launch")) == "launch"


def limited(bound: Bound, pct: float, allowed: float | None, reached: float | None) -> KernelReport:
    occupancy = Occupancy(allowed, reached)
    return replace(QUIET, bound=bound, limiter=Limiter("m", bound, pct), occupancy=occupancy)


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ("dram", "At the roof: only fewer bytes from and to device memory help."),
        ("shared", "At the roof: only less work for shared memory helps."),
        ("issue", "At the roof: only fewer instructions help."),
        ("tensor", "At the roof: only fewer or cheaper operations help."),
    ],
)
def test_at_the_roof_only_less_work_helps(bound: Bound, said: str) -> None:
    assert standstill(limited(bound, 80.0, 100.0, 95.0)) == (said,)
    assert standstill(limited(bound, 79.9, 100.0, 95.0)) == ()


@pytest.mark.parametrize("bound", ["latency", "launch", "balanced", "unknown"])
def test_where_no_unit_is_the_limit_nothing_is_said_to_be_enough(bound: Bound) -> None:
    assert standstill(limited(bound, 95.0, 12.5, 12.0)) == ()


def test_low_occupancy_is_enough_where_a_unit_is_full() -> None:
    _, enough = standstill(limited("tensor", 94.0, 12.5, 12.0))
    assert enough == ("Occupancy is enough here, at 12 %: more warps would wait for the same unit.")
    assert len(standstill(limited("tensor", 94.0, 79.9, None))) == 2
    assert len(standstill(limited("tensor", 94.0, 80.0, 80.0))) == 1
    assert len(standstill(limited("tensor", 94.0, None, None))) == 1
    assert len(standstill(limited("tensor", 94.0, None, 30.0))) == 2


def test_a_limit_that_nobody_measured_is_not_at_its_roof() -> None:
    assert standstill(replace(QUIET, bound="dram", limiter=None)) == ()
