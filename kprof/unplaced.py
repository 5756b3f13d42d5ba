"""Kernels a roofline cannot show, and why: none is left out without a word."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kprof.model import KernelReport
from kprof.page import Entry, known
from kprof.words import roof_label


@dataclass(frozen=True, slots=True)
class Unplaced:
    """Entries that are not on a chart for one reason.

    Attributes:
        reason: completes "not on the chart because ...".
        entries: largest share of time first.
        level: the memory level at which they are missing, None for all.
        collectable: whether profiling again could place them.
    """

    reason: str
    entries: tuple[Entry, ...]
    level: str | None = None
    collectable: bool = False


def without_arithmetic(entries: Iterable[Entry]) -> tuple[Unplaced, ...]:
    """Group the entries that have no place at any memory level."""
    return _grouped(entries, _arithmetic_missing, None)


def without_traffic(entries: Iterable[Entry], level: str) -> tuple[Unplaced, ...]:
    """Group the entries that do arithmetic but have no place at this memory level."""
    return _grouped(entries, lambda kernel: _traffic_missing(kernel, level), level)


def _grouped(
    entries: Iterable[Entry], missing: Callable[[KernelReport], str | None], level: str | None
) -> tuple[Unplaced, ...]:
    groups: dict[tuple[str, bool], list[Entry]] = {}
    for entry in entries:
        reason = missing(entry.kernel)
        if reason:
            thin = entry.kernel.depth not in {"standard", "full"}
            groups.setdefault((reason, thin and "not in the report" in reason), []).append(entry)
    return tuple(
        Unplaced(reason, tuple(members), level, collectable)
        for (reason, collectable), members in groups.items()
    )


def _arithmetic_missing(kernel: KernelReport) -> str | None:
    rate = known(kernel.roofline.flops_per_s) if kernel.roofline else None
    if rate is None:
        absent = "duration is" if kernel.duration_s is None else "FLOPs are"
        return f"their {absent} not in the report"
    return None if rate > 0 else "they do no floating-point arithmetic"


def _traffic_missing(kernel: KernelReport, level: str) -> str | None:
    if kernel.roofline is None or _arithmetic_missing(kernel):
        return None
    intensity = known(getattr(kernel.roofline.intensity, level))
    if intensity is not None and intensity > 0:
        return None
    moved = known(getattr(kernel.roofline.bytes, level))
    if moved == 0:
        return f"they move no bytes at the {roof_label(level)} level"
    return f"their {roof_label(level)} traffic is not in the report"
