from __future__ import annotations

import pytest

from kprof import metrics as m
from kprof.collect.plan import metrics_for
from kprof.quantity import plain
from kprof.rule import Rule, registry
from tests.kernels import kernel

FREE = ("launch__", "device__", "smsp__pcsamp_", "sm__maximum_warps_per_active_cycle_pct")


@pytest.mark.parametrize("depth", ["quick", "standard", "full"])
def test_a_plan_names_each_metric_once_in_a_stable_order(depth: str) -> None:
    names = metrics_for(depth)
    assert len(names) == len(set(names))
    assert names == metrics_for(depth)


def test_standard_holds_all_of_quick() -> None:
    assert set(metrics_for("quick")) < set(metrics_for("standard"))


def test_standard_feeds_every_rule() -> None:
    """A kernel with exactly the planned metrics, and what ncu gives for nothing, skips no rule."""
    planned = dict.fromkeys(metrics_for("standard"), 1.0)
    stalls = {m.SAMPLED_STALL_NOT_ISSUED.format(reason): 1.0 for reason in m.STALL_REASONS}
    free = {
        name: 1.0
        for quantity in m.quantities()
        for name in quantity.names
        if name.startswith(FREE) and "pcsamp" not in name
    }
    item = kernel(measured={}, metrics=planned | stalls | free)
    assert {rule.name: rule.missing(item) for rule in registry() if rule.missing(item)} == {}


def test_quick_covers_every_level() -> None:
    item = kernel(measured={}, metrics=dict.fromkeys(metrics_for("quick"), 1.0))
    assert [quantity.name for quantity in m.COVERAGE if quantity.read(item.metrics) is None] == []


def test_the_reader_keeps_what_is_collected() -> None:
    opcodes = ("sass__inst_executed_per_opcode", "group:")
    names = [name for name in metrics_for("standard") if not name.startswith(opcodes)]
    assert [name for name in names if not m.is_wanted(name)] == []


def test_the_two_costly_percentages_are_not_asked_for() -> None:
    planned = set(metrics_for("standard"))
    for quantity in (m.COMPUTE_SOL, m.MEMORY_SOL):
        assert not quantity.collected
        assert planned.isdisjoint(quantity.names)


def test_a_rule_of_the_user_is_fed_too() -> None:
    own = plain("own", "smsp__something_else.sum", "", "")
    rule = Rule("mine", (own, m.GRID_BLOCKS, m.DRAM_PCT), lambda _: None, "")
    assert "smsp__something_else.sum" in metrics_for("standard", (rule,))
    assert "smsp__something_else.sum" not in metrics_for("standard", ())
    assert "launch__grid_size" not in metrics_for("standard", (rule,))
