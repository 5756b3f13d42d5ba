from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kprof import metrics as m
from kprof.collect.chips import chip_of
from kprof.limiter import bound
from kprof.model import Kernel
from kprof.quality import quality
from kprof.roofline import roofline
from kprof.rule import registry
from kprof.suspects import Suspect, did_the_same, suspect, with_counters
from tests.kernels import FULL_GRID, QUIET, kernel, sampled

RULES = registry()
TEXTURES = m.elapsed("sm__inst_executed_pipe_tex")
WORK = {"inst_executed": 1000.0}


def latency(metrics: dict[str, float] | None = None, **fields: Any) -> Kernel:
    """A kernel in which nothing is busy, and nothing says why."""
    return kernel(metrics={**FULL_GRID, **WORK, **(metrics or {})}, **fields)


def found(item: Kernel, capability: str = "9.0") -> Suspect | None:
    chip = chip_of(capability)
    assert chip is not None
    return suspect(item, RULES, chip)


def test_nothing_is_asked_where_the_limiter_is_known() -> None:
    busy = latency({m.elapsed("dram__throughput"): 90.0}, opcodes={"TEX": 500.0, "LDG": 500.0})
    assert bound(busy) == "dram"
    assert found(busy) is None


def test_nothing_is_asked_where_no_counter_points_anywhere() -> None:
    # In 356 recorded kernels none of the other units was busier than the planned ones.
    assert found(latency(opcodes={"LDG": 500.0, "FFMA": 500.0})) is None
    assert found(latency(sampled(long_scoreboard=50.0, wait=50.0, barrier=60.0))) is None


@pytest.mark.parametrize(
    ("opcodes", "name"),
    [({"TEX": 11.0, "FADD": 989.0}, "texture units"), ({"TEX": 9.0, "FADD": 991.0}, None),
     ({"UTMALDG": 20.0, "FADD": 980.0}, "tensor memory accelerator")],
)  # fmt: skip
def test_instructions_point_to_their_unit(opcodes: dict[str, float], name: str | None) -> None:
    what = found(latency(opcodes=opcodes))
    assert (what and what.name) == name


@pytest.mark.parametrize(
    ("reason", "name"),
    [("tex_throttle", "texture units"), ("mio_throttle", "memory instruction queues"),
     ("branch_resolving", "branch and uniform pipes"), ("math_pipe_throttle", "remaining pipes")],
)  # fmt: skip
def test_what_warps_wait_for_points_to_a_unit(reason: str, name: str) -> None:
    what = found(latency(sampled(**{reason: 31.0, "drain": 30.0, "misc": 30.0, "sleeping": 9.0})))
    assert what is not None
    assert what.name == name
    assert (
        found(latency(sampled(**{reason: 29.0, "drain": 25.0, "misc": 25.0, "wait": 21.0}))) is None
    )


def test_waiting_for_textures_is_open_whatever_was_found() -> None:
    waiting = {**sampled(long_scoreboard=900.0, wait=100.0), m.SAMPLES.names[0]: 1000.0}
    explained = latency(waiting, opcodes={"UTMALDG": 500.0, "FADD": 500.0})
    assert found(explained) is None  # memory-latency-bound says why
    textures = found(replace(explained, opcodes={"TEX": 500.0, "UTMALDG": 500.0}))
    assert textures is not None
    assert textures.name == "texture units"


def test_too_few_samples_are_counted_instead() -> None:
    what = found(latency({**sampled(wait=99.0), m.SAMPLES.names[0]: 99.0}))
    assert what is not None
    assert what.name == "stall reasons"
    assert m.COUNTED_STALL.format("wait") in what.metrics
    assert found(latency({**sampled(wait=100.0), m.SAMPLES.names[0]: 100.0})) is None
    assert found(latency()) is None  # nobody sampled


def test_a_level_without_a_number_is_asked_for_again() -> None:
    lacking = {unit: pct for unit, pct in QUIET.items() if unit != "dram__throughput"}
    unknown = latency(measured=lacking)
    assert bound(unknown) == "unknown"
    what = found(unknown)
    assert what is not None
    assert m.elapsed("dram__cycles_active") in what.metrics
    assert all(name.startswith("dram__") for name in what.metrics)
    assert found(unknown, "8.7") is None  # it has no such counter: it would stay open


def test_units_that_the_gpu_lacks_are_not_asked_for() -> None:
    fetching = latency(opcodes={"TEX": 500.0, "FADD": 500.0})
    newest, oldest = found(fetching, "9.0"), found(fetching, "7.0")
    assert newest is not None
    assert oldest is not None
    assert set(oldest.metrics) <= set(newest.metrics)
    assert TEXTURES in oldest.metrics


def test_a_counter_from_another_run_can_name_the_limiter() -> None:
    item = latency(opcodes={"TEX": 500.0, "FADD": 500.0}, unusable={TEXTURES: "NaN"})
    what = found(item)
    assert what is not None
    other = kernel(metrics={TEXTURES: 93.0, "smsp__inst_executed.sum": 1009.0}, measured={})
    more = with_counters(item, what, [other])
    assert more is not None
    assert (bound(item), bound(more)) == ("latency", "l1")
    assert more.unusable == {}
    assert more.duration_s == item.duration_s
    notes = {note.check: note.message for note in quality(more, roofline(more))}
    assert "its texture units were measured in another run" in notes["other-run"]
    assert "other-run" not in {note.check for note in quality(item, roofline(item))}


@pytest.mark.parametrize(("executed", "same"), [(1010.0, True), (1011.0, False), (990.0, True)])
def test_only_the_same_work_counts(executed: float, same: bool) -> None:
    other = kernel(metrics={TEXTURES: 93.0, "smsp__inst_executed.sum": executed})
    assert did_the_same(latency(), other) is same
    merged = with_counters(latency(), Suspect("texture units", (TEXTURES,)), [other])
    assert (merged is not None) is same


def test_unknown_work_is_not_the_same() -> None:
    assert not did_the_same(latency(), kernel())
    assert not did_the_same(kernel(), latency())


def test_the_first_runs_numbers_stay() -> None:
    asked = Suspect("missing levels", (m.elapsed("dram__throughput"),))
    other = latency({m.elapsed("dram__throughput"): 99.0})
    more = with_counters(latency(), asked, [other])
    assert more is not None
    assert more.metrics[m.elapsed("dram__throughput")] == QUIET["dram__throughput"]
    assert with_counters(latency(), asked, [kernel(metrics=WORK, measured={})]) is None
