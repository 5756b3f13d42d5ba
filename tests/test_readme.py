"""What the README shows works as shown."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = [
    line.removeprefix("$ ").split("#")[0].strip()
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("$ kprof")
]


def kprof(*args: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).with_name("kprof")), *args],
        cwd=cwd, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_the_session_has_the_commands_it_promises() -> None:
    assert {shlex.split(command)[1] for command in COMMANDS} == {"profile", "analyze", "doctor"}


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("kprof profile")])
def test_profile_commands_are_accepted(command: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    done = kprof("profile", "--dry-run", *shlex.split(command)[2:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "train.py" in done.stdout


def test_the_shown_analysis_is_the_real_one() -> None:
    command = next(c for c in COMMANDS if c.startswith("kprof analyze tests/data"))
    done = kprof(*shlex.split(command)[1:])
    assert done.returncode == 0, done.stderr
    assert "32-way shared-memory bank conflicts" in done.stdout


def test_the_shown_audit_is_the_real_one() -> None:
    command = next(c for c in COMMANDS if c.startswith("kprof doctor --from"))
    done = kprof(*shlex.split(command)[1:])
    assert (done.returncode, done.stderr) == (1, "")
    fix = next(line for line in done.stdout.splitlines() if line.startswith("      $ "))
    assert f"\n{fix}\n" in README


def test_python_session_runs(tmp_path: Path) -> None:
    page = tmp_path / "transpose.html"
    code = PYTHON[0].replace('"transpose.html"', repr(str(page)))
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("shared 32-way shared-memory bank conflicts")
    assert "bank conflicts" in page.read_text(encoding="utf-8")


def test_the_example_rule_works(tmp_path: Path) -> None:
    (tmp_path / "waits_at_barriers.py").write_text(PYTHON[1], encoding="utf-8")
    listed = kprof("rules", "--rules-dir", str(tmp_path))
    assert "waits-at-barriers" in listed.stdout
    recording = "tests/data/h200/plan/transpose-padded.ncu-rep.xz"
    done = kprof("analyze", recording, "--rules-dir", str(tmp_path), "--rules", "waits-at-barriers")
    assert done.returncode == 0, done.stderr


def test_the_measured_pair_is_in_the_recordings() -> None:
    import kprof as api

    microseconds = {}
    for name in ("unpadded", "padded"):
        kernel = api.load(ROOT / f"tests/data/h200/plan/transpose-{name}.ncu-rep.xz").kernels[0]
        assert kernel.duration_s is not None
        microseconds[name] = kernel.duration_s * 1e6
    said = f"takes {microseconds['padded']:.0f} µs instead of {microseconds['unpadded']:.0f} µs"
    assert said in " ".join(README.split())
