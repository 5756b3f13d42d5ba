"""What the rules about stall reasons advise and put in evidence."""

from __future__ import annotations

import pytest

from kprof import stall_rule
from kprof.model import Finding, Kernel
from kprof.rule import registry
from tests.kernels import ISSUE, kernel
from tests.rules.stall_cases import stalled

RULES = {item.name: item for item in registry()}
ISSUED = "smsp__issue_active.avg.per_cycle_active"


def said(rule: str, item: Kernel) -> Finding:
    found = RULES[rule].check(item)
    assert found is not None
    return found


def waiting(**opcodes: float) -> Kernel:
    return kernel(metrics=stalled(0.6, "barrier"), opcodes=opcodes)


@pytest.mark.parametrize(("instructions", "first"), [(49.0, "Need fewer"), (51.0, "Spread the")])
def test_barrier_stalls_advises_by_how_often_there_is_a_barrier(
    instructions: float, first: str
) -> None:
    found = said("barrier-stalls", waiting(BAR=10.0, FFMA=10.0 * instructions - 10.0))
    assert found.advice[0].startswith(first)
    assert f"every {instructions:.0f} instructions" in found.detail


def test_barrier_stalls_does_not_know_how_often_without_the_opcodes() -> None:
    found = said("barrier-stalls", waiting())
    assert "instructions" not in found.detail
    assert found.advice[0].startswith("Spread")


@pytest.mark.parametrize(("threads", "more"), [(512.0, 1), (511.0, 0)])
def test_barrier_stalls_advises_smaller_blocks_of_large_ones(threads: float, more: int) -> None:
    metrics = stalled(0.6, "barrier") | {"launch__block_size": threads}
    found = said("barrier-stalls", kernel(metrics=metrics))
    assert sum("smaller blocks" in text for text in found.advice) == more


@pytest.mark.parametrize(("share", "more"), [(0.1, 1), (0.099, 0)])
def test_barrier_stalls_names_the_loads_that_the_slow_warp_waits_for(
    share: float, more: int
) -> None:
    metrics = stalled(share, "long_scoreboard", ("barrier",))
    found = said("barrier-stalls", kernel(metrics=metrics))
    assert sum("wait for loads" in text for text in found.advice) == more


# --- the estimate ------------------------------------------------------------------------------


def test_at_best_all_idle_slots_at_worst_the_cautious_part_of_them() -> None:
    gain = stall_rule.gain(kernel(metrics={ISSUED: 0.4}), 0.8)
    assert gain.high == pytest.approx(1.0 / (1.0 - 0.6))
    assert gain.low == pytest.approx(1.0 / (1.0 - 0.7 * 0.8 * 0.6))


def test_no_more_than_the_share_of_the_stalls() -> None:
    assert stall_rule.gain(kernel(metrics={ISSUED: 0.1}), 0.5).high == pytest.approx(2.0)


def test_no_more_than_the_busiest_unit_allows() -> None:
    gain = stall_rule.gain(kernel({ISSUE: 45.0}, {ISSUED: 0.1}), 0.9)
    assert gain.high == pytest.approx(90.0 / 45.0)
    assert gain.low == pytest.approx(60.0 / 45.0)


def test_idle_slots_come_from_the_issue_pipe_without_the_schedulers_count() -> None:
    assert stall_rule.idle_slots(kernel({ISSUE: 30.0})) == pytest.approx(0.7)
    assert stall_rule.idle_slots(kernel({ISSUE: 100.4})) == 0.0
