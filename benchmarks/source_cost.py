"""Measure what counters per instruction, code and source lines add to reading a report.

Both readings are whole (fresh processes, the file's digest included) and run in turns; the
machine should have nothing else to do.

Run: python benchmarks/source_cost.py REPORT [--runs 5]
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time

from kprof import reader

LIMIT = 0.5


def read(report: str, *, instructions: bool) -> tuple[float, float]:
    """Return wall and processor time of one reading in seconds."""
    before, start = _processor(), time.perf_counter()
    reader.load(report, instructions=instructions)
    return time.perf_counter() - start, _processor() - before


def _processor() -> float:
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, who))


def main() -> int:
    """Print both readings and what the second adds; return 1 above the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", help="an uncompressed .ncu-rep")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        _compile_into(cache)
        read(options.report, instructions=True)  # file cache and byte code
        return _compare(options.report, options.runs)


def _compile_into(cache: str) -> None:
    """Have the reading processes keep byte code, as if kprof were installed."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = cache


def _compare(report: str, runs: int) -> int:
    without, with_ = [], []
    for _ in range(runs):
        without.append(read(report, instructions=False))
        with_.append(read(report, instructions=True))
    print(f"{'':22}{'wall, median':>14}{'least':>9}{'processor':>12}")
    for label, readings in (("without instructions", without), ("with", with_)):
        walls, processor = zip(*readings, strict=True)
        print(
            f"{label:22}{statistics.median(walls):12.2f} s{min(walls):7.2f} s"
            f"{statistics.median(processor):10.2f} s"
        )
    added = min(wall for wall, _ in with_) / min(wall for wall, _ in without) - 1
    print(f"adds {added:.2f} times the least wall time without (at most {LIMIT})")
    return 0 if added <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
