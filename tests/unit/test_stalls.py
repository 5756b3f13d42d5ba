from __future__ import annotations

import pytest

from kprof import metrics as m
from kprof.stalls import stalls, top_stall
from tests.kernels import kernel, sampled


def test_shares_add_up_and_come_largest_first() -> None:
    found = stalls(kernel(metrics=sampled(wait=30.0, long_scoreboard=60.0, barrier=10.0)))
    assert list(found.items()) == [("long_scoreboard", 0.6), ("wait", 0.3), ("barrier", 0.1)]


def test_issuing_is_no_stall() -> None:
    metrics = sampled(selected=900.0, not_selected=900.0, wait=100.0, barrier=0.0)
    assert stalls(kernel(metrics=metrics)) == {"wait": 1.0}


@pytest.mark.parametrize(("samples", "known"), [(99.0, False), (100.0, True)])
def test_few_samples_say_nothing(samples: float, known: bool) -> None:
    item = kernel(metrics=sampled(wait=samples))
    assert bool(stalls(item)) is known
    assert top_stall(item) == (("wait", 1.0) if known else None)


def test_samples_that_cost_no_time_are_the_second_choice() -> None:
    all_samples = {m.SAMPLED_STALL.format("barrier"): 500.0}
    assert stalls(kernel(metrics=all_samples | sampled(wait=100.0))) == {"wait": 1.0}
    assert stalls(kernel(metrics=all_samples | sampled(wait=50.0))) == {"barrier": 1.0}


def test_counted_stalls_need_no_minimum() -> None:
    counted = {
        m.COUNTED_STALL.format("long_scoreboard"): 3.0,
        m.COUNTED_STALL.format("wait"): 1.0,
    }
    assert stalls(kernel(metrics=counted)) == {"long_scoreboard": 0.75, "wait": 0.25}


def test_two_spellings_are_one_reason() -> None:
    metrics = sampled(no_instruction=60.0, no_instructions=60.0, warpgroup_arrive=20.0, gmma=40.0)
    assert stalls(kernel(metrics=metrics)) == {"no_instruction": 0.6, "gmma": 0.4}


def test_nothing_measured_is_no_stall_data() -> None:
    assert stalls(kernel()) == {}
    assert stalls(kernel(metrics=sampled(wait=0.0))) == {}
    assert top_stall(kernel()) is None
