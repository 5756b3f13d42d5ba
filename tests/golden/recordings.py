"""The recorded sample kernels and their diagnosis, read once per test run."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kprof import reader
from kprof.diagnosis import diagnose
from kprof.model import Kernel, KernelReport, Profile, Report

DATA = Path(__file__).resolve().parents[1] / "data" / "h200"
DEPTHS = ("plan", "full")


def path(depth: str, name: str) -> Path:
    """Return the file of a recording."""
    return DATA / depth / f"{name}.ncu-rep.xz"


def names(depth: str = "plan") -> tuple[str, ...]:
    """Return the recorded samples, e.g. ``transpose-unpadded``."""
    return tuple(sorted(file.name.split(".")[0] for file in (DATA / depth).glob("*.ncu-rep.xz")))


def every() -> list[tuple[str, str]]:
    """Return every (depth, sample) there is."""
    return [(depth, name) for depth in DEPTHS for name in names(depth)]


@cache
def profile(depth: str, name: str) -> Profile:
    """Read a recording."""
    return reader.load(path(depth, name))


@cache
def report(depth: str, name: str) -> Report:
    """Diagnose a recording."""
    return diagnose(profile(depth, name))


def diagnosed(depth: str, name: str) -> KernelReport:
    """Return the diagnosis of the one kernel of a recording."""
    (found,) = report(depth, name).kernels
    return found


def kernel(depth: str, name: str) -> Kernel:
    """Return the one kernel of a recording as it was read."""
    (found,) = profile(depth, name).kernels
    return found
