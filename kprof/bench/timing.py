"""How long do the variants take? Runs in the worker.

All variants of a shape are timed in turn, a few runs each, round after round and in another order
every time: what the GPU's clock does meanwhile happens to all of them. Each run is one call between
two CUDA events while the GPU is kept busy beforehand, so that the host's own time is not measured.
Where a call is too short for that, a run is a CUDA graph of many calls. On a CPU it is the clock.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kprof.bench import costs
from kprof.bench.api import Cost, Shape, Suite
from kprof.bench.checking import fresh, said, survives
from kprof.bench.graphs import Graphs
from kprof.bench.nested import mapped, tensors
from kprof.bench.units import COPY, TWIN, Unit

SHORT_S = (
    20e-6  # below, a graph: an event's own resolution is half a microsecond (CUDA runtime manual)
)
ROUNDS = 20
_PILOT = 5
_L2_FLUSHES = 2  # sizes of the L2 cache that are read to flush it
_CPU_FLUSH_BYTES = 64 * 2**20
_CYCLES_PER_S = 2e9  # of torch.cuda._sleep; the GPU may be slower, and is then busy for longer
_BUSY = 2.0  # times the host's time for one call that the GPU is kept busy before it

Call = Callable[[], Any]
Maker = Callable[[int], Call]  # a call on one of several copies of the inputs


class Timer:
    """Times every unit on every shape that was ordered."""

    def __init__(
        self, suite: Suite, device: Any, orders: Mapping[str, Any], tell: Callable[..., None]
    ) -> None:
        self._suite, self._device, self._orders, self._tell = suite, device, orders, tell
        self._unit: str | None = None  # at work

    def all(self, units: Mapping[str, Unit]) -> None:
        """Time in the order that was given."""
        for text, labels in self._orders["timings"]:
            self._attempt(text, [(label, units.get(label)) for label in labels])

    def _attempt(self, text: str, chosen: Sequence[tuple[str, Unit | None]]) -> None:
        self._unit = None
        try:
            self._shape(text, chosen)
        except Exception as error:  # noqa: BLE001 - whatever a user's code raises
            survives(error)
            why = "copying as many bytes as cost says: " if self._unit == COPY else ""
            self._tell("not-timed", shape=text, unit=self._unit, message=why + said(error))

    def _shape(self, text: str, chosen: Sequence[tuple[str, Unit | None]]) -> None:
        self._tell("begin", step="inputs", shape=text)
        work = Work(self._suite, self._device, Shape.parse(text), self._orders)
        self._tell("cost", shape=text, **costs.told(work.cost))
        stopwatch = _stopwatch(self._device, work, self._orders)
        labels: list[str] = []
        for label, unit in self._with_company(chosen, work):
            self._begin(label, text, "warm-up")
            stopwatch.warm(label, work.maker(label, unit), self._orders["warmup"])
            labels.append(label)
        methods = stopwatch.settle(lambda label: self._begin(label, text))
        found = self._rounds(stopwatch, labels, text)
        for label, rounds in found.items():
            method, cold = methods[label]
            self._tell("timed", unit=label, shape=text, method=method, cold=cold, rounds=rounds)

    def _with_company(
        self, chosen: Sequence[tuple[str, Unit | None]], work: Work
    ) -> list[tuple[str, Unit | None]]:
        """Add what comparisons need: the first once more, and a copy of the same bytes."""
        twin, copy = (TWIN, chosen[0][1]), (COPY, None)
        return [*chosen, twin, *([copy] if work.copied_bytes else [])]

    def _begin(self, label: str, text: str, step: str = "time") -> None:
        self._unit = label
        self._tell("begin", step=step, unit=label, shape=text)

    def _rounds(self, stopwatch: Any, labels: list[str], text: str) -> dict[str, list[list[float]]]:
        runs = self._orders["runs"]
        rounds = min(ROUNDS, runs)
        found: dict[str, list[list[float]]] = {label: [] for label in labels}
        for number in range(rounds):
            each = runs * (number + 1) // rounds - runs * number // rounds
            for label in random.sample(labels, len(labels)):
                self._begin(label, text)
                found[label].append(stopwatch.times(label, each))
        return found


class Work:
    """The inputs of one shape, copies of them, and what computing it costs.

    Attributes:
        cost: what the bench file says that it costs.
        copied_bytes: to copy, so that as many are read and written.
        bytes: of inputs and output together.
    """

    def __init__(self, suite: Suite, device: Any, shape: Shape, orders: Mapping[str, Any]) -> None:
        self._torch, self._device = sys.modules["torch"], device
        inputs = fresh(suite, device, shape, orders["seed"])
        out = suite.output(*inputs) if suite.output else None
        self.cost: Cost | None = costs.least(suite, inputs)
        self.copied_bytes = int(self.cost.bytes // 2) if self.cost else 0
        held = tensors((inputs, out))
        self.bytes = sum(value.numel() * value.element_size() for value in held)
        # All variants share them: where in the memory they lie is the same for all.
        self._sets = [(inputs, out)]
        self._copies: list[tuple[Any, Any]] = []

    def maker(self, label: str, unit: Unit | None) -> Maker:
        """Return what makes calls of a unit on any of the copies."""
        if label == COPY or unit is None:
            return self._copying
        return lambda place: unit.bound(*self._set(place))

    def _set(self, place: int) -> tuple[tuple[Any, ...], Any]:
        while len(self._sets) <= place:
            inputs, out = self._sets[0]
            again = mapped(lambda value: value.clone(), inputs)
            self._sets.append((again, None if out is None else self._torch.empty_like(out)))
        return self._sets[place]

    def _copying(self, place: int) -> Call:
        while len(self._copies) <= place:
            kind = {"dtype": self._torch.uint8, "device": self._device}
            pair = [self._torch.zeros((self.copied_bytes,), **kind) for _ in range(2)]
            self._copies.append((pair[0], pair[1]))
        source, target = self._copies[place]
        return lambda: target.copy_(source)


def _stopwatch(device: Any, work: Work, orders: Mapping[str, Any]) -> Any:
    if device.type == "cuda":
        return Events(device, work, cold=orders["cold"])
    return Clock(cold=orders["cold"])


class Clock:
    """The host's clock, for work that is over when the call returns."""

    def __init__(self, *, cold: bool) -> None:
        torch = sys.modules["torch"]
        self._flush = torch.zeros(_CPU_FLUSH_BYTES // 4) if cold else None
        self._calls: dict[str, Call] = {}

    def warm(self, label: str, maker: Maker, times: int) -> None:
        """Call a few times beforehand."""
        self._calls[label] = maker(0)
        for _ in range(times):
            self._calls[label]()

    def settle(self, _begin: Callable[[str], None]) -> dict[str, tuple[str, bool]]:
        """Return how each unit is timed, and whether the caches are cold."""
        return dict.fromkeys(self._calls, ("clock", self._flush is not None))

    def times(self, label: str, runs: int) -> list[float]:
        """Return the seconds that each of some runs takes."""
        call, found = self._calls[label], []
        for _ in range(runs):
            if self._flush is not None:
                self._flush.sum()
            start = time.perf_counter_ns()
            call()
            found.append(1e-9 * (time.perf_counter_ns() - start))
        return found


class Events:
    """CUDA events around single calls, or around graphs where those are too short."""

    def __init__(self, device: Any, work: Work, *, cold: bool) -> None:
        self._torch = sys.modules["torch"]
        self._device, self._work, self._cold = device, work, cold
        self._calls: dict[str, Call] = {}
        self._makers: dict[str, Maker] = {}
        self._sleep: dict[str, int] = {}
        self._graphs: Graphs | None = None
        size = _L2_FLUSHES * _l2_bytes(self._torch, device)
        # Read, not written: dirty lines would be written back while a variant is timed.
        self._flush = self._torch.zeros(size // 4, device=device) if cold else None
        self._sum = self._torch.zeros((), device=device)

    def warm(self, label: str, maker: Maker, times: int) -> None:
        """Call a few times beforehand, and learn what the host needs for a call."""
        self._makers[label] = maker
        self._calls[label] = call = maker(0)
        for _ in range(max(1, times)):
            call()
        self._torch.cuda.synchronize(self._device)
        start = time.perf_counter()
        call()
        host_s = time.perf_counter() - start
        self._torch.cuda.synchronize(self._device)
        self._sleep[label] = int(_BUSY * (host_s + 20e-6) * _CYCLES_PER_S)

    def settle(self, begin: Callable[[str], None]) -> dict[str, tuple[str, bool]]:
        """Decide how to time this shape: one way for all of its variants, as far as they allow."""
        pilots = {}
        for label in self._calls:
            begin(label)
            pilots[label] = sorted(self._singly(label, _PILOT))[_PILOT // 2]
        if min(pilots.values()) >= SHORT_S:
            return dict.fromkeys(pilots, ("events", self._cold))
        self._graphs = graphs = Graphs(self._device, self._work.bytes, cold=self._cold)
        for label, seconds in pilots.items():
            begin(label)
            graphs.capture(label, self._makers[label], seconds)
        return {
            label: ("graph", graphs.cold) if graphs.has(label) else ("events", self._cold)
            for label in pilots
        }

    def times(self, label: str, runs: int) -> list[float]:
        """Return the seconds that each of some runs takes."""
        if self._graphs is not None and self._graphs.has(label):
            return self._graphs.times(label, runs)
        return self._singly(label, runs)

    def _singly(self, label: str, runs: int) -> list[float]:
        call, pairs = self._calls[label], []
        for _ in range(runs):
            pair = [self._torch.cuda.Event(enable_timing=True) for _ in range(2)]
            self._occupy(label)
            pair[0].record()
            call()
            pair[1].record()
            pairs.append(pair)
            # No queue of launches builds up: the host would have to wait within a run.
            self._torch.cuda.synchronize(self._device)
        return [1e-3 * start.elapsed_time(end) for start, end in pairs]

    def _occupy(self, label: str) -> None:
        self._torch.cuda._sleep(self._sleep[label])
        if self._flush is not None:
            self._torch.sum(self._flush, dim=0, out=self._sum)


def _l2_bytes(torch: Any, device: Any) -> int:
    known = getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0)
    return int(known) or 64 * 2**20
