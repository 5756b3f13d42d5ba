"""A bench as plain SVG geometry: time over size, and the roofline with a path from variant to variant.

Everything is in px of a 960 x 440 canvas.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kprof.bench.result import Bench, ShapeResult, UnitResult
from kprof.bench.roofs import ceilings
from kprof.markers import outline
from kprof.plane import plain, powers
from kprof.units import ratio, si

WIDTH, HEIGHT = 960.0, 440.0
LEFT, RIGHT, TOP, BOTTOM = 78.0, 16.0, 14.0, 48.0
_RADIUS = 5.0
_CLEAR = 8.0  # px between an arrow's end and the marker it points at
# Colours of the style sheet and markers, so that no variant is told from another by colour alone.
_LOOKS = (
    ("dram", "circle"), ("fp32", "triangle-up"), ("tensor", "square"), ("latency", "diamond"),
    ("l2", "pentagon"), ("shared", "star"), ("fp16", "triangle-down"), ("xu", "hexagon"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Look:
    """How a unit is drawn: a colour of the style sheet and a marker."""

    unit: str
    colour: str
    symbol: str

    def corners(self, x: float, y: float) -> str:
        """Return the marker's outline as an SVG polygon's points."""
        around = outline(self.symbol, _RADIUS)
        return " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in around)


@dataclass(frozen=True, slots=True)
class Mark:
    """A unit on one shape: where it is drawn, and what it says when pointed at."""

    look: Look
    x: float
    y: float
    title: str

    @property
    def corners(self) -> str:
        """The marker's outline."""
        return self.look.corners(self.x, self.y)


@dataclass(frozen=True, slots=True)
class Segment:
    """A line between two points: its colour's name, or its label and where that stands."""

    x1: float
    y1: float
    x2: float
    y2: float
    colour: str = ""
    label: str = ""
    label_x: float = 0.0
    label_y: float = 0.0
    anchor: str = "start"


@dataclass(frozen=True, slots=True)
class Tick:
    """A grid line: its place and the text beside it."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing.

    Attributes:
        arrows: from one variant to the next; only a roofline has them.
        roofs: only a roofline has them.
    """

    x_title: str
    y_title: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    lines: tuple[Segment, ...] = ()
    arrows: tuple[Segment, ...] = ()
    roofs: tuple[Segment, ...] = ()


def looks(bench: Bench) -> dict[str, Look]:
    """Return how each timed unit is drawn."""
    names = [unit.unit for shape in bench.shapes for unit in shape.units if unit.timing]
    return {
        name: Look(name, *_LOOKS[place % len(_LOOKS)])
        for place, name in enumerate(dict.fromkeys(names))
    }


def time_over_size(bench: Bench) -> Chart | None:
    """Draw the median time over the bytes to move; None where the bytes are not known."""
    drawn = looks(bench)
    points = [
        (drawn[unit.unit], shape, unit)
        for shape in sorted(bench.shapes, key=lambda shape: shape.bytes or 0.0)
        for unit in shape.units
        if unit.timing is not None and shape.bytes
    ]
    if not points:
        return None
    x_axis = _Axis.over((shape.bytes or 1.0 for _, shape, _ in points), LEFT, WIDTH - RIGHT)
    times = [unit.timing.p50_s for _, _, unit in points if unit.timing]
    y_axis = _Axis.over(times, HEIGHT - BOTTOM, TOP)
    marks = [_timed(look, shape, unit, x_axis, y_axis) for look, shape, unit in points]
    return Chart(
        "Bytes to move at least",
        "Median time",
        tuple(x_axis.ticks("byte")),
        tuple(y_axis.ticks("s")),
        tuple(marks),
        lines=tuple(_joined(marks)),
    )


def roofline(bench: Bench) -> Chart | None:
    """Draw FLOP/s over FLOP/byte; None without operations or roofs.

    The intensity is the measured one where a variant was profiled and ran one kernel alone, whose
    intensity is the variant's, else that of the least bytes.
    """
    roofs = ceilings(bench.device)
    placed = [found for shape in bench.shapes for found in _placed(shape)]
    if not placed or "dram" not in roofs:
        return None
    top = max([roofs.get("fp32", 0.0), *(point.rate for point in placed)])
    x_values = [*(point.intensity for point in placed), top / roofs["dram"]]
    x_axis = _Axis.over(x_values, LEFT, WIDTH - RIGHT)
    y_axis = _Axis.over([*(point.rate for point in placed), top], HEIGHT - BOTTOM, TOP)
    drawn = looks(bench)
    paths = [
        [
            _rated(point, drawn[point.unit], x_axis, y_axis)
            for point in placed
            if point.shape is shape
        ]
        for shape in bench.shapes
    ]
    return Chart(
        "Arithmetic intensity (FLOP/byte)",
        "FLOP/s",
        tuple(x_axis.ticks("")),
        tuple(y_axis.ticks("FLOP/s")),
        tuple(mark for path in paths for mark in path),
        arrows=tuple(arrow for path in paths for arrow in _arrows(path)),
        roofs=tuple(_roofs(roofs, x_axis, y_axis)),
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    """A logarithmic axis: the values at its ends, and their px."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float) -> _Axis:
        known = [value for value in values if value > 0]
        low, high = (math.log10(value) * 2 for value in (min(known) / 1.5, max(known) * 1.5))
        return cls(10 ** (math.floor(low) / 2), 10 ** (math.ceil(high) / 2), start, end)

    def at(self, value: float) -> float:
        low, high = math.log10(self.low), math.log10(self.high)
        share = (math.log10(value) - low) / (high - low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, unit: str) -> Iterator[Tick]:
        for value in powers((self.low, self.high)):
            yield Tick(self.at(value), si(value, unit, digits=1) if unit else plain(value))


def _timed(look: Look, shape: ShapeResult, unit: UnitResult, x_axis: _Axis, y_axis: _Axis) -> Mark:
    assert unit.timing is not None  # noqa: S101 - only timed units are drawn
    said = f"{look.unit} at {shape.shape}: {si(unit.timing.p50_s, 's')}"
    return Mark(look, x_axis.at(shape.bytes or 1.0), y_axis.at(unit.timing.p50_s), said)


@dataclass(frozen=True, slots=True)
class _Point:
    """A unit's place on the roofline; whether its intensity was measured."""

    shape: ShapeResult
    unit: str
    intensity: float
    rate: float
    measured: bool


def _placed(shape: ShapeResult) -> Iterator[_Point]:
    least = shape.flops / shape.bytes if shape.flops and shape.bytes else None
    for unit in shape.units:
        rate = unit.timing.flops_per_s if unit.timing else None
        measured = unit.why.intensity if unit.why and len(unit.why.kernels) == 1 else None
        intensity = measured or least
        if rate and intensity:
            yield _Point(shape, unit.unit, intensity, rate, bool(measured))


def _rated(point: _Point, look: Look, x_axis: _Axis, y_axis: _Axis) -> Mark:
    measured = ", measured" if point.measured else ""
    said = f"{si(point.rate, 'FLOP/s')}, {ratio(point.intensity)} FLOP/byte{measured}"
    title = f"{look.unit} at {point.shape.shape}: {said}"
    return Mark(look, x_axis.at(point.intensity), y_axis.at(point.rate), title)


def _joined(marks: Sequence[Mark]) -> Iterator[Segment]:
    before: dict[str, Mark] = {}
    for mark in marks:
        last = before.get(mark.look.unit)
        if last is not None:
            yield Segment(last.x, last.y, mark.x, mark.y, mark.look.colour)
        before[mark.look.unit] = mark


def _arrows(path: Sequence[Mark]) -> Iterator[Segment]:
    for one, other in itertools.pairwise(path):
        across, down = other.x - one.x, other.y - one.y
        length = math.hypot(across, down)
        if length > 3 * _CLEAR:  # else there is no room for an arrow between the markers
            dx, dy = across / length * _CLEAR, down / length * _CLEAR
            yield Segment(
                round(one.x + dx, 1), round(one.y + dy, 1),
                round(other.x - dx, 1), round(other.y - dy, 1),
                other.look.colour,
            )  # fmt: skip


def _roofs(roofs: dict[str, float], x_axis: _Axis, y_axis: _Axis) -> Iterator[Segment]:
    dram, flat = roofs["dram"], roofs.get("fp32")
    start = max(x_axis.low, y_axis.low / dram)
    end = min(x_axis.high, (flat or y_axis.high) / dram)
    if end > start:
        middle = math.sqrt(start * end)
        yield Segment(
            x_axis.at(start), y_axis.at(start * dram), x_axis.at(end), y_axis.at(end * dram),
            label=f"DRAM {si(dram, 'byte/s')}",
            label_x=x_axis.at(middle) - 12, label_y=y_axis.at(middle * dram) - 8, anchor="end",
        )  # fmt: skip
    if flat is not None and end < x_axis.high:
        left, y = x_axis.at(max(end, x_axis.low)), y_axis.at(flat)
        yield Segment(
            left, y, x_axis.end, y,
            label=f"FP32 {si(flat, 'FLOP/s')}",
            label_x=x_axis.end - 4, label_y=y - 8, anchor="end",
        )  # fmt: skip
