from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

KPROF = Path(sys.executable).with_name("kprof")


def demo(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the installed command where no ncu is found, whatever this machine has."""
    env = {name: value for name, value in os.environ.items() if name not in {"CUDA_HOME"}}
    return subprocess.run(
        [KPROF, "demo", *args],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=cwd,
        env=env,
    )


@pytest.fixture(autouse=True)
def _no_gpu_here() -> None:
    if Path("/dev/nvidiactl").exists() or shutil.which("ncu"):
        pytest.skip("this machine would profile live")


def test_without_gpu_it_replays_a_recording_and_says_so(tmp_path: Path) -> None:
    done = demo(cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = tmp_path / done.stdout.splitlines()[-1]
    assert page == tmp_path / "kprof-demo" / "report.html"
    said, name = done.stderr.rstrip().rsplit(" ", 1)
    assert said.startswith("Replaying a recorded report: ")
    assert re.fullmatch(r"\([a-z]+\.[a-z_]+\)", name), "the doctor's check names the reason"
    said = "nothing was profiled on this machine"
    assert said in page.read_text(encoding="utf-8")
    document = json.loads(page.with_name("report.json").read_text(encoding="utf-8"))
    assert said in document["notes"][0]
    assert document["source"]["path"] == "demo.ncu-rep.xz"
    assert said in " ".join(done.stdout.split())


def test_the_story_comes_out(tmp_path: Path) -> None:
    demo(cwd=tmp_path)
    document = json.loads((tmp_path / "kprof-demo" / "report.json").read_text(encoding="utf-8"))
    first = {
        kernel["name"]: kernel["findings"][0]["rule"]
        for kernel in document["kernels"]
        if kernel["findings"]
    }
    assert first["transpose_unpadded"] == "shared-bank-conflicts"
    assert first["transpose_padded"] == "dram-bandwidth-bound"


def test_each_run_gets_a_directory_of_its_own(tmp_path: Path) -> None:
    pages = [demo("-q", cwd=tmp_path).stdout.splitlines()[-1] for _ in range(2)]
    assert pages == ["kprof-demo/report.html", "kprof-demo-2/report.html"]


def test_an_explicit_directory_is_not_overwritten(tmp_path: Path) -> None:
    assert demo("-o", "out", cwd=tmp_path).returncode == 0
    again = demo("-o", "out", cwd=tmp_path)
    assert again.returncode == 2
    assert "out already exists" in again.stderr
    assert demo("-o", "out", "--force", cwd=tmp_path).returncode == 0


def test_the_help_says_that_the_output_is_a_directory(tmp_path: Path) -> None:
    shown = " ".join(demo("--help", cwd=tmp_path).stdout.split())
    assert "-o, --output DIR Directory for the report. [default: kprof-demo]" in shown
