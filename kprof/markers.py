"""Marker shapes of the roofline: with them no bound is told from another by colour alone."""

from __future__ import annotations

import math

# plotly's names. Bounds that share a shape differ in colour for every kind of colour vision; a
# test measures it against the style sheet.
SHAPES = {
    "dram": "circle",
    "l2": "circle",
    "l1": "square",
    "shared": "square",
    "fp64": "diamond",
    "issue": "diamond",
    "fp32": "triangle-up",
    "fp16": "triangle-down",
    "tensor": "star",
    "int": "pentagon",
    "xu": "pentagon",
    "latency": "x",
    "launch": "cross",
    "unknown": "cross",
    "balanced": "hexagon",
}

# Corners on the unit circle: how many, and where the first one stands (degrees, 0 is up).
_REGULAR = {
    "circle": (24, 0.0),
    "square": (4, 45.0),
    "diamond": (4, 0.0),
    "triangle-up": (3, 0.0),
    "triangle-down": (3, 180.0),
    "pentagon": (5, 0.0),
    "hexagon": (6, 0.0),
}
_ARM = 0.36  # half the width of a cross's arm
_WAIST = 0.45  # radius between two points of a star


def shape(bound: str) -> str:
    """Return the marker symbol of a bound, by plotly's name."""
    return SHAPES.get(bound, "circle")


def outline(symbol: str, radius: float) -> tuple[tuple[float, float], ...]:
    """Return the corners of a symbol around (0, 0) in px, y downwards as in SVG."""
    if symbol in _REGULAR:
        corners, start = _REGULAR[symbol]
        return tuple(_at(radius, start + 360.0 * corner / corners) for corner in range(corners))
    if symbol == "star":
        return tuple(_at(radius * (_WAIST if i % 2 else 1.0), 36.0 * i) for i in range(10))
    return _cross(radius, 45.0 if symbol == "x" else 0.0)


def _cross(radius: float, turn: float) -> tuple[tuple[float, float], ...]:
    width = math.degrees(math.atan(_ARM))
    inner = radius * _ARM * math.sqrt(2)
    corners = []
    for arm in range(4):
        up = turn + 90.0 * arm
        corners += [_at(radius, up - width), _at(radius, up + width), _at(inner, up + 45.0)]
    return tuple(corners)


def _at(radius: float, degrees: float) -> tuple[float, float]:
    angle = math.radians(degrees)
    return round(radius * math.sin(angle), 1), round(-radius * math.cos(angle), 1)
