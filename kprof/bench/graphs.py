"""Timing of short calls: many of them in one CUDA graph. Runs in the worker.

For cold caches the calls of a graph go through copies of the inputs and outputs that together are
larger than the L2 cache: what a call needs was evicted since it was there last.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from kprof.bench.checking import survives

_EVICTING = 2.5  # sizes of the L2 cache that the copies have together
_FEWEST, _MOST = 20, 512  # calls in a graph; more copies than that are not made
_LONGEST_S = 0.1  # of a graph; calls that need more are long enough to be timed one by one
# What the GPU is kept busy for while the host launches the graph, and cycles of its clock.
_LAUNCH_S, _LAUNCH_EACH_S, _CYCLES_PER_S = 1e-4, 1e-6, 2e9


class Graphs:
    """Graphs of the variants of one shape.

    Attributes:
        cold: whether the copies are together larger than the cache.
    """

    def __init__(self, device: Any, bytes_each: int, *, cold: bool) -> None:
        self._torch, self._device = sys.modules["torch"], device
        properties = self._torch.cuda.get_device_properties(device)
        l2 = int(getattr(properties, "L2_cache_size", 0)) or 64 * 2**20
        wanted = int(_EVICTING * l2 / max(1, bytes_each)) + 1
        self._sets = min(_MOST, wanted) if cold else 1
        self.cold = cold and self._sets == wanted
        self._calls = max(_FEWEST, self._sets)
        self._busy = int((_LAUNCH_S + _LAUNCH_EACH_S * self._calls) * _CYCLES_PER_S)
        self._graphs: dict[str, Any] = {}
        self._kept: list[Any] = []

    def has(self, label: str) -> bool:
        """Say whether a unit could be captured."""
        return label in self._graphs

    def capture(
        self, label: str, maker: Callable[[int], Callable[[], Any]], seconds: float
    ) -> None:
        """Capture a unit's calls; one that cannot be captured, or takes long, is left out.

        Args:
            label: the unit.
            maker: makes a call on one of the copies.
            seconds: what a call takes.
        """
        if seconds * self._calls > _LONGEST_S:
            return
        torch, graph = self._torch, self._torch.cuda.CUDAGraph()
        calls = [maker(place) for place in range(self._sets)]
        torch.cuda.synchronize(self._device)
        try:
            self._warm(calls[0])
            with torch.cuda.graph(graph):
                # Kept: each result has a place of its own, as those have that were made before.
                results = [calls[number % len(calls)]() for number in range(self._calls)]
        except (RuntimeError, ValueError) as error:
            survives(error)
            return
        self._kept += [calls, results]
        graph.replay()
        torch.cuda.synchronize(self._device)
        self._graphs[label] = graph

    def times(self, label: str, runs: int) -> list[float]:
        """Return the mean seconds of a call in each of some launches of the graph."""
        torch, graph, found = self._torch, self._graphs[label], []
        for _ in range(runs):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(self._busy)
            start.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize(self._device)
            found.append(1e-3 * start.elapsed_time(end) / self._calls)
        return found

    def _warm(self, call: Callable[[], Any]) -> None:
        # On a stream of its own, as capturing does: libraries set themselves up per stream.
        side = self._torch.cuda.Stream(self._device)
        side.wait_stream(self._torch.cuda.current_stream(self._device))
        with self._torch.cuda.stream(side):
            call()
        self._torch.cuda.current_stream(self._device).wait_stream(side)
        self._torch.cuda.synchronize(self._device)
