"""How a GPU is timed, with a stand-in for torch whose GPU has a clock of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kprof.bench.api import Cost, Suite, Variant
from kprof.bench.timing import Timer
from kprof.bench.units import COPY, TWIN, Unit

L2 = 1_000_000
FLUSH_S = 5e-5


class Gpu:
    """A GPU: a clock, and what was done with it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.capturing: list[float] | None = None
        self.flushes = 0
        self.slept = 0
        self.allocated = 0
        self.refuses_capture = False

    def work(self, seconds: float) -> None:
        if self.capturing is not None:
            if self.refuses_capture:
                raise RuntimeError("operation not permitted when stream is capturing")
            self.capturing.append(seconds)
        else:
            self.now += seconds


class Tensor:
    def __init__(self, gpu: Gpu, elements: int, size: int = 4) -> None:
        self.gpu, self.elements, self.size = gpu, elements, size
        gpu.allocated += 1

    def numel(self) -> int:
        return self.elements

    def element_size(self) -> int:
        return self.size

    def clone(self) -> Tensor:
        return Tensor(self.gpu, self.elements, self.size)

    def copy_(self, other: Tensor) -> Tensor:
        self.gpu.work(1e-6 + 2 * other.numel() * other.element_size() / 4e12)
        return self


class Graph:
    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.seconds: list[float] = []

    def replay(self) -> None:
        self.gpu.now += sum(self.seconds)


class Capture:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __enter__(self) -> None:
        self.graph.gpu.capturing = self.graph.seconds

    def __exit__(self, *_: object) -> None:
        self.graph.gpu.capturing = None


class Event:
    gpu: Gpu

    def __init__(self, **_: object) -> None:
        self.at = 0.0

    def record(self) -> None:
        self.at = self.gpu.now

    def elapsed_time(self, other: Event) -> float:
        return 1e3 * (other.at - self.at)


class Nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...
    def wait_stream(self, _: object) -> None: ...


def fake_torch(gpu: Gpu) -> Any:
    def zeros(shape: Any, **_: Any) -> Tensor:
        elements = shape if isinstance(shape, int) else (shape[0] if shape else 1)
        return Tensor(gpu, elements, 1 if isinstance(shape, tuple) and shape else 4)

    def flush(_: Tensor, **__: Any) -> None:
        gpu.flushes += 1
        gpu.now += FLUSH_S

    def sleep(cycles: int) -> None:
        gpu.slept += 1
        gpu.now += cycles / 2e9

    events = type("Event", (Event,), {"gpu": gpu})
    return SimpleNamespace(
        Tensor=Tensor,
        Generator=lambda device: SimpleNamespace(device=device, manual_seed=lambda seed: seed),
        zeros=zeros,
        empty_like=lambda tensor: tensor.clone(),
        sum=flush,
        uint8=1,
        cuda=SimpleNamespace(
            Event=events,
            CUDAGraph=lambda: Graph(gpu),
            graph=Capture,
            Stream=lambda _: Nothing(),
            stream=lambda _: Nothing(),
            current_stream=lambda _: Nothing(),
            synchronize=lambda *_: None,
            is_available=lambda: True,
            _sleep=sleep,
            get_device_properties=lambda _: SimpleNamespace(L2_cache_size=L2),
        ),
    )


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    made = Gpu()
    monkeypatch.setitem(sys.modules, "torch", fake_torch(made))
    return made


def timed(
    gpu: Gpu, times: dict[str, float], *, elements: int, cold: bool = True, runs: int = 100
) -> list[dict[str, Any]]:
    """Time variants that take as long as they are said to on a shape of so many elements."""

    def variant(seconds: float) -> Callable[..., None]:
        return lambda a, out: gpu.work(seconds)

    suite = Suite(
        inputs=lambda shape, generator: (Tensor(gpu, shape[0]),),
        output=lambda a: a.clone(),
        cost=lambda a: Cost(bytes=8 * a.numel()),
    )
    units = {
        name: Unit(Variant(name, variant(seconds), {}, takes_out=True), {})
        for name, seconds in times.items()
    }
    orders = {
        "seed": 1, "warmup": 3, "runs": runs, "cold": cold,
        "timings": [(str(elements), list(units))],
    }  # fmt: skip
    told: list[dict[str, Any]] = []
    device = SimpleNamespace(type="cuda")
    Timer(suite, device, orders, lambda event, **more: told.append({"event": event, **more})).all(
        units
    )
    return told


def of(told: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    assert [event for event in told if event["event"] == "not-timed"] == []
    return {event["unit"]: event for event in told if event["event"] == "timed"}


def test_long_calls_are_timed_one_by_one_with_the_cache_flushed_before_each(gpu: Gpu) -> None:
    found = of(timed(gpu, {"slow": 3e-4, "fast": 1e-4}, elements=50_000_000))
    assert list(found) == ["slow", "fast", TWIN, COPY]
    assert {(event["method"], event["cold"]) for event in found.values()} == {("events", True)}
    values = [value for part in found["fast"]["rounds"] for value in part]
    assert len(values) == 100
    assert values == pytest.approx([1e-4] * 100)
    assert found[TWIN]["rounds"][0] == pytest.approx([3e-4] * 5), "the twin is the first one"
    assert gpu.flushes >= 4 * 100
    assert gpu.slept >= gpu.flushes, "the GPU is kept busy before each run"


def test_a_warm_cache_is_not_flushed(gpu: Gpu) -> None:
    found = of(timed(gpu, {"slow": 3e-4}, elements=50_000_000, cold=False))
    assert gpu.flushes == 0
    assert {event["cold"] for event in found.values()} == {False}


def test_short_calls_are_timed_in_graphs_that_go_through_copies(gpu: Gpu) -> None:
    found = of(timed(gpu, {"slow": 5e-5, "fast": 4e-6}, elements=10_000))
    assert {(event["method"], event["cold"]) for event in found.values()} == {("graph", True)}
    assert found["fast"]["rounds"][0] == pytest.approx([4e-6] * 5)
    assert found["slow"]["rounds"][0] == pytest.approx([5e-5] * 5)
    # 2.5 caches of 80 kB each, in pairs of input and output, and as many pairs for the copy.
    assert 2 * 2 * 31 <= gpu.allocated <= 2 * 2 * 33 + 10


def test_data_too_small_to_leave_the_cache_is_said_to_be_warm(gpu: Gpu) -> None:
    found = of(timed(gpu, {"fast": 4e-6}, elements=10))
    assert {(event["method"], event["cold"]) for event in found.values()} == {("graph", False)}


def test_what_cannot_be_captured_is_launched_one_by_one(gpu: Gpu) -> None:
    gpu.refuses_capture = True
    found = of(timed(gpu, {"fast": 4e-6}, elements=10_000))
    assert {event["method"] for event in found.values()} == {"events"}
    assert found["fast"]["rounds"][0] == pytest.approx([4e-6] * 5)


def test_a_graph_does_not_get_longer_than_a_tenth_of_a_second(gpu: Gpu) -> None:
    found = of(timed(gpu, {"fast": 4e-6, "endless": 2e-2}, elements=10_000, runs=20))
    assert {
        name: event["method"] for name, event in found.items() if name in ("fast", "endless")
    } == {
        "fast": "graph",
        "endless": "events",
    }


@pytest.mark.parametrize(("runs", "rounds"), [(1, 1), (7, 7), (20, 20), (101, 20)])
def test_all_runs_are_spread_over_the_rounds(gpu: Gpu, runs: int, rounds: int) -> None:
    found = of(timed(gpu, {"slow": 3e-4}, elements=50_000_000, runs=runs))
    parts = found["slow"]["rounds"]
    assert len(parts) == rounds
    assert sum(map(len, parts)) == runs
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_the_order_changes_from_round_to_round(gpu: Gpu) -> None:
    told = timed(gpu, {"a": 3e-4, "b": 3e-4, "c": 3e-4}, elements=50_000_000)
    order = [event["unit"] for event in told if event.get("step") == "time"][5:]
    rounds = {tuple(order[at : at + 5]) for at in range(0, len(order), 5)}
    assert len(rounds) > 5
    assert all(len(set(one)) == 5 for one in rounds)
