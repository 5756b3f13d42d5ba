"""Measure a report's page: its size, how long it takes to be made, to open and to be drawn.

Opening ends with the browser's load event: the page can be read and used. The chart is unpacked and
drawn after that. Needs Chromium and playwright; the page asks no network for anything.

Run: python benchmarks/page_open.py REPORT [--runs 5]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import kprof
from kprof.html import render
from tests.visiting import Visitor, chromium

MEGABYTES, SECONDS = 6.0, 1.5
_TIMES = """() => {
  const page = performance.getEntriesByType('navigation')[0];
  const paint = performance.getEntriesByName('first-contentful-paint')[0];
  return [paint?.startTime ?? NaN, page.loadEventEnd, performance.now()];
}"""


def opened(page: Path, runs: int) -> list[list[float]]:
    """Return seconds to the first paint, to the load event and to the drawn chart, per run."""
    found = []
    with chromium() as browser:
        for _ in range(runs):
            visitor = Visitor(browser, {"full": page})
            visit = visitor()
            if visit.page.locator(".plot").count():
                visit.drawn()
            found.append([1e-3 * value for value in visit.page.evaluate(_TIMES)])
            visitor.leave()
    return found


def main() -> int:
    """Print the numbers; return 1 above a limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    diagnosis = kprof.diagnose(kprof.load(options.report))
    start = time.perf_counter()
    text = render(diagnosis)
    made = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(text, encoding="utf-8")
        size = page.stat().st_size / 1e6
        runs = opened(page, options.runs)
    paint, load, drawn = (statistics.median(times) for times in zip(*runs, strict=True))
    print(
        f"{len(diagnosis.kernels)} kernels: {size:.2f} MB (at most {MEGABYTES:g}), made in {made:.2f} s"
    )
    print(
        f"first paint {paint:.2f} s, open {load:.2f} s (at most {SECONDS:g}), chart drawn {drawn:.2f} s"
    )
    return 0 if size <= MEGABYTES and load <= SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
