"""How much the rules promise, where more than one counter speaks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kprof.metrics import accesses
from kprof.model import Kernel
from kprof.rule import registry
from tests.kernels import ALU, DRAM, L1, WAVEFRONTS, kernel
from tests.rules.access_cases import sectors
from tests.rules.compute_cases import ONE, halves, on
from tests.rules.memory_cases import ATOMIC, STAGE, entered, update
from tests.rules.parallel_cases import balanced, lasting

RULES = {item.name: item for item in registry()}


def gain_of(rule: str, item: Kernel) -> tuple[float, float]:
    found = RULES[rule].check(item)
    assert found is not None
    assert found.estimated_speedup is not None
    return found.estimated_speedup.low, found.estimated_speedup.high


def test_scattered_sectors_cost_what_device_memory_moved_for_them() -> None:
    """L2 fetches more than the sector that is missing: 8 times what was asked for, not 4."""
    few = sectors(4e6, 1e6)
    by_sectors = kernel({DRAM: 90.0}, few)
    by_bytes = kernel({DRAM: 90.0}, few | {"dram__bytes.sum": 8 * 32e6})
    rule = "uncoalesced-global-access"
    assert gain_of(rule, by_sectors)[1] == pytest.approx(4.0)
    assert gain_of(rule, by_bytes)[1] == pytest.approx(8.0)


def test_a_retry_loop_takes_its_other_instructions_along() -> None:
    loads = update("LDS R2, [R10]")
    rows = (entered(100.0), loads, update())
    stage = {WAVEFRONTS: 6400.0, STAGE: 6400.0}
    mixed = accesses.totals({"ATOMS.CAST.SPIN": 3200.0})
    item = kernel({L1: 80.0, ALU: 40.0}, stage | mixed, instructions=rows)
    without = replace(item, instructions=(entered(100.0), update()))
    assert gain_of(ATOMIC, item)[1] > 10.0
    assert gain_of(ATOMIC, without)[1] == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize(("share", "most"), [(0.91, 13.4), (0.89, 1.94)])
def test_shared_atomic_contention_counts_what_repeats_nearly_as_often(
    share: float, most: float
) -> None:
    loads = update("LDS R2, [R10]", times=3200.0 * share)
    stage = {WAVEFRONTS: 6400.0, STAGE: 6400.0}
    mixed = accesses.totals({"ATOMS.CAST.SPIN": 3200.0})
    rows = (entered(100.0), loads, update())
    found = gain_of(ATOMIC, kernel({L1: 80.0}, stage | mixed, instructions=rows))
    assert found[1] == pytest.approx(most, rel=0.05)


def test_an_uneven_kernel_may_gain_what_its_busiest_sm_shows() -> None:
    even = balanced(0.4, 4.0)
    slower = replace(even, metrics={**even.metrics, "sm__cycles_elapsed.max": 1.6e6})
    assert gain_of("workload-imbalance", slower)[1] == gain_of("workload-imbalance", even)[1]
    assert gain_of("workload-imbalance", slower)[0] < gain_of("workload-imbalance", even)[0]


def test_packed_halves_run_on_the_tensor_pipe_too() -> None:
    assert gain_of("unpacked-half", on(8.0, halves(ONE)))[1] == pytest.approx(2.0)
    assert gain_of("unpacked-half", on(9.0, halves(ONE)))[1] == pytest.approx(4.0)


@pytest.mark.parametrize("microseconds", [1.0, 3.0, 4.9])
def test_what_fewer_launches_save_is_not_in_the_counters_of_one(microseconds: float) -> None:
    found = RULES["launch-overhead-bound"].check(lasting(microseconds))
    assert found is not None
    assert found.estimated_speedup is None
    assert "no estimate" in found.detail
