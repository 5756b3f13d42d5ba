"""A bench as JSON and CSV, for other programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from kprof.bench.result import Bench, ShapeResult, UnitResult
from kprof.export import fields
from kprof.names import json_printable
from kprof.version import __version__

SCHEMA = "kprof.bench/1"

_TIMED = (
    "method", "cold", "runs", "min_s", "p50_s", "p95_s", "spread", "bytes_per_s", "flops_per_s",
    "roof", "roof_pct", "copy_pct",
)  # fmt: skip
_COMPARED = ("against", "speedup", "low", "high", "noise", "verdict")
_WHY = (
    "kernel", "memory_pct", "compute_pct", "occupancy_pct", "wavefront_excess_pct", "bound",
    "finding", "headline",
)  # fmt: skip


def to_dict(bench: Bench) -> dict[str, Any]:
    """Return the bench as plain dicts, lists, numbers and strings, in the model's order."""
    return {"schema": SCHEMA, "kprof_version": __version__, **fields(bench, "bench")}


def to_json(bench: Bench) -> str:
    """Return the bench as JSON text (``kprof.bench/1``), ending in a newline."""
    text = json.dumps(to_dict(bench), allow_nan=False, ensure_ascii=False, indent=1)
    return json_printable(text) + "\n"


def to_csv(bench: Bench) -> str:
    """Return one row per shape and unit; an absent value is an empty cell, units stand in names."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["target", "device", "shape", "bytes", "flops", "copy_s", "unit", "variant", "status",
         "message", *_TIMED, *_COMPARED, *_WHY]
    )  # fmt: skip
    for shape in bench.shapes:
        writer.writerows(_rows(bench, shape))
    return out.getvalue()


def _rows(bench: Bench, shape: ShapeResult) -> Iterator[list[Any]]:
    for unit in shape.units:
        yield [
            bench.target, bench.device.name, shape.shape, shape.bytes, shape.flops, shape.copy_s,
            unit.unit, unit.variant, unit.status, unit.message, *_values(unit),
        ]  # fmt: skip


def _values(unit: UnitResult) -> Iterator[Any]:
    compared = unit.timing.comparison if unit.timing else None
    for part, names in ((unit.timing, _TIMED), (compared, _COMPARED), (unit.why, _WHY)):
        yield from (None if part is None else getattr(part, name) for name in names)
