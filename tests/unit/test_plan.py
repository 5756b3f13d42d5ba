from __future__ import annotations

import pytest

from kprof import metrics as m
from kprof.collect.plan import lost, metrics_for, plan_for
from kprof.metrics import accesses, opcodes
from kprof.quantity import plain
from kprof.rule import Rule, registry
from tests.kernels import kernel

FREE = ("launch__", "device__", "smsp__pcsamp_", "sm__maximum_warps_per_active_cycle_pct")
NO_MEMORY_COUNTERS = {"8.7", "11.0", "12.1"}
WITH_MEMORY_COUNTERS = {"7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "12.0"}
NO_APERTURES = {"10.0", "10.3"}  # they count all else
FLOAT_COUNTER = "smsp__sass_thread_inst_executed_op_"


def missing(planned: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return what rules lack in a report of these metrics and of what ncu gives for nothing."""
    assert {opcodes.THREAD_OPCODES, accesses.WARP_OPCODES} <= set(planned)
    mix = {"FFMA": 1.0}
    read = dict.fromkeys(planned, 1.0) | opcodes.totals(mix) | opcodes.atomics(mix)
    read |= accesses.totals({"LDG.E": 1.0})
    stalls = {m.SAMPLED_STALL_NOT_ISSUED.format(reason): 1.0 for reason in m.STALL_REASONS}
    free = {
        name: 1.0
        for quantity in m.quantities()
        for name in quantity.names
        if name.startswith(FREE) and "pcsamp" not in name
    }
    item = kernel(measured={}, metrics=read | stalls | free)
    return {rule.name: rule.missing(item) for rule in registry() if rule.missing(item)}


@pytest.mark.parametrize("depth", ["quick", "standard", "full"])
def test_a_plan_names_each_metric_once_in_a_stable_order(depth: str) -> None:
    names = metrics_for(depth)
    assert len(names) == len(set(names))
    assert names == metrics_for(depth)


def test_standard_holds_all_of_quick() -> None:
    assert set(metrics_for("quick")) < set(metrics_for("standard"))


def test_standard_feeds_every_rule() -> None:
    """A kernel with exactly the planned metrics, and what ncu gives for nothing, skips no rule."""
    assert missing(metrics_for("standard")) == {}


def test_quick_covers_every_level() -> None:
    item = kernel(measured={}, metrics=dict.fromkeys(metrics_for("quick"), 1.0))
    assert [quantity.name for quantity in m.COVERAGE if quantity.read(item.metrics) is None] == []


def test_the_reader_keeps_what_is_collected() -> None:
    tables = ("sass__inst_executed_per_opcode", opcodes.THREAD_OPCODES, "group:")
    names = [name for name in metrics_for("standard") if not name.startswith(tables)]
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


@pytest.mark.parametrize("depth", ["quick", "standard", "full"])
def test_no_operation_is_counted_in_a_pass_of_its_own(depth: str) -> None:
    assert not [name for name in metrics_for(depth) if name.startswith(FLOAT_COUNTER)]


@pytest.mark.parametrize("capability", sorted(WITH_MEMORY_COUNTERS))
def test_every_rule_is_fed_on_every_chip(capability: str) -> None:
    plan = plan_for("standard", capability=capability, ncu_version="2025.3.1.0")
    assert missing(plan.metrics) == {}
    assert (plan.sections, plan.notes) == ((), ())
    assert set(plan_for("quick", capability=capability).metrics) < set(plan.metrics)


@pytest.mark.parametrize("capability", sorted(NO_APERTURES))
def test_misses_by_aperture_are_not_asked_for_where_nobody_counts_them(capability: str) -> None:
    plan = plan_for("standard", capability=capability, ncu_version="2025.3.1.0")
    assert missing(plan.metrics) == {"remote-memory-traffic": ("sysmem_misses", "peer_misses")}
    (note,) = plan.notes
    assert "aperture_sysmem_lookup_miss.sum" in note


@pytest.mark.parametrize("capability", sorted(NO_MEMORY_COUNTERS))
def test_what_a_chip_cannot_count_is_said_and_not_asked_for(capability: str) -> None:
    plan = plan_for("standard", capability=capability)
    assert not [name for name in plan.metrics if name.startswith("dram__")]
    assert {part for parts in missing(plan.metrics).values() for part in parts} == {
        "dram_pct",
        "dram_bytes",
    }
    (note,) = plan.notes
    assert note.startswith(f"not measured, because compute capability {capability} (")
    assert "dram__bytes.sum, " in note
    assert "lgds" not in note


@pytest.mark.parametrize(
    ("capability", "spelling"),
    [
        ("7.0", ""),
        ("7.5", "_mem_lg"),
        ("8.9", "_mem_lg"),
        ("9.0", "_mem_lgds"),
        ("12.0", "_mem_lgds"),
    ],
)
def test_each_chip_is_asked_by_its_own_name(capability: str, spelling: str) -> None:
    plan = plan_for("standard", capability=capability)
    asked = [n for n in plan.metrics if n.startswith("l1tex__lsu_writeback_active")]
    name = f"l1tex__lsu_writeback_active{spelling}.sum"
    whole = m.elapsed("l1tex__lsu_writeback_active")
    assert sorted(asked) == sorted([name, f"{name}.peak_sustained", whole])


@pytest.mark.parametrize("capability", sorted(WITH_MEMORY_COUNTERS | NO_MEMORY_COUNTERS))
def test_there_is_a_dense_tensor_peak_on_every_chip(capability: str) -> None:
    metrics = plan_for("quick", capability=capability).metrics
    peaks = [name for name in metrics if "_ops_path_tensor_" in name and "fp16" in name]
    assert peaks
    # Sparse matrices came with 8.0: from then on a peak that does not say which is the sparse one.
    assert {"_sparsity_off" in name for name in peaks} == {float(capability) >= 8}


def test_a_name_is_lost_only_without_another_of_the_same_meaning() -> None:
    wanted = (m.elapsed("dram__throughput"), m.elapsed("dram__cycles_active"), "a.sum", "b.sum")
    assert lost(wanted, (m.elapsed("dram__cycles_active"), "b.sum")) == ("a.sum",)
    assert lost(wanted, ("a.sum", "b.sum")) == wanted[:2]


@pytest.mark.parametrize(
    ("capability", "version", "said"),
    [
        ("13.7", "2025.3.1.0", "compute capability 13.7 is not in kprof's table"),
        ((6, 1), None, "compute capability 6.1 is not in kprof's table"),
        ("9.0", "2023.3.1.0", "ncu 2023.3.1.0 is older than kprof's table of metrics (2024.1)"),
        (None, "2022.4", "ncu 2022.4 is older"),
    ],
)
def test_out_of_reach_of_the_table_sections_are_collected(
    capability: str | tuple[int, int] | None, version: str | None, said: str
) -> None:
    plan = plan_for("standard", capability=capability, ncu_version=version)
    assert plan.metrics == ()
    assert {"SpeedOfLight", "SourceCounters", "InstructionStats"} <= set(plan.sections)
    assert plan.expected_passes is None
    (note,) = plan.notes
    assert note.startswith(said)
    quick = plan_for("quick", capability=capability, ncu_version=version)
    assert set(quick.sections) < set(plan.sections)
    full = plan_for("full", capability=capability, ncu_version=version)
    assert (full.metrics, full.sections) == ((), ())  # the set has every section


def test_of_an_unknown_gpu_every_spelling_is_asked_for() -> None:
    plan = plan_for("standard")
    assert plan.metrics == metrics_for("standard")
    assert (plan.sections, plan.notes, plan.expected_passes) == ((), (), None)


@pytest.mark.parametrize(("depth", "passes"), [("quick", 5), ("standard", 8), ("full", 38)])
def test_an_h200_takes_as_many_passes_as_were_measured_there(depth: str, passes: int) -> None:
    assert plan_for(depth, None, (9, 0), "2025.3.1.0").expected_passes == passes
    assert plan_for(depth, (), "9.0", "2025.3.1.0").expected_passes == passes


def test_no_chip_takes_more_than_eight_passes() -> None:
    for capability in WITH_MEMORY_COUNTERS | NO_MEMORY_COUNTERS | NO_APERTURES:
        for depth, most in (("quick", 5), ("standard", 8)):
            passes = plan_for(depth, None, capability).expected_passes
            if capability == "7.0":  # the library no longer lists it
                assert passes is None
            else:
                assert passes is not None
                assert passes <= most


def test_the_passes_of_the_whole_set_are_unknown_where_nobody_measured() -> None:
    assert plan_for("full", None, "8.0").expected_passes is None


def test_what_more_somebody_asks_for_may_take_more_passes() -> None:
    own = plain("own", "smsp__something_else.sum", "", "")
    rules = (*registry(), Rule("mine", (own,), lambda _: None, ""))
    plan = plan_for("standard", rules, "9.0", "2025.3.1.0")
    assert "smsp__something_else.sum" in plan.metrics
    assert plan.expected_passes is None
