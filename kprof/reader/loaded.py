"""The kernels of a report as NVIDIA's library gives them out, one after the other or alone."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kprof.reader.excerpt import Excerpts
from kprof.reader.library import Action

# ncu_report.load_report: the path of a report to its IContext.
Load = Callable[[str], Any]


class Loaded:
    """A loaded report.

    Attributes:
        ranges: profiled ranges; 0 for anything the library cannot read.
        total: kernels in all of them.
    """

    def __init__(self, context: Any) -> None:
        """Count what an ``ncu_report.IContext`` holds."""
        self._context = context  # what is taken from it does not keep it alive
        self._ranges = [context.range_by_idx(index) for index in range(context.num_ranges())]
        self._counts = [part.num_actions() for part in self._ranges]
        self.ranges, self.total = len(self._ranges), sum(self._counts)

    def action(self, index: int) -> Action:
        """Return a kernel by its position over all ranges.

        Raises:
            IndexError: there are not so many.
        """
        rest = index
        for part, count in zip(self._ranges, self._counts, strict=True):
            if rest < count:
                action: Action = part.action_by_idx(rest)
                return action
            rest -= count
        raise IndexError(index)


class Alone:
    """Loads kernels one at a time, each from an excerpt of the report where there can be one."""

    def __init__(self, report: Path, folder: Path, load: Load, whole: Loaded) -> None:
        """Prepare to load.

        Args:
            report: a plain report.
            folder: where excerpts are written.
            load: the library's function.
            whole: the report, loaded.
        """
        self._report, self._folder, self._load, self._whole = report, folder, load, whole
        self._excerpts: Excerpts | None = None
        self._part: Loaded | None = None

    def any(self) -> Action:
        """Return a kernel whose device code the library is soon done with."""
        index = 0
        with contextlib.suppress(OSError):
            index = self._of_file().lightest()
        return self.action(index, lambda _: True)

    def action(self, index: int, is_it: Callable[[Action], bool]) -> Action:
        """Return a kernel, good until the next one is asked for.

        Args:
            index: its position over all ranges.
            is_it: tells it from others. What an excerpt holds there may be another kernel, as the
                library need not count kernels in the order of the file.

        Raises:
            IndexError: there are not so many.
        """
        found = self._excerpted(index)
        if found is not None and is_it(found):
            return found
        return self._whole.action(index)

    def _excerpted(self, index: int) -> Action | None:
        # A name of its own: the library reads from the path when something is first touched.
        target = self._folder / f"excerpt-{os.getpid()}-{index}.ncu-rep"
        with contextlib.suppress(OSError):  # a full disk, for one: the report itself will do
            position = self._of_file().write(index, target)
            if position is not None:
                self._part = Loaded(self._load(str(target)))
                return self._part.action(position) if position < self._part.total else None
        return None

    def _of_file(self) -> Excerpts:
        if self._excerpts is None:
            self._excerpts = Excerpts(self._report)
        return self._excerpts
