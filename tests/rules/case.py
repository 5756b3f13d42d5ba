"""What a rule has to say of a kernel made by hand."""

from __future__ import annotations

from dataclasses import dataclass

from kprof.model import Kernel

FIRES = "fires"
SILENT = "silent"


@dataclass(frozen=True)
class Case:
    """One kernel and what one rule says of it.

    Attributes:
        rule: public name.
        title: what is special about the kernel.
        kernel: has every metric the rule requires.
        expected: ``FIRES``, ``SILENT``, or the severity that has to come out.
        says: text the headline has to hold.
        confidence: the one that has to come out, None for any.
        holds: text that headline, detail or advice has to hold.
        lacks: text that none of them may hold.
        gain: the estimate that has to come out, None for any.
        resource: the one that has to come out, None for any.
    """

    rule: str
    title: str
    kernel: Kernel
    expected: str = FIRES
    says: str = ""
    confidence: str | None = None
    holds: str = ""
    lacks: str = ""
    gain: tuple[float, float] | None = None
    resource: str | None = None

    @property
    def name(self) -> str:
        """Return the test's name."""
        return f"{self.rule}: {self.title}"
