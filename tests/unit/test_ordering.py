from __future__ import annotations

import itertools
from typing import Any

import pytest

from kprof.model import Bound, Finding, Speedup
from kprof.ordering import ordered, saved_share, without_general


def finding(rule: str, resource: Any, high: float | None = None, **fields: Any) -> Finding:
    return Finding(
        rule=rule,
        severity=fields.get("severity", "medium"),
        confidence=fields.get("confidence", "high"),
        headline="",
        detail="",
        estimated_speedup=None if high is None else Speedup(1.0, high),
        resource=resource,
        evidence=(),
        refuted_by="",
    )


def names(bound: Bound, *findings: Finding) -> list[str]:
    """Order them; every order of arrival has to give the same."""
    orders = {
        tuple(item.rule for item in ordered(arrival, bound))
        for arrival in itertools.permutations(findings)
    }
    (only,) = orders
    return list(only)


LIMIT = finding("dram-bandwidth-bound", "dram", 1.2)


def test_a_cause_that_explains_the_limit_comes_before_it() -> None:
    cause = finding("layout", "dram", 1.5)
    assert names("dram", LIMIT, cause) == ["layout", "dram-bandwidth-bound"]


def test_a_cause_worth_less_than_what_is_left_comes_after() -> None:
    assert names("dram", LIMIT, finding("layout", "dram", 1.19)) == [
        "dram-bandwidth-bound",
        "layout",
    ]


def test_an_uncertain_cause_does_not_lead() -> None:
    cause = finding("layout", "dram", 2.0, confidence="low")
    assert names("dram", LIMIT, cause) == ["dram-bandwidth-bound", "layout"]


def test_it_leads_where_the_limit_leaves_nothing_to_do() -> None:
    roof = finding("compute-bound", "math", 1.04, severity="info")
    cause = finding("integer-bound", "math", 1.2, severity="low", confidence="low")
    assert names("int", roof, cause) == ["integer-bound", "compute-bound"]
    left = finding("compute-bound", "math", 1.04, severity="low")
    assert names("int", left, cause) == ["compute-bound", "integer-bound"]
    elsewhere = finding("layout", "dram", 1.2, severity="low", confidence="low")
    assert names("int", roof, elsewhere) == ["compute-bound", "layout"]


@pytest.mark.parametrize(("high", "first"), [(1 / 0.9, "layout"), (1 / 0.901, "limit")])
def test_a_cause_must_save_a_tenth(high: float, first: str) -> None:
    roof = finding("dram-bandwidth-bound", "dram")
    got = names("dram", roof, finding("layout", "dram", high))[0]
    assert got == ("layout" if first == "layout" else roof.rule)


def test_relief_of_another_resource_comes_after_the_limit() -> None:
    other = finding("occupancy-limited-by-registers", "occupancy", 5.0)
    assert names("dram", LIMIT, other) == ["dram-bandwidth-bound", other.rule]
    assert names("latency", other) == [other.rule]


def test_information_comes_last_but_the_limit_stays_first() -> None:
    limit = finding("dram-bandwidth-bound", "dram", severity="info")
    note = finding("a-note", "dram", 9.0, severity="info")
    small = finding("small", "latency", 1.01, severity="low")
    assert names("dram", note, small, limit) == ["dram-bandwidth-bound", "small", "a-note"]


def test_larger_and_surer_estimates_first() -> None:
    large = finding("large", "latency", 2.0, confidence="medium")  # 0.5 * 0.7
    sure = finding("sure", "latency", 1.6)  # 0.375 * 1
    unsure = finding("unsure", "latency", 2.0, confidence="low")  # 0.5 * 0.4
    assert names("latency", unsure, large, sure) == ["sure", "large", "unsure"]


def test_equals_are_ordered_by_name() -> None:
    assert names("latency", finding("b", "latency", 2.0), finding("a", "latency", 2.0)) == [
        "a",
        "b",
    ]


@pytest.mark.parametrize("bound", ["dram", "l2", "l1"])
@pytest.mark.parametrize("rule", ["uncoalesced-global-access", "local-memory-traffic"])
def test_useless_traffic_explains_every_memory_level(bound: Bound, rule: str) -> None:
    limit = finding(f"{bound}-bandwidth-bound", bound, 1.1)
    assert names(bound, limit, finding(rule, "latency", 2.0))[0] == rule


@pytest.mark.parametrize("bound", ["fp32", "fp64", "fp16", "int", "xu", "tensor"])
def test_math_bounds_are_explained_by_math(bound: Bound) -> None:
    cause = finding("fp64-usage", "math", 1.4)
    traffic = finding("uncoalesced-global-access", "dram", 1.4)
    assert names(bound, finding("compute-bound", "math", 1.1), traffic, cause) == [
        "fp64-usage",
        "compute-bound",
        "uncoalesced-global-access",
    ]


def test_shared_memory_conflicts_explain_l1_and_shared() -> None:
    cause = finding("shared-bank-conflicts", "shared", 2.0)
    for bound, limit in (("l1", "l1-bandwidth-bound"), ("shared", "shared-memory-bandwidth-bound")):
        assert names(bound, finding(limit, "l1", 1.1), cause)[0] == cause.rule  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("high", "saved"), [(None, 0.0), (1.0, 0.0), (2.0, 0.5), (20.0, 0.95), (0.0, 0.0)]
)
def test_saved_share(high: float | None, saved: float) -> None:
    assert saved_share(finding("x", "dram", high)) == pytest.approx(saved)


def test_nothing_found_is_nothing_ordered() -> None:
    assert ordered((), "unknown") == ()


def test_a_tensor_pipe_that_waits_comes_before_what_else_waits() -> None:
    pipe = finding("tensor-pipe-underused", "math", 1.8)
    stall = finding("dependency-stalls", "latency", 1.4)
    assert names("latency", pipe, stall) == ["tensor-pipe-underused", "dependency-stalls"]
    assert names("dram", LIMIT, pipe)[0] == "dram-bandwidth-bound"


@pytest.mark.parametrize(("high", "first"), [(1.67, "uneven"), (1.66, "memory-latency-bound")])
def test_why_warps_wait_comes_before_that_they_wait(high: float, first: str) -> None:
    """Where it saves about as much; how sure each is does not matter."""
    waiting = finding("memory-latency-bound", "latency", 2.0)
    cause = finding("uneven", "launch", high, confidence="medium")
    assert names("latency", waiting, cause)[0] == first


def test_causes_among_themselves_are_ordered_by_what_they_save() -> None:
    waiting = finding("memory-latency-bound", "latency", 2.0)
    small, large = finding("small", "launch", 1.9), finding("large", "occupancy", 3.0)
    assert names("latency", small, waiting, large) == ["large", "small", "memory-latency-bound"]


def test_arithmetic_does_not_explain_why_warps_wait() -> None:
    waiting = finding("memory-latency-bound", "latency", 2.0)
    assert names("latency", waiting, finding("unfused-multiply-add", "math", 3.0)) == [
        "memory-latency-bound",
        "unfused-multiply-add",
    ]


def test_empty_lanes_explain_no_memory_level() -> None:
    lanes = finding("partial-warps", "launch", 2.0)
    assert names("dram", LIMIT, lanes) == ["dram-bandwidth-bound", "partial-warps"]


@pytest.mark.parametrize(("high", "first"), [(1 / 0.59, "few"), (1 / 0.61, "launch")])
def test_a_launch_without_an_estimate_stands_for_what_its_start_takes(
    high: float, first: str
) -> None:
    launch = finding("launch-overhead-bound", "launch", severity="low")
    few = finding("grid-too-small", "launch", high)
    got = names("launch", launch, few)[0]
    assert got == (few.rule if first == "few" else launch.rule)


def test_any_other_cause_without_an_estimate_comes_last() -> None:
    unknown, known = finding("a", "launch"), finding("b", "launch", 1.2)
    assert names("launch", unknown, known) == ["b", "a"]


@pytest.mark.parametrize(
    ("rule", "severity", "left"),
    [
        ("partition-camping", "medium", ["partition-camping"]),
        ("remote-memory-traffic", "high", ["remote-memory-traffic"]),
        ("partition-camping", "low", ["memory-latency-bound", "partition-camping"]),
        ("achieved-occupancy-gap", "high", ["memory-latency-bound", "achieved-occupancy-gap"]),
    ],
)
def test_more_loads_in_flight_are_not_advised_where_they_would_queue(
    rule: str, severity: str, left: list[str]
) -> None:
    waiting = finding("memory-latency-bound", "latency", 2.0)
    full = finding(rule, "latency", 3.0, severity=severity)
    assert [item.rule for item in without_general([waiting, full])] == left
