"""The interactive roofline as a plotly figure, and plotly's own script packed for the page.

A figure is data alone: colours are names of CSS variables that the page's script looks up, so
that one figure serves light and dark.
"""

from __future__ import annotations

import base64
import gzip
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from kprof.markers import shape
from kprof.model import KernelReport
from kprof.names import short
from kprof.plane import LEVELS, Plane, Point, Roof, plain, powers
from kprof.units import percent, share, si
from kprof.words import bound_label

SMALLEST_MARKER, MARKER_SPAN = 11, 25  # px; the area grows with the share of time


@dataclass(frozen=True, slots=True)
class PlotlyScript:
    """plotly.min.js for embedding.

    Attributes:
        licence: its copyright notice.
        packed: the script, gzip then base64: 2.0 MB in place of 4.8 MB.
    """

    licence: str
    packed: str


@cache
def plotly_script() -> PlotlyScript:
    """Return plotly's script from the installed package, compressed the same way every time."""
    from plotly.offline import get_plotlyjs

    source: str = get_plotlyjs()
    licence = " ".join(line.strip("/* ") for line in source[:400].split("*/")[0].splitlines())
    packed = gzip.compress(source.encode(), compresslevel=9, mtime=0)
    return PlotlyScript(licence.strip(), base64.b64encode(packed).decode("ascii"))


def roofline_figure(plane: Plane) -> dict[str, Any]:
    """Draw a roofline: slopes, flat roofs, one marker per kernel.

    ``meta`` of a trace says what it is; ``meta.x`` holds its x values at each memory level, for
    the page's level switch.
    """
    slopes = [_slope(plane, level, roof) for level, roof in plane.bandwidths.items()]
    flats = [_flat(plane, roof) for roof in plane.arithmetic]
    bounds = dict.fromkeys(point.entry.kernel.bound for point in plane.points)
    markers = [
        _markers(plane, bound, [p for p in plane.points if p.entry.kernel.bound == bound])
        for bound in bounds
    ]
    return {
        "data": slopes + flats + markers,
        "layout": _layout(plane),
        "level": plane.level,
        "levels": list(plane.levels),
    }


def _rounded(value: float) -> float:
    return float(f"{value:.5g}")


def _slope(plane: Plane, level: str, roof: Roof) -> dict[str, Any]:
    left, right = plane.x_range
    top = max([flat.value for flat in plane.arithmetic], default=plane.y_range[1])
    ridge = min(max(top / roof.value, left), right)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [_rounded(left), _rounded(ridge)],
        "y": [_rounded(left * roof.value), _rounded(ridge * roof.value)],
        "name": f"{roof.label} {si(roof.value, roof.unit)}",
        "hoverinfo": "name",
        "showlegend": False,
        "meta": {"kind": "slope", "level": level, "label": f"{roof.label}  {si(roof.value, roof.unit)}"},
    }  # fmt: skip


def _flat(plane: Plane, roof: Roof) -> dict[str, Any]:
    left, right = plane.x_range
    starts = {
        level: max(left, roof.value / slope.value) for level, slope in plane.bandwidths.items()
    }
    x = {level: [_rounded(starts.get(level, left)), _rounded(right)] for level in LEVELS}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x[plane.level],
        "y": [_rounded(roof.value)] * 2,
        "name": f"{roof.label} {si(roof.value, roof.unit)}",
        "hoverinfo": "name",
        "showlegend": False,
        "meta": {
            "kind": "flat", "used": roof.used, "x": x,
            "label": f"{roof.label}  {si(roof.value, roof.unit)}",
        },
    }  # fmt: skip


def _markers(plane: Plane, bound: str, points: Sequence[Point]) -> dict[str, Any]:
    x = {
        level: [_rounded(p.intensity[level]) if level in p.intensity else None for p in points]
        for level in LEVELS
    }
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x[plane.level],
        "y": [_rounded(point.flops_per_s) for point in points],
        "name": bound_label(bound),
        "text": [_hover(point) for point in points],
        "customdata": [point.entry.kernel.index for point in points],
        "hovertemplate": "%{text}<br>%{x:.3~g} FLOP/B<extra></extra>",
        "marker": {
            "size": [marker_size(point) for point in points],
            "symbol": [_symbol(point) for point in points],
            "opacity": 0.82,
            "line": {"width": 1.2},
        },
        "meta": {
            "kind": "kernels",
            "bound": bound,
            "x": x,
            "narrow": [_narrow_hover(point) for point in points],
        },
    }


def _symbol(point: Point) -> str:
    return shape(point.entry.kernel.bound) + ("-open" if point.doubtful else "")


def marker_size(point: Point) -> float:
    """Return a marker's diameter in px."""
    return round(SMALLEST_MARKER + MARKER_SPAN * math.sqrt(point.entry.share or 0.0), 1)


def _hover(point: Point) -> str:
    kernel = point.entry.kernel
    doubt = "<br>above its roof: read with care" if point.doubtful else ""
    return (
        f"{_title(kernel, 60)}<br>{timed(kernel)}, {share(point.entry.share)} of GPU time"
        f"<br>{bound_label(kernel.bound)}, {_of_roof(kernel)}<br>{si(point.flops_per_s, 'FLOP/s')}{doubt}"
    )


def timed(kernel: KernelReport) -> str:
    """Return a marker's duration; one measured in depth is not what the program takes."""
    return si(kernel.duration_s, "s") + ("" if kernel.total_s is None else " in depth")


def _narrow_hover(point: Point) -> str:
    """Say less, in lines short enough for half a phone's width."""
    kernel = point.entry.kernel
    doubt = "<br>above its roof" if point.doubtful else ""
    return (
        f"{_title(kernel, 15)}<br>{timed(kernel)}<br>{bound_label(kernel.bound)}"
        f"<br>{_of_roof(kernel)}<br>{si(point.flops_per_s, 'FLOP/s')}{doubt}"
    )


def _title(kernel: KernelReport, width: int) -> str:
    # plotly reads a little HTML in hover text: the name must not be taken for markup.
    name = short(kernel.demangled or kernel.name, width)
    name = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<b>#{kernel.index} {name}</b>"


def _of_roof(kernel: KernelReport) -> str:
    return f"{percent(kernel.roofline.roof_pct if kernel.roofline else None)} of its roof"


def _layout(plane: Plane) -> dict[str, Any]:
    axis = {"type": "log", "zeroline": False, "ticks": "", "ticklabelstandoff": 5}
    return {
        "xaxis": {
            **axis,
            **_ticks(plane.x_range),
            "title": {"text": "Arithmetic intensity (FLOP/byte)"},
            "range": _log_range(plane.x_range),
        },
        "yaxis": {**axis, **_ticks(plane.y_range), "title": {"text": "FLOP/s"}, "range": _log_range(plane.y_range)},
        "margin": {"l": 64, "r": 16, "t": 12, "b": 52},
        "hovermode": "closest",
        "dragmode": "pan",
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "itemsizing": "constant"},
    }  # fmt: skip


def _log_range(ends: tuple[float, float]) -> list[float]:

    return [round(math.log10(end), 4) for end in ends]


def _ticks(ends: tuple[float, float]) -> dict[str, Any]:
    values = powers(ends)
    return {"tickvals": values, "ticktext": [plain(value) for value in values]}
