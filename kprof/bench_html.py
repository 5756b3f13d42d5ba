"""A bench as one self-contained HTML page, readable without JavaScript."""

from __future__ import annotations

from kprof import templating, units
from kprof.bench.result import Bench
from kprof.bench_figures import looks, roofline, time_over_size
from kprof.bench_text import (
    HEADS,
    REASONS,
    cells,
    checked,
    conditions,
    counted,
    head,
    reason,
    remarks,
    word,
)
from kprof.names import short
from kprof.version import __version__

_KERNEL = 80  # characters of a kernel's name


def render(bench: Bench) -> str:
    """Render a bench as HTML: complete in itself, the same bytes for the same bench."""
    environment = templating.environment()
    environment.filters |= {
        "si": units.si,
        "cells": cells,
        "remarks": lambda shape: remarks(shape, bench.conditions),
        "word": word,
        "checked": checked,
        "counted": counted,
        "short": lambda name: short(name, _KERNEL),
    }
    return environment.get_template("bench.html.j2").render(
        bench=bench,
        version=__version__,
        head=head(bench),
        conditions=conditions(bench),
        heads=HEADS,
        reasons=REASONS,
        reason=reason,
        looks=tuple(looks(bench).values()),
        charts=[
            (title, chart)
            for title, chart in (
                ("Time over size", time_over_size(bench)),
                ("Roofline", roofline(bench)),
            )
            if chart is not None
        ],
    )
