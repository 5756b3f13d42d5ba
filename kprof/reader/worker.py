"""The process that reads a report: the only importer of NVIDIA's ``ncu_report``.

Some corrupt files abort the library, its 2026.3 releases leak every kernel they touch (1 to
10 MB each) and its metadata depends on what the process loaded before. So a process reads one
report and ends, and it forks for every slice of the report: none of them grows large, and one
that dies takes only its slice along.
"""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kprof.reader.disassembly import finish
from kprof.reader.extract import Extractor
from kprof.reader.job import NO_LIBRARY, NO_MEMORY, Job, Lost, Outcome, Part
from kprof.reader.library import Action

# Halving a slice that died finds the kernel that breaks the library; a file that is broken all
# over is given up after so many deaths.
_MAX_DEATHS = 12

_Span = tuple[int, int]


def main() -> None:
    """Do the job on standard input."""
    job = Job.from_json(sys.stdin.buffer.read())
    _quietly(lambda: _save(_outcome(job), Path(job.output)))


def _quietly(work: Any) -> None:
    """Turn the failures that have a name into exit statuses."""
    try:
        work()
    except MemoryError:
        sys.exit(NO_MEMORY)
    except ImportError:
        traceback.print_exc()
        sys.exit(NO_LIBRARY)


def _save(result: Outcome | Part, path: Path) -> None:
    with path.open("wb") as file:
        pickle.dump(result, file, protocol=pickle.HIGHEST_PROTOCOL)


def _outcome(job: Job) -> Outcome:
    import ncu_report

    context = ncu_report.load_report(job.report)
    ranges = [context.range_by_idx(index) for index in range(context.num_ranges())]
    total = sum(part.num_actions() for part in ranges)
    if not hasattr(os, "fork"):
        part = _part(job, ranges, (0, total), job.disassemble_bytes)
        return Outcome(len(ranges), total, (part,))
    parts, lost = Slices(job, ranges, total).read()
    return Outcome(len(ranges), total, parts, lost)


class Slices:
    """Reads a report slice by slice, each in a process of its own."""

    def __init__(self, job: Job, ranges: list[Any], total: int) -> None:
        """Prepare to read ``total`` kernels."""
        self._job, self._ranges, self._total = job, ranges, total
        self._waiting: list[_Span] = [
            (start, min(start + job.slice_kernels, total))
            for start in range(0, total, job.slice_kernels)
        ]
        self._running: dict[int, _Span] = {}
        self._parts: dict[int, Part] = {}
        self._lost: list[Lost] = []
        self._deaths = 0

    def read(self) -> tuple[tuple[Part, ...], tuple[Lost, ...]]:
        """Return what was read in launch order, and what could not be."""
        while self._waiting or self._running:
            while self._waiting and len(self._running) < self._job.processes:
                self._start(self._waiting.pop(0))
            pid, status = os.wait()
            self._ended(self._running.pop(pid), os.waitstatus_to_exitcode(status))
        lost = sorted(self._lost, key=lambda gap: gap.start)
        return tuple(self._parts[start] for start in sorted(self._parts)), tuple(lost)

    def _start(self, span: _Span) -> None:
        pid = os.fork()
        if pid:
            self._running[pid] = span
            return
        status = 1
        try:
            status = self._child(span)
        finally:
            os._exit(status)

    def _child(self, span: _Span) -> int:
        start, stop = span
        budget = self._job.disassemble_bytes * (stop - start) // self._total
        try:
            _save(_part(self._job, self._ranges, span, budget), self._file(span))
        except MemoryError:
            return NO_MEMORY
        except Exception:  # noqa: BLE001 - the parent shows its last line
            traceback.print_exc()
            return 1
        return 0

    def _file(self, span: _Span) -> Path:
        return Path(f"{self._job.output}.{span[0]}-{span[1]}")

    def _ended(self, span: _Span, status: int) -> None:
        start, stop = span
        if status == 0:
            self._parts[start] = pickle.loads(self._file(span).read_bytes())  # noqa: S301 - own child
            return
        self._deaths += 1
        if stop - start == 1 or self._deaths > _MAX_DEATHS:
            self._lost.append(Lost(start, stop, status))
            return
        middle = (start + stop) // 2
        self._waiting[:0] = [(start, middle), (middle, stop)]


def _part(job: Job, ranges: list[Any], span: _Span, budget: int) -> Part:
    extractor = Extractor(job.extra)
    drafts, cut_off = [], 0
    for index, action in _actions(ranges, span):
        draft = extractor.draft(index, action)
        if draft is None:
            cut_off += 1
        else:
            drafts.append(draft)
    kernels = finish(drafts, budget=budget, module_bytes=job.module_bytes)
    return Part(tuple(kernels), extractor.devices.found, cut_off)


def _actions(ranges: list[Any], span: _Span) -> Iterator[tuple[int, Action]]:
    """Yield the span's actions with their position over all ranges."""
    start, stop = span
    first = 0
    for part in ranges:
        count = part.num_actions()
        for index in range(max(start, first), min(stop, first + count)):
            yield index, part.action_by_idx(index - first)
        first += count


if __name__ == "__main__":
    main()
