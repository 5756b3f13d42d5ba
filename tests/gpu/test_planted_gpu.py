"""Every planted kernel, measured and diagnosed on this GPU; with pytest-xdist, several at a time.

What each is expected to show was recorded on an H200: another GPU may have another limit.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kprof.samples import Sample, build, samples

pytestmark = pytest.mark.gpu

SAMPLES = samples()


def profiled(program: Path, folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "profile", "-q", "--no-preflight", "--survey", "never",
         "-o", str(folder), str(program)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (kernel,) = json.loads((folder / "report.json").read_text())["kernels"]
    found: dict[str, Any] = kernel
    return found


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.slug)
def test_what_is_planted_comes_out(sample: Sample, nvcc: str, tmp_path: Path) -> None:
    program = build(sample, out_dir=tmp_path / "built", nvcc=Path(nvcc))
    kernel = profiled(program, tmp_path / "out")
    rules = [finding["rule"] for finding in kernel["findings"]]
    loud = {f["rule"] for f in kernel["findings"] if f["severity"] in {"medium", "high"}}
    topic, _, kind = sample.name.partition("/")
    print(sample.name, kernel["bound"], rules)
    if kind == "good":
        assert topic not in loud
    if sample.expect.startswith("none of its own rule"):
        assert topic not in rules
    elif sample.expect.startswith("none of the memory rules"):
        assert rules[0] in {"compute-bound", "issue-bound", "integer-bound"}
    else:
        assert rules[0] == sample.expect.split(",")[0].split(" ")[0]
