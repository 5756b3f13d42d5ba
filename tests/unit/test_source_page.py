"""What the source views on a page are made of."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kprof.curve_sketch import curve_sketches
from kprof.html import render
from kprof.model import Heat, Occupancy, OccupancyCurve, Place, SourceView, Spot
from kprof.own_code import named, own
from kprof.source_page import COLUMNS, LINE_INFO, column, columns, nothing, packed, top_rows
from tests.source_fixture import BARE, LONG_REPORT, MAIN, SMALL, SOURCES

MMA = "/usr/local/cuda/targets/x86_64-linux/include/crt/mma.hpp"
DOCS = Path(__file__).resolve().parents[2] / "docs" / "source.md"


def unpacked(text: str | None) -> Any:
    assert text is not None
    return json.loads(gzip.decompress(base64.b64decode(text)))


def test_texts_code_and_chains_are_there_once() -> None:
    twice = replace(SOURCES.kernels[0], index=7)
    one = unpacked(packed(SOURCES, SOURCES.kernels[:1]))
    two = unpacked(packed(SOURCES, (SOURCES.kernels[0], twice)))
    assert set(two["kernels"]) == {"0", "7"}
    assert [two[name] for name in ("files", "codes", "chains")] == [
        one[name] for name in ("files", "codes", "chains")
    ]
    assert len(two["chains"]) == 1
    assert len(two["codes"]) == 1


def test_without_any_view_there_is_no_data() -> None:
    assert packed(SOURCES, SOURCES.kernels[2:]) is None
    assert "source-packed" not in render(replace(SOURCES, kernels=SOURCES.kernels[2:]))


def test_the_page_is_the_same_every_time() -> None:
    assert render(SOURCES) == render(SOURCES)


def test_unknown_is_neither_shown_nor_called_zero() -> None:
    assert "excess_wavefronts" not in {*columns(SMALL), *nothing(SMALL)}
    assert nothing(SMALL) == ("local_sectors",)
    assert set(columns(SMALL)) == {"samples", "stalled", "excess_sectors", "executed", "active_threads"}  # fmt: skip
    assert column(Heat(), "stalled") is None


def test_hostile_text_cannot_leave_its_element() -> None:
    page = render(SOURCES)
    (inside,) = re.findall(r'id="source-packed">([^<]*)</script>', page)
    assert unpacked(inside)["files"]
    assert "window.pwned = 1</script>" not in page


def test_rows_without_scripts_are_the_costliest() -> None:
    assert [row.line for row in top_rows(SMALL)] == [2, 5, 2]
    samples = [row.heat.samples or 0.0 for row in top_rows(BARE)]
    assert samples == sorted(samples, reverse=True)
    assert len(samples) == 12
    assert top_rows(SourceView()) == []


def test_twelve_thousand_instructions_take_little_room() -> None:
    assert len(packed(LONG_REPORT, LONG_REPORT.kernels) or "") < 250_000


def test_the_documentation_has_every_column_and_toolchain() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for title, _ in COLUMNS.values():
        assert f"| {title} |" in text
    for _, how in LINE_INFO:
        assert all(code in text for code in re.findall(r"`([^`]+)`", how) if code != "-G")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (Place("/x/a.cu", 3, None, None, 1.0), "a.cu:3"),
        (Place(MMA, 634, None, None, 1.0, (Spot(MMA, 634), Spot("/x/a.cu", 44))), "a.cu:44 (mma.hpp:634)"),
        (Place(MMA, 634, None, None, 1.0), "mma.hpp:634"),
        # Counted at the call: what lies deeper is no name for it.
        (Place("/x/a.cu", 44, None, None, 1.0, (Spot("/x/b.cuh", 2), Spot("/x/a.cu", 44))), "a.cu:44"),
        # A user's folder whose name begins like the toolkit's.
        (Place("/usr/local/cuda-samples/a.cu", 7, None, None, 1.0, (Spot("/usr/local/cuda-samples/a.cu", 7), Spot("/x/b.cu", 9))), "a.cu:7"),
        (Place(None, None, "NOP", 16, 1.0), ""),
    ],
)  # fmt: skip
def test_the_line_that_can_be_changed_is_named_first(place: Place, said: str) -> None:
    assert named(place) == said


def test_code_of_the_toolkit_alone_keeps_its_own_line() -> None:
    inner, outer = Spot(MMA, 1), Spot("/usr/include/x.h", 2)
    assert own(Place(MMA, 1, None, None, 1.0, (inner, outer))) == inner


def test_a_curve_marks_the_launch_or_says_that_it_is_unknown() -> None:
    (known,) = curve_sketches(SOURCES.kernels[0].occupancy)
    assert known.here is not None
    assert known.said == "this launch: 40 registers per thread, 48 warps per SM"
    points = [tuple(map(int, point.split(","))) for point in known.path.split()]
    assert points[0][1] == points[1][1] < points[-1][1]
    flat = OccupancyCurve("registers", "register/thread", ((0.0, 0.0), (8.0, 0.0)))
    (unknown,) = curve_sketches(Occupancy(curves=(flat,)))
    assert unknown.here is None
    assert "unknown" in unknown.said


def test_an_entry_is_linked_where_it_can_be_shown() -> None:
    page = render(SOURCES)
    assert f'data-file="{MAIN}" data-line="5"' in page
    assert "inlined: " in page
