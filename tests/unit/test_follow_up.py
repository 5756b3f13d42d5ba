from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kprof.cli.follow_up import follow_up
from kprof.cli.runner import Stage
from kprof.cli.staged import Measured
from kprof.collect.command import Options
from kprof.collect.progress import NcuLog
from kprof.collect.run import Collected
from kprof.collect.selection import Group
from kprof.model import Kernel
from kprof.rule import registry
from tests.kernels import FULL_GRID, block_of, kernel, profile_of

OPTIONS = Options(metrics=("dram__bytes.sum",))
RULES = registry()


class Started(Exception):
    """A run was started."""


class Runner:
    """Starts nothing."""

    def __init__(self, left_s: float | None = None) -> None:
        self.said: list[str] = []
        self._left_s = left_s

    def left_s(self) -> float | None:
        return self._left_s

    def say(self, line: str) -> None:
        self.said.append(line)

    def run(self, name: str, options: Options, *, muted: bool, groups: tuple[Group, ...]) -> Stage:
        assert (name, muted, bool(groups)) == ("follow-up", True, True)
        raise Started(options)


def fetching(index: int = 0, **fields: Any) -> Kernel:
    """A kernel that may be bound by textures."""
    metrics = {**FULL_GRID, "inst_executed": 100.0}
    given = {"opcodes": {"TEX": 1.0}, "mangled": f"_k{index}", "launch": block_of(32), **fields}
    made = kernel(metrics=metrics, duration_s=given.pop("duration_s", 1e-3), **given)
    return replace(made, index=index, name=f"k{index}", demangled=f"k{index}(float *)")


def measured(*kernels: Kernel, **fields: Any) -> Measured:
    ended = {"status": 0, "target_exit": 0, "signum": None, "timed_out": False, "elapsed_s": 2.0}
    given = {name: fields.pop(name) for name in ended if name in fields}
    collected = Collected(report=Path("report"), log=NcuLog(), **{**ended, **given})
    stage = Stage(OPTIONS, ("ncu",), ("t",), collected)
    return Measured(stage, stage, deep=profile_of(*kernels), **{"start": None, **fields})


def follow(runs: Measured, options: Options = OPTIONS, left_s: float | None = None) -> Runner:
    runner = Runner(left_s)
    standing_in: Any = runner
    assert follow_up(standing_in, options, runs, RULES, _unread).followed is None
    return runner


def _unread(path: Path) -> Any:
    raise AssertionError(f"{path} was read already")


def started(runs: Measured, **given: Any) -> Options:
    with pytest.raises(Started) as caught:
        follow(runs, **given)
    options: Options = caught.value.args[0]
    return options


def test_a_kernel_that_is_worth_it_is_measured_again() -> None:
    busy = kernel({"dram__throughput": 90.0}, duration_s=1e-3, mangled="_b", launch=block_of(64))
    options = started(measured(fetching(), replace(busy, index=1)))
    assert options.kernel == "^(?:_k0)$"
    assert options.metrics[:2] == ("gpu__time_duration.sum", "smsp__inst_executed.sum")
    assert "sm__inst_executed_pipe_tex.avg.pct_of_peak_sustained_elapsed" in options.metrics
    assert not options.code


def test_two_percent_of_the_time_is_worth_no_run() -> None:
    long = kernel({"dram__throughput": 90.0}, duration_s=49e-3, mangled="_b", launch=block_of(64))
    rest = replace(long, index=1)
    assert follow(measured(fetching(duration_s=1e-3), rest)).said == []
    started(measured(fetching(duration_s=1.1e-3), rest))


@pytest.mark.parametrize(
    "fields",
    [{"workload": "graph"}, {"mangled": ""}, {"opcodes": {}}],
    ids=["a whole graph", "no exact name", "nothing to ask"],
)
def test_a_kernel_that_cannot_be_decided_so(fields: dict[str, Any]) -> None:
    assert follow(measured(fetching(**fields))).said == []


@pytest.mark.parametrize(
    "fields",
    [{"start": "gone"}, {"target_exit": 1}, {"target_exit": None}, {"timed_out": True},
     {"signum": 2}],
    ids=str,
)  # fmt: skip
def test_a_target_that_may_not_run_again(fields: dict[str, Any]) -> None:
    assert follow(measured(fetching(), **fields)).said == []


@pytest.mark.parametrize("options", [Options(), replace(OPTIONS, depth="full")])
def test_only_the_standard_plan_is_completed(options: Options) -> None:
    assert follow(measured(fetching()), options=options).said == []


def test_the_time_limit_is_kept() -> None:
    # The program's own 2 s and eight passes of 50 ms and 1 ms.
    assert follow(measured(fetching()), left_s=2.40).said == []
    started(measured(fetching()), left_s=2.41)
