"""From a survey of all launches to the few worth measuring."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kprof.collect import selection, stages
from kprof.collect.command import Options
from kprof.model import Kernel, Launch


def launch(name: str, seconds: float | None, grid: int = 1, block: int = 128) -> Kernel:
    shape = Launch(grid=(grid, 1, 1), block=(block, 1, 1), shared_dynamic_bytes=0)
    demangled, mangled = f"{name}<int>(float*)", f"_Z{len(name)}{name}IiEvPf"
    return Kernel(0, name, demangled, mangled=mangled, launch=shape, duration_s=seconds)


def chosen(found: selection.Selection) -> list[str]:
    return [group.example.name for group in found.selected]


def test_the_kernels_that_make_up_the_time_are_chosen() -> None:
    launches = [launch("gemm", 90e-6), *(launch("add", 1e-6) for _ in range(8)), launch("x", 2e-6)]
    found = selection.select(launches, coverage=0.95)
    assert chosen(found) == ["gemm", "add"]
    seen = found.summary()
    assert (seen.launches, seen.kernels, seen.in_depth) == (10, 3, 2)
    assert seen.total_s == pytest.approx(100e-6)
    assert seen.covered == pytest.approx(0.98)


def test_grids_of_one_name_are_apart() -> None:
    found = selection.select([launch("add", 1e-6, grid=grid) for grid in (1, 2, 1)], coverage=1)
    assert [(group.launches, group.config.grid) for group in found.groups] == [
        (2, (1, 1, 1)),
        (1, (2, 1, 1)),
    ]


def test_launches_on_another_gpu_are_of_the_same_kernel() -> None:
    """ncu's filter does not tell them apart: the second GPU's would never be met."""
    first, second = launch("add", 1e-6), replace(launch("add", 1e-6), device=1)
    found = selection.select([first, second], coverage=1)
    assert [group.launches for group in found.groups] == [2]
    assert not found.missing([selection.config(first)])


def test_gpus_get_their_place_in_another_report() -> None:
    found = selection.select([launch("a", 1e-6), replace(launch("b", 1e-6), device=1)])
    assert [group.example.device for group in found.on([3, 0]).groups] == [3, 0]


def test_top_limits_the_number() -> None:
    launches = [launch(name, 1e-6) for name in "abcd"]
    assert chosen(selection.select(launches, coverage=1, top=2)) == ["a", "b"]


def test_without_any_duration_everything_is_chosen() -> None:
    found = selection.select([launch("a", None), launch("b", None)])
    assert chosen(found) == ["a", "b"]
    assert found.summary().covered == 0.0


def test_the_example_is_the_median() -> None:
    found = selection.select([launch("a", seconds) for seconds in (9e-6, 1e-6, 2e-6)])
    assert found.groups[0].example.duration_s == 2e-6


def test_a_search_is_left_out() -> None:
    searched = [launch("mm", 5e-6, block=block) for block in (32, 64, 128, 256) for _ in range(10)]
    used = [launch("mm", 1e-6, block=64) for _ in range(30)]
    found = selection.select([*searched, *used], coverage=1)
    assert [group.config.block for group in found.selected] == [(64, 1, 1)]
    seen = found.summary()
    assert seen.tuning_launches == 30
    assert seen.covered == pytest.approx(1)
    tried = [group.config for group in found.groups if group.tuning][:1]
    assert found.summary(tried).in_depth == 1  # by its name, which it shares with a chosen one
    assert found.summary(tried).covered == 0


@pytest.mark.parametrize(
    "grids",
    [
        (1, 2, 3, 4, 1, 2, 3, 4),  # two passes over the same layers
        (1, 1, 2, 2, 3, 3, 4, 4),  # one pass over growing layers: nothing comes back
        (1, 2, 3, 4, 3, 2, 1),  # down and up again
    ],
)
def test_layers_are_no_search(grids: tuple[int, ...]) -> None:
    found = selection.select([launch("conv", 1e-6, grid=grid) for grid in grids], coverage=1)
    assert not any(group.tuning for group in found.groups)


def functions(times: dict[str, list[float]]) -> list[Kernel]:
    """Launches of functions whose every launch has a grid of its own, in microseconds."""
    return [
        launch(name, time * 1e-6, grid=grid)
        for name, each in times.items()
        for grid, time in enumerate(each, 1)
    ]


def test_all_configurations_of_a_chosen_function_are_measured() -> None:
    found = selection.select(functions({"gemm": [900, 50, 1], "add": [49]}))
    assert chosen(found) == ["gemm", "gemm", "gemm"]


def test_what_fills_up_the_coverage_costs_least() -> None:
    small = {"many": [4.0] * 5, "one": [9.0], "other": [8.0]}
    found = selection.select(functions({"gemm": [963.0], **small}), coverage=0.975)
    assert chosen(found) == ["gemm", "one", "other"]


def test_what_takes_notable_time_is_measured_whatever_it_costs() -> None:
    times = {"gemm": [900.0], "many": [15.0, *[0.1] * 9], "one": [9.0], "other": [8.0]}
    assert chosen(selection.select(functions(times), coverage=0.98))[1] == "many"


@pytest.mark.parametrize(
    ("mangled", "matches"),
    [
        ("_Z4gemmIiEvPf", True),
        ("_Z4gemmIfEvPf", False),
        ("_Z4gemmIiEvPf.1", False),
        ("a_Z4gemmIiEvPf", False),
    ],
)
def test_mangled_names_are_matched(mangled: str, matches: bool) -> None:
    pattern = selection.mangled_filter(selection.select([launch("gemm", 1.0)]).selected)
    assert pattern is not None
    assert bool(re.search(pattern, mangled)) is matches


def test_special_characters_of_a_name_match_themselves() -> None:
    kernel = replace(launch("f", 1.0), name="operator()", mangled="_Z1f$.x")
    chosen = selection.select([kernel]).selected
    pattern = selection.mangled_filter(chosen)
    assert pattern is not None
    assert re.search(pattern, "_Z1f$.x")
    assert not re.search(pattern, "_Z1f$xx")
    assert re.search(selection.function_filter(chosen), "operator()")


def test_mangled_names_of_the_log_are_told_as_function_names() -> None:
    chosen = selection.select([launch("gemm", 1.0), launch("gemv", 1.0)], coverage=1).selected
    name_of = selection.function_names(chosen)
    assert name_of("_Z4gemmIiEvPf") == "gemm"
    assert name_of("_Z4gemmIi...") == "gemm"  # cut by ncu
    assert name_of("_Z4gem...") == "_Z4gem..."  # may be either
    assert name_of("_Z5otherPf") == "_Z5otherPf"
    assert selection.function_names(())("gemm") == "gemm"


@pytest.mark.parametrize("mangled", ["", "x" * (64 << 10)])
def test_a_name_unknown_or_too_long_leaves_nothing_out(mangled: str) -> None:
    chosen = selection.select([replace(launch("f", 1.0), mangled=mangled)]).selected
    assert selection.mangled_filter(chosen) is None
    options = stages.deepening(Options(kernel="x"), chosen)
    assert options.kernel is None
    assert not options.with_communication


def test_the_run_in_depth_takes_one_launch_of_each_after_its_warm_up() -> None:
    found = selection.select([launch("a", 1e-6) for _ in range(3)])
    options = stages.deepening(Options(kernel="a|b", launch_skip=None), found.selected)
    assert options.per_config
    assert (options.launch_skip, options.launch_count) == (1, 1)
    assert (options.name_base, options.kernel) == ("mangled", "^(?:_Z1aIiEvPf)$")
    assert stages.again(Options(), found.selected).kernel == "^(?:a)$"


def test_a_kernel_launched_once_is_not_skipped() -> None:
    launches = [*(launch("a", 1e-6) for _ in range(3)), launch("b", 1e-6)]
    chosen = selection.select(launches, coverage=1).selected
    assert stages.deepening(Options(), chosen).launch_skip == 0


def test_what_was_not_met_is_known() -> None:
    found = selection.select([launch("a", 1.0), launch("b", 1.0)], coverage=1)
    seen = [group.config for group in found.groups if group.example.name == "a"]
    assert [group.example.name for group in found.missing(seen)] == ["b"]


def test_the_survey_measures_durations_as_in_the_program() -> None:
    options = stages.surveying(Options(kernel="gemm"))
    assert options.metrics == ("gpu__time_duration.sum",)
    assert (options.cache_control, options.code, options.kernel) == ("none", False, "gemm")
    assert options.launch_count == stages.MOST + 1


def test_estimates_grow_with_what_is_measured() -> None:
    found = selection.select([launch("a", 1e-3), launch("b", 1e-3)], coverage=1)
    quick = stages.estimate_s(found, 5.0, 5, patched=False)
    standard = stages.estimate_s(found, 5.0, 8, patched=True)
    assert 5.0 < quick < standard < stages.estimate_full_s(found) + 5.0 + stages.ATTACH_S
