"""Which GPUs a build of torch has code for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kprof.audit import derive, matrix
from kprof.audit.devices import Device, devices
from kprof.audit.facts import Facts

# Builds from this CUDA on may hold PTX for the newest architecture, which the table leaves out.
_MAY_HOLD_PTX = (12, 9)


@dataclass(frozen=True, slots=True)
class Coverage:
    """What torch can run on.

    Attributes:
        covered: the GPUs it has code for.
        missing: the GPUs it has none for.
        archs: the code it has.
        source: where the list is from, None for the installed torch itself.
    """

    covered: tuple[Device, ...]
    missing: tuple[Device, ...]
    archs: tuple[str, ...]
    source: str | None


def coverage(facts: Facts) -> Coverage | None:
    """Return which GPUs of the machine torch has code for; None when that is not known.

    The installed torch's own list counts. It is empty where CUDA never came up, which proves
    nothing: then the table of official builds answers, for the builds it has.
    """
    known = devices(facts)
    listed = _listed(facts)
    if not known or listed is None:
        return None
    archs, source = listed
    missing = tuple(one for one in known if not _runs(facts, archs, one.capability))
    if source and any(_table_cannot_tell(facts, archs, one.capability) for one in missing):
        return None
    covered = tuple(one for one in known if one not in missing)
    return Coverage(covered, missing, archs, source)


def label(facts: Facts) -> str:
    """Return the local part of torch's version: ``cu126``, ``cpu``, ``rocm6.2``, or ""."""
    found = re.search(r"\+([\w.]+)", (facts.text("torch.version") or "")[:100])
    return found[1].lower() if found else ""


def _listed(facts: Facts) -> tuple[tuple[str, ...], str | None] | None:
    archs = facts.texts("torch.arch_list")
    if archs:
        return tuple(derive.brief(one, 20) for one in archs[:64]), None
    release = matrix.torch_release(facts.text("torch.version") or "")
    machine = derive.machine(facts)
    if release is None or machine is None:
        return None
    fact = matrix.wheel_archs(release.version, label(facts), machine)
    return (fact.value, str(fact)) if fact is not None and fact.certain else None


def _runs(facts: Facts, archs: tuple[str, ...], capability: matrix.Capability) -> bool:
    if any(matrix.cubin_runs(arch, capability) for arch in archs):
        return True
    if not any(matrix.ptx_runs(arch, capability) for arch in archs):
        return False
    built, driver = derive.torch_cuda(facts), derive.driver_cuda(facts)
    return built is None or driver is None or built <= driver


def _table_cannot_tell(facts: Facts, archs: tuple[str, ...], capability: matrix.Capability) -> bool:
    cuda = derive.torch_cuda(facts)
    newest = not any(arch.startswith("sm_") and _beyond(arch, capability) for arch in archs)
    return newest and cuda is not None and cuda >= _MAY_HOLD_PTX


def _beyond(arch: str, capability: matrix.Capability) -> bool:
    found = re.match(r"sm_(\d+)(\d)", arch)
    return found is not None and (int(found[1][:4]), int(found[2])) > capability
