from __future__ import annotations

import math

import pytest

from kprof import estimate
from kprof.model import Speedup
from tests.kernels import DRAM, FMA, ISSUE, L1, L2, kernel


def test_half_the_time_saved_is_twice_as_fast_at_best() -> None:
    found = estimate.gain(kernel(), 0.5, {"dram"})
    assert found.high == pytest.approx(2.0)
    assert found.low == pytest.approx(1 / 0.65)


def test_the_next_unit_ends_the_gain() -> None:
    found = estimate.gain(kernel({DRAM: 90.0, L2: 45.0}), 0.9, {"dram"})
    assert found.high == pytest.approx(90 / 45)
    assert found.low == pytest.approx(60 / 45)


def test_relieved_units_do_not_end_it() -> None:
    item = kernel({DRAM: 90.0, L2: 45.0})
    assert estimate.gain(item, 0.9, {"dram", "l2"}).high == pytest.approx(10.0)


def test_a_busy_next_unit_leaves_nothing() -> None:
    found = estimate.gain(kernel({L2: 95.0}), 0.5, {"dram"})
    assert found == Speedup(1.0, 1.0)
    assert not estimate.is_worth_it(found)


def test_nothing_saved_is_nothing_gained() -> None:
    assert estimate.gain(kernel(), 0.0, ()) == Speedup(1.0, 1.0)


def test_an_estimate_is_finite() -> None:
    found = estimate.gain(kernel(measured={}), 1.0, ())
    assert found.high == estimate.MOST == 50.0
    assert 1.0 < found.low <= found.high


@pytest.mark.parametrize("saved", [0.0, 0.1, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("other", [0.0, 30.0, 59.9, 60.0, 89.9, 90.0, 120.0])
def test_a_range_is_a_range(saved: float, other: float) -> None:
    found = estimate.gain(kernel({L2: other}), saved, {"dram"})
    assert 1.0 <= found.low <= found.high <= estimate.MOST


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        ({DRAM: 70.0}, 1.0),  # the limit: time follows its work
        ({DRAM: 59.9}, 0.599),
        ({DRAM: 60.0}, 1.0),
        ({DRAM: 72.0, FMA: 80.0}, 1.0),  # within a tenth of the top
        ({DRAM: 71.9, FMA: 80.0}, 0.719),
        ({DRAM: 30.0, FMA: 90.0}, 0.3),
    ],
)
def test_pressure(units: dict[str, float], expected: float) -> None:
    assert estimate.pressure(kernel(units), {"dram"}) == pytest.approx(expected)


def test_an_unmeasured_unit_presses_nothing() -> None:
    assert estimate.pressure(kernel(), {"tensor"}) == 0.0
    assert estimate.pressure(kernel(measured={}), {"dram"}) == 0.0


def test_a_unit_above_its_own_peak_presses_no_more_than_all() -> None:
    assert estimate.pressure(kernel({DRAM: 105.0, L1: 120.0}), {"dram"}) == 1.0


@pytest.mark.parametrize(
    ("pct", "high"), [(60.0, 1.5), (80.0, 1.125), (88.0, 90 / 88), (88.3, None), (95.0, None)]
)
def test_headroom_to_ninety_percent(pct: float, high: float | None) -> None:
    found = estimate.headroom(pct)
    assert (found and found.high) == (None if high is None else pytest.approx(high))
    assert found is None or found.low == 1.0


@pytest.mark.parametrize(
    ("middle", "expected"),
    [(1.31, "high"), (1.299, "medium"), (1.101, "medium"), (1.099, "low"), (1.031, "low"),
     (1.029, "info"), (1.0, "info")],
)  # fmt: skip
def test_severity_by_the_middle_of_the_range(middle: float, expected: str) -> None:
    assert estimate.severity(Speedup(middle, middle)) == expected
    assert estimate.severity(Speedup(1.0, middle**2)) == expected


def test_no_estimate_is_information() -> None:
    assert estimate.severity(None) == "info"


def test_worth_it_from_two_percent() -> None:
    assert estimate.is_worth_it(Speedup(1.0, 1.02))
    assert not estimate.is_worth_it(Speedup(1.0, 1.0199))


def test_the_thresholds_are_in_order() -> None:
    assert estimate.TYPICAL_PCT < estimate.GOOD_PCT
    assert 0.0 < estimate.CAUTION < 1.0
    assert math.isclose(estimate.gain(kernel({ISSUE: 54.0}), 0.9, {"dram"}).low, 60 / 54)


def test_a_cause_that_loads_no_unit_is_low_beside_a_busy_one() -> None:
    large = Speedup(2.0, 3.0)
    assert estimate.severity_beside(kernel({DRAM: 59.9}), large) == "high"
    assert estimate.severity_beside(kernel({DRAM: 60.0}), large) == "low"


def test_starting_a_launch_takes_1_4_to_2_microseconds() -> None:
    found = estimate.gain(kernel(duration_s=4e-6), 0.95, ())
    assert (found.low, found.high) == pytest.approx((4 / 2, 4 / 1.4))
