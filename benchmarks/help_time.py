"""Compare ``kprof --help`` with the time Python needs to import click: at most three times it.

Run: python benchmarks/help_time.py [--runs 15]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

LIMIT = 3.0
KPROF = Path(sys.executable).with_name("kprof")
HELP = (str(KPROF), "--help")
CLICK = (sys.executable, "-c", "import click")


def seconds(argv: Sequence[str]) -> float:
    """Return the wall time of one run."""
    start = time.perf_counter()
    subprocess.run(argv, check=True, capture_output=True)
    return time.perf_counter() - start


def compare(runs: int) -> tuple[float, float]:
    """Return the medians of help and click, measured in turns so that both see the same machine."""
    for argv in (HELP, CLICK):  # byte code and file cache
        seconds(argv)
    pairs = [(seconds(HELP), seconds(CLICK)) for _ in range(runs)]
    return statistics.median(h for h, _ in pairs), statistics.median(c for _, c in pairs)


def main() -> int:
    """Print both and their ratio; 1 when the ratio is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    help_s, click_s = compare(parser.parse_args().runs)
    ratio = help_s / click_s
    print(f"kprof --help               {1e3 * help_s:7.1f} ms")
    print(f"python -c 'import click'   {1e3 * click_s:7.1f} ms")
    print(f"ratio                      {ratio:7.2f}     (at most {LIMIT})")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
