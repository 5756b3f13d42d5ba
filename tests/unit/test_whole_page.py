"""The page of a whole program: what was measured in depth among all that was timed."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from kprof.html import REST_ROWS, render
from kprof.model import Bound
from tests.page_parser import Page
from tests.report_fixture import REPORT, TRANSPOSE, WHOLE, surveyed, timed

SURVEY = WHOLE.collection.survey
assert SURVEY is not None
CUT_OFF = replace(
    WHOLE,
    collection=replace(
        WHOLE.collection, depth="survey", survey=replace(SURVEY, complete=False, in_depth=0)
    ),
    kernels=tuple(timed(index, f"k{index}", 2, 1e-3, None) for index in range(3)),
)


@pytest.fixture(scope="module")
def html() -> str:
    return render(WHOLE)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_the_program_is_said_before_everything_else(page: Page) -> None:
    top = page.visible[: page.visible.index("Where the GPU time goes")]
    assert "1,831 launches of 6 kernels, 40.5 ms of GPU time; 2 kernels measured in depth" in top
    assert "every launch timed first, one by one, then depth standard, replay kernel" in top
    assert "GPU time 40.5 ms of all launches, as the survey timed them" in page.visible
    assert "Kernels 6 1,831 launches; 2 profiled in depth" in page.visible


def test_only_what_was_measured_has_a_section(html: str) -> None:
    assert re.findall(r'data-kernel="(\d+)"', html) == ["0", "1"]


def test_the_ranked_table_has_launches_and_the_share_of_the_program(page: Page) -> None:
    text = page.visible[page.visible.index("Kernels by GPU time") :]
    ranked = text[: text.index("Roofline")]
    assert "Launches Time" in ranked
    assert re.search(r"94 % of all wavefronts are excess\. 40 16\.0 ms 39\.5 % Shared", ranked)
    assert "Not in this table: 4 kernels (1,731 launches, 35.8 % of GPU time)" in ranked
    assert "tried_matmul" not in ranked


def test_without_a_survey_launches_stay_beside_the_time() -> None:
    text = Page(render(REPORT)).visible
    assert "3 launches" in text
    assert not re.search(r"Launches Time|Not profiled in depth|Not in depth", text)


def test_what_was_left_out_is_one_table_with_why(html: str, page: Page) -> None:
    text = page.visible[page.visible.rindex("Not profiled in depth") :]
    assert text.index("launched in a search for the best configuration") < text.index("chosen, but")
    rows = [
        "2 tried_matmul 600 8.50 ms 21.0 % 12.8 µs autotuning",
        "3 gone_softmax 30 5.00 ms 12.3 % 150 µs not reached",
        "4 small_scale 1,100 900 µs 2.2 % 736 ns smaller share",
        "5 small_copy 1 100 µs 0.2 % 90.0 µs smaller share",
    ]
    places = [text.index(row) for row in rows]
    assert places == sorted(places)
    assert 'title="void tried_matmul(float *), grid 64 × 1 × 1, block 128 × 1 × 1"' in html
    assert "unknown" not in text


def test_one_reason_for_all_needs_no_column() -> None:
    text = Page(render(surveyed(3))).visible
    assert "smaller shares than those chosen" in text
    assert "Left out" not in text


def test_time_nobody_looked_into_is_no_unknown_limit(page: Page) -> None:
    split = page.visible[page.visible.index("GPU time by what limits it") :][:150]
    assert "Not profiled in depth 35.8 %" in split
    assert "Unknown" not in page.visible


def test_the_roofline_counts_them_in_one_line(html: str, page: Page) -> None:
    assert "Not on the chart: 4 kernels (1,731 launches, 35.8 % of GPU time)" in page.visible
    assert "tried_matmul</a>" not in html
    assert page.visible.count("because its duration is not in the report") == 0


def test_every_link_leads_somewhere() -> None:
    finding = replace(TRANSPOSE.findings[0], rule="fusion-candidate", kernels=(0, 3, 900))
    for report in (WHOLE, surveyed(REST_ROWS + 700), CUT_OFF):
        known = {kernel.index for kernel in report.kernels}
        linked = replace(finding, kernels=tuple(i for i in finding.kernels if i in known))
        page = Page(render(replace(report, findings=(linked,))))
        assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
        assert set(page.ids.values()) == {1}
        assert page.open == []


def test_durations_are_told_apart(page: Page) -> None:
    assert (
        "Duration in depth one launch, caches flushed 413 µs In the program average launch "
        "400 µs All 40 launches 16.0 ms" in page.visible
    )
    once = replace(WHOLE.kernels[0], launches=1, total_s=4e-4)
    text = Page(render(replace(WHOLE, kernels=(once, *WHOLE.kernels[1:])))).visible
    assert "In the program its only launch 400 µs Grid" in text


def test_a_marker_names_the_duration_it_shows(html: str) -> None:
    data = re.search(r'id="kprof-data">(.*?)</script>', html)
    assert data is not None
    traces = json.loads(data[1])["rooflines"]["0"]["data"]
    (hover,) = [text for trace in traces if trace["meta"]["kind"] == "kernels" for text in trace["text"]]  # fmt: skip
    assert "191 µs in depth, 24.7 % of GPU time" in hover
    assert "vector_add: 191 µs in depth, 351 GFLOP/s" in Page(html).visible


def test_a_survey_alone_is_a_page_without_empty_parts() -> None:
    text = Page(render(CUT_OFF)).visible
    assert "Not the whole program. The survey was cut off after 1,831 launches" in text
    assert "At least 1,831 launches of 6 kernels" in text
    assert "Findings unknown no kernel was profiled in depth" in text
    assert "Kernels by GPU time" not in text
    assert "Unfold all" not in text
    assert "Roofline" not in text
    assert "only durations were recorded ( kprof profile measures what limits them)" in text


def test_launches_of_a_surveys_report_stand_together() -> None:
    launches = tuple(replace(timed(index, f"k{index % 4}", 1, 1e-3, None), total_s=None)
                     for index in range(300))  # fmt: skip
    report = replace(REPORT, collection=replace(REPORT.collection, depth="survey"))
    text = Page(render(replace(report, kernels=launches))).visible
    assert "Kernels 300 shown as 4 entries" in text
    assert "0 k0 75 67.5 ms 25.0 % 900 µs" in text
    assert "Longest launch" in text


def test_a_rule_that_a_duration_is_enough_for_is_not_lost() -> None:
    found = replace(timed(0, "tiny", 9, 1e-4, None), findings=TRANSPOSE.findings, bound="unknown")
    text = Page(render(replace(CUT_OFF, kernels=(found, *CUT_OFF.kernels[1:])))).visible
    assert "Pad the tile by one column" in text
    assert "Not profiled in depth: only its duration is known." in text


@pytest.mark.parametrize("mode", ["application", "range", "app-range"])
def test_another_replay_says_what_it_means(mode: str) -> None:
    collection = replace(REPORT.collection, replay_mode=mode)
    text = Page(render(replace(REPORT, collection=collection))).visible
    assert f"replay {mode}: " in text
    assert "replay kernel:" not in Page(render(REPORT)).visible


def test_thousands_of_small_kernels_keep_the_page_small() -> None:
    report = surveyed(9_000)
    html = render(report)
    assert len(html.encode()) < 6_000_000
    assert html.count('<tr id="k') == REST_ROWS
    assert "8,700 more with still less time are in the JSON report." in Page(html).visible


@pytest.mark.parametrize("bound", ["unknown", "dram"])
def test_a_kernel_in_depth_keeps_its_bound(bound: Bound) -> None:
    kernel = replace(WHOLE.kernels[1], bound=bound)
    text = Page(render(replace(WHOLE, kernels=(kernel,)))).visible
    assert ("Unknown 100.0 %" in text) is (bound == "unknown")


def test_two_renders_are_the_same_bytes(html: str) -> None:
    assert render(replace(WHOLE)) == html
