"""A report read slice by slice, each slice in a process of its own."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from kprof.model.profile import Kernel
from kprof.reader.describer import Describer
from kprof.reader.disassembly import (
    Described,
    Listing,
    Order,
    affordable,
    buys_any,
    describe,
    functions,
    is_ordered,
    order,
)
from kprof.reader.extract import Extractor
from kprof.reader.forks import Death, Forks
from kprof.reader.instructions import EXECUTED
from kprof.reader.job import Answer, Bare, Job, Lost, Outcome, Packed, Part
from kprof.reader.loaded import Alone, Load, Loaded

# Halving a slice that died finds the kernel that breaks the library; a file that is broken all
# over is given up after so many deaths.
_MAX_DEATHS = 12
# The first kernel of a process costs as much as ten more.
_WORTH_SHARING = 32

_Span = tuple[int, int]
# A pickle of what is known about functions, by the indices of the kernels that launch them.
_Pickled = bytes


class Slices:
    """Reads one loaded report."""

    def __init__(self, job: Job, load: Load) -> None:
        """Load the report.

        Args:
            job: what to read.
            load: ``ncu_report.load_report``.
        """
        self._job = job
        self._folder = Path(job.output).parent
        self._deaths = 0
        self._loaded = Loaded(load(job.report))
        self._alone = Alone(Path(job.report), self._folder, load, self._loaded)

    def read(self) -> Answer:
        """Read everything, then describe the most interesting instructions."""
        total = self._loaded.total
        if self._job.shared:
            self._share()
        describer = self._describer()
        parts, lost = self._read_all(total)
        chosen = affordable(
            functions(listing for part in parts for listing in part.listings),
            budget=self._job.disassemble_bytes,
            module_bytes=self._job.module_bytes,
        )
        orders = [order(choice) for choice in chosen]
        if describer is not None:
            describer.ask(orders)
        self._hand_over(parts, orders)
        places, undescribed = self._described(describer, orders)
        return Answer(Outcome(self._loaded.ranges, total, (), lost, undescribed), places)

    def _hand_over(self, parts: Iterable[Packed], orders: Iterable[Order]) -> None:
        """Write what there is: whoever asked can work on it while instructions are described."""
        bare = Bare(
            parts=tuple(parts),
            awaited=frozenset(index for wanted in orders for index in wanted.launches),
        )
        unfinished = Path(self._job.parts + "-unfinished")
        unfinished.write_bytes(pickle.dumps(bare, pickle.HIGHEST_PROTOCOL))
        unfinished.replace(self._job.parts)

    def _share(self) -> None:
        """Have the library load, once for all forks, what it needs for any kernel.

        It does so with the first kernel that it is asked for: 50 ms and 120 MB for a report of
        torch. A kernel that breaks the library breaks this process, and the report is then read
        without.
        """
        with contextlib.suppress(Exception):  # met again in a fork, and told of there
            self._loaded.action(0)

    def _described(
        self, describer: Describer[Sequence[Order], _Pickled] | None, chosen: Sequence[Order]
    ) -> tuple[tuple[_Pickled, ...], int]:
        """Describe in the process that is ready, or, should it have died, in new ones."""
        found = describer.answer() if describer else Death(0)
        return self._describe_all(chosen) if isinstance(found, Death) else ((found,), 0)

    def _describer(self) -> Describer[Sequence[Order], _Pickled] | None:
        """Start the process that will describe, where there is something to overlap it with."""
        budget, module = self._job.disassemble_bytes, self._job.module_bytes
        if not hasattr(os, "fork") or not self._loaded.total or not buys_any(budget, module):
            return None
        return Describer(self._folder, self._start_disassembler, self._describe)

    def _start_disassembler(self) -> None:
        action = self._alone.any()
        metric = action.metric_by_name(EXECUTED)
        ids = metric.correlation_ids() if metric and metric.has_correlation_ids() else None
        if ids is not None:
            action.sass_by_pc(ids.as_uint64(0))

    def _read_all(self, total: int) -> tuple[list[Packed], tuple[Lost, ...]]:
        waiting = spans(total, self._job.slice_kernels, self._job.processes)
        parts: dict[int, Packed] = {}
        lost: list[Lost] = []
        while waiting:
            dead = self._read_round(waiting, parts)
            waiting = []
            for gap in dead:
                self._deaths += 1
                if gap.stop - gap.start == 1 or self._deaths > _MAX_DEATHS:
                    lost.append(gap)
                else:
                    middle = (gap.start + gap.stop) // 2
                    waiting += [(gap.start, middle), (middle, gap.stop)]
        ordered = [parts[start] for start in sorted(parts)]
        return ordered, tuple(sorted(lost, key=lambda gap: gap.start))

    def _read_round(self, waiting: Sequence[_Span], parts: dict[int, Packed]) -> list[Lost]:
        """Read slices into ``parts`` by their start, and return those that died."""
        forks = Forks(self._folder, self._job.processes)
        results = forks.run([partial(self._part, span) for span in waiting])
        dead = []
        for (start, stop), result in zip(waiting, results, strict=True):
            if isinstance(result, Death):
                dead.append(Lost(start, stop, result.status))
            else:
                parts[start] = result
        return dead

    def _part(self, span: _Span) -> Packed:
        extractor = Extractor(
            self._job.extra, instructions=self._job.instructions, timing=self._job.timing
        )
        kernels: list[Kernel] = []
        listings: list[Listing] = []
        cut_off = 0
        for index in range(*span):
            found = extractor.read(index, self._loaded.action(index))
            if found is None:
                cut_off += 1
                continue
            kernel, listing = found
            kernels.append(kernel)
            listings += [listing] if listing is not None else []
        part = Part(tuple(kernels), extractor.devices.found, extractor.counters, cut_off)
        return Packed.of(part, tuple(listings))

    def _describe_all(self, chosen: Sequence[Order]) -> tuple[tuple[_Pickled, ...], int]:
        shares = [chosen[first :: self._job.processes] for first in range(self._job.processes)]
        tasks = [share for share in shares if share]
        forks = Forks(self._folder, self._job.processes)
        results = forks.run([partial(self._describe, share) for share in tasks])
        described = tuple(result for result in results if not isinstance(result, Death))
        dead = (
            len(share)
            for share, result in zip(tasks, results, strict=True)
            if isinstance(result, Death)
        )
        return described, sum(dead)

    def _describe(self, share: Sequence[Order]) -> _Pickled:
        described: dict[int, Described] = {}
        for wanted in share:
            action = self._alone.action(wanted.index, partial(is_ordered, wanted=wanted))
            found = describe(action, wanted)
            described.update(dict.fromkeys(wanted.launches, found))
        return pickle.dumps(described, pickle.HIGHEST_PROTOCOL)


def spans(total: int, largest: int, processes: int) -> list[_Span]:
    """Cut ``total`` kernels into equal slices, as many as keep all processes busy.

    Args:
        total: kernels.
        largest: kernels per slice at most.
        processes: how many slices are read at a time.
    """
    count = -(-total // largest)
    if total >= _WORTH_SHARING:
        count = -(-count // processes) * processes
    size = max(-(-total // max(count, 1)), 1)
    return [(start, min(start + size, total)) for start in range(0, total, size)]
