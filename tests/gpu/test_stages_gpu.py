"""Programs with many launches on a real GPU: survey, depth, and kernels told apart by name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.gpu

SOURCE = Path(__file__).with_name("names.cu")
KERNELS = {
    ("ea", 1), ("eb", 2), ("eb", 5), ("ec_with_a_longer_name_than_the_others", 3),
    ("void instance<(int)1>(float *)", 4), ("void instance<(int)2>(float *)", 4),
    ("inner::plain(float *)", 4),
}  # fmt: skip


@pytest.fixture(scope="session")
def built(nvcc: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program; skips where it cannot be built or run."""
    program = tmp_path_factory.mktemp("built") / "names"
    subprocess.run([nvcc, "-arch=native", "-o", str(program), str(SOURCE)], check=True)
    return program


@pytest.fixture
def names(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The program, from a working folder of its own."""
    monkeypatch.chdir(tmp_path)
    return str(built)


def profile(*args: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "profile", "-v", "-o", "out", *args],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done\n") == 1  # the later runs are not shown
    found: dict[str, Any] = json.loads(Path("out/report.json").read_text())
    print(done.stderr)
    return found


def met(found: dict[str, Any], depth: str = "standard") -> set[tuple[str, int]]:
    return {
        (kernel["demangled"], kernel["launch"]["grid"][0])
        for kernel in found["kernels"]
        if kernel["depth"] == depth
    }


def test_few_launches_are_measured_in_one_run(names: str) -> None:
    found = profile(names, "2")
    assert met(found) == KERNELS
    assert found["collection"]["survey"] is None
    assert len(found["kernels"]) == 14


@pytest.mark.parametrize("first", ["auto", "first"])
def test_every_kernel_is_met_in_depth(names: str, first: str) -> None:
    found = profile("--survey", first, "--coverage", "1", names, "10")
    survey = found["collection"]["survey"]
    assert (survey["launches"], survey["kernels"]) == (70, 7)
    assert met(found) == KERNELS
    assert survey["covered"] == pytest.approx(1)
    assert {kernel["launches"] for kernel in found["kernels"]} == {10}
    assert not any("not met" in note for note in found["notes"])
    # Met in the first run in depth: the further one by function names was not needed.
    assert not Path("out/report-2.ncu-rep").exists()


def test_only_what_covers_the_time_is_measured(names: str) -> None:
    found = profile("--survey", "first", "--top", "2", names, "10")
    assert 2 <= len(met(found)) <= 3  # instances of one template come together
    assert met(found) <= KERNELS
    # What was only traced is spelled as libstdc++ writes it: void instance<1>(float*).
    assert spelled(met(found) | met(found, "survey")) == spelled(KERNELS)


def spelled(kernels: set[tuple[str, int]]) -> set[tuple[str, int]]:
    return {(name.replace("(int)", "").replace(" *", "*"), grid) for name, grid in kernels}


@pytest.mark.parametrize(
    ("pattern", "kernels"),
    [
        ("^eb", {("eb", 2), ("eb", 5)}),
        ("instance<.*2>", {("void instance<(int)2>(float *)", 4)}),
        ("plain|^ea", {("inner::plain(float *)", 4), ("ea", 1)}),
    ],
)
def test_the_filter_takes_these_kernels_and_no_other(
    names: str, pattern: str, kernels: set[tuple[str, int]]
) -> None:
    found = profile("--survey", "never", "--kernel", pattern, names, "2")
    assert met(found) == kernels
    assert len(found["kernels"]) == 2 * len(kernels)
