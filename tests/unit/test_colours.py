"""The style sheet's colours, measured: contrast, and what is left with deficient colour vision."""

from __future__ import annotations

import itertools
import re
from importlib.resources import files
from typing import get_args

import pytest

from kprof.markers import SHAPES, outline
from kprof.model import Bound

CSS = files("kprof.reports").joinpath("assets").joinpath("report.css").read_text("utf-8")
SCHEMES = ("light", "dark")
COLOURS = {
    name: dict(zip(SCHEMES, pair, strict=True))
    for name, *pair in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", CSS)
}
# Linear RGB as it is seen without one kind of cone: Machado, Oliveira and Fernandes 2009.
VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
TEXT, GRAPHIC = 4.5, 3.0  # WCAG 2.2, AA: contrast of text, and of parts of a figure
APART = 14.0  # CIE76 between two markers of one shape; about six times what the eye just sees


def linear(colour: str) -> list[float]:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def contrast(one: str, other: str) -> float:
    low, high = sorted(
        sum(c * w for c, w in zip(linear(x), (0.2126, 0.7152, 0.0722), strict=True))
        for x in (one, other)
    )
    return (high + 0.05) / (low + 0.05)


def seen(colour: str, vision: str) -> tuple[float, float, float]:
    """Return the colour in CIE L*a*b* as it is seen."""
    mixed = [sum(c * w for c, w in zip(linear(colour), row, strict=True)) for row in VISION[vision]]
    r, g, b = (min(1.0, max(0.0, c)) for c in mixed)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: str, other: str, vision: str) -> float:
    pairs = zip(seen(one, vision), seen(other, vision), strict=True)
    return float(sum((a - b) ** 2 for a, b in pairs) ** 0.5)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["ink", "muted", "accent", "high", "medium", "low", "info"])
@pytest.mark.parametrize("ground", ["bg", "panel", "inset", "warn-bg", "info-bg"])
def test_text_stands_out(name: str, ground: str, scheme: str) -> None:
    assert contrast(COLOURS[name][scheme], COLOURS[ground][scheme]) >= TEXT


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("bound", get_args(Bound))
def test_every_bound_has_a_colour_that_stands_out(bound: str, scheme: str) -> None:
    assert contrast(COLOURS[f"b-{bound}"][scheme], COLOURS["panel"][scheme]) >= GRAPHIC


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("vision", VISION)
def test_markers_of_one_shape_differ_for_every_eye(vision: str, scheme: str) -> None:
    alike = [
        (one, other, round(apart, 1))
        for one, other in itertools.combinations(get_args(Bound), 2)
        if SHAPES[one] == SHAPES[other]
        and (apart := distance(COLOURS[f"b-{one}"][scheme], COLOURS[f"b-{other}"][scheme], vision))
        < APART
    ]
    assert alike == []


@pytest.mark.parametrize("symbol", sorted(set(SHAPES.values())))
def test_an_outline_fills_its_radius_and_no_more(symbol: str) -> None:
    radii = [(x * x + y * y) ** 0.5 for x, y in outline(symbol, 100.0)]
    assert max(radii) == pytest.approx(100.0, abs=0.1)
    assert len(radii) >= 3
