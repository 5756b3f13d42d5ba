"""GPU architectures: which code runs where, and which drivers and modules a GPU takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from packaging.version import Version

from kprof.audit import table
from kprof.audit.table import Fact
from kprof.audit.toolkits import branch_of_cuda

Capability = tuple[int, int]

ARCH = re.compile(r"(sm|compute)_(\d+)(\d)([af]?)")


@dataclass(frozen=True, slots=True)
class Architecture:
    """A compute capability as a compiler target.

    Attributes:
        arch: its name for nvcc, ``sm_90``.
        capability: (major, minor).
        name: what it is, ``Hopper``.
        generation: its family of products, ``Ampere`` for 8.0 as for 8.6.
        first_cuda: the first toolkit that compiles for it.
        last_cuda: the last one, None while the newest does.
        a_since: the first toolkit with architecture-specific code (``sm_90a``), None for none.
        f_since: the first toolkit with family-specific code (``sm_100f``), None for none.
        family: the capabilities that its family-specific code runs on.
        tegra: whether it is a system on chip, whose cubins other GPUs do not run.
        source: where that is written down.
        confidence: one word, see :class:`kprof.audit.table.Fact`.
    """

    arch: str
    capability: Capability
    name: str
    generation: str
    first_cuda: str
    last_cuda: str | None
    a_since: str | None
    f_since: str | None
    family: tuple[Capability, ...]
    tegra: bool
    source: str
    confidence: str


@cache
def architectures() -> tuple[Architecture, ...]:
    """Return every architecture of the table, oldest first.

    Source: measured with ptxas of the nvcc wheels 11.7 to 13.5; before, Spack's recipes.
    """
    return tuple(
        Architecture(
            arch=row["arch"],
            capability=parsed(row["capability"]),
            name=row["name"],
            generation=row["generation"],
            first_cuda=row["first_cuda"],
            last_cuda=row.get("last_cuda"),
            a_since=row.get("a_since"),
            f_since=row.get("f_since"),
            family=tuple(map(parsed, row.get("family", ()))),
            tegra=row.get("tegra", False),
            source=table.cited(row),
            confidence=row["confidence"],
        )
        for row in table.rows("architectures")
    )


def architecture(capability: Capability) -> Architecture | None:
    """Return what is known of a compute capability, None for one the table lacks."""
    return next((one for one in architectures() if one.capability == capability), None)


def generation(capability: Capability) -> str | None:
    """Return a compute capability's generation, ``Hopper`` for 9.0."""
    found = architecture(capability)
    return found.generation if found else None


def is_tegra(capability: Capability) -> bool:
    """Say whether a capability is that of a system on chip (Orin, Xavier, Thor, ...)."""
    found = architecture(capability)
    return found is not None and found.tegra


def cubin_runs(arch: str, capability: Capability) -> bool:
    """Say whether machine code for ``sm_86`` runs on a GPU.

    It runs on the same major version with the same or a later minor one; systems on chip and other
    GPUs do not exchange code; ``sm_90a`` runs on exactly 9.0, ``sm_120f`` within its family.

    Source: CUDA compatibility guides, and torch's DEVICE_REQUIREMENT.
    """
    found = ARCH.fullmatch(arch)
    if found is None or found[1] != "sm":
        return False
    target = _current((int(found[2]), int(found[3])))
    device = _current(capability)
    if found[4]:
        return _special(target, found[4], device)
    if is_tegra(target) or is_tegra(device):
        return target == device
    return target[0] == device[0] and target[1] <= device[1]


def ptx_runs(arch: str, capability: Capability) -> bool:
    """Say whether a driver that knows its PTX version compiles ``compute_90`` for a GPU.

    It does for the same and every later capability; ``compute_90a`` for exactly 9.0,
    ``compute_120f`` within its family.

    Source: CUDA compatibility guides; measured with ptxas.
    """
    found = ARCH.fullmatch(arch)
    if found is None or found[1] != "compute":
        return False
    target = _current((int(found[2]), int(found[3])))
    device = _current(capability)
    return _special(target, found[4], device) if found[4] else target <= device


def branch_supports(branch: int, gpu: Capability | str) -> Fact | None:
    """Say whether a driver branch drives a GPU, given by capability or by generation.

    False before the branch of the first toolkit that compiles for it, and after the last branch
    of its generation. None for systems on chip, whose drivers come with their board's software,
    and for a GPU that the table lacks.

    Source: NVIDIA's legacy driver notes; the toolkit that ships with a branch.
    """
    known = [one for one in architectures() if gpu in (one.capability, one.generation)]
    plain = [one for one in known if not one.tegra]
    if not plain:
        return None
    last = table.find("last_branches", generation=plain[0].generation)
    if last is not None and branch > last["branch"]:
        return table.of(last, False)
    return _since(plain, branch) or (table.of(last, True) if last else _still(plain[0]))


def last_branch(gpu: str) -> Fact | None:
    """Return the last driver branch for a generation, None while the newest supports it."""
    return table.fact(table.find("last_branches", generation=gpu), "branch")


def first_branch(capability: Capability) -> Fact | None:
    """Return the branch of the first toolkit that compiles for a GPU: it needs no older one.

    None for systems on chip, and where that toolkit is older than the table.
    """
    found = architecture(capability)
    if found is None or found.tegra:
        return None
    old = Version(found.first_cuda) < Version(table.rows("branches")[0]["cuda"])
    return None if old else branch_of_cuda(found.first_cuda)


def modules_needed(gpu: str) -> Fact | None:
    """Return the flavour of kernel modules a generation takes: open, proprietary or either.

    Source: the driver's README on open kernel modules.
    """
    return table.fact(table.find("modules", generation=gpu), "flavor")


def parsed(text: str) -> Capability:
    """Return the table's ``"8.6"`` as ``(8, 6)``."""
    major, minor = text.split(".")
    return int(major), int(minor)


def _current(capability: Capability) -> Capability:
    """Return 11.0 for 10.1: CUDA 13 renamed Thor."""
    return (11, 0) if capability == (10, 1) else capability


def _special(target: Capability, suffix: str, device: Capability) -> bool:
    if suffix == "a":
        return target == device
    found = architecture(target)
    return found is not None and device in found.family


def _since(known: list[Architecture], branch: int) -> Fact | None:
    """Return False before the first branch of the oldest member, None when it is not before."""
    starts = [first_branch(one.capability) for one in known]
    found = [start for start in starts if start is not None]
    if len(found) < len(starts) or not found:
        return None
    first = min(found, key=lambda start: int(start.value))
    return _derived(first, False) if branch < first.value else None


def _still(known: Architecture) -> Fact:
    return Fact(True, known.source, "derived", table.table_date())


def _derived(ground: Fact, value: object) -> Fact:
    return Fact(value, ground.source, "derived", ground.date, ground.note)
