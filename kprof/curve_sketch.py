"""Occupancy over a resource of the launch as plain SVG geometry, with where the launch is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kprof.model import Occupancy, OccupancyCurve
from kprof.units import count

WIDTH, HEIGHT = 320.0, 132.0
LEFT, RIGHT, TOP, BOTTOM = 30.0, 12.0, 14.0, 24.0

_TITLES = {
    "registers": ("Registers", "registers per thread"),
    "shared_memory": ("Shared memory", "bytes per block"),
    "block_size": ("Block size", "threads per block"),
}


@dataclass(frozen=True, slots=True)
class Tick:
    """A value of an axis and where it stands in px."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve in px.

    Attributes:
        title: the resource.
        unit: of the horizontal axis.
        path: of an SVG polyline.
        here: where the launch is, None when unknown.
        said: the same in words.
        x_ticks: on the horizontal axis.
        y_ticks: on the vertical one, which counts warps per SM.
    """

    title: str
    unit: str
    path: str
    here: tuple[float, float] | None
    said: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def curve_sketches(occupancy: Occupancy) -> tuple[Curve, ...]:
    """Draw every curve that has more than one point."""
    return tuple(_curve(curve) for curve in occupancy.curves if len(curve.points) > 1)


def _curve(curve: OccupancyCurve) -> Curve:
    first, last = curve.points[0][0], curve.points[-1][0]
    top = max(y for _, y in curve.points) or 1.0

    def x(value: float) -> float:
        part = (value - first) / ((last - first) or 1.0)
        return round(LEFT + min(max(part, 0.0), 1.0) * (WIDTH - LEFT - RIGHT), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM), 1)

    title, unit = _TITLES.get(curve.resource, (curve.resource, curve.unit))
    return Curve(
        title=title,
        unit=unit,
        path=_path([(round(x(a)), round(y(b))) for a, b in curve.points]),
        here=(x(curve.here[0]), y(curve.here[1])) if curve.here else None,
        said=_said(curve, unit),
        x_ticks=tuple(Tick(x(value), count(value)) for value in (first, (first + last) // 2, last)),
        y_ticks=tuple(Tick(y(value), count(value)) for value in (0.0, top)),
    )


def _path(points: Sequence[tuple[int, int]]) -> str:
    """Return the points of a polyline, without those that lie between two at their height."""
    last = len(points) - 1
    kept = [
        point
        for at, point in enumerate(points)
        if at in {0, last} or not points[at - 1][1] == point[1] == points[at + 1][1]
    ]
    return " ".join(f"{x},{y}" for x, y in dict.fromkeys(kept))


def _said(curve: OccupancyCurve, unit: str) -> str:
    if curve.here is None:
        return "where this launch is, is unknown"
    amount, warps = curve.here
    return f"this launch: {count(amount)} {unit}, {count(warps)} warps per SM"
