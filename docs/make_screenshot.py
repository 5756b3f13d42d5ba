"""Render a report and photograph the page: python docs/make_screenshot.py REPORT OUT.png.

Needs playwright (in the ``test`` dependency group) and Chromium; ``KPROF_CHROMIUM`` names one that
is not on PATH.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from kprof.diagnosis import diagnose
from kprof.html import render
from kprof.reader import load

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path, help="an .ncu-rep, or a page that ends in .html")
    parser.add_argument("picture", type=Path, help="the PNG to write")
    parser.add_argument("--scheme", choices=["light", "dark"], default="light")
    parser.add_argument("--width", type=int, default=1280, help="CSS px")
    parser.add_argument("--height", type=int, default=1440, help="CSS px, from --from on")
    parser.add_argument("--from", dest="start", default="header", help="CSS selector at the top")
    parser.add_argument("--scale", type=float, default=1.5, help="device px per CSS px")
    return parser.parse_args()


def shoot(page: Path, wanted: argparse.Namespace) -> None:
    """Open the page without a network and write the picture."""
    chromium = os.environ.get("KPROF_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        tab = browser.new_page(
            viewport={"width": wanted.width, "height": wanted.height},
            color_scheme=wanted.scheme,
            device_scale_factor=wanted.scale,
        )
        tab.goto(page.resolve().as_uri())
        if tab.locator(".roofline").count():
            tab.wait_for_selector(".plot .scatterlayer .trace")
        top = tab.locator(wanted.start).first.evaluate(
            "e => e.getBoundingClientRect().top + scrollY"
        )
        clip: Any = {"x": 0, "y": max(0, top), "width": wanted.width, "height": wanted.height}
        tab.screenshot(path=wanted.picture, full_page=True, clip=clip)
        browser.close()


def main() -> None:
    """Render if need be, then shoot."""
    wanted = options()
    if wanted.report.suffix == ".html":
        shoot(wanted.report, wanted)
        return
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(render(diagnose(load(wanted.report))), encoding="utf-8")
        shoot(page, wanted)


if __name__ == "__main__":
    main()
