"""An audited environment as JSON, and as annotations of a GitHub workflow."""

from __future__ import annotations

import json
from typing import Any

from kprof.annotations import workflow_command
from kprof.audit.verdict import Status
from kprof.doctor_result import CheckResult, DoctorReport
from kprof.doctor_words import fix_lines
from kprof.export import fields
from kprof.names import json_printable
from kprof.version import __version__

SCHEMA = "kprof.doctor/1"

_SHOWN: tuple[Status, ...] = ("error", "warning")  # which are workflow commands too


def to_dict(report: DoctorReport) -> dict[str, Any]:
    """Return the report as plain dicts, lists, numbers and strings, in the model's order."""
    return {"schema": SCHEMA, "kprof_version": __version__, **fields(report, "report")}


def to_json(report: DoctorReport) -> str:
    """Return the report as JSON text (``kprof.doctor/1``), ending in a newline."""
    text = json.dumps(to_dict(report), allow_nan=False, ensure_ascii=False, indent=1)
    return json_printable(text) + "\n"


def github(report: DoctorReport) -> str:
    """Return errors and warnings as workflow commands, the primary cause first."""
    found = [item for status in _SHOWN for item in report.of(status)]
    return "".join(f"{_annotation(item, report)}\n" for item in found)


def _annotation(item: CheckResult, report: DoctorReport) -> str:
    named = f"kprof doctor: {item.check}"
    title = f"{named} (primary cause)" if item.check == report.primary else named
    said = [item.message, *(fix_lines(item.remedy) if item.remedy else ())]
    return workflow_command(item.status, "\n".join(said), title=title)
