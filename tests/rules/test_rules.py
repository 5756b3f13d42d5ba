from __future__ import annotations

import importlib
import math
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from kprof import estimate
from kprof import metrics as m
from kprof.model import Finding, Kernel, Launch
from kprof.quantity import Quantity
from kprof.rule import Rule, registry
from kprof.units import quantity
from tests.rules.case import FIRES, SILENT, Case

RULES = {item.name: item for item in registry()}
# Every module of cases beside this one.
MODULES = sorted(path.stem for path in Path(__file__).parent.glob("*_cases.py"))
CASES: tuple[Case, ...] = tuple(
    case for name in MODULES for case in importlib.import_module(f"tests.rules.{name}").CASES
)
FIRING = tuple(case for case in CASES if case.expected != SILENT)
HEADINGS = [
    "What it detects",
    "Why it matters",
    "How to fix it",
    "Known problems",
    "References",
]
L2_SIZE = "device__attribute_l2_cache_size"
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def named(cases: Iterable[Case]) -> pytest.MarkDecorator:
    listed = tuple(cases)
    return pytest.mark.parametrize("case", listed, ids=[case.name for case in listed])


@every_rule
def test_the_documentation_has_every_heading_in_order(rule: Rule) -> None:
    assert re.findall(r"^## (.+)$", rule.doc, re.MULTILINE) == HEADINGS
    parts = re.split(r"^## .+$", rule.doc, flags=re.MULTILINE)[1:]
    assert all(part.strip() for part in parts)


@every_rule
def test_module_function_and_name_are_the_same_words(rule: Rule) -> None:
    words = rule.name.replace("-", "_")
    assert rule.check.__name__ == words
    assert rule.check.__module__ == f"kprof.rules.{words}"


@every_rule
def test_what_a_rule_requires_is_declared_in_the_metrics(rule: Rule) -> None:
    known = set(m.quantities())
    assert rule.requires
    assert [need.name for need in rule.requires if need not in known] == []


@every_rule
def test_every_rule_has_a_firing_and_a_silent_case(rule: Rule) -> None:
    outcomes = [case.expected == SILENT for case in CASES if case.rule == rule.name]
    assert False in outcomes, "no case in which it fires"
    assert True in outcomes, "no case in which it is silent"


def test_every_case_is_of_a_rule_and_named_once() -> None:
    assert {case.rule for case in CASES} == set(RULES)
    assert len({case.name for case in CASES}) == len(CASES)


@named(CASES)
def test_verdict(case: Case) -> None:
    rule = RULES[case.rule]
    assert rule.missing(case.kernel) == (), "a case has to hold all that its rule requires"
    found = rule.check(case.kernel)
    if case.expected == SILENT:
        assert found is None
        return
    assert found is not None
    assert found.rule == rule.name
    assert case.expected in {FIRES, found.severity}
    assert case.says in found.headline
    assert case.confidence in {None, found.confidence}
    assert case.resource in {None, found.resource}
    words = " ".join((found.headline, found.detail, *found.advice))
    assert case.holds in words
    assert not case.lacks or case.lacks not in words
    if case.gain is not None:
        assert found.estimated_speedup is not None
        low, high = found.estimated_speedup.low, found.estimated_speedup.high
        assert (low, high) == pytest.approx(case.gain, rel=2e-3)


@named(FIRING)
def test_a_finding_is_complete(case: Case) -> None:
    found = RULES[case.rule].check(case.kernel)
    assert found is not None
    assert found.headline
    assert "\n" not in found.headline
    assert found.detail
    assert found.refuted_by
    assert found.advice
    assert found.evidence
    assert any(item.threshold is not None for item in found.evidence)
    assert all(item.threshold_source for item in found.evidence if item.threshold is not None)
    assert all(math.isfinite(item.value) for item in found.evidence)
    assert all(0.0 < place.share <= 1.0 for place in found.source)
    shares = [item for item in found.evidence if item.unit == "%" and "share" in item.metric]
    assert all(item.value <= 100.0 for item in shares)  # more than the whole is no share
    assert _is_range(found)


def test_more_than_the_sms_read_is_told_in_times() -> None:
    case = next(case for case in FIRING if case.title == "more is fetched than is read")
    found = RULES[case.rule].check(case.kernel)
    assert found is not None
    (told,) = (item for item in found.evidence if "reads of the SMs" in item.metric)
    assert quantity(told.value, told.unit) == "1.60 times"


def test_traffic_is_held_against_the_size_of_l2() -> None:
    case = next(case for case in FIRING if case.rule == "low-l2-reuse")
    found = RULES[case.rule].check(case.kernel)
    assert found is not None
    (size,) = (item for item in found.evidence if item.metric == L2_SIZE)
    (times,) = (item for item in found.evidence if "size of L2" in item.metric)
    assert (size.threshold, times.threshold) == (None, 2.0)
    moved = m.DRAM_BYTES.read(case.kernel.metrics)
    assert times.value * size.value == pytest.approx(moved)


def _is_range(found: Finding) -> bool:
    gain = found.estimated_speedup
    return gain is None or 1.0 <= gain.low <= gain.high <= estimate.MOST


def absent() -> Iterable[tuple[Case, Quantity]]:
    """Pair each rule's first firing case with every quantity the rule requires."""
    for rule in RULES.values():
        first = next(case for case in FIRING if case.rule == rule.name)
        for need in rule.requires:
            yield first, need


ABSENT = tuple(absent())


@pytest.mark.parametrize(
    ("case", "need"), ABSENT, ids=[f"{case.rule} without {need.name}" for case, need in ABSENT]
)
def test_a_rule_without_its_data_is_skipped(case: Case, need: Quantity) -> None:
    rule = RULES[case.rule]
    assert need.name in rule.missing(without(case.kernel, need))


@named(FIRING)
def test_a_rule_needs_nothing_it_does_not_declare(case: Case) -> None:
    """With only the required metrics it may say less, or nothing, but it does not fail."""
    rule = RULES[case.rule]
    kept = {name for need in rule.requires for name in need.names}
    bare = {name: value for name, value in case.kernel.metrics.items() if name in kept}
    stripped = replace(
        case.kernel, metrics=bare, instructions=(), opcodes={}, opcodes_full={}, launch=None
    )
    found = rule.check(stripped)
    assert found is None or _is_range(found)


@every_rule
def test_a_rule_does_not_fail_whatever_is_absent_or_zero(rule: Rule) -> None:
    """It may be asked by others than the diagnosis, which skips it where its data are absent."""
    for case in (item for item in FIRING if item.rule == rule.name):
        for changed in lacking(case.kernel):
            found = rule.check(changed)
            assert found is None or _is_range(found), case.name
            assert found is None or all(math.isfinite(item.value) for item in found.evidence)


def lacking(item: Kernel) -> Iterable[Kernel]:
    """Yield the kernel with each of its metrics left out, and at zero; then without all else."""
    for name in item.metrics:
        yield replace(item, metrics={key: v for key, v in item.metrics.items() if key != name})
        yield replace(item, metrics={**item.metrics, name: 0.0})
    yield replace(item, metrics={})
    yield replace(item, metrics=dict.fromkeys(item.metrics, 0.0))
    yield replace(item, duration_s=None)
    yield replace(item, launch=None)
    yield replace(item, launch=Launch())
    for row in item.instructions:
        yield replace(item, instructions=(replace(row, values={}),))
        yield replace(item, instructions=(replace(row, values=dict.fromkeys(row.values, 0.0)),))
        yield replace(item, instructions=(replace(row, sass=""),))


def without(item: Kernel, need: Quantity) -> Kernel:
    gone = set(need.names)
    return replace(
        item, metrics={name: value for name, value in item.metrics.items() if name not in gone}
    )


ABOUT_WAITING = {
    "memory-latency-bound", "barrier-stalls", "dependency-stalls", "memory-fence-stalls",
    "instruction-cache-misses", "synchronous-tile-copy",
}  # fmt: skip


@named(case for case in FIRING if case.rule in ABOUT_WAITING)
def test_schedulers_that_issue_most_of_the_time_do_not_wait(case: Case) -> None:
    """Then nothing is busy on average because SMs have no work, and stalls are a share of little."""
    busy = {**case.kernel.metrics, "smsp__issue_active.avg.per_cycle_active": 0.81}
    assert RULES[case.rule].check(replace(case.kernel, metrics=busy)) is None


def test_schedulers_that_idle_a_fifth_of_the_time_may_wait() -> None:
    (case, *_) = (case for case in FIRING if case.rule == "memory-latency-bound")
    slots = {**case.kernel.metrics, "smsp__issue_active.avg.per_cycle_active": 0.79}
    assert RULES[case.rule].check(replace(case.kernel, metrics=slots)) is not None
