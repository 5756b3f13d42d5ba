"""Nsight Compute: the command lines there are, the reader of its reports, and the job around it."""

from __future__ import annotations

import re
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from kprof.audit.probes.machine import Machine, output
from kprof.audit.probes.together import together
from kprof.collect import find

CHIPS_S = 5.0
_MAX_INSTALLS = 12
_CHIP = re.compile(r"\b[a-z]{2}\d{2,3}[a-z]?\b")

# Launchers say how many processes there are. A Slurm allocation has tasks also where the program
# is started once; only a step, which srun starts, has its number in SLURM_STEP_NUM_TASKS.
_RANKS = (
    "WORLD_SIZE",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_NTASKS",
)


def ncu(machine: Machine) -> dict[str, Any]:
    """Return the ncu that kprof would take, every other that works, and the chips it knows.

    One that is there and does not work is ``path`` with an ``error`` when no other does: the
    toolkit's launcher script stays behind where the tool itself is not installed.
    """
    places = find.candidates(machine.environ, machine.root)[:_MAX_INSTALLS]
    answers = together([partial(_answer, machine, path) for path in places])
    working = [one for one in answers if isinstance(one, find.Ncu)]
    installs = [{"path": _plain(machine, one.path), "version": one.version} for one in working]
    if not working:
        return {"ncu": {**_broken(machine, places, answers), "installs": []}}
    facts = {**installs[0], "installs": installs}
    chips = _chips(machine, working[0].path)
    return {"ncu": {**facts, "chips": chips} if chips else facts}


def ncu_report(machine: Machine) -> dict[str, Any]:
    """Return the version of the report reader that kprof itself uses."""
    try:
        return {"ncu_report": {"version": metadata.version("ncu-report")}}
    except metadata.PackageNotFoundError:
        return {"ncu_report": {"version": None}}


def job(machine: Machine) -> dict[str, Any]:
    """Return how many processes the job around kprof has, and which variable says so."""
    for variable in _RANKS:
        value = machine.environ.get(variable, "").strip()
        if re.fullmatch(r"[1-9]\d{0,6}", value):
            return {"job": {"ranks": int(value), "source": variable}}
    return {"job": {"ranks": 1, "source": None}}


def _answer(machine: Machine, path: Path) -> find.Ncu | str:
    done = machine.run([str(path.absolute()), "--version"], find.VERSION_TIMEOUT_S)
    return "cannot be started" if done is None else find.understood(path, done)


def _broken(machine: Machine, places: list[Path], answers: list[Any]) -> dict[str, Any]:
    if not places:
        return {"path": None}
    return {"path": _plain(machine, places[0]), "error": f"{places[0].name} {answers[0]}"}


def _chips(machine: Machine, path: Path) -> list[str]:
    done = machine.run([str(path.absolute()), "--list-chips"], CHIPS_S)
    return sorted(set(_CHIP.findall(output(done) or "")))


def _plain(machine: Machine, path: Path) -> str:
    root = str(machine.root).rstrip("/")
    return str(path).removeprefix(root)
