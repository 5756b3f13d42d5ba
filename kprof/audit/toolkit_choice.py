"""Which CUDA version to build with: one that knows the GPUs and that the driver runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kprof.audit import derive, matrix, needs, torch_install
from kprof.audit.devices import devices
from kprof.audit.facts import Facts

_FALLBACK = (12, 8)


def wanted_cuda(facts: Facts) -> tuple[int, int]:
    """Return the CUDA version to build with here: torch's own where GPUs and driver take it.

    Where they do not, torch has to become another build, and its CUDA counts; without torch it is
    the driver's.
    """
    ways = list(_ways(facts))
    return next((cuda for cuda in ways if _suits(facts, cuda)), ways[0])


def compiles(facts: Facts, cuda: Sequence[int]) -> bool:
    """Say whether nothing is known to keep a toolkit from compiling for every GPU here."""
    return all(_knows(cuda, one.capability) for one in devices(facts))


def _ways(facts: Facts) -> Iterator[tuple[int, int]]:
    torch = derive.torch_cuda(facts)
    if torch is not None:
        yield torch
        build = torch_install.fitting(facts)
        yield from _pair(matrix.cuda_of(build[1]) if build else None)
    driver = derive.driver_cuda(facts)
    if driver is not None:
        yield driver
    for one in devices(facts):
        known = matrix.architecture(one.capability)
        if known is not None:
            yield from _pair(known.last_cuda)
            yield from _pair(known.first_cuda)
    yield _FALLBACK


def _pair(text: str | None) -> Iterator[tuple[int, int]]:
    found = derive.release(text)
    if found is not None:
        yield found[0], found[1]


def _suits(facts: Facts, cuda: tuple[int, int]) -> bool:
    return compiles(facts, cuda) and needs.of(facts, cuda[0]).enough is not False


def _knows(cuda: Sequence[int], capability: matrix.Capability) -> bool:
    known = matrix.architecture(capability)
    if known is None:
        return True
    first, last = derive.release(known.first_cuda), derive.release(known.last_cuda)
    have = tuple(cuda[:2])
    return (first is None or have >= first) and (last is None or have <= last)
