"""The roofline as data: roofs, one point per kernel and level, and the ranges that hold them.

Both drawings, the interactive figure and the plain SVG, are made from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kprof.model import KernelReport, Report
from kprof.page import Entry, known
from kprof.units import si
from kprof.unplaced import Unplaced, without_arithmetic, without_traffic
from kprof.words import roof_label

LEVELS = ("dram", "l2", "l1")
# Roofs worth seeing beside kernels that do not use them; a chip has a dozen more.
REFERENCE = {"fp64", "fp32", "fp16", "tensor_tf32", "tensor_fp16", "tensor_bf16"}
ABOVE_ROOF = "above-roof"  # the quality check that marks a point as impossible
SAME_ROOF = 0.01  # roofs closer than this share one line and one label


@dataclass(frozen=True, slots=True)
class Roof:
    """A line of the roofline.

    Attributes:
        names: ceilings that share the line, e.g. ``tensor_fp16`` and ``tensor_bf16``.
        value: byte/s for a bandwidth, FLOP/s for arithmetic.
        unit: ``byte/s`` or ``FLOP/s``.
        used: whether a kernel moved bytes or did arithmetic of this kind.
    """

    names: tuple[str, ...]
    value: float
    unit: str
    used: bool

    @property
    def label(self) -> str:
        """The names in words, e.g. ``Tensor FP16 / BF16``."""
        labels = [roof_label(name) for name in self.names]
        short = [
            label.removeprefix("Tensor ") if position and labels[0].startswith("Tensor") else label
            for position, label in enumerate(labels)
        ]
        return " / ".join(short)


@dataclass(frozen=True, slots=True)
class Point:
    """A kernel on the roofline.

    Attributes:
        entry: whose point it is.
        intensity: FLOP per byte by level; a level without a value has no key.
        flops_per_s: achieved.
    """

    entry: Entry
    intensity: Mapping[str, float]
    flops_per_s: float

    @property
    def doubtful(self) -> bool:
        """Whether the kernel sits above a roof, which no kernel can."""
        return any(note.check == ABOVE_ROOF for note in self.entry.kernel.quality)


@dataclass(frozen=True, slots=True)
class Plane:
    """One GPU's roofline.

    Attributes:
        device: index into ``Report.devices``.
        name: the GPU's.
        bandwidths: slopes by level.
        arithmetic: flat roofs, lowest first.
        points: largest share of time first.
        x_range: FLOP/byte.
        y_range: FLOP/s.
        level: the memory level to show first.
        absent: the GPU's entries that are not on the chart, by reason.
    """

    device: int
    name: str
    bandwidths: Mapping[str, Roof]
    arithmetic: tuple[Roof, ...]
    points: tuple[Point, ...]
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    level: str
    absent: tuple[Unplaced, ...]

    @property
    def levels(self) -> tuple[str, ...]:
        """Levels at which at least one kernel has a point."""
        return tuple(x for x in LEVELS if any(x in point.intensity for point in self.points))


def planes(report: Report, ranked: Sequence[Entry]) -> tuple[Plane, ...]:
    """Build the roofline of every GPU that has something to draw."""
    built = []
    for device in range(len(report.devices)):
        mine = [entry for entry in ranked if entry.kernel.device == device]
        plane = _plane(report, device, mine)
        if plane is not None:
            built.append(plane)
    return tuple(built)


def powers(ends: tuple[float, float]) -> list[float]:
    """Return the powers of ten within a range, thinned to at most eleven."""
    low, high = math.ceil(math.log10(ends[0]) - 1e-9), math.floor(math.log10(ends[1]) + 1e-9)
    step = max(1, math.ceil((high - low) / 10))
    return [10.0**power for power in range(low, high + 1, step)]


def plain(value: float) -> str:
    """Write a power of ten as an axis does: ``0.01``, ``100``, ``10 T``."""
    if value >= 1e4:
        return si(value, "", digits=1)
    return f"{value:,.0f}" if value >= 1 else f"{value:.12f}".rstrip("0")


def _plane(report: Report, device: int, mine: Sequence[Entry]) -> Plane | None:
    ceilings = report.devices[device].ceilings or _own_ceilings(mine)
    points = tuple(point for entry in mine if (point := _point(entry)))
    if not points:
        return None
    shown = [level for level in LEVELS if any(level in p.intensity for p in points)]
    absent = list(without_arithmetic(mine))
    for level in shown:
        absent += without_traffic(mine, level)
    bandwidths = {
        level: Roof((level,), value, "byte/s", any(level in p.intensity for p in points))
        for level in LEVELS
        if (value := _positive(ceilings.get(level)))
    }
    arithmetic = _flat_roofs(ceilings, [p.entry.kernel for p in points])
    x_range, y_range = _ranges(points, bandwidths, arithmetic)
    return Plane(
        device=device,
        name=report.devices[device].name,
        bandwidths=bandwidths,
        arithmetic=arithmetic,
        points=points,
        x_range=x_range,
        y_range=y_range,
        level=shown[0],
        absent=tuple(absent),
    )


def _point(entry: Entry) -> Point | None:
    roofline = entry.kernel.roofline
    if roofline is None or not (rate := _positive(roofline.flops_per_s)):
        return None
    levels = {level: _positive(getattr(roofline.intensity, level)) for level in LEVELS}
    intensity = {level: value for level, value in levels.items() if value}
    return Point(entry, intensity, rate) if intensity else None


def _own_ceilings(mine: Sequence[Entry]) -> Mapping[str, float]:
    # Entries come by time, so the roofs are those at the clocks of the kernel that matters most.
    own = (e.kernel.roofline.ceilings for e in mine if e.kernel.roofline)
    return next((ceilings for ceilings in own if ceilings), {})


def _flat_roofs(ceilings: Mapping[str, float], kernels: Sequence[KernelReport]) -> tuple[Roof, ...]:
    used = _kinds_used(kernels)
    flat = [
        (name, _positive(value))
        for name, value in ceilings.items()
        if name in used or name in REFERENCE
    ]
    roofs: list[Roof] = []
    for name, value in sorted(flat, key=lambda item: (item[1] or 0.0, item[0])):
        if value is None:
            continue
        last = roofs[-1] if roofs else None
        if last and value <= last.value * (1 + SAME_ROOF):
            roofs[-1] = Roof((*last.names, name), last.value, last.unit, last.used or name in used)
        else:
            roofs.append(Roof((name,), value, "FLOP/s", name in used))
    return tuple(roofs)


def _kinds_used(kernels: Iterable[KernelReport]) -> set[str]:
    used = set()
    for kernel in kernels:
        if kernel.roofline is None:
            continue
        flops = kernel.roofline.flops
        used |= {kind for kind in ("fp64", "fp32", "fp16") if _positive(getattr(flops, kind))}
        used |= {f"tensor_{kind}" for kind, value in flops.tensor.items() if _positive(value)}
        if kernel.roofline.roof and kernel.roofline.roof not in LEVELS:
            used.add(kernel.roofline.roof)
    return used


def _ranges(
    points: Sequence[Point], bandwidths: Mapping[str, Roof], arithmetic: Sequence[Roof]
) -> tuple[tuple[float, float], tuple[float, float]]:
    xs = [value for point in points for value in point.intensity.values()]
    ys = [point.flops_per_s for point in points]
    top = max([roof.value for roof in arithmetic], default=max(ys))
    ridges = [top / slope.value for slope in bandwidths.values()]
    x_range = (min(*xs, 1.0) / 3, max(*xs, *ridges, 1.0) * 4)
    return _decades(x_range), (_decades((min(ys) / 3, top))[0], max(top, *ys, 1.0) * 2.5)


def _decades(ends: tuple[float, float]) -> tuple[float, float]:
    # Half decades keep the picture still when a value changes a little.
    low, high = (math.log10(end) * 2 for end in ends)
    return 10 ** (math.floor(low) / 2), 10 ** (math.ceil(high) / 2)


def _positive(value: float | None) -> float | None:
    value = known(value)
    return value if value is not None and value > 0 else None
