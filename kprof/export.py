"""A report as JSON, CSV, Parquet or a pandas frame: for other programs.

The JSON is the model itself, field by field (docs/json.md); nothing is computed here.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from kprof.inputs import Failure
from kprof.model import Report
from kprof.version import __version__

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "kprof.report/1"
SEVERAL = "kprof.reports/1"


def to_dict(report: Report) -> dict[str, Any]:
    """Return the report as plain dicts, lists, numbers and strings, in the model's order.

    An absent value is None. Two calls on equal reports give equal results.

    Raises:
        ValueError: a number is NaN or infinite, which no part of kprof may produce; the message
            names the field.
    """
    head = {"schema": SCHEMA, "kprof_version": __version__}
    return {**head, **fields(report, "report")}


def to_json(report: Report) -> str:
    """Return the report as JSON text (``kprof.report/1``), ending in a newline.

    Raises:
        ValueError: as :func:`to_dict`.
    """
    return _dumps(to_dict(report))


def reports_json(reports: Sequence[Report], errors: Sequence[Failure]) -> str:
    """Return several reports and the inputs that failed as JSON text (``kprof.reports/1``).

    Raises:
        ValueError: as :func:`to_dict`.
    """
    listed = [to_dict(report) for report in reports]
    failed = [fields(error, "error") for error in errors]
    return _dumps({"schema": SEVERAL, "reports": listed, "errors": failed})


def to_frame(report: Report | Sequence[Report]) -> pd.DataFrame:
    """Return one row per kernel as a pandas frame; units stand in the column names.

    Absent numbers are NaN (``<NA>`` for whole numbers), absent text is missing.
    """
    from kprof.frame import frame

    return frame(_several(report))


def to_csv(report: Report | Sequence[Report]) -> str:
    """Return the rows of :func:`to_frame` as CSV; an absent value is an empty cell."""
    from kprof.frame import csv_text

    return csv_text(_several(report))


def to_parquet(report: Report | Sequence[Report]) -> bytes:
    """Return the rows of :func:`to_frame` as a Parquet file.

    Raises:
        KprofError: pyarrow is not installed.
    """
    from kprof.frame import parquet_bytes

    return parquet_bytes(_several(report))


def _several(report: Report | Sequence[Report]) -> Sequence[Report]:
    return (report,) if isinstance(report, Report) else report


def _dumps(value: object) -> str:
    return _written(value, "\n") + "\n"


def _written(value: Any, margin: str) -> str:
    """Return what ``json.dumps(value, ensure_ascii=False, indent=1)`` does, in half the time.

    With an indent, that one goes over every value in Python, through four generators.
    """
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    inner = margin + " "
    comma = "," + inner
    if isinstance(value, dict):
        items = [f"{_quoted(key)}: {_written(item, inner)}" for key, item in value.items()]
        return f"{{{inner}{comma.join(items)}{margin}}}" if items else "{}"
    if isinstance(value, list):
        items = [_written(item, inner) for item in value]
        return f"[{inner}{comma.join(items)}{margin}]" if items else "[]"
    return int.__repr__(value)


_quoted = json.JSONEncoder(ensure_ascii=False).encode
_WORDS = {None: "null", True: "true", False: "false"}


def _plain(value: object, where: str, step: str = "") -> Any:
    # The place of a value is put together for containers only: most values hold nothing.
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where}{step} is {value}")
        return value
    if isinstance(value, str):
        return _text(value)
    where += step
    if isinstance(value, Mapping):
        return {_text(str(key)): _plain(item, where, f".{key}") for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_plain(item, where, f"[{place}]") for place, item in enumerate(value)]
    return fields(value, where)


def fields(value: Any, where: str) -> dict[str, Any]:
    """Return a dataclass as plain dicts, lists, numbers and strings, field by field.

    Args:
        value: an instance.
        where: its name, for the message about a number that is none.

    Raises:
        ValueError: a number is NaN or infinite.
    """
    # By hand rather than dataclasses.asdict: that keeps tuples and copies every leaf.
    kind: Any = type(value)
    return {name: _plain(getattr(value, name), where, step) for name, step in _names(kind)}


@cache
def _names(kind: type[Any]) -> tuple[tuple[str, str], ...]:
    """Return the fields of a dataclass: their names, and as steps of a place."""
    return tuple((field.name, f".{field.name}") for field in dataclasses.fields(kind))


def _text(value: str) -> str:
    """Return text that encodes as UTF-8: a path of other bytes holds lone surrogates."""
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
