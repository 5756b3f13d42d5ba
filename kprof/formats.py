"""The output formats by name, and one function that renders any of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kprof.errors import KprofError
from kprof.inputs import Failure
from kprof.model import Report

FORMATS = ("text", "html", "json", "csv", "parquet", "markdown", "sarif", "github")
BINARY = frozenset({"parquet"})


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be rendered.

    Attributes:
        reports: in the order of the inputs.
        failures: inputs that gave no report; only JSON has a place for them.
        several: whether more than one input was asked for, however many gave a report.
        width: columns, for text.
        color: terminal escapes, for text.
        verbose: as :func:`kprof.text.summary`.
        rules_dir: where else rules are documented, for SARIF.
    """

    reports: Sequence[Report]
    failures: Sequence[Failure] = ()
    several: bool = False
    width: int = 80
    color: bool = False
    verbose: int = 0
    rules_dir: Path | None = None


def render(name: str, job: Job) -> str | bytes:
    """Render in one of :data:`FORMATS`; bytes for those in :data:`BINARY`.

    Raises:
        KprofError: the format cannot hold this many reports, or lacks a package.
    """
    return _RENDERERS[name](job)


def _text(job: Job) -> str:
    from kprof.text import summary

    style = {"width": job.width, "color": job.color, "verbose": job.verbose}
    return "\n".join(summary(report, **style) for report in job.reports)  # type: ignore[arg-type]


def _html(job: Job) -> str:
    from kprof.html import render as page

    if job.several:
        raise KprofError("a page shows one report", hint="give -o a directory for several")
    return "".join(page(report) for report in job.reports)


def _json(job: Job) -> str:
    from kprof.export import reports_json, to_json

    if job.several or job.failures:
        return reports_json(job.reports, job.failures)
    return to_json(job.reports[0])


def _csv(job: Job) -> str:
    from kprof.export import to_csv

    return to_csv(job.reports)


def _parquet(job: Job) -> bytes:
    from kprof.export import to_parquet

    return to_parquet(job.reports)


def _markdown(job: Job) -> str:
    from kprof.markdown import markdown

    return markdown(job.reports)


def _sarif(job: Job) -> str:
    from kprof.annotations import sarif
    from kprof.rule import registry

    return sarif(job.reports, {rule.name: rule.doc for rule in registry(job.rules_dir)})


def _github(job: Job) -> str:
    from kprof.annotations import github

    return github(job.reports)


_RENDERERS: dict[str, Callable[[Job], str | bytes]] = {
    "text": _text,
    "html": _html,
    "json": _json,
    "csv": _csv,
    "parquet": _parquet,
    "markdown": _markdown,
    "sarif": _sarif,
    "github": _github,
}
