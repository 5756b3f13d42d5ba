from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from kprof.reader import values
from kprof.reader.devices import Devices, launch
from kprof.reader.instructions import (
    Columns,
    Executions,
    counters,
    executions,
    function_sizes,
    function_starts,
)

STRING, DOUBLE, UINT64, UNKNOWN = 2, 4, 6, 0


@dataclass
class Metric:
    """A metric as the library shows it, with the answers it gives for absent values."""

    value: float | str | None = None
    instances: Sequence[float] = ()
    ids: Sequence[int | str] = ()

    def has_value(self, *instance: int) -> bool:
        return self.value is not None

    def kind(self, *instance: int) -> int:
        if isinstance(self.value, str):
            return STRING
        return UNKNOWN if self.value is None and not self.instances else DOUBLE

    def as_double(self, *instance: int) -> float:
        if instance:
            return float(self.instances[instance[0]])
        return float(self.value) if isinstance(self.value, int | float) else 0.0

    def as_uint64(self, *instance: int) -> int:
        return int(self.as_double(*instance))

    def as_string(self, *instance: int) -> str | None:
        value = self.instances[instance[0]] if instance else self.value
        return value if isinstance(value, str) else None

    def num_instances(self) -> int:
        return len(self.instances)

    def has_correlation_ids(self) -> bool:
        return bool(self.ids)

    def correlation_ids(self) -> Metric | None:
        return Metric(instances=self.ids) if self.ids else None  # type: ignore[arg-type]


@dataclass
class Action:
    """An action that holds the given metrics."""

    metrics: Mapping[str, Metric] = field(default_factory=dict)

    def metric_by_name(self, name: str) -> Metric | None:
        return self.metrics.get(name)

    def metric_names(self) -> Sequence[str]:
        return tuple(self.metrics)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} is not needed here")


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (Metric(2.5), 2.5),
        (Metric(0), 0.0),
        (Metric(-3.0), -3.0),
        (Metric(math.nan), "NaN"),
        (Metric(math.inf), "inf"),
        (Metric(-math.inf), "inf"),
        (Metric(None), "no value"),
        (Metric(None, instances=[1.0, 2.0]), "no value"),
        (Metric("all"), None),
    ],
)
def test_a_number_or_the_reason_why_not(metric: Metric, expected: float | str | None) -> None:
    assert values.number(metric) == expected


def test_only_usable_numbers_become_metrics() -> None:
    action = Action({"a": Metric(1.0), "b": Metric(math.nan), "c": Metric("text")})
    metrics, unusable = values.read(action, ["a", "b", "c", "absent"])
    assert metrics == {"a": 1.0}
    assert unusable == {"b": "NaN"}


def test_a_plan_takes_what_is_wanted_and_what_was_asked_for() -> None:
    names = (
        "gpu__time_duration.sum",
        "asked__for.avg",
        "not__wanted.avg",
        "launch__occupancy_per_block_size",
        "derived__pct_occupancy_per_block_size",
        "breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed",
        "breakdown:sm__throughput.max.pct_of_peak_sustained_elapsed",
    )
    plan = values.plan(names, ("asked__for.avg", "launch__occupancy_per_block_size"))
    assert plan.scalars == ("gpu__time_duration.sum", "asked__for.avg")
    assert plan.breakdowns == ("sm__throughput.avg.pct_of_peak_sustained_elapsed",)


def test_a_survey_has_no_counters() -> None:
    free = ("gpu__time_duration.sum", "launch__grid_size", "device__attribute_clock_rate")
    assert not values.plan(free, ()).counters
    assert values.plan((*free, "dram__bytes.sum"), ()).counters


def test_breakdowns_are_split() -> None:
    action = Action({"breakdown:x": Metric("a, b,,c"), "breakdown:y": Metric(None)})
    assert values.breakdowns(action, ["x", "y", "z"]) == {"x": ("a", "b", "c")}


def test_a_table_is_named_by_strings() -> None:
    opcodes = Metric(30.0, instances=[10.0, 20.0, math.nan], ids=["FFMA", "LDG", "ODD"])
    assert values.table(Action({"ops": opcodes}), "ops") == {"FFMA": 10.0, "LDG": 20.0}
    assert values.table(Action(), "ops") == {}


def test_a_curve_is_sorted() -> None:
    curve = Metric(99.0, instances=[3.0, 1.0, math.inf], ids=[64, 32, 96])
    assert values.curve(Action({"c": curve}), "c") == ((32.0, 1.0), (64.0, 3.0))


def _device(bus: int, **more: float) -> Action:
    values_by_name: dict[str, float | str] = {
        "display_name": "NVIDIA H200",
        "compute_capability_major": 9,
        "compute_capability_minor": 0,
        "multiprocessor_count": 132,
        "pci_bus_id": bus,
        **more,
    }
    return Action({f"device__attribute_{k}": Metric(v) for k, v in values_by_name.items()})


def test_equal_gpus_are_told_apart_by_their_slot() -> None:
    devices = Devices()
    actions = [_device(1), _device(2), _device(1)]
    assert [devices.index(action) for action in actions] == [0, 1, 0]
    first = next(iter(devices.found.values()))
    assert (first.name, first.compute_capability, first.sm_count) == ("NVIDIA H200", "9.0", 132)
    assert first.attributes["pci_bus_id"] == 1
    assert "display_name" not in first.attributes


def test_a_report_without_device_attributes() -> None:
    devices = Devices()
    assert devices.index(Action()) == 0
    (device,) = devices.found.values()
    assert (device.name, device.compute_capability, device.sm_count) == ("unknown GPU", None, None)


def test_a_launch_is_absent_rather_than_zero() -> None:
    assert launch({"launch__registers_per_thread": 32.0}) is None
    grid = {f"launch__grid_dim_{axis}": 2.0 for axis in "xyz"}
    found = launch({**grid, "launch__block_dim_x": 1.0})
    assert found is not None
    assert found.grid == (2, 2, 2)
    assert found.block is None
    assert found.registers_per_thread is None


SAMPLES = "smsp__pcsamp_warps_issue_stalled_{}_not_issued"


def _instructions(metrics: dict[str, Metric]) -> dict[int, dict[str, float]]:
    totals = {name: metric.value for name, metric in metrics.items()}
    columns = Columns(Action(metrics), list(metrics))
    return counters(columns, list(metrics), totals, executions(columns, {}))  # type: ignore[arg-type]


def _executions(metrics: dict[str, Metric]) -> Executions | None:
    return executions(Columns(Action(metrics), list(metrics)), {})


def test_instructions_with_nothing_to_tell_are_left_out() -> None:
    found = _instructions(
        {
            "memory_l1_wavefronts_shared": Metric(64, instances=[64, 0], ids=[0x110, 0x120]),
            "memory_l1_wavefronts_shared_ideal": Metric(2, instances=[2, 0], ids=[0x110, 0x120]),
            "inst_executed": Metric(9, instances=[1, 2, 3], ids=[0x100, 0x110, 0x120]),
        }
    )
    assert found == {
        0x110: {
            "memory_l1_wavefronts_shared": 64,
            "memory_l1_wavefronts_shared_ideal": 2,
            "inst_executed": 2,
        }
    }


def test_issuing_warps_are_no_hot_spots() -> None:
    wait, rare = SAMPLES.format("long_scoreboard"), SAMPLES.format("barrier")
    found = _instructions(
        {
            wait: Metric(95, instances=[95], ids=[0x10]),
            rare: Metric(5, instances=[5], ids=[0x20]),
            SAMPLES.format("selected"): Metric(900, instances=[900], ids=[0x30]),
            SAMPLES.format("not_selected"): Metric(900, instances=[900], ids=[0x40]),
        }
    )
    assert found == {0x10: {wait: 95}, 0x20: {rare: 5}}


def test_every_sampled_instruction_is_kept() -> None:
    wait = SAMPLES.format("long_scoreboard")
    samples = [float(number) for number in range(1, 101)]
    found = _instructions({wait: Metric(5050, instances=samples, ids=range(100))})
    assert sum(row[wait] for row in found.values()) == 5050


def test_samples_that_cost_no_time_are_the_second_choice() -> None:
    costly, any_ = SAMPLES.format("wait"), SAMPLES.format("wait").removesuffix("_not_issued")
    both = {costly: Metric(3, instances=[3], ids=[0x10]), any_: Metric(5, instances=[5], ids=[16])}
    assert _instructions(both) == {0x10: {costly: 3}}
    assert _instructions({any_: both[any_]}) == {0x10: {any_: 5}}


def test_a_value_that_is_no_number_counts_nothing() -> None:
    shared = Metric(1, instances=[1.0, math.nan, math.inf], ids=[0, 16, 32])
    assert sorted(_instructions({"memory_l1_wavefronts_shared": shared})) == [0]


def test_executions_of_every_instruction() -> None:
    warps = Metric(3, instances=[1, 2], ids=[0x100, 0x110])
    threads = Metric(9, instances=[32, 33], ids=[0x100, 0x110])
    found = _executions({"inst_executed": warps, "thread_inst_executed": threads})
    assert found is not None
    assert [list(column) for column in (found.pcs, found.warps, found.threads)] == [
        [0x100, 0x110],
        [1, 2],
        [32, 33],
    ]
    assert _executions({"thread_inst_executed": threads}) is None


def test_full_warps_need_no_second_column() -> None:
    warps = Metric(3, instances=[1, 2], ids=[0x100, 0x110])
    columns = Columns(Action({"inst_executed": warps}), ["inst_executed"])
    found = executions(columns, {"inst_executed": 3.0, "thread_inst_executed": 96.0})
    assert found is not None
    assert list(found.threads) == [32.0, 64.0]


def test_threads_of_other_instructions_are_not_mixed_in() -> None:
    warps = Metric(3, instances=[1, 2], ids=[0x100, 0x110])
    threads = Metric(9, instances=[32, 33], ids=[0x100, 0x120])
    found = _executions({"inst_executed": warps, "thread_inst_executed": threads})
    assert found is not None
    assert list(found.threads) == []


def test_where_a_function_starts() -> None:
    executed = Metric(1, instances=[1, 1], ids=[0x120, 0x110])
    assert function_starts(Action({"inst_executed": executed}), {0x130: {}}) == (0x110,)
    assert function_starts(Action(), {0x130: {}}) == (0x130,)
    known = Metric(2, instances=[0x200, 0x100], ids=[0, 1])
    assert function_starts(Action({"launch__function_pcs": known}), {}) == (0x100, 0x200)


def test_sizes_tell_functions_apart() -> None:
    short = Action({"inst_executed": Metric(1, instances=[1.0] * 5, ids=range(5))})
    long = Action({"inst_executed": Metric(1, instances=[1.0] * 6, ids=range(6))})
    assert function_sizes(short) != function_sizes(long)
