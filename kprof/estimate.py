"""Honest speed-up estimates: a range, never beyond what the next unit allows.

Removing work from one unit helps until another one is the limit. With ``saved`` the share of
the kernel's time the fix removes and ``next`` the utilisation of the busiest unit it does not
relieve, the new time lies between ``max(1 - saved, next / 0.9)`` and the cautious
``max(1 - 0.7 * saved, next / 0.6)``, and never below what a launch takes. Estimates of different findings overlap: never add them.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from kprof.limiter import BUSY_PCT, busiest, limiter, utilisations
from kprof.model import Kernel, Severity, Speedup

# What a well-written kernel reaches of a unit's peak, and what an average one does. kprof's own:
# float4 copies on an H200 reach 90 % of device memory.
GOOD_PCT = 90.0
TYPICAL_PCT = 60.0
# Only part of a predicted saving usually arrives. kprof's own, unsourced.
CAUTION = 0.7
NEAR_TOP = 0.9  # this close to the busiest unit, a unit sets the pace too. kprof's own, unsourced.
# Launch and drain inside ncu's duration. At best: of 5,000 launches that ncu timed on ten chips none
# took less than 1.44 us. Cautiously: up to 2 us (forums.developer.nvidia.com/t/360150).
LAUNCH_S = (1.4e-6, 2e-6)
WORTH = 1.02  # below this a finding is noise. kprof's own, unsourced.
# Beyond this an estimate is only "a lot". kprof's own; data in the host's memory cost 27 times.
MOST = 50.0


def gain(kernel: Kernel, saved: float, relieves: Collection[str]) -> Speedup:
    """Estimate the speed-up of removing ``saved`` (0..1) of the kernel's time.

    Args:
        kernel: gives the utilisation of the units that are not relieved.
        saved: share of the time the relieved units would no longer need.
        relieves: unit classes (keys of ``metrics.UNITS``) the fix takes work from.
    """
    next_pct = _next_pct(kernel, relieves)
    best = max(1.0 - saved, next_pct / GOOD_PCT, _launch(kernel, LAUNCH_S[0]))
    worst = max(1.0 - CAUTION * saved, next_pct / TYPICAL_PCT, _launch(kernel, LAUNCH_S[1]))
    return Speedup(low=_as_speedup(worst), high=_as_speedup(best))


def next_in_line(kernel: Kernel, relieves: Collection[str]) -> str:
    """Name the busiest unit a fix would not relieve, for "no gain, because ..." sentences."""
    for unit in utilisations(kernel):
        if unit.kind not in relieves:
            return f"{unit.metric.split('.')[0]} is next at {unit.pct:.0f} %"
    return "no other unit was measured"


def ends_early(kernel: Kernel, saved: float, relieves: Collection[str]) -> bool:
    """Say whether at best another unit is the limit before ``saved`` of the time is gone; see gain."""
    left = max(1.0 - saved, _launch(kernel, LAUNCH_S[0]))
    return _next_pct(kernel, relieves) / GOOD_PCT > left


def pressure(kernel: Kernel, kinds: Collection[str]) -> float:
    """Return how much of the time these units set the pace (0..1).

    All of it when they are the limit (then time follows their work), else as busy as they are.
    """
    unit, top = busiest(kernel, kinds), next(iter(utilisations(kernel)), None)
    if unit is None or top is None:
        return 0.0
    sets_the_pace = unit.pct >= BUSY_PCT and unit.pct >= NEAR_TOP * top.pct
    return 1.0 if sets_the_pace else min(unit.pct / 100.0, 1.0)


def headroom(pct: float) -> Speedup | None:
    """Estimate what is left to gain on a unit that is itself the limit, None at its roof."""
    left = Speedup(low=1.0, high=_as_speedup(pct / GOOD_PCT))
    return left if is_worth_it(left) else None


def is_worth_it(speedup: Speedup) -> bool:
    """Say whether a gain is large enough to be worth a finding."""
    return speedup.high >= WORTH


def severity(speedup: Speedup | None) -> Severity:
    """Grade by the middle of the range: from 1.3x high, 1.1x medium, 1.03x low (kprof's own)."""
    middle = math.sqrt(speedup.low * speedup.high) if speedup else 1.0
    if middle >= 1.3:
        return "high"
    if middle >= 1.1:
        return "medium"
    return "low" if middle >= 1.03 else "info"


def severity_beside(kernel: Kernel, speedup: Speedup) -> Severity:
    """Grade a cause that loads no unit: where one is busy, that is the limit and this a detail."""
    top = limiter(kernel)
    return "low" if top is not None and top.pct >= BUSY_PCT else severity(speedup)


def beside_the_launch(kernel: Kernel) -> float:
    """Return the speed-up if everything but a slow launch vanished: the most a fix can give."""
    return _as_speedup(_launch(kernel, LAUNCH_S[1]))


def _next_pct(kernel: Kernel, relieves: Collection[str]) -> float:
    others = (unit.pct for unit in utilisations(kernel) if unit.kind not in relieves)
    return max(others, default=0.0)


def _launch(kernel: Kernel, overhead_s: float) -> float:
    """Return the share of the time that starting a kernel takes, which no fix inside it saves."""
    return min(overhead_s / kernel.duration_s, 1.0) if kernel.duration_s else 0.0


def _as_speedup(new_time: float) -> float:
    return min(1.0 / max(new_time, 1.0 / MOST), MOST) if new_time < 1.0 else 1.0
