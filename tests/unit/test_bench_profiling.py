from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kprof.bench import profiling
from kprof.bench.engine import Found, Request
from kprof.bench.once import range_name
from kprof.bench.profiling import Explained
from kprof.collect.progress import NcuLog
from kprof.collect.run import Collected
from kprof.model import KernelReport, Report
from tests.report_fixture import WHOLE

CHECKED: dict[str, Mapping[str, Any]] = {"8x8": {"status": "ok"}}


@pytest.fixture
def found() -> Found:
    return Found(
        units={"a": {}, "b": {}, "bad": {}},
        shapes=["8x8"],
        checks={"a": CHECKED, "b": CHECKED, "bad": {"8x8": {"status": "wrong"}}},
    )


def kernel(name: str, seconds: float, *ranges: str) -> KernelReport:
    return replace(WHOLE.kernels[0], name=name, demangled=name, duration_s=seconds, nvtx=ranges)


def explained(
    monkeypatch: pytest.MonkeyPatch, found: Found, *kernels: KernelReport, cold: bool = True
) -> tuple[dict[tuple[str, str], Any], tuple[str, ...]]:
    report: Report = replace(WHOLE, kernels=kernels)
    ended = Collected(Path("r"), NcuLog(), 0, 0, None, timed_out=False, elapsed_s=1.0)
    monkeypatch.setattr(profiling, "_collected", lambda *_: ended)
    monkeypatch.setattr(profiling, "_read", lambda *_: report)
    request = Request(Path("x.py"), sys.executable, cold=cold)
    why = profiling.explain(profiling.Profiler("ncu", None, None), request, found)
    assert why.signum is None
    return dict(why.told), why.notes


def test_kernels_are_told_apart_by_their_range(
    monkeypatch: pytest.MonkeyPatch, found: Found
) -> None:
    told, notes = explained(
        monkeypatch, found,
        kernel("setup", 1e-6, range_name("a", "8x8")),
        kernel("main", 5e-6, "outer", range_name("a", "8x8")),
        kernel("other", 9e-6, range_name("b", "8x80")),
    )  # fmt: skip
    assert list(told) == [("a", "8x8")]
    why = told["a", "8x8"]
    assert (why.kernel, why.kernels, why.duration_s) == ("main", ("setup", "main"), 5e-6)
    assert notes == ("No kernel was measured for b at 8x8.",)


@pytest.mark.parametrize(
    ("profiled", "timed", "cold", "told"),
    [
        ((7.3e-5,), 5.6e-5, True, True),
        ((4.0e-5,), 5.6e-5, True, True),
        ((5.9e-5,), 5.6e-5, True, False),
        ((3.6e-6,), 2.6e-6, True, False),  # starting and ending
        ((7.3e-5,), 5.6e-5, False, False),  # ncu flushes the caches
        ((2e-5, 7.3e-5), 1.4e-4, True, False),
    ],
)
def test_a_kernel_that_may_be_another_than_was_timed_is_told(
    monkeypatch: pytest.MonkeyPatch,
    found: Found,
    profiled: tuple[float, ...],
    timed: float,
    cold: bool,
    told: bool,
) -> None:
    found.timings = {"8x8": {"a": {"rounds": [[timed, timed], [timed]]}}}
    kernels = [kernel(f"k{n}", s, range_name("a", "8x8")) for n, s in enumerate(profiled)]
    others = kernel("other", 1e-6, range_name("b", "8x8"))
    _, notes = explained(monkeypatch, found, *kernels, others, cold=cold)
    assert any("may have run another kernel" in note for note in notes) is told
    if told:
        assert notes[0].startswith("a at 8x8 took ")


def test_the_diagnosis_is_that_of_the_longest_kernel() -> None:
    whole = WHOLE.kernels[0]
    why = profiling.why([whole])
    assert why.bound == whole.bound
    assert why.finding == whole.findings[0].rule
    assert why.headline == whole.findings[0].headline
    assert why.occupancy_pct == whole.occupancy.achieved_pct
    bare = profiling.why([replace(whole, findings=(), roofline=None, shared_memory=None)])
    assert (bare.finding, bare.intensity, bare.wavefront_excess_pct) == (None, None, None)


def test_without_a_right_variant_nothing_is_profiled() -> None:
    nothing = Found(units={"bad": {}}, shapes=["8x8"], checks={"bad": {"8x8": {"status": "wrong"}}})
    request = Request(Path("x.py"), sys.executable)
    assert (
        profiling.explain(profiling.Profiler("no-ncu", None, None), request, nothing) == Explained()
    )


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        ({}, ""),
        ({"signum": 15, "target_exit": None}, "Profiling was interrupted"),
        ({"timed_out": True, "target_exit": None}, "The time for profiling was up"),
        ({"hung": "add"}, "ncu got no further with add"),
        ({"target_exit": 3}, "ended with status 3"),
    ],
)
def test_a_run_that_ended_early_says_so(ended: dict[str, Any], said: str) -> None:
    whole = Collected(Path("r"), NcuLog(), 0, 0, None, timed_out=False, elapsed_s=1.0)
    told = " ".join(profiling._endings(replace(whole, **ended)))
    assert bool(told) == bool(said)
    assert said in told


def test_an_ncu_that_fails_costs_the_timings_nothing(found: Found, tmp_path: Path) -> None:
    silent = tmp_path / "ncu"
    silent.write_text("#!/bin/sh\nexit 9\n")
    silent.chmod(0o755)
    request = Request(tmp_path / "x.py", sys.executable)
    for ncu, said in ((str(silent), "ncu measured nothing"), ("/no/ncu", "cannot be started")):
        why = profiling.explain(profiling.Profiler(ncu, "2025.3", "9.0"), request, found)
        assert why.told == {}
        assert said in why.notes[0]


def test_the_run_starts_where_the_profiler_is_told_and_asks_for_the_speed_of_light() -> None:
    options = profiling._options(profiling.Profiler("ncu", "2025.3.1", "9.0"))
    assert options.from_start is False
    assert options.sections == ("SpeedOfLight",)
    assert options.metrics


@pytest.mark.parametrize("report", [Path("r"), None])
def test_what_ended_it_early_is_known_whatever_was_measured(
    monkeypatch: pytest.MonkeyPatch, found: Found, report: Path | None
) -> None:
    ended = Collected(report, NcuLog(), -2, None, 2, timed_out=False, elapsed_s=1.0)
    monkeypatch.setattr(profiling, "_collected", lambda *_: ended)
    monkeypatch.setattr(profiling, "load", lambda *_, **__: None)
    monkeypatch.setattr(profiling, "diagnose", lambda *_, **__: replace(WHOLE, kernels=()))
    request = Request(Path("x.py"), sys.executable)
    why = profiling.explain(profiling.Profiler("ncu", None, None), request, found)
    assert why.signum == 2
    assert why.notes


@pytest.mark.parametrize(("raised", "signum"), [(KeyboardInterrupt(), 2), (SystemExit(143), 15)])
def test_a_signal_while_the_report_is_read_costs_the_timings_nothing(
    monkeypatch: pytest.MonkeyPatch, found: Found, raised: BaseException, signum: int
) -> None:
    def read(*_: object) -> Report:
        raise raised

    ended = Collected(Path("r"), NcuLog(), 0, 0, None, timed_out=False, elapsed_s=1.0)
    monkeypatch.setattr(profiling, "_collected", lambda *_: ended)
    monkeypatch.setattr(profiling, "_read", read)
    request = Request(Path("x.py"), sys.executable)
    why = profiling.explain(profiling.Profiler("ncu", None, None), request, found)
    assert why == Explained(notes=("No diagnosis: interrupted",), signum=signum)


def test_an_exit_that_is_no_signals_goes_on(monkeypatch: pytest.MonkeyPatch, found: Found) -> None:
    def read(*_: object) -> Report:
        raise SystemExit(3)

    ended = Collected(Path("r"), NcuLog(), 0, 0, None, timed_out=False, elapsed_s=1.0)
    monkeypatch.setattr(profiling, "_collected", lambda *_: ended)
    monkeypatch.setattr(profiling, "_read", read)
    with pytest.raises(SystemExit):
        profiling.explain(profiling.Profiler("ncu", None, None), Request(Path("x"), "p"), found)
