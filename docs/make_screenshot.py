"""Take the README's picture of the page: ``python docs/make_screenshot.py [REPORT [PICTURE]]``.

REPORT is anything ``kprof analyze`` reads, without it the recording that ``kprof demo`` replays
where there is no GPU; PICTURE is ``docs/report.png`` unless named. Needs
playwright, pillow (``pip install --group docs``) and Chromium (``KPROF_CHROMIUM``, or on PATH).
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

import kprof
from kprof.cli import demo  # noqa: TID251 - shows what the command shows
from kprof.model import Report

WIDTH, HEIGHT = 1280, 1600  # px
LARGEST = 400_000  # byte; the README is read on slow lines too
COLOURS = (256, 128, 64)  # palettes to try, the richest that fits wins
DRAWN = ".plot .scatterlayer .trace"


def shoot(page_file: Path, browser_path: str, height: int = HEIGHT) -> bytes:
    """Return the top of a page as a desktop browser shows it, as PNG."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": height}, color_scheme="light")
        page.goto(page_file.as_uri())
        _settle(page)
        picture: bytes = page.screenshot()
        browser.close()
    return picture


def _settle(page: Page) -> None:
    if page.locator(".roofline").count():
        page.wait_for_selector(DRAWN)
    page.evaluate("document.fonts.ready")


def quantized(picture: bytes) -> bytes:
    """Return the picture with the richest palette that keeps it small enough."""
    original = Image.open(io.BytesIO(picture)).convert("RGB")
    for colours in COLOURS:
        out = io.BytesIO()
        reduced = original.quantize(
            colours, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
        reduced.save(out, "PNG", optimize=True)
        if out.tell() < LARGEST:
            return out.getvalue()
    sys.exit(f"the picture takes {out.tell():,} B with {COLOURS[-1]} colours, over {LARGEST:,} B")


def _report(path: Path | None) -> Report:
    if path is None:
        return demo.recorded("no NVIDIA GPU was found")
    return kprof.diagnose(kprof.load(path))


def main() -> None:
    """Render the report, take its picture and put it in place."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=Path, nargs="?", help="the demo's recording if left out")
    default = Path(__file__).with_name("report.png")
    parser.add_argument("picture", type=Path, nargs="?", default=default)
    parser.add_argument("--height", type=int, default=HEIGHT, help="px of the page to show")
    arguments = parser.parse_args()
    browser = os.environ.get("KPROF_CHROMIUM") or shutil.which("chromium")
    if browser is None:
        sys.exit("no Chromium: apt-get install chromium, or set KPROF_CHROMIUM")
    with tempfile.TemporaryDirectory() as folder:
        page_file = Path(folder, "report.html")
        kprof.render(_report(arguments.report), page_file)
        picture = quantized(shoot(page_file, browser, arguments.height))
    beside = arguments.picture.with_suffix(".new")
    beside.write_bytes(picture)
    beside.replace(arguments.picture)
    sys.stdout.write(f"{arguments.picture}: {len(picture):,} B\n")


if __name__ == "__main__":
    main()
