from __future__ import annotations

from collections.abc import Mapping

import pytest

from kprof.model import Kernel, Launch, WhatIf
from kprof.occupancy_curves import curves, no_matter, occupancy_report
from tests.kernels import DRAM, ELIGIBLE, THEORETICAL, block_of, kernel

REGISTERS = "launch__occupancy_per_register_count"
SHARED = "launch__occupancy_per_shared_mem_size"
STAIRS = ((0.0, 64.0), (16.0, 64.0), (32.0, 64.0), (40.0, 48.0), (48.0, 40.0), (64.0, 40.0))


def limited(
    units: Mapping[str, float] | None = None, given: Mapping[str, float] | None = None
) -> Kernel:
    """Make a kernel that 48 registers limit to 5 blocks of 8 warps."""
    limits = {"launch__occupancy_limit_registers": 5.0, "launch__occupancy_limit_warps": 8.0}
    warps = {"device__attribute_max_warps_per_multiprocessor": 64.0}
    return kernel(
        units,
        metrics={**limits, **warps, THEORETICAL: 62.5, **(given or {})},
        launch=block_of(256, registers=48),
        curves={REGISTERS: STAIRS},
    )


def test_a_curve_keeps_the_ends_of_its_steps_and_where_the_launch_is() -> None:
    (curve,) = curves(limited())
    assert (curve.resource, curve.unit, curve.here) == (
        "registers",
        "register/thread",
        (48.0, 40.0),
    )
    assert curve.points == ((0.0, 64.0), (32.0, 64.0), (40.0, 48.0), (48.0, 40.0), (64.0, 40.0))


def test_a_launch_between_two_points_is_allocated_like_the_larger() -> None:
    launch = Launch(block=(256, 1, 1), registers_per_thread=44)
    (curve,) = curves(kernel(launch=launch, curves={REGISTERS: STAIRS}))
    assert curve.here == (44.0, 40.0)


def test_what_the_launch_does_not_say_is_nowhere_on_the_curve() -> None:
    (curve,) = curves(kernel(launch=Launch(block=(256, 1, 1)), curves={SHARED: STAIRS}))
    assert curve.here is None
    (curve,) = curves(kernel(curves={REGISTERS: STAIRS}))
    assert curve.here is None
    assert curves(kernel()) == ()


def test_the_smallest_change_is_told_where_it_matters() -> None:
    found = occupancy_report(limited())
    assert found.no_matter is None
    assert found.what_if == (WhatIf("\N{MINUS SIGN}8 registers per thread (to 40)", 6, 75.0),)


@pytest.mark.parametrize(
    ("item", "word"),
    [
        (limited({DRAM: 80.0}), "80 %"),
        (limited(given={"smsp__issue_active.avg.per_cycle_active": 0.85}), "85 %"),
        (limited(given={ELIGIBLE: 1.5}), "1.5 warps"),
    ],
)
def test_where_it_does_not_matter_the_reason_is_told_instead(item: Kernel, word: str) -> None:
    found = occupancy_report(item)
    assert found.no_matter is not None
    assert word in found.no_matter
    assert found.what_if == ()
    assert found.curves
    assert found.limiters == ("registers",)


def test_registers_that_change_have_no_what_if() -> None:
    item = kernel(opcodes={"USETMAXREG": 4.0})
    assert "USETMAXREG" in (no_matter(item) or "")
    assert no_matter(limited({DRAM: 79.0})) is None
