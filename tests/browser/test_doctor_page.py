"""The doctor's page in a real browser, cut off from every network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kprof.doctor_html import render
from tests.doctor_fixture import CLEAN, REPORT
from tests.visiting import CHROMIUM, MEASURE, Visitor

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
]
UNFOLD = "document.querySelectorAll('details').forEach(d => { d.open = true })"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    reports = {"full": REPORT, "clean": CLEAN}
    for name, report in reports.items():
        (folder / f"{name}.html").write_text(render(report), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in reports}


@pytest.fixture
def visit(browser: Any, files: dict[str, Path]) -> Iterator[Visitor]:
    visitor = Visitor(browser, files)
    yield visitor
    visitor.leave()


@pytest.mark.parametrize("name", ["full", "clean"])
def test_it_opens_quietly_and_runs_nothing_of_a_snapshot(visit: Visitor, name: str) -> None:
    seen = visit(name)
    assert seen.page.evaluate("window.pwned") is None
    assert seen.quiet(), (seen.complaints, seen.requests)


def test_the_cause_and_its_fix_are_seen_without_a_click(visit: Visitor) -> None:
    page = visit().page
    assert page.locator(".cause h3").bounding_box()["y"] < 900
    assert page.locator("#fix").inner_text() == (
        "sudo apt-get install nvidia-driver-580\nsudo reboot"
    )
    assert page.locator("#fix").is_visible()


def test_copying_takes_the_commands_or_selects_them(visit: Visitor) -> None:
    page = visit().page
    button = page.locator("button[data-copy=fix]")
    button.click()
    page.wait_for_function("document.querySelector('button[data-copy=fix]').textContent !== 'Copy'")
    told = button.inner_text()
    assert told in {"Copied", "Selected: press Ctrl-C"}
    if told != "Copied":
        assert page.evaluate("getSelection().toString()").startswith("sudo apt-get")


def test_everything_can_be_read_without_javascript(visit: Visitor) -> None:
    seen = visit(script=False)
    page = seen.page
    assert page.locator("button:visible").count() == 0
    page.locator(".cause summary").click()
    assert page.get_by_text("driver.version = 470.86").first.is_visible()
    page.locator(".others > summary").first.click()
    assert page.get_by_text("not known: driver.params.RmProfilingAdminOnly").is_visible()
    assert page.locator("#letter-1").is_visible()
    assert seen.quiet()


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
@pytest.mark.parametrize("width", [1280, 768, 360])
def test_nothing_sticks_out(visit: Visitor, width: int, script: bool) -> None:
    page = visit(width=width, script=script).page
    page.evaluate(UNFOLD)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["full", "clean"])
def test_text_stands_out_from_its_ground(visit: Visitor, name: str, scheme: str) -> None:
    page = visit(name, scheme=scheme).page
    page.evaluate(UNFOLD)
    assert page.evaluate(MEASURE) == []


def test_the_theme_button_turns_the_page(visit: Visitor) -> None:
    page = visit(scheme="light").page
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    page.locator("#theme").click()
    assert page.evaluate(ground) != before
    assert page.locator("#theme").inner_text() == "Light"
