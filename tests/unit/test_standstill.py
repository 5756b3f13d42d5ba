"""What is no use to try stands beside the verdict, in every output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kprof.html import render
from kprof.markdown import markdown
from kprof.model import KernelReport, Limiter, Occupancy, Report
from kprof.text import summary
from tests.page_parser import Page

OUTPUTS: dict[str, Callable[[Report], str]] = {
    "text": lambda report: summary(report, width=400),
    "markdown": lambda report: markdown([report]),
    "html": lambda report: Page(render(report)).visible,
}
every_output = pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)


def limited(report: Report, transpose: KernelReport, pct: float) -> Report:
    kernel = replace(
        transpose,
        bound="shared",
        limiter=Limiter("m", "shared", pct),
        occupancy=Occupancy(12.5, 12.0),
    )
    return replace(report, kernels=(kernel,))


@every_output
def test_a_unit_at_its_roof_leaves_nothing_else_to_try(
    output: Callable[[Report], str], report: Report, transpose: KernelReport
) -> None:
    said = output(limited(report, transpose, 94.0))
    assert "At the roof: only less work for shared memory helps." in said
    assert "Occupancy is enough here, at 12 %" in said


@every_output
def test_below_the_roof_nothing_is_said(
    output: Callable[[Report], str], report: Report, transpose: KernelReport
) -> None:
    said = output(limited(report, transpose, 70.0))
    assert "At the roof" not in said
    assert "enough here" not in said
