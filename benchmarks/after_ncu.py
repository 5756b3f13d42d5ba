"""What ``kprof profile`` itself takes: the wall time that passes outside ncu.

The stand-in for ncu of the tests writes a survey and a report in depth that were recorded before,
so no GPU is needed. Printed are seconds of wall and processor time, all processes together, less
what the stand-in's runs took. With 40 launches or fewer there is no survey, whatever SURVEY is.

Run: python benchmarks/after_ncu.py [--runs 3] [--launches 41] [--seconds 0]
         SURVEY REPORT [OPTIONS OF kprof profile]
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAKES = ROOT / "tests" / "fakes"
_STAGE = re.compile(r"^[\w-]+: ncu ran for ([\d.]+) s$", re.M)
MANY = 41  # launches that make kprof survey


def measure(
    survey: Path, report: Path, options: list[str], *, launches: int, seconds: float
) -> tuple[float, float]:
    """Return seconds of wall time outside ncu, and of processor time.

    Args:
        survey: a report of durations alone.
        report: a report in depth.
        options: further ones of ``kprof profile``.
        launches: how many there are to measure.
        seconds: how long the stand-in takes for each.
    """
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "train.py"
        target.write_text("# loss.backward()\n")
        environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(FAKES), os.environ["PATH"]]),
            "FAKE_NCU_SURVEY": str(survey),
            "FAKE_NCU_REPORT": str(report),
            "FAKE_NCU_KERNELS": f"a*{launches}",
            "FAKE_NCU_SECONDS": str(seconds),
        }
        command = [sys.executable, "-m", "kprof", "profile", "-v", "--no-preflight", *options]
        start, used = time.perf_counter(), _processor_s()
        done = subprocess.run(
            [*command, "-o", str(Path(folder) / "out"), str(target)],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        took, used = time.perf_counter() - start, _processor_s() - used
    if done.returncode:
        raise SystemExit(done.stderr)
    return took - sum(map(float, _STAGE.findall(done.stderr))), used


def _processor_s() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("survey", type=Path, help="a report of durations alone")
    parser.add_argument("report", type=Path, help="a report in depth, not compressed")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--launches", type=int, default=MANY)
    parser.add_argument("--seconds", type=float, default=0.0, help="per launch")
    parser.add_argument("options", nargs=argparse.REMAINDER, help="of kprof profile")
    given = parser.parse_args()
    survey, report = given.survey.resolve(), given.report.resolve()
    how = {"launches": given.launches, "seconds": given.seconds}
    results = [measure(survey, report, given.options, **how) for _ in range(given.runs)]
    for what, values in zip(("wall", "processor"), zip(*results, strict=True), strict=True):
        print(f"{what}: {statistics.median(values):.2f} s, {min(values):.2f} at best")


if __name__ == "__main__":
    main()
