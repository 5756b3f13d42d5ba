from __future__ import annotations

import pytest

from kprof import filling
from kprof.model import Kernel, Limiter
from tests.kernels import ISSUE, kernel, sampled


def busy(pct: float, resource: str = "fp32") -> Limiter:
    return Limiter("sm__pipe", resource, pct)


def working(share: float) -> dict[str, float]:
    """Return that an average SM has a block for this share of the time."""
    return {"sm__cycles_active.avg": 1e6 * share, "sm__cycles_elapsed.max": 1e6}


@pytest.mark.parametrize(("pct", "full"), [(79.99, False), (80.0, True)])
def test_the_roof_begins_at_80_percent(pct: float, full: bool) -> None:
    assert filling.at_the_roof(busy(pct)) is full
    assert bool(filling.advice(kernel(), busy(pct))) is not full


def test_it_is_told_how_much_of_the_time_a_unit_idles() -> None:
    assert "the pipe idles 28 % of the time" in filling.unfilled(busy(72.0), "the pipe")


@pytest.mark.parametrize(
    ("reasons", "says"),
    [
        ({"long_scoreboard": 20.0, "short_scoreboard": 10.0}, "30 % of the stalled time waits for data"),
        ({"barrier": 30.0}, "30 % of the stalled time waits at barriers"),
        ({"wait": 30.0}, "30 % of the stalled time waits for the instruction before"),
        ({"wait": 29.0}, "more independent work"),
        ({"wait": 30.0, "barrier": 35.0}, "waits at barriers"),
    ],
)  # fmt: skip
def test_what_fills_it_follows_from_what_warps_wait_for(
    reasons: dict[str, float], says: str
) -> None:
    rest = 1000.0 - 10.0 * sum(reasons.values())
    stalled = {name: 10.0 * share for name, share in reasons.items()}
    (found,) = filling.advice(
        kernel(metrics=sampled(math_pipe_throttle=rest, **stalled)), busy(70.0)
    )
    assert says in found


def test_without_stalls_anything_independent_helps() -> None:
    (found,) = filling.advice(kernel(), busy(70.0))
    assert "more independent work" in found


@pytest.mark.parametrize(("active", "told"), [(90.0, True), (90.1, False)])
def test_sms_without_a_block_for_a_tenth_of_the_time_are_told(active: float, told: bool) -> None:
    cycles = {"sm__cycles_active.avg": active, "sm__cycles_elapsed.max": 100.0}
    found = filling.advice(kernel(metrics=cycles), busy(60.0))
    assert any("Keep all SMs at work" in text for text in found) is told


def issuing(pct: float) -> Kernel:
    return kernel({ISSUE: pct}, sampled(wait=1000.0))


def test_full_issue_slots_come_before_stalls() -> None:
    assert "the issue slots are 80 % used" in filling.advice(issuing(80.0), busy(70.0))[0]
    assert "the instruction before" in filling.advice(issuing(79.9), busy(70.0))[0]
    assert "the instruction before" in filling.advice(issuing(80.0), busy(70.0, "issue"))[0]


def test_sms_without_a_block_are_told() -> None:
    (alone,) = filling.advice(kernel(metrics=working(0.875)), busy(70.0))
    assert "without a block for 12 % of the time" in alone
    sms, _ = filling.advice(kernel(metrics=working(0.875)), busy(69.9))
    assert sms == alone
    (other,) = filling.advice(kernel(metrics=working(0.91)), busy(79.0))
    assert "independent work" in other
