"""From report files to diagnosed reports: one file's failure costs the others nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kprof import crew, process
from kprof.errors import KprofError
from kprof.inputs import Failure
from kprof.model import Report
from kprof.rule import Rule, registry
from kprof.source_text import Lookup, with_source

_POLL_S = 0.005


@dataclass(frozen=True, slots=True)
class Analysis:
    """How reports are to be diagnosed.

    Attributes:
        rules: which rules to run, None for the catalogue.
        kernel: only kernels whose demangled name this is found in, None for all.
        sources: where source files are that the report does not hold.
    """

    rules: tuple[Rule, ...] | None = None
    kernel: re.Pattern[str] | None = None
    sources: Lookup = field(default_factory=Lookup)

    def of(self, path: Path) -> Report:
        """Read and diagnose one report file.

        Raises:
            UnreadableReport: the file cannot be read.
        """
        from kprof.reader import load

        profile = with_source(load(path, extra_metrics=self._metrics()), path, self.sources)
        from kprof.diagnosis import diagnose

        report = diagnose(profile, rules=self.rules, kernel=self.kernel)
        if self.kernel is None:
            return report
        note = (
            f"{len(report.kernels)} of {len(profile.kernels)} kernels are shown: "
            f"those whose name matches {self.kernel.pattern!r}."
        )
        return replace(report, notes=(*report.notes, note))

    def of_all(
        self, inputs: Sequence[Path | Failure], *, jobs: int = 1
    ) -> Iterator[Report | Failure]:
        """Diagnose several files, ``jobs`` at a time, and yield in the order of the inputs.

        The work is done in reader processes, so threads are enough to keep them busy.
        """
        yield from crew.results(self._attempt, inputs, jobs=jobs, meanwhile=_prepare)

    def _attempt(self, path: Path | Failure) -> Report | Failure:
        if isinstance(path, Failure):
            return path
        try:
            return self.of(path)
        except KprofError as error:
            return Failure.of(path, error)

    def _metrics(self) -> tuple[str, ...]:
        rules = self.rules or ()
        return tuple({name: None for rule in rules for q in rule.requires for name in q.names})


def _prepare() -> None:
    # Imports what the diagnosis needs while the first reader process is at work: not sooner, or
    # the thread that is about to start it would have to wait.
    for _ in range(6):
        if process.is_waiting():
            break
        time.sleep(_POLL_S)
    registry()
