"""What profiling costs: kprof's plan against raw ncu with the same metrics and against --set full.

One run on one GPU, ratios of wall times on the same target:

- plain: the target alone
- quick, standard: ``kprof profile`` end to end, reading and rendering included
- raw: ncu alone with the metrics of ``standard``
- reading: ``kprof analyze`` of the raw report into a page and JSON, as a whole process
- full: ncu alone with ``--set full``

``--rounds`` takes standard and raw so many times in turns, and the median of each.

Run on a GPU machine: python benchmarks/profile_overhead.py [--rounds 3] [--json FILE] [TARGET ARGS...]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from kprof.cli.packing import pack, packed
from kprof.collect.plan import metrics_for

TARGET = Path(__file__).with_name("profile_target.py")


def timed(*argv: str) -> float:
    """Run to the end and return the wall time in seconds; a failure stops the benchmark."""
    start = time.perf_counter()
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{argv[0]} failed with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return time.perf_counter() - start


def ncu(target: Sequence[str], report: Path, *options: str) -> float:
    fixed = ("--clock-control", "none", "--target-processes", "all", "--nvtx")
    return timed("ncu", *fixed, "--export", str(report), *options, *started(target))


def started(target: Sequence[str]) -> tuple[str, ...]:
    python = (sys.executable,) if target[0].endswith(".py") else ()
    return (*python, *target)


def kprof(target: Sequence[str], folder: Path, depth: str) -> float:
    command = (sys.executable, "-m", "kprof", "profile", "--depth", depth, "-q")
    return timed(*command, "--python", sys.executable, "-o", str(folder), *target)


def passes(folder: Path) -> tuple[int, int]:
    found = json.loads((folder / "report.json").read_text())
    return len(found["kernels"]), found["collection"]["passes"]


def compressed(report: Path) -> int:
    """Return the size of what ``kprof profile --compress`` would keep."""
    thread = pack(report)
    thread.join()
    return packed(report).stat().st_size


def in_turns(target: Sequence[str], work: Path, rounds: int) -> dict[str, float]:
    """Return the median of each; the machine's slow drift meets both alike."""
    metrics = ",".join(metrics_for("standard"))
    standard, raw = [], []
    for turn in range(rounds):
        standard.append(kprof(target, work / f"standard{turn or ''}", "standard"))
        raw.append(ncu(target, work / f"raw{turn or ''}", "--metrics", metrics))
    return {"standard": median(standard), "raw": median(raw)}


def measure(target: Sequence[str], work: Path, rounds: int) -> dict[str, float]:
    timed(*started(target))  # fills file caches
    seconds = {
        "plain": timed(*started(target)),
        "quick": kprof(target, work / "quick", "quick"),
        **in_turns(target, work, rounds),
        "reading": timed(
            sys.executable, "-m", "kprof", "analyze", "-q", "--format", "html,json",
            "-o", str(work / "page"), str(work / "raw.ncu-rep"),
        ),
        "full": ncu(target, work / "full", "--set", "full"),
    }  # fmt: skip
    kernels, standard = passes(work / "standard")
    size = {name: (work / f"{name}.ncu-rep").stat().st_size for name in ("raw", "full")}
    return {
        **{f"{name}_s": round(value, 2) for name, value in seconds.items()},
        "kernels": kernels,
        "passes_standard": standard,
        "passes_quick": passes(work / "quick")[1],
        "standard_over_full": round(seconds["standard"] / seconds["full"], 3),
        "standard_over_raw": round(seconds["standard"] / seconds["raw"], 3),
        "standard_without_reading_over_raw": round(
            (seconds["standard"] - seconds["reading"]) / seconds["raw"], 3
        ),
        "kprof_seconds_beside_ncu": round(seconds["standard"] - seconds["raw"], 2),
        "report_bytes_over_full": round(size["raw"] / size["full"], 3),
        "compressed_bytes_over_full": round(compressed(work / "raw.ncu-rep") / size["full"], 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="*", default=[str(TARGET)])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if shutil.which("ncu") is None:
        raise SystemExit("ncu is not on PATH: this benchmark needs a GPU machine")
    with tempfile.TemporaryDirectory() as folder:
        result = measure(given.target, Path(folder), given.rounds)
    print(json.dumps(result, indent=1))
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
