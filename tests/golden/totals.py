"""What must hold of lines and instructions in any report, whoever recorded it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kprof import metrics as m
from kprof.model import Heat, Kernel
from kprof.sharedmem import IDEAL as WAVEFRONTS_IDEAL
from kprof.sharedmem import WAVEFRONTS
from kprof.source_view import (
    EXECUTED,
    LOCAL,
    SAMPLES,
    SECTORS,
    SECTORS_IDEAL,
    THREADS,
    source_view,
)

# Heat of a view, and the same from the kernel's own metrics.
TOTALS: dict[str, tuple[Callable[[Heat], float | None], Callable[[Kernel], float | None]]] = {
    "samples": (lambda heat: heat.samples, lambda k: k.metrics.get(SAMPLES)),
    "wavefronts": (
        lambda heat: heat.excess_wavefronts,
        lambda k: _difference(k, WAVEFRONTS, WAVEFRONTS_IDEAL),
    ),
    "sectors": (
        lambda heat: heat.excess_sectors,
        lambda k: _difference(k, SECTORS, SECTORS_IDEAL),
    ),
    "local": (lambda heat: heat.local_sectors, lambda k: k.metrics.get(LOCAL)),
    "executed": (
        lambda heat: heat.executed,
        lambda k: k.metrics.get(EXECUTED) if k.code else None,
    ),
    "threads": (
        lambda heat: (
            None
            if heat.active_threads is None or heat.executed is None
            else heat.active_threads * heat.executed
        ),
        lambda k: k.metrics.get(THREADS) if k.code else None,
    ),
}


def _difference(kernel: Kernel, actual: str, ideal: str) -> float | None:
    if actual not in kernel.metrics or ideal not in kernel.metrics:
        return None
    return kernel.metrics[actual] - kernel.metrics[ideal]


def mismatches(kernel: Kernel) -> Iterator[str]:
    """Yield the totals of lines, and of what has none, that are not the kernel's own."""
    view = source_view(kernel, (10**6, 10**6))
    if view is None:
        return
    parts = [line.heat for line in view.lines]
    parts += [view.unplaced] if view.unplaced is not None else []
    for name, (of_heat, of_kernel) in TOTALS.items():
        expected = of_kernel(kernel)
        if expected is None:
            continue
        found = sum(of_heat(heat) or 0.0 for heat in parts)
        if abs(found - expected) > 1e-6 * max(abs(expected), 1.0):
            yield f"{name}: lines add up to {found}, the kernel has {expected}"
    yield from _stalls(kernel, parts)


def _stalls(kernel: Kernel, parts: list[Heat]) -> Iterator[str]:
    reported = {
        reason: kernel.metrics.get(m.SAMPLED_STALL_NOT_ISSUED.format(reason))
        for reason in ("long_scoreboard", "short_scoreboard", "barrier", "wait", "mio_throttle")
    }
    for reason, expected in reported.items():
        found = sum(heat.stalls.get(reason, 0.0) for heat in parts)
        if expected is not None and found != expected:
            yield f"{reason}: lines add up to {found}, the kernel has {expected}"


def misplaced(kernel: Kernel) -> list[str]:
    """Name lines that got a sum of instructions that the report places elsewhere."""
    view = source_view(kernel, (10**6, 10**6))
    if view is None:
        return []
    expected: dict[tuple[str, int], float] = {}
    for row in kernel.instructions:
        if row.file is not None and row.line is not None:
            key = (row.file, row.line)
            expected[key] = expected.get(key, 0.0) + row.values.get(SAMPLES, 0.0)
    found = {(line.file, line.line): line.heat.samples or 0.0 for line in view.lines}
    return [f"{key}: {found.get(key)} != {sum_}" for key, sum_ in expected.items()
            if found.get(key, 0.0) != sum_]  # fmt: skip
