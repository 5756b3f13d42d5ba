"""Occupancy over each resource of the launch, and when it does not matter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from kprof import metrics as m
from kprof.limiter import limiter
from kprof.model import Kernel, Launch, Occupancy, OccupancyCurve
from kprof.occupancy import occupancy

# From here on more warps do not help: NVIDIA rules SOLBottleneck and IssueSlotUtilization.
AT_THE_ROOF_PCT = 80.0
ISSUING = 0.8
READY = 1.0
_CURVES = {
    "registers": ("launch__occupancy_per_register_count", "register/thread"),
    "shared_memory": ("launch__occupancy_per_shared_mem_size", "byte/block"),
    "block_size": ("launch__occupancy_per_block_size", "thread/block"),
}
_Points = Sequence[tuple[float, float]]


def occupancy_report(kernel: Kernel) -> Occupancy:
    """Return occupancy with its curves; without what-ifs where more of it would change nothing."""
    found, reason = occupancy(kernel), no_matter(kernel)
    what_if = () if reason else found.what_if
    return replace(found, what_if=what_if, curves=curves(kernel), no_matter=reason)


def curves(kernel: Kernel) -> tuple[OccupancyCurve, ...]:
    """Return resident warps per SM over registers, shared memory and block size, as ncu has them.

    Of a curve, which is a staircase, the first and last point of every step are kept.
    """
    return tuple(
        OccupancyCurve(resource, unit, _steps(points), _here(kernel.launch, resource, points))
        for resource, (metric, unit) in _CURVES.items()
        if (points := kernel.curves.get(metric, ()))
    )


def no_matter(kernel: Kernel) -> str | None:
    """Say why more occupancy would change nothing or cannot be told; None where it may help."""
    if any(name.startswith("USETMAXREG") for name in kernel.opcodes):
        return "warps change their number of registers while they run (USETMAXREG)"
    top = limiter(kernel)
    if top is not None and top.pct >= AT_THE_ROOF_PCT:
        return f"{top.metric} is at {top.pct:.0f} % of its peak: more warps would wait for it too"
    issuing = m.ISSUE_ACTIVE.read(kernel.metrics)
    if issuing is not None and issuing >= ISSUING:
        return f"the schedulers issue in {100 * issuing:.0f} % of the cycles as it is"
    ready = m.ELIGIBLE_WARPS.read(kernel.metrics)
    if ready is not None and ready >= READY:
        return f"{ready:.1f} warps per scheduler are ready to issue as it is"
    return None


def _steps(points: _Points) -> tuple[tuple[float, float], ...]:
    last = len(points) - 1
    return tuple(
        point
        for position, point in enumerate(points)
        if position in {0, last}
        or points[position - 1][1] != point[1]
        or points[position + 1][1] != point[1]
    )


def _here(launch: Launch | None, resource: str, points: _Points) -> tuple[float, float] | None:
    now = _now(launch, resource) if launch is not None else None
    below = [y for x, y in points if now is not None and x <= now]
    # A value between two points is allocated like the next larger one.
    above = [y for x, y in points if now is not None and x >= now]
    if now is None or not below or not above:
        return None
    return now, above[0]


def _now(launch: Launch, resource: str) -> float | None:
    if resource == "registers":
        return _number(launch.registers_per_thread)
    if resource == "block_size":
        return float(math.prod(launch.block)) if launch.block else None
    parts = (launch.shared_static_bytes, launch.shared_dynamic_bytes)
    known = [part for part in parts if part is not None]
    return float(sum(known)) if known else None


def _number(value: int | None) -> float | None:
    return None if value is None else float(value)
