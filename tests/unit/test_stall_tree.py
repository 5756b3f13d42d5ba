from __future__ import annotations

from kprof import metrics as m
from kprof.model import Kernel, StallTree
from kprof.stall_tree import stall_tree
from tests.kernels import at, kernel, sampled

SAMPLES = "smsp__pcsamp_sample_count"


def every(**reasons: float) -> dict[str, float]:
    return {m.SAMPLED_STALL.format(reason): amount for reason, amount in reasons.items()}


def counted(**reasons: float) -> dict[str, float]:
    return {m.COUNTED_STALL.format(reason): amount for reason, amount in reasons.items()}


def tree(**metrics: float) -> StallTree:
    found = stall_tree(kernel(metrics=metrics))
    assert found is not None
    return found


def test_issued_is_what_is_not_not_issued() -> None:
    found = tree(
        **every(selected=100.0, not_selected=50.0, wait=150.0, barrier=200.0),
        **sampled(selected=0.0, not_selected=0.0, wait=100.0, barrier=200.0),
    )
    assert (found.form, found.total) == ("sampled", 500.0)
    assert (found.issued, found.not_issued) == (200.0, 300.0)
    assert (found.selected, found.not_selected) == (100.0, 50.0)
    assert [(item.reason, item.amount, round(item.share, 3)) for item in found.reasons] == [
        ("barrier", 200.0, 0.667),
        ("wait", 100.0, 0.333),
    ]
    assert not found.undersampled


def test_a_lean_report_has_no_states_of_cycles_with_an_issue() -> None:
    found = tree(**{SAMPLES: 500.0}, **sampled(wait=300.0))
    assert (found.total, found.issued, found.not_issued) == (500.0, 200.0, 300.0)
    assert (found.selected, found.not_selected) == (None, None)


def test_an_old_report_does_not_tell_cycles_apart() -> None:
    found = tree(**every(selected=50.0, not_selected=10.0, wait=140.0))
    assert (found.total, found.issued, found.not_issued) == (200.0, None, None)
    assert [(item.reason, item.share) for item in found.reasons] == [("wait", 1.0)]


def test_counts_of_different_passes_are_not_subtracted() -> None:
    found = tree(**{SAMPLES: 100.0}, **sampled(wait=300.0))
    assert (found.total, found.issued, found.not_issued) == (300.0, None, 300.0)


def test_few_samples_are_said_to_be_few() -> None:
    assert tree(**{SAMPLES: 120.0}, **sampled(wait=99.0)).undersampled
    assert not tree(**{SAMPLES: 120.0}, **sampled(wait=100.0)).undersampled


def placed(samples: float) -> Kernel:
    wait = m.SAMPLED_STALL_NOT_ISSUED.format("wait")
    rows = (
        at("FADD R1, R2, R3", 16, {wait: samples}, "a.cu", 4),
        at("FADD R1, R2, R3", 32, {wait: samples}, "b.cu", 4),
    )
    metrics = {**sampled(wait=2 * samples), **counted(wait=3.0, barrier=1.0, selected=1.0)}
    return kernel(metrics=metrics, instructions=rows)


def test_every_reason_says_where() -> None:
    found = stall_tree(placed(80.0))
    assert found is not None
    (reason,) = found.reasons
    assert [(place.file, place.line, place.share) for place in reason.lines] == [
        ("a.cu", 4, 0.5),
        ("b.cu", 4, 0.5),
    ]


def test_counters_stand_in_for_few_samples_but_have_no_places() -> None:
    found = stall_tree(placed(2.0))
    assert found is not None
    assert (found.form, found.total, found.selected) == ("counted", 5.0, 1.0)
    assert found.undersampled
    assert [(item.reason, item.share, item.lines) for item in found.reasons] == [
        ("wait", 0.75, ()),
        ("barrier", 0.25, ()),
    ]


def test_nothing_measured_is_no_tree() -> None:
    assert stall_tree(kernel()) is None
