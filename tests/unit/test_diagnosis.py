from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from kprof import metrics as m
from kprof.diagnosis import diagnose
from kprof.model import Evidence, Finding, Kernel, KernelReport, Place, Speedup
from kprof.quantity import Quantity
from kprof.rule import Rule, registry
from tests.kernels import CLOCK, DRAM, FMA, L1_HIT, L2, LSU, PEAKS, TENSOR, kernel, profile_of

FOUND = Finding(
    rule="found",
    severity="low",
    confidence="high",
    headline="h",
    detail="d",
    estimated_speedup=Speedup(1.0, 1.5),
    resource="dram",
    evidence=(Evidence("x", 1.0, ""),),
    refuted_by="r",
    source=(Place(None, None, None, 0, 0.5),),
)


def rule_of(name: str, result: Finding | Exception | None, *needs: Quantity) -> Rule:
    def check(_: Kernel) -> Finding | None:
        if isinstance(result, Exception):
            raise result
        return result

    return Rule(name, needs, check, "")


def one(item: Kernel, *rules: Rule) -> KernelReport:
    (found,) = diagnose(profile_of(item), rules).kernels
    return found


def test_a_rule_finds_is_clear_or_is_skipped() -> None:
    report = one(
        kernel(),
        rule_of("finds", FOUND),
        rule_of("clear", None, m.DRAM_PCT),
        rule_of("lacks", FOUND, m.L1_HIT, m.DRAM_PCT),
    )
    assert report.findings == (FOUND,)
    assert report.clear == ("clear",)
    assert [(item.rule, item.missing) for item in report.skipped] == [("lacks", ("l1_hit",))]


def test_a_rule_that_raises_is_its_own_failure() -> None:
    report = one(
        kernel(), rule_of("broken", KeyError("oops")), rule_of("finds", FOUND), rule_of("b", None)
    )
    (skipped,) = report.skipped
    assert (skipped.rule, skipped.missing) == ("broken", ("the rule failed: KeyError: 'oops'",))
    assert report.findings == (FOUND,)
    assert report.clear == ("b",)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda n: replace(FOUND, evidence=(Evidence("x", n, ""),)),
        lambda n: replace(FOUND, estimated_speedup=Speedup(1.0, n)),
        lambda n: replace(FOUND, estimated_speedup=Speedup(n, 1.0)),
        lambda n: replace(FOUND, source=(Place(None, None, None, 0, n),)),
    ],
)
def test_a_finding_with_nan_is_that_rules_failure(spoil: object, number: float) -> None:
    assert callable(spoil)
    report = one(kernel(), rule_of("spoilt", spoil(number)), rule_of("finds", FOUND))
    (skipped,) = report.skipped
    assert skipped.rule == "spoilt"
    assert "NaN or infinity" in skipped.missing[0]
    assert report.findings == (FOUND,)


def test_nothing_is_judged_by_a_duration_that_is_not_the_kernels() -> None:
    cycles = {"sm__cycles_active.max": 10.0, "sm__cycles_elapsed.max": 1000.0}
    report = one(kernel({DRAM: 95.0}, cycles), *registry())
    assert (report.bound, report.limiter, report.findings, report.clear) == (
        "unknown",
        None,
        (),
        (),
    )
    assert {item.rule for item in report.skipped} == {rule.name for rule in registry()}
    assert {item.missing for item in report.skipped} == {("the kernel's own duration",)}
    assert [note.check for note in report.quality] == ["inflated-duration"]


def test_a_kernel_without_metrics_is_unknown_in_every_part() -> None:
    report = one(kernel(measured={}, duration_s=None), *registry())
    assert (report.bound, report.limiter, report.duration_s) == ("unknown", None, None)
    assert report.throughput == type(report.throughput)()
    assert report.occupancy == type(report.occupancy)()
    assert report.caches == type(report.caches)()
    assert (report.stalls, report.pipes, report.shared_memory) == ({}, {}, None)
    assert (report.findings, report.clear) == ((), ())
    assert {item.rule for item in report.skipped} == {rule.name for rule in registry()}


def test_percentages_are_read_where_they_are() -> None:
    metrics = {
        m.elapsed("sm__throughput"): 50.0,
        m.elapsed("gpu__compute_memory_throughput"): 60.0,
        L1_HIT: 0.0,
    }
    report = one(kernel({DRAM: 40.0, L2: 30.0, LSU: 20.0, FMA: 11.0, TENSOR: 12.0}, metrics))
    shown = report.throughput
    assert (shown.compute_pct, shown.memory_pct) == (50.0, 60.0)
    assert (shown.dram_pct, shown.l2_pct, shown.l1_pct) == (40.0, 30.0, 20.0)
    assert report.pipes == {"fma": 11.0, "tensor": 12.0, "lsu": 20.0}
    assert (report.caches.l1_hit_pct, report.caches.l2_hit_pct) == (0.0, None)
    assert report.depth == "standard"


def test_kernels_can_be_kept_by_name() -> None:
    first = replace(kernel(), demangled="void gemm<float, 32>(int)")
    second = replace(kernel(), index=1, demangled="copy(float *)")
    profile = profile_of(first, second)
    kept = diagnose(profile, (), kernel=re.compile(r"gemm<.*32>"))
    assert [item.index for item in kept.kernels] == [0]
    assert diagnose(profile, (), kernel=re.compile("no")).kernels == ()
    assert len(diagnose(profile, ()).kernels) == 2


def test_a_device_shows_the_clocks_and_roofs_of_its_longest_kernel() -> None:
    short = kernel(metrics=PEAKS | {"sm__cycles_elapsed.avg.per_second": 1e9}, duration_s=1e-6)
    long = replace(kernel(metrics=PEAKS, duration_s=1e-2), index=1)
    (device,) = diagnose(profile_of(short, long), ()).devices
    assert (device.name, device.sm_count, device.clock_hz.sm) == ("NVIDIA H200", 132, CLOCK)
    assert device.ceilings["fp32"] == pytest.approx(2 * 16896 * CLOCK)


def test_a_device_takes_from_shorter_kernels_what_the_longest_lacks() -> None:
    bare = kernel(duration_s=1.0)
    (device,) = diagnose(profile_of(bare, kernel(metrics=PEAKS)), ()).devices
    assert device.clock_hz.sm == CLOCK
    assert "dram" in device.ceilings


def test_a_device_without_kernels_has_no_numbers() -> None:
    (device,) = diagnose(profile_of(), ()).devices
    assert (device.clock_hz.sm, device.clock_hz.dram, device.ceilings) == (None, None, {})


def test_findings_are_ordered_by_the_limit() -> None:
    limit = replace(FOUND, rule="dram-bandwidth-bound", estimated_speedup=Speedup(1.0, 1.1))
    cause = replace(FOUND, rule="cause", estimated_speedup=Speedup(1.0, 2.0))
    report = one(kernel({DRAM: 80.0}), rule_of("a", limit), rule_of("b", cause))
    assert [item.rule for item in report.findings] == ["cause", "dram-bandwidth-bound"]


def test_severity_is_taken_back_where_it_cannot_matter() -> None:
    high = replace(FOUND, severity="high")
    assert one(kernel(duration_s=5e-6), rule_of("r", high)).findings[0].severity == "high"
    assert one(kernel(duration_s=4.9e-6), rule_of("r", high)).findings[0].severity == "low"
    unsure = replace(high, confidence="low")
    assert one(kernel(), rule_of("r", unsure)).findings[0].severity == "medium"
    note = replace(FOUND, severity="info", confidence="low")
    assert one(kernel(duration_s=1e-6), rule_of("r", note)).findings[0].severity == "info"


@pytest.mark.parametrize(
    "wrong", [{"severity": "fatal"}, {"confidence": "sure"}, {"resource": "money"}]
)
def test_a_finding_with_words_of_its_own_is_the_rule_s_failure(wrong: dict[str, str]) -> None:
    (skipped,) = one(kernel(), rule_of("r", replace(FOUND, **wrong))).skipped  # type: ignore[arg-type]  # on purpose
    assert "is not one of" in skipped.missing[0]


def test_a_rule_that_exits_is_its_own_failure() -> None:
    def check(_: Kernel) -> Finding | None:
        raise SystemExit(0)

    (skipped,) = one(kernel(), Rule("leaves", (), check, "")).skipped
    assert "SystemExit" in skipped.missing[0]
