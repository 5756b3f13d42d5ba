"""Which CUDA toolkit a build on this machine would use."""

from __future__ import annotations

from dataclasses import dataclass

from kprof.audit import derive
from kprof.audit.facts import Facts

# As a shell and as torch look for it: torch/utils/cpp_extension.py of torch 2.13 asks CUDA_HOME or
# CUDA_PATH, then nvcc on PATH, then /usr/local/cuda. The libraries of wheels are no toolkit.
_ORDER = ("CUDA_HOME", "CUDA_PATH", "PATH", "CUDACXX", "/usr/local/cuda", "conda", "distro")


@dataclass(frozen=True, slots=True)
class Toolkit:
    """A CUDA toolkit.

    Attributes:
        cuda: its CUDA version, (12, 4).
        root: its directory, or that of its nvcc; "" when not known.
    """

    cuda: tuple[int, int]
    root: str

    def __str__(self) -> str:
        where = f" ({derive.brief(self.root, 80)})" if self.root else ""
        return f"CUDA {self.cuda[0]}.{self.cuda[1]}{where}"


def winner(facts: Facts) -> Toolkit | None:
    """Return the toolkit whose nvcc runs, or else the first that a build finds; None for none."""
    compiler = _made(facts.text("nvcc.version"), facts.text("nvcc.path"))
    if compiler is not None:
        return compiler
    listed = facts.items("toolkits") or ()
    for source in _ORDER:
        for one in listed:
            found = _made(one.text("version"), one.text("root"))
            if one.text("source") == source and found is not None:
                return found
    return None


def _made(version: str | None, root: str | None) -> Toolkit | None:
    release = derive.release(version)
    return Toolkit((release[0], release[1]), root or "") if release else None
