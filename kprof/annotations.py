"""Findings for code hosts: SARIF 2.1.0 for code scanning, and GitHub workflow commands."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kprof.model import Finding, KernelReport, Report, Spot
from kprof.names import short
from kprof.own_code import own
from kprof.units import quantity
from kprof.version import __version__
from kprof.words import gain

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
NAME_WIDTH = 80

_LEVELS = {"high": "warning", "medium": "warning", "low": "note", "info": "note"}
_COMMANDS = {"high": "warning", "medium": "warning", "low": "notice", "info": "notice"}


def sarif(reports: Sequence[Report], docs: Mapping[str, str]) -> str:
    """Return the findings as a SARIF 2.1.0 log with one run.

    Paths below the working directory are relative to it, as code scanning expects. Findings
    without a source line point at the report file itself.

    Args:
        reports: what was diagnosed.
        docs: rule name to its documentation in Markdown.
    """
    found = [
        (report, kernel, finding)
        for report in reports
        for kernel, findings in _by_kernel(report)
        for finding in findings
    ]
    names = sorted({finding.rule for _, _, finding in found})
    driver = {
        "name": "kprof",
        "version": __version__,
        "rules": [_rule(name, docs.get(name, "")) for name in names],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(reports)],
        "results": [_result(*item, names.index(item[2].rule)) for item in found],
        "columnKind": "unicodeCodePoints",
    }
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, allow_nan=False, ensure_ascii=False, indent=1) + "\n"


def github(reports: Sequence[Report]) -> str:
    """Return the findings as GitHub workflow commands, one ``::warning …`` line each."""
    lines = [
        _command(kernel, finding)
        for report in reports
        for kernel, findings in _by_kernel(report)
        for finding in findings
    ]
    return "".join(line + "\n" for line in lines)


def _by_kernel(
    report: Report,
) -> Iterator[tuple[KernelReport | None, Sequence[Finding]]]:
    yield from ((kernel, kernel.findings) for kernel in report.kernels)
    yield None, report.findings


def _rule(name: str, doc: str) -> dict[str, Any]:
    words = name.replace("-", " ").capitalize()
    lines = [line for line in doc.splitlines() if line and not line.startswith("#")]
    return {
        "id": name,
        "shortDescription": {"text": words},
        "fullDescription": {"text": lines[0] if lines else words},
        "help": {"text": doc or words, "markdown": doc or words},
    }


def _invocation(reports: Sequence[Report]) -> dict[str, Any]:
    notes = [note for report in reports for note in report.notes]
    told = [{"level": "warning", "message": {"text": note}} for note in notes]
    return {"executionSuccessful": True, "toolExecutionNotifications": told}


def _result(
    report: Report, kernel: KernelReport | None, finding: Finding, index: int
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(kernel, finding)},
        "locations": [_location(report, finding)],
        "properties": {"severity": finding.severity, "confidence": finding.confidence},
    }
    if kernel is not None:
        result["properties"]["kernel"] = kernel.demangled
        result["partialFingerprints"] = {"kprof/v1": f"{finding.rule}:{kernel.demangled}"}
    return result


def _location(report: Report, finding: Finding) -> dict[str, Any]:
    spot = _first_line(finding)
    file = spot.file if spot else report.source.path
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(file)}}
    if spot is not None:
        physical["region"] = {"startLine": spot.line}
    return {"physicalLocation": physical}


def _first_line(finding: Finding) -> Spot | None:
    """Return the line the headline names: one that can be changed, not a line of CUDA's headers."""
    spots = (own(place) for place in finding.source)
    return next((spot for spot in spots if spot and spot.line > 0), None)


def _relative(file: str) -> str:
    """Return the path from the working directory when it lies below it."""
    path = Path(os.path.normpath(file))
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()


def _uri(file: str) -> str:
    relative = quote(os.fsencode(_relative(file)), safe="/:")
    return f"file://{relative}" if relative.startswith("/") else relative


def _message(kernel: KernelReport | None, finding: Finding) -> str:
    name = f"{short(kernel.demangled or kernel.name, NAME_WIDTH)}: " if kernel else ""
    parts = [f"{name}{finding.headline}", finding.detail]
    if finding.evidence:
        numbers = (f"{e.metric} {quantity(e.value, e.unit)}" for e in finding.evidence)
        parts.append(f"Evidence: {'; '.join(numbers)}.")
    if finding.estimated_speedup is not None:
        parts.append(f"Fixing it: {gain(finding.estimated_speedup)}.")
    parts.extend(finding.advice[:1])
    return "\n".join(part for part in parts if part)


def _command(kernel: KernelReport | None, finding: Finding) -> str:
    spot = _first_line(finding)
    properties = {"title": f"kprof: {finding.rule}"}
    if spot is not None:
        properties = {"file": _relative(spot.file), "line": str(spot.line)} | properties
    return workflow_command(_COMMANDS[finding.severity], _message(kernel, finding), **properties)


def workflow_command(command: str, text: str, **properties: str) -> str:
    """Return a workflow command that GitHub shows as an annotation: ``::warning title=…::text``."""
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{command} {listed}::{_data(text)}"


def _data(text: str) -> str:
    # The runner's own encoding: percent first, or it would encode the others twice.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
