"""One more run on a real GPU, for a kernel whose limiter the plan does not measure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.gpu

SOURCE = Path(__file__).with_name("textures.cu")
TEXTURES = ("tex", "texin", "l1tex__f_", "l1tex__tmain")


@pytest.fixture(scope="session")
def built(nvcc: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program; skips where it cannot be built or run."""
    program = tmp_path_factory.mktemp("built") / "textures"
    subprocess.run([nvcc, "-arch=native", "-o", str(program), str(SOURCE)], check=True)
    return str(program)


def profile(folder: Path, *args: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "profile", "-v", "-o", str(folder), *args],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done\n") == 1
    print(done.stderr)
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return found


def test_a_kernel_bound_by_textures_is_named_by_one_more_run(built: str, tmp_path: Path) -> None:
    before = profile(tmp_path / "before", "--no-follow-up", built)
    seen = {(kernel["bound"], kernel["limiter"]["metric"]) for kernel in before["kernels"]}
    if {bound for bound, _ in seen} != {"latency"}:
        pytest.skip(f"this GPU's planned units show what textures are busy with: {seen}")
    after = profile(tmp_path / "after", built)
    assert (tmp_path / "after" / "follow-up.ncu-rep").is_file()
    for kernel in after["kernels"]:
        assert kernel["bound"] in {"l1", "balanced"}
        assert any(part in kernel["limiter"]["metric"] for part in TEXTURES), kernel["limiter"]
        assert "other-run" in {note["check"] for note in kernel["quality"]}


def test_a_quick_look_has_none(built: str, tmp_path: Path) -> None:
    found = profile(tmp_path / "quick", "--depth", "quick", built)
    assert not (tmp_path / "quick" / "follow-up.ncu-rep").exists()
    assert {kernel["depth"] for kernel in found["kernels"]} == {"quick"}
