"""What profiling a whole training script costs: kprof against the plain run and the full set.

One run on one GPU, ratios of wall times:

- plain: the script alone (once before to fill caches)
- kprof: ``kprof profile`` end to end: survey, depth, reading, page
- full: ``--set full`` on all launches, estimated from ``--set full`` on the first 20
  (``--no-full`` leaves it out)

Run on a GPU machine: python benchmarks/profile_program.py [--compile] [--no-full] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from profile_overhead import ncu, timed

TARGET = Path(__file__).with_name("gpt2_train.py")
_STAGE = re.compile(r"^([\w-]+): (?:ncu|the program) ran for ([\d.]+) s$", re.M)
SAMPLED = 20  # launches measured with the full set


def told(line: str) -> None:
    """Tell at once: a run that somebody ends has said what it knew."""
    print(line, file=sys.stderr, flush=True)


def watched(*argv: str) -> tuple[float, str]:
    """Run to the end and return the wall time in seconds and what was said, told while it runs."""
    start, lines = time.perf_counter(), []
    with subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as run:
        for line in run.stderr or ():
            lines.append(line)
            told(f"{time.perf_counter() - start:6.1f} s  {line.rstrip()[:200]}")
    if run.returncode:
        raise SystemExit(f"{argv[0]} failed with {run.returncode}")
    return time.perf_counter() - start, "".join(lines)


def measure(options: list[str], work: Path, *, full: bool) -> dict[str, object]:
    target = [str(TARGET), *options]
    told(f"first: {timed(sys.executable, *target):.1f} s")
    plain = timed(sys.executable, *target)
    told(f"plain: {plain:.1f} s")
    command = (sys.executable, "-m", "kprof", "profile", "-v", "--python", sys.executable)
    whole, said = watched(*command, "-o", str(work / "out"), *target)
    stages = {name: float(took) for name, took in _STAGE.findall(said)}
    found = json.loads((work / "out" / "report.json").read_text())
    survey = found["collection"]["survey"]
    against = _against_full(target, work, whole, survey["launches"]) if full else {}
    return {
        "plain_s": round(plain, 2),
        "kprof_s": round(whole, 2),
        "stages_s": {**stages, "reading_and_pages": round(whole - sum(stages.values()), 2)},
        "kprof_over_plain": round(whole / plain, 2),
        **against,
        "survey": survey,
        "passes": found["collection"]["passes"],
        "notes": found["notes"],
        "bytes": {path.name: path.stat().st_size for path in (work / "out").iterdir()},
    }


def _against_full(target: list[str], work: Path, whole: float, launches: int) -> dict[str, float]:
    # Two counts, so that what is the same in both (start, attach, the script itself) drops out.
    few = ncu(target, work / "few", "--set", "full", "--launch-count", "1")
    many = ncu(target, work / "many", "--set", "full", "--launch-count", str(SAMPLED + 1))
    full = few + (many - few) / SAMPLED * launches
    return {"full_estimated_s": round(full), "kprof_over_full": round(whole / full, 4)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compile", action="store_true", help="under torch.compile")
    parser.add_argument("--no-full", action="store_true", help="leave the full set out")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if shutil.which("ncu") is None:
        raise SystemExit("ncu is not on PATH: this benchmark needs a GPU machine")
    with tempfile.TemporaryDirectory() as folder:
        result = measure(
            ["--compile"] if given.compile else [], Path(folder), full=not given.no_full
        )
    print(json.dumps(result, indent=1))
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
