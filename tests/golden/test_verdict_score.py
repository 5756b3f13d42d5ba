"""What the documentation says of kprof's and NVIDIA's verdicts is what the recordings hold."""

from __future__ import annotations

import json

import pytest

from benchmarks import naming, verdict_score
from benchmarks.naming import NAMING, Result
from kprof.rule import registry
from tests.golden.companions import PLANTED
from tests.golden.recordings import diagnosed

ROWS = verdict_score.stored()
RENEW = "run python benchmarks/verdict_score.py --store"
LOW_PIPES = Result("HighPipeUtilization", "Low Utilization", "All pipes are idle.", 98.0)
BARRIER = Result("CPIStall", "Barrier Stalls", "waiting for sibling warps", 60.04)
SLOTS = Result("IssueSlotUtilization", "Issue Slot Utilization", "every 3 cycles", 60.0)
PLAIN = Result("SOLBottleneck", "Latency Issue", "low throughput")


def test_the_stored_score_is_of_these_recordings() -> None:
    kept = json.loads(verdict_score.STORED.read_text(encoding="utf-8"))
    assert kept["recordings"] == verdict_score.digest(), RENEW
    assert [row.sample for row in ROWS] == list(verdict_score.samples()), RENEW
    assert verdict_score.PLANTED == PLANTED


@pytest.mark.parametrize("row", ROWS, ids=[row.sample for row in ROWS])
def test_the_stored_first_finding_is_todays(row: verdict_score.Row) -> None:
    (first, *_) = diagnosed("full", row.sample).findings
    assert row.kprof == first.rule, RENEW


def test_kprof_is_right_often_enough() -> None:
    right, *_ = verdict_score.totals(ROWS)
    assert right >= verdict_score.AT_LEAST * len(ROWS)


def test_every_planted_cause_has_a_say_in_what_names_it() -> None:
    assert set(NAMING) <= {rule.name for rule in registry()}
    assert {row.cause for row in ROWS} == set(NAMING)


def test_the_highest_estimate_may_be_shared() -> None:
    assert verdict_score.highest((BARRIER, SLOTS, PLAIN)) == (BARRIER, SLOTS)
    assert verdict_score.highest((BARRIER, LOW_PIPES)) == (LOW_PIPES,)
    assert verdict_score.highest((PLAIN,)) == (PLAIN,)
    assert verdict_score.highest(()) == ()


def test_generic_results_are_left_out_unless_they_name_the_cause() -> None:
    said = (LOW_PIPES, SLOTS, BARRIER)
    assert verdict_score.specific(said, "barrier-stalls") == (BARRIER,)
    occupancy = Result("AchievedOccupancy", "Achieved Occupancy", "100 % and 25 %", 75.0)
    assert naming.is_generic(occupancy)
    assert verdict_score.specific((occupancy,), "achieved-occupancy-gap") == (occupancy,)


def test_a_sample_is_judged_by_rank() -> None:
    row = verdict_score.scored("s", "barrier-stalls", (LOW_PIPES, BARRIER), "barrier-stalls")
    assert (row.kprof_right, row.highest_right) == (True, False)
    assert (row.specific_right, row.anywhere) == (True, True)
    assert row.highest == "HighPipeUtilization: Low Utilization (98 %)"
    silent = verdict_score.scored("s", "barrier-stalls", (), None)
    assert (silent.highest, silent.anywhere, silent.kprof_right) == ("", False, False)


@pytest.mark.parametrize(
    ("cause", "result", "named"),
    [
        ("l1-bandwidth-bound", Result("SOLBottleneck", "High Throughput", "analyzing L1 in"), True),
        (
            "l1-bandwidth-bound",
            Result("SOLBottleneck", "High Throughput", "analyzing L2 in"),
            False,
        ),
        ("atomic-contention", Result("Any", "Rule", "use Atomics less"), True),
        ("tail-effect", Result("WorkloadImbalance", "SMs Workload Imbalance", ""), True),
        ("tail-effect", Result("WorkloadImbalance", "L2 Slices Workload Imbalance", ""), False),
    ],
)
def test_what_names_a_cause(cause: str, result: Result, named: bool) -> None:
    assert NAMING[cause].names(result) is named
