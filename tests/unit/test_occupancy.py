from __future__ import annotations

import pytest

from kprof.model import Kernel, WhatIf
from kprof.occupancy import blocks_per_sm, limiters, occupancy
from tests.kernels import THEORETICAL, block_of, declaring, kernel

LIMITS = {
    "launch__occupancy_limit_registers": 3.0,
    "launch__occupancy_limit_shared_mem": 32.0,
    "launch__occupancy_limit_warps": 8.0,
    "launch__occupancy_limit_blocks": 32.0,
    "launch__occupancy_limit_barriers": 32.0,
}
MAX_WARPS = {"device__attribute_max_warps_per_multiprocessor": 64.0}
REGISTER_CURVE = "launch__occupancy_per_register_count"
SHARED_CURVE = "launch__occupancy_per_shared_mem_size"
# Warps per SM of a block of 8 warps, by registers per thread.
REGISTERS = ((32.0, 64.0), (40.0, 48.0), (48.0, 40.0), (64.0, 32.0), (80.0, 24.0), (96.0, 16.0))


def with_limits(theoretical: float | None = 37.5, **limits: float) -> Kernel:
    given = {f"launch__occupancy_limit_{name}": value for name, value in limits.items()}
    percent = {} if theoretical is None else {THEORETICAL: theoretical}
    return kernel(metrics=LIMITS | given | percent)


def test_the_fewest_blocks_limit() -> None:
    assert limiters(with_limits()) == ("registers",)
    assert blocks_per_sm(with_limits()) == 3


def test_all_limits_that_tie_are_named() -> None:
    assert limiters(with_limits(shared_mem=3.0, warps=3.0)) == (
        "registers",
        "shared_memory",
        "block_size",
    )


@pytest.mark.parametrize(
    ("theoretical", "expected"), [(99.89, ("registers",)), (99.9, ()), (None, ("registers",))]
)
def test_nothing_limits_full_occupancy(theoretical: float | None, expected: tuple[str]) -> None:
    assert limiters(with_limits(theoretical)) == expected


def test_what_is_absent_limits_nothing() -> None:
    assert limiters(kernel(metrics={THEORETICAL: 50.0})) == ()
    assert blocks_per_sm(kernel()) is None
    found = occupancy(kernel())
    assert (found.theoretical_pct, found.achieved_pct, found.what_if) == (None, None, ())


def test_achieved_is_kept_beside_theoretical() -> None:
    metrics = {THEORETICAL: 50.0, "sm__warps_active.avg.pct_of_peak_sustained_active": 0.0}
    found = occupancy(kernel(metrics=metrics))
    assert (found.theoretical_pct, found.achieved_pct) == (50.0, 0.0)


def curved(registers: int, points: tuple[tuple[float, float], ...] = REGISTERS) -> Kernel:
    return kernel(
        metrics=LIMITS | MAX_WARPS | {THEORETICAL: 37.5},
        launch=block_of(256, registers=registers),
        curves={REGISTER_CURVE: points},
    )


def test_the_smallest_change_that_fits_one_more_block() -> None:
    assert occupancy(curved(80)).what_if == (
        WhatIf("\u221216 registers per thread (to 64)", blocks_per_sm=4, occupancy_pct=50.0),
    )


def test_between_points_of_the_curve_the_one_below_holds() -> None:
    (found,) = occupancy(curved(72)).what_if
    assert found.change == "\u221224 registers per thread (to 48)"
    assert found.blocks_per_sm == 5


def test_no_reduction_helps_at_the_start_of_the_curve() -> None:
    assert occupancy(curved(32)).what_if == ()
    assert occupancy(curved(16)).what_if == ()


@pytest.mark.parametrize("registers", [0, 80])
def test_a_flat_curve_has_no_what_if(registers: int) -> None:
    assert occupancy(curved(registers, ((16.0, 24.0), (80.0, 24.0)))).what_if == ()
    assert occupancy(curved(registers, ())).what_if == ()


def test_shared_memory_counts_static_and_dynamic() -> None:
    launch = block_of(64)
    item = kernel(
        metrics=LIMITS | MAX_WARPS | {THEORETICAL: 6.25, "launch__occupancy_limit_shared_mem": 2.0},
        launch=type(launch)(block=(64, 1, 1), shared_static_bytes=1024, shared_dynamic_bytes=99328),
        curves={SHARED_CURVE: ((1024.0, 64.0), (75776.0, 6.0), (100352.0, 4.0))},
    )
    (found,) = occupancy(item).what_if
    assert found == WhatIf(
        "\u221224,576 bytes of shared memory per block (to 75,776)",
        blocks_per_sm=3,
        occupancy_pct=100.0 * 6 / 64,
    )


def test_without_a_launch_nothing_is_predicted() -> None:
    item = kernel(
        metrics=LIMITS | MAX_WARPS | {THEORETICAL: 37.5}, curves={REGISTER_CURVE: REGISTERS}
    )
    assert occupancy(item).limiters == ("registers",)
    assert occupancy(item).what_if == ()


# 32 places for blocks, which ncu gives barriers and unused shared memory too.
PLACES = LIMITS | {THEORETICAL: 50.0, "launch__occupancy_limit_registers": 64.0,
                   "launch__occupancy_limit_warps": 64.0}  # fmt: skip


@pytest.mark.parametrize(
    ("shared", "registers", "expected"),
    [
        (0, 64.0, ("block_count",)),
        (0, 32.0, ("registers", "block_count")),
        (6144, 64.0, ("shared_memory", "block_count")),
    ],
)
def test_what_a_block_does_not_use_up_is_no_tie(
    shared: int, registers: float, expected: tuple[str, ...]
) -> None:
    metrics = PLACES | {"launch__occupancy_limit_registers": registers}
    assert limiters(kernel(metrics=metrics, launch=declaring(shared))) == expected


def test_a_limit_below_the_places_for_blocks_is_one() -> None:
    fewer = PLACES | {"launch__occupancy_limit_barriers": 16.0}
    assert limiters(kernel(metrics=fewer)) == ("barriers",)
    tied = fewer | {"launch__occupancy_limit_registers": 16.0}
    assert limiters(kernel(metrics=tied)) == ("registers", "barriers")
    reserved = PLACES | {"launch__occupancy_limit_shared_mem": 16.0}
    assert limiters(kernel(metrics=reserved, launch=declaring(0))) == ("shared_memory",)


# Warps per SM by threads per block, where 32 blocks fit at most.
SIZE_CURVE = "launch__occupancy_per_block_size"
SIZES = ((1.0, 32.0), (32.0, 32.0), (48.0, 64.0), (64.0, 64.0), (128.0, 64.0), (768.0, 48.0))


def of_size(threads: float, points: tuple[tuple[float, float], ...] = SIZES) -> Kernel:
    limits = LIMITS | {
        "launch__occupancy_limit_registers": 64.0,
        "launch__occupancy_limit_warps": 64.0,
    }
    metrics = limits | MAX_WARPS | {THEORETICAL: 50.0, "launch__block_size": threads}
    return kernel(metrics=metrics, launch=declaring(0), curves={SIZE_CURVE: points})


def test_the_nearest_block_size_with_most_warps_is_named_once() -> None:
    assert limiters(of_size(32.0)) == ("block_count",)
    assert occupancy(of_size(32.0)).what_if == (
        WhatIf("+32 threads per block (to 64)", blocks_per_sm=32, occupancy_pct=100.0),
    )
    assert occupancy(of_size(768.0)).what_if == (
        WhatIf("\u2212640 threads per block (to 128)", blocks_per_sm=16, occupancy_pct=100.0),
    )


def test_no_other_block_size_is_named_where_none_is_better_or_known() -> None:
    assert occupancy(of_size(64.0)).what_if == ()
    assert occupancy(of_size(32.0, ())).what_if == ()
    assert occupancy(of_size(32.0, ((64.0, 64.0),))).what_if == ()
