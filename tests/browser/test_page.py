"""The page in a real browser, cut off from every network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kprof.html import TABLE_ROWS, render
from tests.report_fixture import BARE, PARTIAL, REPORT, WHOLE, many, surveyed
from tests.visiting import CHROMIUM, MEASURE, Visitor

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    reports = {
        "full": REPORT, "bare": BARE, "many": many(2100, 400), "partial": PARTIAL, "whole": WHOLE,
        "surveyed": surveyed(60), "timed": replace(WHOLE, kernels=WHOLE.kernels[2:]),
    }  # fmt: skip
    for name, report in reports.items():
        (folder / f"{name}.html").write_text(render(report), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in reports}


@pytest.fixture
def visit(browser: Any, files: dict[str, Path]) -> Iterator[Visitor]:
    visitor = Visitor(browser, files)
    yield visitor
    visitor.leave()


def xs(page: Any) -> list[float]:
    return page.evaluate(  # type: ignore[no-any-return]
        "document.querySelector('.plot').data.filter(t => t.meta.kind === 'kernels').flatMap(t => t.x)"
    )


def test_it_opens_quietly_and_asks_for_nothing(visit: Any) -> None:
    seen = visit()
    page = seen.drawn()
    assert page.locator(".plot .scatterlayer .points path").count() == 3
    assert page.evaluate("window.pwned") is None
    assert seen.quiet(), (seen.complaints, seen.requests)


def test_clicking_a_marker_opens_its_kernel(visit: Any) -> None:
    seen = visit()
    page = seen.drawn()
    kernel = page.locator('.kernel[data-kernel="2"]')
    assert kernel.get_attribute("open") is None
    names = page.evaluate("document.querySelector('.plot').data.map(t => t.name)")
    place = [name for name in names if name in {"Tensor cores", "DRAM", "Latency"}].index("Latency")
    page.locator(".plot").scroll_into_view_if_needed()
    box = page.locator(".plot .scatterlayer .points path").nth(place).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    page.wait_for_selector(".hoverlayer .hovertext")
    assert "depthwise_conv3x3_naive<float, 3>" in page.locator(".hoverlayer").text_content()
    page.mouse.down()
    page.mouse.up()
    page.wait_for_selector('.kernel.chosen[data-kernel="2"][open]')
    assert page.url.endswith("#k2")
    assert kernel.locator(".body").bounding_box()["y"] < 900
    assert seen.quiet(), seen.complaints


def test_the_level_switch_moves_the_markers(visit: Any) -> None:
    page = visit().drawn()
    before = xs(page)
    page.get_by_text("L2", exact=True).first.click()
    page.wait_for_function("document.querySelector('.plot').layout.xaxis.title.text.includes('L2')")
    after = xs(page)
    assert before != after
    assert 1.89 in after
    assert 6.64 in before


def test_the_level_switch_names_who_is_missing_there(visit: Any) -> None:
    page = visit("partial").drawn()
    note = page.get_by_text("because its L2 traffic is not in the report")
    assert not note.is_visible()
    page.get_by_text("L2", exact=True).first.click()
    assert note.is_visible()
    assert [x for x in xs(page) if x is not None] == [1.89]


def test_a_link_from_outside_opens_the_kernel(visit: Any) -> None:
    page = visit(fragment="#k4").page
    page.wait_for_selector('.kernel.chosen[data-kernel="4"][open]')


def test_the_table_sorts_and_filters_by_keyboard(visit: Any) -> None:
    page = visit().page
    page.locator("#ranked th", has_text="Occupancy").locator("button").press("Enter")
    order = page.locator("#ranked tbody tr").evaluate_all("rows => rows.map(r => r.dataset.rank)")
    assert order == ["2", "3", "4", "1", "5"]  # the unknown one stays last
    page.locator("#filter").fill("LATENCY")
    assert page.locator("#ranked tbody tr:visible").count() == 1


def test_a_filter_without_a_match_says_so(visit: Any) -> None:
    page = visit().page
    page.locator("#filter").fill("no such kernel")
    assert page.get_by_text("No kernel matches “no such kernel”.").is_visible()
    assert page.locator("#ranked").is_hidden()
    page.locator("#filter").fill("vector")
    assert page.locator("#nomatch").is_hidden()
    assert page.locator("#ranked").is_visible()


def test_a_phone_shows_the_whole_evidence(visit: Any) -> None:
    page = visit(width=390).page
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert page.get_by_text("NVIDIA forum 115731").is_visible()
    cut = """[...document.querySelectorAll('.scroll:has(.stacking)')]
      .filter(box => box.scrollWidth > box.clientWidth).length"""
    assert page.evaluate(cut) == 0


def test_roof_labels_keep_apart_on_a_phone(visit: Any) -> None:
    page = visit(width=390).drawn()
    boxes = page.locator(".plot .annotation-text").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(b => [b.x, b.right, b.y, b.bottom])"
    )
    assert boxes
    for place, (left, right, top, bottom) in enumerate(boxes):
        for x0, x1, y0, y1 in boxes[place + 1 :]:
            assert x1 <= left or right <= x0 or y1 <= top or bottom <= y0


@pytest.mark.parametrize("nth", [0, 1, 2])
def test_the_hover_box_fits_a_phone(visit: Any, nth: int) -> None:
    page = visit(width=390).drawn()
    page.locator(".plot").scroll_into_view_if_needed()
    box = page.locator(".plot .scatterlayer .points path").nth(nth).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    page.wait_for_selector(".hoverlayer .hovertext")
    shown = page.locator(".hoverlayer .hovertext path").first.bounding_box()
    plot = page.locator(".plot").bounding_box()
    assert shown["x"] >= plot["x"]
    assert shown["x"] + shown["width"] <= plot["x"] + plot["width"]


def test_everything_can_be_read_without_javascript(visit: Any) -> None:
    seen = visit(script=False)
    page = seen.page
    assert page.locator(".sketch polygon").count() == 3
    assert page.locator(".sketch svg").is_visible()
    assert page.locator(".plot").is_hidden()
    assert page.locator("button:visible").count() == 0
    assert page.locator(".advice", has_text="Pad the tile by one column").is_visible()
    page.locator(".kernel > summary").nth(3).click()
    assert page.locator(".advice", has_text="Load the halo once").is_visible()
    assert seen.quiet()


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
@pytest.mark.parametrize("name", ["full", "bare", "many", "whole", "timed"])
def test_nothing_sticks_out(visit: Any, name: str, script: bool) -> None:
    page = visit(name, width=1280, script=script).page
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    for width in (1280, 768, 360):  # a window that is drawn smaller, as a page opened on a phone
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"document.documentElement.scrollWidth <= {width}")


def test_nothing_sticks_out_of_a_phone_from_the_start(visit: Any) -> None:
    page = visit(width=360).drawn()
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["full", "bare", "whole", "timed"])
def test_text_stands_out_from_its_ground(visit: Any, name: str, scheme: str) -> None:
    page = visit(name, scheme=scheme).page
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert page.evaluate(MEASURE) == []


def test_the_theme_button_turns_page_and_figure(visit: Any) -> None:
    page = visit(scheme="light").drawn()
    ground = "getComputedStyle(document.body).backgroundColor"
    ink = "document.querySelector('.plot').layout.font.color"
    before = page.evaluate(ground), page.evaluate(ink)
    page.locator("#theme").click()
    after = page.evaluate(ground), page.evaluate(ink)
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert page.locator("#theme").inner_text() == "Light"


def test_paper_gets_the_plain_drawing(visit: Any) -> None:
    page = visit().drawn()
    page.emulate_media(media="print")
    assert page.locator(".sketch svg").is_visible()
    assert page.locator(".plot").is_hidden()


def test_thousands_of_kernels_open_in_seconds(visit: Any) -> None:
    seen = visit("many")
    page = seen.drawn()
    assert page.locator(".kernel").count() > 100
    assert page.evaluate("performance.now()") < 20_000
    assert seen.quiet(), seen.complaints


def test_a_long_table_shows_its_top_until_asked_for_more(visit: Any) -> None:
    page = visit("many").page
    rows = page.locator("#ranked tbody tr:visible")
    assert rows.count() == TABLE_ROWS
    page.locator("#more").click()
    assert rows.count() == 400
    assert visit("many", script=False).page.locator("#ranked tbody tr:visible").count() == 400


def test_a_link_to_a_row_further_down_shows_it(visit: Any) -> None:
    page = visit("many", fragment="#k399").page
    assert page.locator(".chosen").first.is_visible()


def test_the_whole_program_opens_quietly_with_its_markers_alone(visit: Any) -> None:
    seen = visit("whole")
    page = seen.drawn()
    assert page.locator(".plot .scatterlayer .points path").count() == 1
    assert page.locator(".kernel").count() == 2
    assert page.locator("#timed tbody tr:visible").count() == 4
    assert seen.quiet(), seen.complaints


def test_what_was_only_timed_sorts_and_unfolds_by_itself(visit: Any) -> None:
    page = visit("surveyed").page
    rows = page.locator("#timed tbody tr:visible")
    assert rows.count() == TABLE_ROWS
    page.locator("[data-more=timed]").click()
    assert rows.count() == 60
    page.locator("#timed th", has_text="Kernel").locator("button").press("Enter")
    page.locator("#timed th", has_text="Kernel").locator("button").press("Enter")
    assert "tiny_9" in rows.first.inner_text()
    order = page.locator("#ranked tbody tr").evaluate_all("rows => rows.map(r => r.dataset.index)")
    assert order == ["0", "1"]


def test_launches_sort_the_ranked_table(visit: Any) -> None:
    page = visit("whole").page
    page.locator("#ranked th", has_text="Launches").locator("button").press("Enter")
    order = page.locator("#ranked tbody tr").evaluate_all(
        "rows => rows.map(r => r.dataset.launches)"
    )
    assert order == ["60", "40"]


def test_a_link_to_a_kernel_that_was_only_timed_shows_its_row(visit: Any) -> None:
    page = visit("surveyed", fragment="#k65").page
    assert page.locator("tr.chosen").is_visible()
    assert "tiny_55" in page.locator("tr.chosen").inner_text()


def test_a_survey_alone_needs_no_table_of_limits(visit: Any) -> None:
    seen = visit("timed")
    assert seen.page.locator("#ranked").count() == 0
    assert seen.page.locator("#timed tbody tr:visible").count() == 4
    assert seen.quiet(), seen.complaints
