"""What the tests of a traced ``kprof profile`` share: a program that launches, and what came of it."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Traced = Callable[..., subprocess.CompletedProcess[str]]

# Three kernels of the recorded report, and one that takes too little time to be looked at.
LAUNCHES = (
    ("_Z17vector_add_simplePKfS0_Pfm", 262144, 256, 230_000, 50),
    ("_Z22vector_add_grid_stridePKfS0_Pfm", 1056, 256, 220_000, 40),
    ("_Z4tinyPi", 1, 1, 1_000, 3),
)
# What the CUDA driver does, and a program that launches.
PROGRAM = f"""
import ctypes, os, sys
print("hello")
kept = []  # a kernel's name stays where it is
def launch(launches):
    if "CUDA_INJECTION64_PATH" not in os.environ:  # under ncu
        return
    assert ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection() == 1
    fake = ctypes.CDLL(os.environ["FAKE_LIBRARY"]).fake_launch
    fake.argtypes = (ctypes.c_char_p, *[ctypes.c_int] * 3, ctypes.c_uint64)
    names = [name.encode() for name, *_ in launches]
    kept.append(names)
    for name, (_, grid, block, took, times) in zip(names, launches):
        for _ in range(times):
            fake(name, grid, block, 0, took)
# loss.backward() makes it a script that trains
launch({LAUNCHES!r})
"""


def calls() -> list[list[str]]:
    log = Path("calls")
    return [shlex.split(line) for line in log.read_text().splitlines()] if log.exists() else []


def report(folder: str = "kprof-t") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(folder, "report.json").read_text())
    return found


def survey(folder: str = "kprof-t") -> dict[str, Any]:
    found: dict[str, Any] = report(folder)["collection"]["survey"]
    return found
