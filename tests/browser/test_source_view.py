"""The source views in a real browser: what they show, how one gets there, and how fast they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kprof.html import render
from kprof.model import Report, SassLine
from tests.source_fixture import LONG_REPORT, SOURCES, heat
from tests.visiting import CHROMIUM, MEASURE, Visitor

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
]
FRAME_BUDGET_MS = 50  # a long task, <https://www.w3.org/TR/longtasks-1/>


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    cut = replace(SOURCES, files=(replace(SOURCES.files[0], text="// other"), SOURCES.files[1]))
    reports = {
        "small": SOURCES,
        "long": LONG_REPORT,
        "cut": cut,
        "called": with_a_call(),
        "lean": lean(),
    }
    for name, report in reports.items():
        (folder / f"{name}.html").write_text(render(report), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in reports}


def with_a_call() -> Report:
    """Return a report whose kernel has an instruction of a second function at a known address."""
    kernel = SOURCES.kernels[0]
    view = kernel.source
    assert view is not None
    other = SassLine(0x90, 1, "FADD R3", None, None, view.instructions[-1].heat)
    longer = replace(view, instructions=(*view.instructions, other))
    return replace(SOURCES, kernels=(replace(kernel, source=longer), *SOURCES.kernels[1:]))


def lean() -> Report:
    """Return a report in which the last of the files wastes no sector."""
    kernel = SOURCES.kernels[0]
    view = kernel.source
    assert view is not None
    last = replace(view.lines[-1], heat=heat(40.0, excess=0.0))
    lines = (*view.lines[:-1], last)
    return replace(SOURCES, kernels=(replace(kernel, source=replace(view, lines=lines)),))


@pytest.fixture
def visit(browser: Any, files: dict[str, Path]) -> Iterator[Visitor]:
    visitor = Visitor(browser, files)
    yield visitor
    visitor.leave()


def shown(page: Any, kernel: int = 0) -> Any:
    """Scroll to a kernel's view and wait until it is made."""
    view = page.locator(f"#k{kernel}-source")
    view.scroll_into_view_if_needed()
    page.wait_for_selector(f"#k{kernel}-source.viewing .r")
    return view


def chosen(view: Any, pane: int) -> str:
    return view.locator(".list").nth(pane).locator(".r.picked").inner_text()  # type: ignore[no-any-return]


def test_source_and_code_stand_side_by_side(visit: Any) -> None:
    seen = visit("small")
    view = shown(seen.page)
    left, right = (view.locator(".list").nth(pane).bounding_box() for pane in (0, 1))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    assert "sum += tile[i];" in chosen(view, 0)  # the line that costs most
    assert view.locator(".r.lit").count() >= 3
    assert seen.page.evaluate("window.pwned") is None
    assert seen.quiet(), seen.complaints


def test_one_click_leads_from_a_finding_to_its_line(visit: Any) -> None:
    page = visit("small").page
    page.locator(".finding a.go", has_text="main.cu:5").first.click()
    page.wait_for_selector("#k0-source.viewing .r.picked")
    view = page.locator("#k0-source")
    assert "x = y;" in chosen(view, 0)
    assert "main.cu:5" in view.locator(".spot").inner_text()
    assert "60 (6.0 %)" in view.locator(".spot").inner_text()
    assert view.bounding_box()["y"] < 60
    assert page.evaluate("document.activeElement.classList.contains('list')")


def test_a_line_beyond_the_end_of_a_text_is_there_all_the_same(visit: Any) -> None:
    seen = visit("cut")
    seen.page.locator(".finding a.go", has_text="main.cu:5").first.click()
    seen.page.wait_for_selector("#k0-source.viewing .r.picked")
    view = seen.page.locator("#k0-source")
    assert "beyond the end of the text at hand" in chosen(view, 0)
    assert "60 (6.0 %)" in view.locator(".spot").inner_text()
    assert "another version than the program" in view.inner_text()
    assert seen.quiet(), seen.complaints


def test_a_line_without_a_row_leads_to_its_instruction(visit: Any) -> None:
    page = visit("small").page
    link = page.locator(".finding a.go", has_text="main.cu:5").first
    link.evaluate("link => { link.dataset.line = 4711 }")  # as of a line that was left out
    link.click()
    page.wait_for_selector("#k0-source.viewing .list:nth-child(2) .r.picked")
    assert chosen(page.locator("#k0-source"), 1).startswith("0\n")


def test_a_place_without_a_line_leads_to_its_instruction(visit: Any) -> None:
    page = visit("small").page
    page.locator(".finding a.go", has_text="+0x90").first.click()
    page.wait_for_selector("#k0-source.viewing .list:nth-child(2) .r.picked")
    assert chosen(page.locator("#k0-source"), 1).startswith("90")


def test_an_address_in_a_called_function_leads_there(visit: Any) -> None:
    page = visit("called").page
    page.locator(".finding a.go", has_text="+0x90").first.click()
    page.wait_for_selector("#k0-source.viewing .list:nth-child(2) .r.picked")
    assert "FADD R3" in chosen(page.locator("#k0-source"), 1)


def test_inlined_code_shows_the_call_it_came_through(visit: Any) -> None:
    page = visit("small").page
    view = shown(page)
    view.locator(".list").nth(1).locator(".r", has_text="IADD3 R1,").click()
    assert "sum += tile[i];" in chosen(view, 0)
    assert "tile.cuh:2 ← main.cu:3" in view.locator(".spot .chain").inner_text()
    view.locator(".spot .chain button", has_text="main.cu:3").click()
    assert "call(tile);" in chosen(view, 0)
    lit = view.locator(".list").nth(1).locator(".r.lit")
    assert lit.count() == 2


def test_files_of_one_name_are_told_apart(visit: Any) -> None:
    page = visit("small").page
    view = shown(page)
    names = view.locator("select option").all_inner_texts()
    assert names == [
        "/home/dev/a/tile.cuh",
        "main.cu",
        "/home/dev/b/tile.cuh (text not at hand)",
    ]
    view.locator("select").select_option(label=names[2])
    rows = view.locator(".list").nth(0).locator(".r")
    assert rows.count() == 1
    assert "text not at hand" in rows.inner_text()
    assert "--source-dir" in view.locator(".note").first.inner_text()


def test_columns_are_switched_on_and_off(visit: Any) -> None:
    page = visit("small").page
    view = shown(page)
    heads = view.locator(".list").nth(0).locator(".head .h")
    assert heads.all_inner_texts() == ["Samples", "Exc. sectors"]
    view.locator(".chips button", has_text="Threads").press("Enter")
    view.locator(".chips button", has_text="Samples").click()
    assert heads.all_inner_texts() == ["Exc. sectors", "Threads"]
    assert "Measured and zero: 32-byte sectors of local memory" in view.inner_text()


def test_the_keyboard_is_enough(visit: Any) -> None:
    page = visit("small").page
    view = shown(page)
    view.locator(".list").nth(1).focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    assert "IADD3 R1," in chosen(view, 1)
    active = view.locator(".list").nth(1).get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "k0-source-text"
    page.keyboard.press("n")
    assert "x = y;" in chosen(view, 0)
    page.keyboard.press("p")
    assert "sum += tile[i];" in chosen(view, 0)


def test_without_lines_the_code_stands_alone_and_says_how_to_get_them(visit: Any) -> None:
    page = visit("small").page
    page.evaluate("document.querySelectorAll('.kernel').forEach(k => { k.open = true })")
    view = shown(page, 1)
    assert view.locator(".list").count() == 1
    assert "FADD R39" in chosen(view, 0)
    hint = view.locator(".hint").inner_text()
    for word in ("-lineinfo", "nvrtcCompileProgram", "TRITON_DISABLE_LINE_INFO", "CUDAExtension", "CUTE_DSL_LINEINFO"):  # fmt: skip
        assert word in hint
    assert page.locator("#k2-source").count() == 0


def test_it_fills_the_window_and_comes_back(visit: Any) -> None:
    page = visit("small").page
    view = shown(page)
    view.get_by_text("Enlarge").click()
    assert view.bounding_box() == {"x": 0, "y": 0, "width": 1280, "height": 900}
    page.keyboard.press("Escape")
    assert view.bounding_box()["width"] < 1200


def test_thousands_of_lines_scroll_smoothly(visit: Any) -> None:
    seen = visit("long")
    view = shown(seen.page)
    longest = seen.page.evaluate(
        """async () => {
          const list = document.querySelectorAll('#k0-source .list')[0];
          const tasks = [];
          new PerformanceObserver(found => tasks.push(...found.getEntries().map(e => e.duration)))
            .observe({ type: 'longtask' });
          for (let step = 1; step <= 60; step++) {
            list.scrollTop = step * 2000;
            await new Promise(requestAnimationFrame);
          }
          await new Promise(done => setTimeout(done, 300));
          return Math.max(0, ...tasks);
        }"""
    )
    assert longest < 2 * FRAME_BUDGET_MS
    assert view.locator(".r").count() < 200
    assert "step_57" in view.locator(".list").nth(0).inner_text()
    seen.page.keyboard.press("Tab")
    view.locator(".list").nth(0).focus()
    seen.page.keyboard.press("End")
    assert "step_6000" in chosen(view, 0)
    assert seen.quiet(), seen.complaints


def test_a_long_view_is_made_at_once(visit: Any) -> None:
    page = visit("long").page
    start = page.evaluate("performance.now()")
    shown(page)
    assert page.evaluate("performance.now()") - start < 3_000


def test_without_scripts_the_costly_lines_are_a_table(visit: Any) -> None:
    page = visit("small", script=False).page
    table = page.locator("#k0-source .static")
    assert table.is_visible()
    assert "sum += tile[i];" in table.locator("tbody tr").first.inner_text()
    assert page.locator("#k0-source .viewer").is_hidden()
    page.locator('[data-kernel="0"] .finding a.go').first.click()
    page.wait_for_url("**#k0-source")
    assert table.bounding_box()["y"] < 500


def test_paper_gets_the_table(visit: Any) -> None:
    page = visit("small").page
    shown(page)
    page.emulate_media(media="print")
    assert page.locator("#k0-source .static").is_visible()
    assert page.locator("#k0-source .viewer").is_hidden()


def test_the_stall_tree_leads_from_a_reason_to_its_lines(visit: Any) -> None:
    page = visit("small").page
    tree = page.locator(".waiting").first
    tree.scroll_into_view_if_needed()
    assert "20.0 %" in tree.inner_text()
    assert tree.locator("a.go").first.is_hidden()
    tree.locator("summary", has_text="long scoreboard").click()
    tree.locator("a.go", has_text="tile.cuh:2").click()
    page.wait_for_selector("#k0-source.viewing .r.picked")
    assert "sum += tile[i];" in chosen(page.locator("#k0-source"), 0)


def test_the_curves_say_where_the_launch_is(visit: Any) -> None:
    page = visit("small").page
    assert page.locator(".curves circle.here").count() == 1
    assert "this launch: 40 registers per thread, 48 warps per SM" in page.locator(".curves").inner_text()  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(visit: Any, scheme: str) -> None:
    page = visit("small", scheme=scheme).page
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    shown(page)
    assert page.evaluate(MEASURE) == []


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_nothing_sticks_out(visit: Any, script: bool) -> None:
    page = visit("small", width=1280, script=script).page
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    if script:
        shown(page)
    for width in (1280, 768, 360):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"document.documentElement.scrollWidth <= {width}")


def test_a_column_without_a_number_in_the_file_takes_no_room(visit: Any) -> None:
    view = shown(visit("lean").page)
    heads = [view.locator(".list").nth(pane).locator(".head .h") for pane in (0, 1)]
    assert heads[0].all_inner_texts() == ["Samples", "Exc. sectors"]
    view.locator("select").select_option(label="/home/dev/b/tile.cuh (text not at hand)")
    assert heads[0].all_inner_texts() == ["Samples"]
    assert heads[1].all_inner_texts() == ["Samples", "Exc. sectors"]
    assert view.locator(".list").nth(0).locator(".r .h").all_inner_texts() == ["40"]


def test_a_phone_shows_the_whole_table_of_places(visit: Any) -> None:
    page = visit("small", width=400).page
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    cut = """[...document.querySelectorAll('.scroll:has(.places)')]
      .filter(box => box.scrollWidth > box.clientWidth).length"""
    assert page.locator(".scroll .places").count() > 0
    assert page.evaluate(cut) == 0
