"""The survey from within the program, with the real CUPTI: nothing missing, nothing changed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

FOLDER = Path(__file__).parent
TORCH = """
import torch
x = torch.ones(256, 256, device="cuda")
with torch.profiler.profile() as profiler:
    for _ in range(50):
        x = x + 1
    torch.cuda.synchronize()
print("seen", sum(event.count for event in profiler.key_averages() if "elementwise" in event.key))
"""


@pytest.fixture(scope="module")
def built(nvcc: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the programs; skips where they cannot be built or run."""
    folder = tmp_path_factory.mktemp("built")
    for name in ("faults", "names"):
        source = FOLDER / f"{name}.cu"
        subprocess.run([nvcc, "-arch=native", "-o", str(folder / name), str(source)], check=True)
    return folder


def plan(folder: Path, *args: str, **more: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "profile", "--plan", "-v", "-o", "out", *args],
        env={**os.environ, **more}, cwd=folder, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def launched(done: subprocess.CompletedProcess[str]) -> tuple[int, int]:
    found = re.search(r"^Survey: ([\d,]+) launch\w* of (\d+) kernel", done.stdout, re.MULTILINE)
    assert found is not None, done.stdout
    return int(found[1].replace(",", "")), int(found[2])


@pytest.mark.parametrize("args", [("names", "10"), ("faults", "graph"), ("faults", "forks")])
def test_the_same_launches_as_ncu_sees(built: Path, args: tuple[str, ...]) -> None:
    program, *rest = args
    traced = plan(built, f"./{program}", *rest)
    assert "ncu times the launches" not in traced.stderr
    # The forked child leaves by _exit, before CUPTI has handed anything over.
    assert ("ended without a word" in traced.stderr) is ("forks" in args)
    by_ncu = plan(built, f"./{program}", *rest, KPROF_CUPTI="")
    assert "ncu times the launches" in by_ncu.stderr
    assert launched(traced) == launched(by_ncu)


def test_fifty_thousand_launches_are_all_timed(built: Path) -> None:
    assert launched(plan(built, "./faults", "tiny", "50000")) == (50_000, 1)


def test_a_program_that_profiles_itself(built: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "itself.py"
    script.write_text(TORCH)
    done = plan(built, "--python", sys.executable, str(script))
    assert "the program itself traces with it" in done.stderr
    assert launched(done) == (51, 2)
