"""Build the evidence and the source places a finding carries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kprof.model import Evidence, Instruction, Kernel, Limiter, Place, Side
from kprof.own_code import named, own
from kprof.quantity import Quantity

NVIDIA_60 = "NVIDIA rule SOLBottleneck, ncu 2025.3"
OWN = "kprof"
TOP_PLACES = 5
LIMIT_PCT = 60.0


def measured(
    kernel: Kernel,
    quantity: Quantity,
    threshold: float | None = None,
    source: str | None = None,
    *,
    side: Side | None = None,
) -> tuple[Evidence, ...]:
    """Return one piece of evidence, or none when the quantity is absent."""
    value = quantity.read(kernel.metrics)
    if value is None:
        return ()
    return (Evidence(_name(kernel, quantity), value, quantity.unit, threshold, source, side),)


def derived(
    name: str,
    value: float,
    unit: str,
    threshold: float | None = None,
    source: str | None = None,
    *,
    side: Side | None = None,
) -> Evidence:
    """Return evidence for a value kprof computed."""
    return Evidence(name, value, unit, threshold, source, side)


def busy(top: Limiter) -> Evidence:
    """Return the limiter's utilisation against the 60 % from which a unit is the limit.

    Whoever shows it below that says that nothing is.
    """
    side: Side = "at least" if top.pct >= LIMIT_PCT else "below"
    return Evidence(top.metric, top.pct, "%", LIMIT_PCT, NVIDIA_60, side)


def places(
    kernel: Kernel,
    weight: Callable[[Instruction], float],
    total: float | None = None,
    *,
    rows: Iterable[Instruction] | None = None,
    of: str | None = None,
) -> tuple[Place, ...]:
    """Return where most of the weight is, and its share of ``total`` (default: the sum).

    Instructions of one source line count together and are named by the heaviest of them: an
    unrolled loop is one place, not eight.

    Args:
        kernel: whose instructions are weighed.
        weight: what one instruction contributes.
        total: what shares are of.
        rows: the instructions; those that have counters of their own when None.
        of: what is weighed, in words to follow "of": ``executed instructions``.
    """
    weighed = [(weight(row), row) for row in (kernel.instructions if rows is None else rows)]
    heavy = [(w, row) for w, row in weighed if w > 0.0]
    heavy.sort(key=lambda item: (-item[0], item[1].function, item[1].pc))
    whole = sum(w for w, _ in heavy) if total is None else total
    if not whole:
        return ()
    lines: dict[tuple[object, ...], list[tuple[float, Instruction]]] = {}
    for w, row in heavy:
        lines.setdefault(_line_of(row), []).append((w, row))
    found = sorted(lines.values(), key=lambda group: (-_sum(group), group[0][1].pc))
    return tuple(_place(group, whole, of) for group in found[:TOP_PLACES])


def _sum(group: Iterable[tuple[float, Instruction]]) -> float:
    return sum(w for w, _ in group)


def _place(group: Sequence[tuple[float, Instruction]], whole: float, of: str | None) -> Place:
    (heaviest, row), share = group[0], min(_sum(group) / whole, 1.0)
    own_share = share if len(group) == 1 else min(heaviest / whole, 1.0)
    return Place(row.file, row.line, row.sass, row.pc, share, row.chain, len(group), own_share, of)


def _line_of(row: Instruction) -> tuple[object, ...]:
    """Return what counts as one place: a line that can be changed, with all CUDA makes of it."""
    spot = own(Place(row.file, row.line, row.sass, row.pc, 0.0, row.chain))
    return (None, row.function, row.pc) if spot is None else (spot.file, spot.line)


def samples_of(reason: str) -> str:
    """Name what shares of the samples with a stall reason are of: ``the long-scoreboard samples``."""
    return f"the {reason.replace('_', '-')} samples"


def where(found: Iterable[Place]) -> str:
    """Name the first place for a headline: `` at file.cu:12``, or nothing without line info."""
    return next((f" at {name}" for place in found if (name := named(place))), "")


def mostly(found: Iterable[Place], what: str = "wait") -> str:
    """Say in a headline where most of it is: ``; most wait at file.cu:12``; nothing without lines.

    A clause of its own: what stands before it is of the whole kernel, not of that line.
    """
    at = where(found)
    return f"; most {what}{at}" if at else ""


def _name(kernel: Kernel, quantity: Quantity) -> str:
    """Return the metric the value was read from when it is a single one of its kind, else our name."""
    for way in quantity.ways:
        if all(name in kernel.metrics for name in way.metrics):
            single = len(way.metrics) == 1 and not way.converts
            return way.metrics[0] if single and len(quantity.ways) < 3 else quantity.name
    return quantity.name
