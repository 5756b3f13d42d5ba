"""Measure what the whole catalogue of rules adds to reading a report.

The report is read once; then it is diagnosed with every rule and with none, in turns. The
difference of the medians is what the rules cost.

Run: python benchmarks/rules_speed.py REPORT [--runs 5]
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from kprof import reader
from kprof.diagnosis import diagnose
from kprof.model import Profile
from kprof.rule import Rule, registry

LIMIT_S = 0.3


def seconds(profile: Profile, rules: tuple[Rule, ...]) -> float:
    """Return how long one diagnosis takes."""
    start = time.perf_counter()
    diagnose(profile, rules)
    return time.perf_counter() - start


def main() -> int:
    """Print the seconds and their ratio to reading, and 1 when the limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path, help="a .ncu-rep, packed or not")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    start = time.perf_counter()
    profile = reader.load(options.report)
    reading = time.perf_counter() - start
    rules = registry()
    diagnose(profile, rules)  # imports
    pairs = [(seconds(profile, rules), seconds(profile, ())) for _ in range(options.runs)]
    with_rules, without = (statistics.median(column) for column in zip(*pairs, strict=True))
    added = with_rules - without
    print(f"{len(profile.kernels)} kernels, {len(rules)} rules")
    print(f"reading          {reading:7.3f} s")
    print(f"without rules    {without:7.3f} s")
    print(f"with every rule  {with_rules:7.3f} s")
    print(
        f"the rules add    {added:7.3f} s ({added / reading:.1%} of reading), at most {LIMIT_S} s"
    )
    return 1 if added > LIMIT_S else 0


if __name__ == "__main__":
    raise SystemExit(main())
