"""Bench files: the ones that ship with the sample kernels, by name, and the user's own."""

from __future__ import annotations

import difflib
from importlib import resources
from pathlib import Path

from kprof import presence
from kprof.errors import TargetNotFound

CONTENT = "kprof.sample_kernels"
FILE = "bench.py"


def names() -> tuple[str, ...]:
    """Return the operators that ship with a bench file: ``depthwise-conv``, ``vector-add``."""
    folders = (entry for entry in resources.files(CONTENT).iterdir() if entry.is_dir())
    found = [entry.name for entry in folders if entry.joinpath(FILE).is_file()]
    return tuple(sorted(name.replace("_", "-") for name in found))


def resolve(target: str) -> Path:
    """Return the bench file that a name or a path stands for.

    Raises:
        TargetNotFound: there is none.
    """
    if target.endswith(".py"):
        path = Path(target)
        if presence.is_file(path):
            return path.absolute()
        raise TargetNotFound(f"{target} is no file", hint=_known())
    if target in names():
        place = resources.files(CONTENT).joinpath(target.replace("-", "_"), FILE)
        return Path(str(place)).absolute()
    close = difflib.get_close_matches(target, names(), n=1)
    meant = f"did you mean {close[0]}? " if close else ""
    raise TargetNotFound(f"there is no operator {target!r}", hint=meant + _known())


def operator_of(path: Path) -> str | None:
    """Return the operator whose shipped bench file this is, None for the user's own."""
    return next((name for name in names() if resolve(name) == path), None)


def _known() -> str:
    return f"give a bench file my_file.py, or one of {', '.join(names()) or 'no operators'}"
