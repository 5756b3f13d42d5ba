"""Kernels a roofline cannot show, and why: none is left out without a word."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kprof.model import KernelReport
from kprof.page import Entry, known
from kprof.words import roof_label

Why = tuple[str, str]  # of one kernel, of several


@dataclass(frozen=True, slots=True)
class Unplaced:
    """Entries that are not on a chart for one reason.

    Attributes:
        why: completes "not on the chart because ...", for one kernel and for several.
        entries: largest share of time first.
        level: the memory level at which they are missing, None for all.
        collectable: whether profiling again could place them.
    """

    why: Why
    entries: tuple[Entry, ...]
    level: str | None = None
    collectable: bool = False

    @property
    def reason(self) -> str:
        """Why they are missing, as one or several kernels need it."""
        one, several = self.why
        return one if len(self.entries) == 1 else several


def without_arithmetic(entries: Iterable[Entry]) -> tuple[Unplaced, ...]:
    """Group the entries that have no place at any memory level."""
    return _grouped(entries, _arithmetic_missing, None)


def without_traffic(entries: Iterable[Entry], level: str) -> tuple[Unplaced, ...]:
    """Group the entries that do arithmetic but have no place at this memory level."""
    return _grouped(entries, lambda kernel: _traffic_missing(kernel, level), level)


def _grouped(
    entries: Iterable[Entry], missing: Callable[[KernelReport], Why | None], level: str | None
) -> tuple[Unplaced, ...]:
    groups: dict[tuple[Why, bool], list[Entry]] = {}
    for entry in entries:
        why = missing(entry.kernel)
        if why:
            thin = entry.kernel.depth not in {"standard", "full"}
            groups.setdefault((why, thin and "not in the report" in why[0]), []).append(entry)
    return tuple(
        Unplaced(why, tuple(members), level, collectable)
        for (why, collectable), members in groups.items()
    )


def _arithmetic_missing(kernel: KernelReport) -> Why | None:
    rate = known(kernel.roofline.flops_per_s) if kernel.roofline else None
    if rate is None:
        absent = "duration is" if kernel.duration_s is None else "FLOPs are"
        return _owned(f"{absent} not in the report")
    if rate > 0:
        return None
    arithmetic = "no floating-point arithmetic"
    return f"it does {arithmetic}", f"they do {arithmetic}"


def _traffic_missing(kernel: KernelReport, level: str) -> Why | None:
    if kernel.roofline is None or _arithmetic_missing(kernel):
        return None
    intensity = known(getattr(kernel.roofline.intensity, level))
    if intensity is not None and intensity > 0:
        return None
    moved = known(getattr(kernel.roofline.bytes, level))
    if moved == 0:
        nothing = f"no bytes at the {roof_label(level)} level"
        return f"it moves {nothing}", f"they move {nothing}"
    return _owned(f"{roof_label(level)} traffic is not in the report")


def _owned(what: str) -> Why:
    return f"its {what}", f"their {what}"
