from __future__ import annotations

from dataclasses import replace

import pytest

from kprof.finding_text import part, prospect, threshold
from kprof.model import Evidence, Finding, Place, Side, Speedup


@pytest.mark.parametrize(
    ("value", "limit", "side", "said"),
    [
        (60.0, 60.0, "at least", "at least 60.0 %"),
        (37.6, 40.0, "at least", "at least 40.0 %, not met"),
        (16.2, 24.0, "below", "below 24.0 %"),
        (24.0, 24.0, "below", "below 24.0 %, not met"),
        (1.0, 8.0, None, "8.0 %"),
        (1.0, None, "below", None),
    ],
)
def test_a_threshold_tells_its_side(
    value: float, limit: float | None, side: Side | None, said: str | None
) -> None:
    assert threshold(Evidence("x", value, "%", limit, "kprof", side)) == said


def test_a_share_is_of_something() -> None:
    place = Place("a.cu", 3, "LDG", 0, 0.5, share_of="the excess wavefronts")
    assert part(place) == "50.0 % of the excess wavefronts"
    assert part(place, 0.25) == "25.0 % of the excess wavefronts"
    assert part(replace(place, share_of=None)) == "50.0 % of the total"


def test_at_the_limit_nothing_is_to_be_fixed(conflicts: Finding) -> None:
    roof = replace(
        conflicts,
        rule="dram-bandwidth-bound",
        severity="info",
        resource="dram",
        estimated_speedup=Speedup(1.0, 1.1),
    )
    assert prospect(roof) == "left to gain: up to 1.1× as fast, estimated"
    assert prospect(replace(roof, severity="low")) == "fixing it: up to 1.1× as fast, estimated"
    assert prospect(replace(roof, estimated_speedup=None)) is None
