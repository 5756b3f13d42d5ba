"""Questions to libraries that can hang or crash: asked in a process of their own.

Such a process is one of this package's scripts (``nvml_child.py``, ``libcuda_child.py``). It prints
the facts so far as a line of JSON, again and again, so that a hang loses only what comes after it.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kprof.audit.probes.machine import Machine
from kprof.process import Completed

# Libraries that the environment would load into every process that uses CUDA. They could hang or
# write files; that they are asked for is a fact by itself (``env``).
_INJECTIONS = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")


@dataclass(frozen=True, slots=True)
class Answer:
    """What such a process said.

    Attributes:
        facts: all it printed before it ended.
        error: how it ended, None when it ended well.
        hung: True when its time was up.
    """

    facts: dict[str, Any]
    error: str | None = None
    hung: bool = False


def ask(
    machine: Machine, interpreter: str, script: str, *arguments: str, timeout_s: float
) -> Answer:
    """Run a script of this package in an interpreter."""
    path = str(Path(__file__).with_name(script))
    env = {name: value for name, value in machine.environ.items() if name not in _INJECTIONS}
    # Isolated (-I) and without site packages (-S): fast, and nothing of the user's gets loaded.
    done = machine.run([interpreter, "-I", "-S", path, *arguments], timeout_s, env=env)
    if done is None:
        return Answer({}, f"{interpreter} cannot be started")
    if done.timed_out:
        return Answer(last_line(done.stdout), "no answer in time", hung=True)
    return Answer(last_line(done.stdout), _error(done))


def last_line(written: bytes) -> dict[str, Any]:
    """Return the last whole line of JSON, no facts when there is none."""
    for line in reversed(written.decode(errors="replace").splitlines()):
        try:
            facts = json.loads(line)
        except ValueError:  # the line that a crash cut off, or what a library printed
            continue
        if isinstance(facts, Mapping):
            return dict(facts)
    return {}


def _error(done: Completed) -> str | None:
    if done.cut:
        return "wrote without end"
    if done.returncode < 0:
        return f"ended by {_signal(-done.returncode)}"
    if done.returncode > 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        return said[-1][:300] if said else f"ended with status {done.returncode}"
    return None


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
