"""Compare ``kprof analyze --format json`` with a process that only reads every metric's value.

Both are whole processes on the same report, run in turns, on the same ``ncu_report``. The second
does the least any reader of a whole report must do: open it, touch every kernel, ask every metric
for its value.

Run: python benchmarks/read_speed.py REPORT [--runs 3]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LIMIT = 1.5
MEMORY_LIMIT_MB = 900
KPROF = Path(sys.executable).with_name("kprof")
PLAIN = """
import sys, ncu_report
context = ncu_report.load_report(sys.argv[1])
kernels = metrics = 0
for r in range(context.num_ranges()):
    actions = context.range_by_idx(r)
    for a in range(actions.num_actions()):
        action = actions.action_by_idx(a)
        kernels += 1
        for name in action.metric_names():
            action.metric_by_name(name).value()
            metrics += 1
print(kernels, "kernels,", metrics, "values")
"""


@dataclass(frozen=True)
class Cost:
    """Wall time and peak resident memory of a process with its children."""

    seconds: float
    peak_mb: float


def compiled(cache: str) -> dict[str, str]:
    """Return an environment in which Python keeps byte code in ``cache``, as if installed."""
    unwanted = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {**kept, "PYTHONPYCACHEPREFIX": cache}


def run(argv: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run to the end; memory is the largest sum over the process tree, sampled every 10 ms."""
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        child = subprocess.Popen(argv, stdout=out, env=environment)
        peak = _Peak(child.pid)
        peak.start()
        status = child.wait()
        seconds = time.perf_counter() - start
        peak.stop()
    if status != 0:
        raise SystemExit(f"{argv[0]} ended with status {status}")
    return Cost(seconds, peak.bytes / 1e6)


class _Peak(threading.Thread):
    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.bytes = 0
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.01):
            self.bytes = max(self.bytes, sum(_resident(pid) for pid in _tree(self.pid)))

    def stop(self) -> None:
        self._done.set()
        self.join()


def _tree(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        for task in _threads(parent):  # a child belongs to a thread
            found.extend(map(int, _read(f"/proc/{parent}/task/{task}/children").split()))
    return found


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - a fifth of the time
    except OSError:  # it ended meanwhile
        return []


def _resident(pid: int) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else 0


def _read(path: str) -> str:
    try:
        with open(path) as file:  # noqa: PTH123 - a third of the time of read_text
            return file.read()
    except OSError:  # it ended meanwhile
        return ""


def main() -> int:
    """Print both, the ratio of the medians, and 1 when a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", help="an uncompressed .ncu-rep")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    kprof = (str(KPROF), "analyze", "--format", "json", options.report)
    plain = (sys.executable, "-c", PLAIN, options.report)
    with tempfile.TemporaryDirectory() as cache:
        environment = compiled(cache)
        for argv in (plain, kprof):  # file cache and byte code
            run(argv, environment)
        pairs = [(run(kprof, environment), run(plain, environment)) for _ in range(options.runs)]
    ours = _median([pair[0] for pair in pairs])
    theirs = _median([pair[1] for pair in pairs])
    ratio = ours.seconds / theirs.seconds
    print(f"{'':34}{'wall':>9}{'peak memory':>14}")
    print(f"{'kprof analyze --format json':34}{ours.seconds:7.2f} s{ours.peak_mb:11.0f} MB")
    print(
        f"{'every metric value by ncu_report':34}{theirs.seconds:7.2f} s{theirs.peak_mb:11.0f} MB"
    )
    print(f"{'ratio':34}{ratio:7.2f}   (at most {LIMIT}; memory at most {MEMORY_LIMIT_MB} MB)")
    return 0 if ratio <= LIMIT and ours.peak_mb <= MEMORY_LIMIT_MB else 1


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(
        statistics.median(cost.seconds for cost in costs),
        max(cost.peak_mb for cost in costs),
    )


if __name__ == "__main__":
    sys.exit(main())
