"""What the rules about stall reasons advise and put in evidence."""

from __future__ import annotations

import pytest

from kprof import stall_rule
from kprof.model import Finding, Kernel
from kprof.rule import registry
from tests.kernels import ELIGIBLE, ISSUE, WAVEFRONTS, WAVEFRONTS_IDEAL, kernel, row, sampled
from tests.rules.atomic_cases import atomics, reductions
from tests.rules.stall_cases import CHAIN, LONG_WARPS, ON_CHIP, ONE_WAVE, looping, stalled

RULES = {item.name: item for item in registry()}
ACHIEVED = "sm__warps_active.avg.pct_of_peak_sustained_active"
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


# --- dependencies ------------------------------------------------------------------------------


def test_dependency_stalls_advises_for_its_two_largest_reasons() -> None:
    shares = sampled(math_pipe_throttle=500.0, wait=300.0, short_scoreboard=200.0)
    found = said("dependency-stalls", kernel(metrics=shares | {ELIGIBLE: 0.2}))
    assert [text.split()[0] for text in found.advice] == ["Mix", "Give"]


@pytest.mark.parametrize(("occupancy", "more"), [(49.9, 1), (50.0, 0)])
def test_dependency_stalls_advises_more_warps_where_there_are_few(
    occupancy: float, more: int
) -> None:
    metrics = stalled(0.6, "wait", ("drain",)) | {ELIGIBLE: 0.2, ACHIEVED: occupancy}
    found = said("dependency-stalls", kernel(metrics=metrics))
    assert sum("more warps" in text for text in found.advice) == more


@pytest.mark.parametrize("unknown", list(LONG_WARPS))
def test_dependency_stalls_judges_where_the_length_of_a_warp_is_unknown(unknown: str) -> None:
    metrics = CHAIN | LONG_WARPS | {"smsp__inst_executed.sum": 9.0}
    assert RULES["dependency-stalls"].check(kernel(metrics=metrics)) is None
    said("dependency-stalls", kernel(metrics={n: v for n, v in metrics.items() if n != unknown}))


@pytest.mark.parametrize("shared", [{WAVEFRONTS: 0.0, WAVEFRONTS_IDEAL: 0.0}, {WAVEFRONTS: 9.0}])
def test_dependency_stalls_sees_no_conflicts_where_none_are_known(
    shared: dict[str, float],
) -> None:
    said("dependency-stalls", kernel(metrics=ON_CHIP | shared))


# --- fences ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opcode", "scope", "advice"),
    [
        ("MEMBAR.SC.SYS", "the whole system", "__threadfence_system()"),
        ("MEMBAR.SC.GPU", "the GPU", "__threadfence_block()"),
        ("MEMBAR.ALL.CTA", "the block", None),
    ],
)
def test_memory_fence_stalls_names_the_widest_scope(
    opcode: str, scope: str, advice: str | None
) -> None:
    executed = {opcode: 1200.0, "MEMBAR.ALL.CTA": 1200.0, "CCTL.IVALL": 5.0}
    found = said(
        "memory-fence-stalls", kernel(metrics=stalled(0.6, "membar"), opcodes_full=executed)
    )
    assert f"1,200 fences over {scope}" in found.detail
    assert any(item.metric == f"fences over {scope}" for item in found.evidence)
    assert any(advice in text for text in found.advice) if advice else len(found.advice) == 2


def test_memory_fence_stalls_says_nothing_of_scopes_it_does_not_know() -> None:
    found = said("memory-fence-stalls", kernel(metrics=stalled(0.6, "membar")))
    assert "fences over" not in found.detail


# --- instruction cache -------------------------------------------------------------------------


def test_instruction_cache_misses_counts_waves_and_trips() -> None:
    metrics = ONE_WAVE | {"launch__waves_per_multiprocessor": 2.5}
    found = said("instruction-cache-misses", kernel(metrics=metrics, instructions=looping(3.0)))
    (passes,) = (item for item in found.evidence if item.metric.startswith("passes"))
    assert passes.value == pytest.approx(7.5)


def test_instruction_cache_misses_is_silent_where_the_waves_are_unknown() -> None:
    metrics = {name: value for name, value in ONE_WAVE.items() if "waves" not in name}
    item = kernel(metrics=metrics, instructions=looping(9.0))
    assert RULES["instruction-cache-misses"].check(item) is None


@pytest.mark.parametrize("unknown", ["launch__grid_size", "launch__block_size"])
def test_instruction_cache_misses_counts_waves_where_trips_are_unknown(unknown: str) -> None:
    metrics = ONE_WAVE | {"launch__waves_per_multiprocessor": 4.0}
    known = {name: value for name, value in metrics.items() if name != unknown}
    said("instruction-cache-misses", kernel(metrics=known, instructions=looping(9.0)))


def test_instruction_cache_misses_counts_waves_where_no_instruction_was_sampled() -> None:
    metrics = ONE_WAVE | {"launch__waves_per_multiprocessor": 4.0}
    said("instruction-cache-misses", kernel(metrics=metrics, instructions=(row("FADD"),)))


# --- atomics -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("sectors", "proof"), [(10.0, 1), (40.0, 0)])
def test_atomic_contention_says_how_many_threads_share_a_sector(sectors: float, proof: int) -> None:
    item = kernel(metrics=atomics(1.0), instructions=reductions(sectors))
    found = said("atomic-contention", item)
    assert found.detail.count("update the same 32 bytes") == proof
    assert any(place.sass and "RED" in place.sass for place in found.source)
    assert found.resource == "l2"


def test_atomic_contention_survives_an_instruction_without_text() -> None:
    rows = (*reductions(10.0), row("", 48))
    said("atomic-contention", kernel(metrics=atomics(1.0), instructions=rows))


@pytest.mark.parametrize("duration_s", [None, 0.0])
def test_atomic_contention_knows_no_rate_without_a_duration(duration_s: float | None) -> None:
    item = kernel(metrics=atomics(1.0), duration_s=duration_s)
    assert RULES["atomic-contention"].check(item) is None


def test_atomic_contention_knows_no_rate_of_a_clock_that_stands_still() -> None:
    item = kernel(metrics=atomics(1.0, {"sm__cycles_elapsed.avg.per_second": 0.0}))
    assert RULES["atomic-contention"].check(item) is None


def test_atomic_contention_gains_at_best_all_waiting_for_memory() -> None:
    gain = said("atomic-contention", kernel(metrics=atomics(1.0))).estimated_speedup
    assert gain is not None
    assert gain.high == pytest.approx(1.0 / (1.0 - 0.9 * 0.95))
    assert gain.low == pytest.approx(1.0 / (1.0 - 0.7 * 0.5 * 0.95))


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
