"""The roofline as plain SVG geometry, for readers without JavaScript and for paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kprof.figures import marker_size
from kprof.markers import outline, shape
from kprof.plane import Plane, Point, Roof, plain, powers
from kprof.units import si

WIDTH, HEIGHT = 960.0, 440.0
LEFT, RIGHT, TOP, BOTTOM = 78.0, 16.0, 14.0, 48.0
LABEL_GAP = 14.0  # px between two labels of flat roofs


@dataclass(frozen=True, slots=True)
class Line:
    """A roof: end points in px, and its label unless there is no room for it."""

    x1: float
    y1: float
    x2: float
    y2: float
    label: str
    labelled: bool
    main: bool

    @property
    def angle(self) -> float:
        """Inclination in degrees as SVG turns, for text along the line."""
        return round(math.degrees(math.atan2(self.y2 - self.y1, self.x2 - self.x1)), 1)


@dataclass(frozen=True, slots=True)
class Dot:
    """A kernel's marker in px."""

    x: float
    y: float
    radius: float
    point: Point

    @property
    def corners(self) -> str:
        """The marker's outline as an SVG polygon's points."""
        symbol = shape(self.point.entry.kernel.bound)
        around = outline(symbol, self.radius)
        return " ".join(f"{self.x + dx:.1f},{self.y + dy:.1f}" for dx, dy in around)


@dataclass(frozen=True, slots=True)
class Tick:
    """A grid line: its place in px and the text beside it, empty between labelled ones."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Sketch:
    """Everything the SVG shows, in px of a 960 x 440 canvas."""

    level: str
    slopes: tuple[Line, ...]
    flats: tuple[Line, ...]
    dots: tuple[Dot, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def sketch(plane: Plane) -> Sketch:
    """Lay out a roofline at its first memory level."""
    return Sketch(
        level=plane.level,
        slopes=tuple(_slope(plane, roof) for roof in plane.bandwidths.values()),
        flats=_flats(plane),
        dots=tuple(_dot(plane, p) for p in plane.points if plane.level in p.intensity),
        x_ticks=tuple(Tick(_x(plane, value), plain(value)) for value in powers(plane.x_range)),
        y_ticks=tuple(Tick(_y(plane, value), plain(value)) for value in powers(plane.y_range)),
    )


def _slope(plane: Plane, roof: Roof) -> Line:
    top = max([flat.value for flat in plane.arithmetic], default=plane.y_range[1])
    start = max(plane.x_range[0], plane.y_range[0] / roof.value)
    end = min(plane.x_range[1], top / roof.value)
    return Line(
        _x(plane, start),
        _y(plane, start * roof.value),
        _x(plane, end),
        _y(plane, end * roof.value),
        label=f"{roof.label} {si(roof.value, roof.unit)}",
        labelled=True,
        main=roof.names[0] == plane.level,
    )


def _flats(plane: Plane) -> tuple[Line, ...]:
    slope = plane.bandwidths.get(plane.level)
    labelled = _with_room(plane, plane.arithmetic)
    lines = []
    for roof in plane.arithmetic:
        ridge = roof.value / slope.value if slope else plane.x_range[0]
        start = min(max(ridge, plane.x_range[0]), plane.x_range[1])
        y = _y(plane, roof.value)
        label = f"{roof.label} {si(roof.value, roof.unit)}"
        right = WIDTH - RIGHT
        lines.append(Line(_x(plane, start), y, right, y, label, roof in labelled, roof.used))
    return tuple(lines)


def _with_room(plane: Plane, roofs: Sequence[Roof]) -> list[Roof]:
    # Roofs that a kernel uses get their label first; the highest of equals wins.
    kept: list[Roof] = []
    for roof in sorted(roofs, key=lambda item: (not item.used, -item.value)):
        y = _y(plane, roof.value)
        if all(abs(y - _y(plane, other.value)) >= LABEL_GAP for other in kept):
            kept.append(roof)
    return kept


def _dot(plane: Plane, point: Point) -> Dot:
    x, y = _x(plane, point.intensity[plane.level]), _y(plane, point.flops_per_s)
    return Dot(x, y, round(marker_size(point) / 2, 1), point)


def _x(plane: Plane, value: float) -> float:
    return round(LEFT + _along(value, plane.x_range) * (WIDTH - LEFT - RIGHT), 1)


def _y(plane: Plane, value: float) -> float:
    return round(HEIGHT - BOTTOM - _along(value, plane.y_range) * (HEIGHT - TOP - BOTTOM), 1)


def _along(value: float, ends: tuple[float, float]) -> float:
    low, high = math.log10(ends[0]), math.log10(ends[1])
    return (math.log10(value) - low) / (high - low)
