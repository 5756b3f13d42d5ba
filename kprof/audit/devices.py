"""The GPUs of a snapshot with what their names tell: compute capability and chip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kprof.audit import derive, matrix
from kprof.audit.facts import Facts, Unknown


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU.

    Attributes:
        name: as the driver or lspci gives it, as part of one line.
        capability: its compute capability.
        chip: ``gb207``, None where only the board's name is known.
    """

    name: str
    capability: matrix.Capability
    chip: str | None

    def __str__(self) -> str:
        return f"{self.name or 'GPU'} ({dotted(self.capability)})"


def dotted(capability: matrix.Capability) -> str:
    """Return ``(8, 9)`` as ``8.9``."""
    return f"{capability[0]}.{capability[1]}"


def devices(facts: Facts) -> tuple[Device, ...]:
    """Return the kinds of GPU in the machine, one of each name; () where none is known.

    The driver's list counts; where it is empty or absent, lspci's.
    """
    found = tuple(_listed(facts)) or tuple(_on_the_bus(facts))
    return tuple({(one.name, one.capability): one for one in found}.values())


def need_devices(facts: Facts) -> tuple[Device, ...]:
    """Return the GPUs, or raise :class:`Unknown` where none has a known capability."""
    found = devices(facts)
    if not found:
        raise Unknown("gpus[].compute_capability" if facts.known("gpus") else "gpus")
    return found


def _listed(facts: Facts) -> Iterator[Device]:
    for gpu in derive.gpus(facts) or ():
        capability = gpu.capability or matrix.capability_of_name(gpu.name[:200])
        if capability is not None:
            yield Device(
                derive.brief(gpu.name, 60), capability, matrix.chip_of_name(gpu.name[:200])
            )


def _on_the_bus(facts: Facts) -> Iterator[Device]:
    for name in derive.own_bus(facts) or ():
        capability = matrix.capability_of_name(name)
        if capability is not None:
            yield Device(derive.brief(name, 60), capability, matrix.chip_of_name(name))
