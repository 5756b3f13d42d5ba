from __future__ import annotations

import signal

import pytest

from kprof.model.profile import Device, Kernel, Source
from kprof.reader.assemble import assemble, death
from kprof.reader.job import NO_MEMORY, Job, Lost, Outcome, Part
from kprof.reader.slices import spans

A, B = Device("A", "9.0", 132), Device("B", "8.0", 108)


def kernel(index: int, device: int = 0, **metrics: float) -> Kernel:
    return Kernel(index, "k", "k()", device=device, metrics=metrics)


def test_devices_of_the_parts_are_joined() -> None:
    parts = (
        Part((kernel(0), kernel(1, 1)), {("a",): A, ("b",): B}),
        Part((kernel(2), kernel(3, 1)), {("b",): B, ("a",): A}),
    )
    profile = assemble(Source("x", "0"), Outcome(1, 4, parts), ())
    assert profile.devices == (A, B)
    assert [found.device for found in profile.kernels] == [0, 1, 1, 0]
    assert not profile.source.truncated
    assert profile.notes == ()


def test_passes_and_depth() -> None:
    passes = [kernel(0, profiler__replayer_passes=5.0), kernel(1, profiler__replayer_passes=38.0)]
    counted = Part(tuple(passes), {("a",): A}, counters=True)
    found = assemble(Source("x", "0"), Outcome(1, 2, (counted,)), ()).collection
    assert (found.passes, found.depth, found.replay_mode) == (38, "sections", None)
    timed = Part((kernel(0),), {("a",): A})
    found = assemble(Source("x", "0"), Outcome(1, 1, (timed,)), ()).collection
    assert (found.passes, found.depth) == (None, "survey")


def test_what_is_missing_is_said() -> None:
    part = Part((kernel(0),), {("a",): A}, cut_off=1)
    lost = (Lost(4, 5, -signal.SIGABRT), Lost(7, 9, NO_MEMORY))
    profile = assemble(Source("x", "0"), Outcome(1, 9, (part,), lost, 2), ("First.",))
    assert profile.source.truncated
    first, cut, one, several, text = profile.notes
    assert first == "First."
    assert "1 kernel" in cut
    assert one.startswith("Kernel 4 ")
    assert "SIGABRT" in one
    assert several.startswith("Kernels 7 to 8 ")
    assert "out of memory" in several
    assert "without their text" in text


def test_deaths_have_names() -> None:
    assert "SIGSEGV" in death(-signal.SIGSEGV)
    assert "-" not in death(-250)
    assert "memory" in death(NO_MEMORY)


def test_a_job_survives_its_journey() -> None:
    job = Job("/a b/ü.ncu-rep", "/a/out", "/a/parts", ("x",), 7, 2, 100, 10)
    assert Job.from_json(job.to_json()) == job


@pytest.mark.parametrize(
    ("total", "largest", "processes", "slices"),
    [(0, 10, 2, 0), (1, 10, 2, 1), (10, 10, 2, 1), (75, 30, 2, 4), (40, 100, 2, 2), (11, 10, 2, 2)],
)
def test_slices(total: int, largest: int, processes: int, slices: int) -> None:
    found = spans(total, largest, processes)
    assert len(found) == slices
    assert [start for start, _ in found[1:]] == [stop for _, stop in found[:-1]]
    assert sum(stop - start for start, stop in found) == total
    assert all(stop - start <= largest for start, stop in found)
