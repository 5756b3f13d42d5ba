"""Hold the operators that ship with kprof against what is promised of them (needs a GPU).

python benchmarks/operators.py [--python PYTHON] [--out FOLDER] [--warm-l2] [--profile]

Runs ``kprof bench depthwise-conv`` and ``vector-add`` in the Python given, which has torch; keeps
their JSON in FOLDER; prints each ratio with its limit and exits with 1 when one is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SIX = (
    "1x64x32x32", "1x64x128x128", "8x64x128x128", "1x256x128x128", "32x256x128x128",
    "1x12x128x128,kernel=5",
)  # fmt: skip
LARGE, VECTOR = "32x256x128x128", "67108864"
FASTER, HOW_MANY = 1.4, 4
Line = tuple[str, float, float]


def bench(operator: str, options: argparse.Namespace) -> dict[str, Any]:
    target = options.out / f"{operator}{'-warm' if options.warm_l2 else ''}.json"
    argv = [sys.executable, "-m", "kprof", "bench", operator, "-o", str(target), "--force"]
    argv += ["--python", options.python] if options.python else []
    argv += ["--warm-l2"] if options.warm_l2 else []
    argv += ["--profile"] if options.profile else []
    status = subprocess.run(argv, check=False).returncode
    if status:
        print(f"kprof bench {operator} ended with status {status}")
    if not target.is_file():
        sys.exit(2)
    found: dict[str, Any] = json.loads(target.read_text())
    return found


def medians(document: dict[str, Any]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for shape in document["shapes"]:
        units = [unit for unit in shape["units"] if unit["timing"]]
        times = {unit["variant"]: unit["timing"]["p50_s"] for unit in units}
        found[shape["shape"]] = defaultdict(lambda: math.nan, times)  # NaN misses every limit
        found[shape["shape"]]["copy"] = shape["copy_s"] or math.nan
    return found


def better(one: float, other: float) -> float:
    return math.nan if math.isnan(one + other) else min(one, other)


def convolution(times: dict[str, dict[str, float]]) -> Iterator[Line]:
    ratios = {s: better(times[s]["torch"], times[s]["cudnn"]) / times[s]["tuned"] for s in SIX}
    for shape, ratio in ratios.items():
        yield f"tuned over the better of torch and cuDNN, {shape}", ratio, 1.0
    known = [ratio for ratio in ratios.values() if not math.isnan(ratio)]
    fast = sorted([*known, *[0.0] * len(SIX)], reverse=True)[HOW_MANY - 1]
    yield f"the same, the {HOW_MANY}th best of {len(SIX)}", fast, FASTER
    large = times[LARGE]
    yield f"tuned over a copy of the same bytes, {LARGE}", large["copy"] / large["tuned"], 0.85


def addition(times: dict[str, dict[str, float]]) -> Iterator[Line]:
    large = times[VECTOR]
    yield f"float4 over a copy of the same bytes, {VECTOR}", large["copy"] / large["float4"], 0.95


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", help="the Python with torch")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--warm-l2", action="store_true", help="leave the L2 cache warm")
    parser.add_argument("--profile", action="store_true", help="keep what limits each variant, too")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    lines = [
        *convolution(medians(bench("depthwise-conv", options))),
        *addition(medians(bench("vector-add", options))),
    ]
    for what, ratio, limit in lines:
        print(f"{'ok    ' if ratio >= limit else 'MISSED'} {ratio:5.2f} (at least {limit}) {what}")
    return 0 if all(ratio >= limit for _, ratio, limit in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
