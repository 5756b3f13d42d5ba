"""A physical quantity and the ncu metrics it can be read from.

The same thing has different metric names on different chips, ncu versions and section sets
(docs/metrics.md). A :class:`Quantity` lists the ways to get it in order of preference; rules ask
for quantities, so a rule works wherever any of them is present and is skipped where none is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Way:
    """One way to get a quantity.

    Attributes:
        metrics: names of single values, all needed: ncu's, or ``kprof__`` totals that the reader
            makes of a metric with many values.
        combine: their values in that order to the quantity's value.
        asked: what to ask ncu for instead of ``metrics``, where those are kprof's own.
        converts: whether the metric counts something else, such as the cycles in which bytes moved:
            then its name does not go with the quantity's value.
    """

    metrics: tuple[str, ...]
    combine: Callable[..., float]
    asked: tuple[str, ...] = ()
    converts: bool = False

    @property
    def collects(self) -> tuple[str, ...]:
        """What ncu has to measure for this way."""
        return self.asked or self.metrics


@dataclass(frozen=True)
class Quantity:
    """Something a rule can ask for.

    Attributes:
        name: short name used in evidence and in "skipped: missing ...".
        meaning: one line.
        unit: SI base unit, ``%``, or empty for a plain ratio or count.
        ways: in order of preference; what the first one needs is what kprof collects.
        collected: False for quantities that kprof reads where a report has them but does not
            itself collect because they cost too many passes.
    """

    name: str
    meaning: str
    unit: str
    ways: tuple[Way, ...]
    collected: bool = True

    def read(self, metrics: Mapping[str, float]) -> float | None:
        """Return the value from the first way whose metrics are all there, else None."""
        for way in self.ways:
            values = [metrics.get(name) for name in way.metrics]
            if all(value is not None for value in values):
                try:
                    return way.combine(*values)
                except ZeroDivisionError:  # an idle unit: the ratio has no value
                    continue
        return None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every metric name that any of the ways reads."""
        return tuple(dict.fromkeys(name for way in self.ways for name in way.metrics))


def plain(name: str, metric: str, meaning: str, unit: str, *, scale: float = 1.0) -> Quantity:
    """Make a quantity that is one metric, optionally scaled to SI (``1e-9`` for ns)."""
    return Quantity(name, meaning, unit, (Way((metric,), lambda value: value * scale),))


def either(
    name: str, metrics: tuple[str, ...], meaning: str, unit: str, *, collected: bool = True
) -> Quantity:
    """Make a quantity that goes by several metric names with the same value."""
    ways = tuple(Way((metric,), float) for metric in metrics)
    return Quantity(name, meaning, unit, ways, collected)
