"""A signal ends ``kprof bench``: what was found by then is kept, and nothing goes on running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kprof import schema
from tests.profiling import alive, assert_no_traceback, wait_for
from tests.torch_python import torch_python

TEXT = """
import os, subprocess, time
import torch
from kprof import bench

bench.shapes("50", "60")
bench.check_shapes("7")

@bench.inputs
def inputs(shape, generator):
    return torch.rand(*shape, device=generator.device, generator=generator)

@bench.reference
def reference(a):
    return a * 2

@bench.variant
def right(a):
    return a * 2

@bench.variant
def wrong(a):
    return a * 3

calls = []
@bench.variant
def slow(a):
    calls.append(a.numel())
    if WHEN:
        # In a session of its own, and deaf to everything that can be ignored.
        ignoring = lambda: [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]
        import signal
        child = subprocess.Popen(["sleep", "300"], start_new_session=True, preexec_fn=ignoring)
        with open("pids.part", "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
        os.rename("pids.part", "pids")
        time.sleep(300)
    return a * 2
"""
EARLY, LATE = "True", "calls.count(60) == 3"  # in the first check; when the second shape is timed


def interrupted(
    folder: Path, when: str, signum: int, *, whole: bool = False
) -> tuple[int, dict[str, Any], str]:
    """Run it, end it by a signal in the slow variant, and return status, document and errors."""
    (folder / "mine.py").write_text(TEXT.replace("WHEN", when))
    kprof = subprocess.Popen(
        [sys.executable, "-m", "kprof", "bench", "mine.py", "--python", torch_python(),
         "--device", "cpu", "--runs", "20", "-o", "out.json"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    wait_for(lambda: (folder / "pids").exists(), 60)
    if whole:  # as a terminal does
        os.killpg(kprof.pid, signum)
    else:
        kprof.send_signal(signum)
    said, errors = kprof.communicate(timeout=60)
    assert_no_traceback(errors)
    assert "Interrupted" in said, errors
    pids = (folder / "pids").read_text().split()
    assert not any(alive(int(pid)) for pid in pids)
    found: dict[str, Any] = json.loads((folder / "out.json").read_text())
    jsonschema.validate(found, schema.shipped("kprof.bench/1"))
    assert found["interrupted"] is True
    return kprof.returncode, found, errors


@pytest.mark.parametrize(
    ("signum", "whole", "status"),
    [
        (signal.SIGINT, False, 130),
        (signal.SIGINT, True, 130),
        (signal.SIGTERM, False, 143),
        (signal.SIGHUP, True, 129),
    ],
)
def test_what_was_checked_is_kept(tmp_path: Path, signum: int, whole: bool, status: int) -> None:
    returned, found, errors = interrupted(tmp_path, EARLY, signum, whole=whole)
    assert returned == status
    assert "Error: wrong gives a wrong result" in errors
    assert "could not be run" not in errors
    assert {u["unit"]: [c["status"] for c in u["checks"]] for u in found["checks"]} == {
        "right": ["ok"], "wrong": ["wrong"], "slow": [],
    }  # fmt: skip
    assert {
        (u["unit"], u["status"], (u["message"] or "")[:8]) for s in found["shapes"] for u in s["units"]
    } == {
        ("right", "skipped", "not run:"),
        ("wrong", "wrong", "at 7: 7 "),
        ("slow", "skipped", "not run:"),
    }  # fmt: skip


def test_what_was_timed_is_kept(tmp_path: Path) -> None:
    returned, found, _ = interrupted(tmp_path, LATE, signal.SIGINT)
    assert returned == 130
    first, second = (
        {unit["unit"]: (unit["status"], unit["timing"] is not None) for unit in shape["units"]}
        for shape in found["shapes"]
    )
    assert first == {"right": ("ok", True), "wrong": ("wrong", False), "slow": ("ok", True)}
    assert second == {
        "right": ("skipped", False), "wrong": ("wrong", False), "slow": ("skipped", False),
    }  # fmt: skip
