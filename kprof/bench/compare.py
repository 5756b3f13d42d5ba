"""Numbers from rounds of runs: medians, spreads, and whether two variants differ at all.

Both variants of a pair were timed in every round. The ratio of their medians in a round is free of
what the clock did between rounds; the median of these ratios has a confidence interval that assumes
no distribution (order statistics: Conover, Practical Nonparametric Statistics, 3.2). Two variants
differ when the whole interval lies outside of what a variant differs from itself.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from kprof.bench.result import Comparison, Verdict

CONFIDENCE = 0.99
# Nobody tells kernels apart by less: the place of a buffer in memory alone can make as much.
# kprof's own, unsourced; a variant timed twice in the same rounds widens it where it shows more.
LEAST_NOISE = 0.01

Rounds = Sequence[Sequence[float]]


def ratios(unit: Rounds, against: Rounds) -> list[float]:
    """Return how many times faster a unit was in each round."""
    pairs = zip(unit, against, strict=False)
    return [statistics.median(b) / statistics.median(a) for a, b in pairs if min(a) > 0.0]


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the confidence interval of the median, None with too few values for one."""
    ordered, count = sorted(values), len(values)
    skip = _skipped(count)
    return (ordered[skip], ordered[count - 1 - skip]) if skip is not None else None


def noise(twin: Rounds, itself: Rounds) -> float | None:
    """Return how far a unit came out from itself; None with too few rounds."""
    found = interval(ratios(twin, itself))
    return None if found is None else max(_away(end) for end in found)


def comparison(unit: Rounds, against: Rounds, name: str, floor: float | None) -> Comparison | None:
    """Compare a unit with another one.

    Args:
        unit: its rounds.
        against: those of the other one.
        name: of the other one.
        floor: what :func:`noise` says.
    """
    found = ratios(unit, against)
    if not found:
        return None
    ends, allowed = interval(found), max(LEAST_NOISE, floor or 0.0)
    low, high = ends or (None, None)
    return Comparison(name, statistics.median(found), low, high, allowed, _verdict(ends, allowed))


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile, linear between the two nearest values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _verdict(ends: tuple[float, float] | None, allowed: float) -> Verdict:
    if ends is None:
        return "unknown"
    if ends[0] > 1.0 + allowed:
        return "faster"
    return "slower" if ends[1] < 1.0 / (1.0 + allowed) else "equal"


def _away(ratio: float) -> float:
    return max(ratio, 1.0 / ratio) - 1.0


def _skipped(count: int) -> int | None:
    """Return how many values at each end lie outside the interval."""
    tail, skipped = 0.0, None
    for place in range(count // 2):
        tail += math.comb(count, place) / 2.0**count
        if 2.0 * tail > 1.0 - CONFIDENCE:
            break
        skipped = place
    return skipped
