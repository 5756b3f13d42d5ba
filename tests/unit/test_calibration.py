from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kprof import calibration
from kprof.calibration import Pair
from kprof.model import Speedup

PAIR = Pair(
    "a-rule", "a-rule/bad", "a-rule/good", "NVIDIA H200", 3e-4, 1e-4, Speedup(2.0, 4.0), fired=True
)  # fmt: skip


@pytest.mark.parametrize(
    ("measured", "within"), [(1.59, False), (1.61, True), (4.99, True), (5.01, False)]
)
def test_the_tolerance_on_both_sides(measured: float, within: bool) -> None:
    assert replace(PAIR, bad_s=1e-4 * measured).within is within


def test_a_rule_that_stays_silent_on_its_own_fault_promised_nothing() -> None:
    assert replace(PAIR, estimate=None, fired=False).within is False
    assert replace(PAIR, estimate=None, fired=True).within is None


def test_nobody_can_judge_without_both_recordings() -> None:
    without = replace(PAIR, good_s=None, missing=("a-rule/good",))
    assert without.measured is None
    assert without.within is None
    (_, row) = calibration.table([without])
    assert row == ("a-rule", "300.0 us", "", "2.00 to 4.00×", "", "not recorded: good")


def test_the_table_says_what_was_promised() -> None:
    rows = [PAIR, replace(PAIR, estimate=None, fired=False), replace(PAIR, estimate=None)]
    assert [row[3:] for row in calibration.table(rows)][1:] == [
        ("2.00 to 4.00×", "3.00×", "yes"),
        ("did not fire", "3.00×", "no"),
        ("nothing", "3.00×", "not judged"),
    ]


def test_a_pair_that_nobody_can_judge_says_why() -> None:
    told = replace(PAIR, rule="launch-overhead-bound", estimate=None)
    verdicts = [row[-1] for row in calibration.table([told, replace(told, fired=False)])][1:]
    assert verdicts[0].startswith("not judged: what fewer launches save")
    assert verdicts[1].startswith("no: ")


def test_the_summary_says_on_which_side_the_others_are() -> None:
    assert PAIR.estimate is not None
    assert PAIR.good_s is not None
    above = replace(PAIR, bad_s=1.1 * PAIR.estimate.high * PAIR.good_s)
    below = replace(PAIR, bad_s=0.9 * PAIR.estimate.low * PAIR.good_s)
    assert "0 within the range itself, 2 above its high end)" in calibration.summary([above] * 2)
    said = calibration.summary([above, below, PAIR])
    assert "; 1 within the range itself, 1 above its high end, 1 below its low)" in said
    assert "; 1 within the range itself)" in calibration.summary([PAIR])


def test_the_summary_counts_what_can_be_judged() -> None:
    missing = Pair("b", "b/bad", "b/good", missing=("b/bad", "b/good"))
    said = calibration.summary([PAIR, replace(PAIR, bad_s=9e-4), missing])
    assert said.startswith("1 of 2 pairs with recordings came out as promised")
    assert "; 1 within the range itself, 1 above its high end)" in said
    assert "2.00 wide" in said
    assert "1 of 3 have no recording yet" in said
    assert json.loads(calibration.to_json([PAIR, missing]))["summary"] == {
        "pairs": 2, "judged": 1, "within": 1, "median_high_over_low": 2.0
    }  # fmt: skip


def test_every_sample_with_a_fault_and_a_fix_is_a_pair() -> None:
    found = {rule: (bad, good) for rule, bad, good in calibration.pairs()}
    assert found["fp64-usage"] == ("fp64-usage/bad", "fp64-usage/good")
    assert "shared-bank-conflicts" in found
    assert "compute-bound" not in found  # nothing to fix: no good sample
