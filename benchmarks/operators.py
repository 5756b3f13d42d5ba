"""Hold the operators that ship with kprof against what is promised of them (needs a GPU).

python benchmarks/operators.py [--python PYTHON] [--out FOLDER] [--warm-l2] [--profile] [--times N]

Runs ``kprof bench depthwise-conv`` and ``vector-add`` in the Python given, which has torch; prints
each ratio with its limit and exits with 1 when one is missed. FOLDER receives the benches' JSON and
goals.json. With --times above 1 the runs have only the variants that the goals speak of, their JSON
is not kept, and the median of the ratios counts.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SIX = (
    "1x64x32x32", "1x64x128x128", "8x64x128x128", "1x256x128x128", "32x256x128x128",
    "1x12x128x128,kernel=5",
)  # fmt: skip
LARGE, VECTOR = "32x256x128x128", "67108864"
FASTER, HOW_MANY = 1.4, 4
OVER = "tuned over the better of torch and cuDNN"
Times = dict[str, dict[str, float]]
Line = tuple[str, float, float]


def bench(operator: str, folder: Path, words: list[str]) -> Times:
    target = folder / f"{operator}.json"
    argv = [sys.executable, "-m", "kprof", "bench", operator, "-o", str(target), "--force", *words]
    status = subprocess.run(argv, check=False).returncode
    if status:
        print(f"kprof bench {operator} ended with status {status}")
    return medians(json.loads(target.read_text()) if target.is_file() else {"shapes": []})


def medians(document: dict[str, Any]) -> Times:
    # What is not there is NaN, which misses every limit.
    found: Times = defaultdict(lambda: defaultdict(lambda: math.nan))
    for shape in document["shapes"]:
        units = [unit for unit in shape["units"] if unit["timing"]]
        found[shape["shape"]] |= {unit["variant"]: unit["timing"]["p50_s"] for unit in units}
        found[shape["shape"]]["copy"] = shape["copy_s"] or math.nan
    return found


def better(one: float, other: float) -> float:
    return math.nan if math.isnan(one + other) else min(one, other)


def convolution(times: Times) -> Iterator[Line]:
    ratios = {s: better(times[s]["torch"], times[s]["cudnn"]) / times[s]["tuned"] for s in SIX}
    for shape, ratio in ratios.items():
        yield f"{OVER}, {shape}", ratio, 1.0
    known = [ratio for ratio in ratios.values() if not math.isnan(ratio)]
    fast = sorted([*known, *[0.0] * len(SIX)], reverse=True)[HOW_MANY - 1]
    yield f"{OVER}, the {HOW_MANY}th best of the {len(SIX)} shapes", fast, FASTER
    large = times[LARGE]
    yield f"tuned over a copy of the same bytes, {LARGE}", large["copy"] / large["tuned"], 0.85


def addition(times: Times) -> Iterator[Line]:
    large = times[VECTOR]
    yield f"float4 over a copy of the same bytes, {VECTOR}", large["copy"] / large["float4"], 0.95


GOALS: dict[str, tuple[Callable[[Times], Iterator[Line]], str, tuple[str, ...]]] = {
    "depthwise-conv": (convolution, "tuned,torch,cudnn", SIX),
    "vector-add": (addition, "float4", (VECTOR,)),
}


def goals(operator: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    judge, variants, shapes = GOALS[operator]
    words = ["--python", options.python] if options.python else []
    words += ["--warm-l2"] if options.warm_l2 else []
    if options.times > 1:
        words += ["--variants", variants, *(word for s in shapes for word in ("--shape", s))]
        with tempfile.TemporaryDirectory() as name:
            runs = [[*judge(bench(operator, Path(name), words))] for _ in range(options.times)]
    else:
        words += ["--profile"] if options.profile else []
        runs = [[*judge(bench(operator, options.out, words))]]
    for lines in zip(*runs, strict=True):
        what, _, limit = lines[0]
        ratios = [None if math.isnan(ratio) else ratio for _, ratio, _ in lines]
        middle = None if None in ratios else statistics.median(filter(None, ratios))
        yield {"operator": operator, "what": what, "at_least": limit, "median": middle,
               "ratios": ratios}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", help="the Python with torch")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--warm-l2", action="store_true", help="leave the L2 cache warm")
    parser.add_argument("--profile", action="store_true", help="keep what limits each variant, too")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="so many runs")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    found = [goal for operator in GOALS for goal in goals(operator, options)]
    said = {"l2": "warm" if options.warm_l2 else "cold", "goals": found}
    (options.out / "goals.json").write_text(json.dumps(said, indent=1) + "\n")
    met = [goal["median"] is not None and goal["median"] >= goal["at_least"] for goal in found]
    for goal, enough in zip(found, met, strict=True):
        ratio = "  nan" if goal["median"] is None else f"{goal['median']:5.2f}"
        print(f"{'ok    ' if enough else 'MISSED'} {ratio} (at least {goal['at_least']}) "
              f"{goal['what']}")  # fmt: skip
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
