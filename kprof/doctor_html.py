"""An audited environment as one self-contained HTML page, readable without JavaScript."""

from __future__ import annotations

import json
import re
from typing import Any

from markupsafe import Markup, escape

from kprof import templating
from kprof.audit import Facts, moment
from kprof.audit.standing import machine_of, standing
from kprof.audit.verdict import Status
from kprof.doctor_matrix import machine_line, sections
from kprof.doctor_result import CheckResult, DoctorReport
from kprof.doctor_words import WHO, failures, headline, letter, machine, rest
from kprof.names import printable
from kprof.units import count
from kprof.version import __version__

FACTS = 400_000  # characters of the facts that the page shows; the snapshot has all

_ADDRESS = re.compile(r"https?://[\w./#?=&;%~+:@!-]+[\w/#]")


def render(report: DoctorReport) -> str:
    """Render an audit as HTML: complete in itself, the same bytes for the same report."""
    facts = Facts(report.facts)
    environment = templating.environment()
    environment.filters["linked"] = linked
    environment.filters["capitalize"] = capitalized
    return environment.get_template("doctor.html.j2").render(
        report=report,
        version=__version__,
        headline=headline(report),
        rest=rest(report),
        machine=machine(facts),
        moment=moment.shown(report.taken) if report.taken else None,
        who=WHO,
        letters=_letters(report),
        problems=[item for status in _PROBLEMS for item in report.of(status)],
        others=_others(report),
        facts=shown(report.facts),
        failures=failures(facts),
        versions=sections(standing(facts), every=True),
        standing=machine_line(machine_of(facts)),
    )


_PROBLEMS: tuple[Status, ...] = ("error", "warning")
_TITLES: tuple[tuple[Status, str], ...] = (
    ("unknown", "could not be judged: a fact is missing"),
    ("ok", "found nothing wrong"),
    ("skipped", "not applying here"),
)


def _letters(report: DoctorReport) -> list[tuple[CheckResult, str]]:
    found = [(item, letter(item, report)) for item in report.roots]
    return [(item, text) for item, text in found if text is not None]


def _others(report: DoctorReport) -> list[tuple[Status, str, tuple[CheckResult, ...]]]:
    return [
        (status, f"{count(len(items), 'check')} {title}", items)
        for status, title in _TITLES
        if (items := report.of(status))
    ]


def shown(facts: Any) -> str:
    """Return facts as JSON for reading: nothing that steers, and not without end."""
    text = json.dumps(facts, ensure_ascii=False, indent=1, allow_nan=False)
    cut = text if len(text) <= FACTS else f"{text[:FACTS]}\n… (cut here; the snapshot has all)"
    return "\n".join(printable(line) for line in cut.split("\n"))


def linked(text: str) -> Markup:
    """Escape a source and make its addresses links."""
    parts, last = [], 0
    for found in _ADDRESS.finditer(text):
        address = escape(found[0])
        parts += [
            escape(text[last : found.start()]),
            Markup('<a href="{0}">{0}</a>').format(address),
        ]
        last = found.end()
    return Markup("").join([*parts, escape(text[last:])])


def capitalized(text: str) -> str:
    """Return text with its first letter as at the start of a sentence, the rest as it is."""
    return text[:1].upper() + text[1:]
