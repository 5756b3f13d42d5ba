"""What a bench found: the document ``kprof.bench/1``, field by field.

SI base units; an absent value is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["ok", "wrong", "failed", "timeout", "unsupported", "skipped"]
Verdict = Literal["faster", "slower", "equal", "unknown"]


@dataclass(frozen=True, slots=True)
class BenchDevice:
    """What the variants ran on.

    Attributes:
        kind: ``cuda`` or ``cpu``.
        cuda: the CUDA version of torch.
        sm_clock_hz: the highest clock, which the roof of arithmetic is made from.
        dram_bytes_per_s: peak of the memory, by its clock and bus width.
    """

    kind: str
    name: str
    compute_capability: str | None = None
    cuda: str | None = None
    sm_count: int | None = None
    sm_clock_hz: float | None = None
    l2_bytes: int | None = None
    dram_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Conditions:
    """How it was measured.

    Attributes:
        warmup: calls before the timed ones.
        runs: timed runs of each variant and shape.
        l2: ``cold`` or ``warm``: the caches before each run.
        seed: of the inputs.
        tolerance: relative and absolute error that counts as right; None for each type's own.
        baseline: the unit that the others are compared with.
    """

    warmup: int
    runs: int
    l2: Literal["cold", "warm"]
    seed: int
    tolerance: float | None = None
    baseline: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Whether a unit's result is right on one shape.

    Attributes:
        shape: as it is written, ``1x64x128x128,kernel=5``.
        status: ``unsupported`` when the variant says that it does not do this shape.
        tolerance: relative and absolute error that was allowed.
        max_abs_error: the largest difference from the reference.
        max_rel_error: the largest difference in relation to the reference.
    """

    shape: str
    status: Status
    message: str | None = None
    tolerance: float | None = None
    max_abs_error: float | None = None
    max_rel_error: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A unit against another one, from rounds in which both were timed in turn.

    Attributes:
        against: the other unit.
        speedup: how many times faster, the median over the rounds.
        low: lower end of the 99 % confidence interval of that median.
        high: its upper end.
        noise: the largest deviation from 1 that is called equal.
        verdict: ``unknown`` with too few rounds.
    """

    against: str
    speedup: float
    low: float | None
    high: float | None
    noise: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a unit takes on one shape.

    Attributes:
        method: ``events`` around single calls, ``graph`` of many calls, ``clock`` on a CPU.
        cold: whether the caches were flushed; a shape that is too small for that stays warm.
        runs: how many.
        spread: half the distance of the quartiles, in relation to the median.
        bytes_per_s: the least bytes that the operator has to move, per second.
        flops_per_s: its operations per second.
        roof: ``dram``, ``fp32`` or ``fp64``: what the device cannot exceed here.
        roof_pct: percent of that roof.
        copy_pct: speed in percent of a copy's that moves as many bytes.
        comparison: with the baseline, None for the baseline itself.
    """

    method: Literal["events", "graph", "clock"]
    cold: bool
    runs: int
    min_s: float
    p50_s: float
    p95_s: float
    spread: float
    bytes_per_s: float | None = None
    flops_per_s: float | None = None
    roof: str | None = None
    roof_pct: float | None = None
    copy_pct: float | None = None
    comparison: Comparison | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """What kprof's diagnosis says of the kernel that takes most of a unit's time.

    Attributes:
        kernels: names of all that ran.
        kernel: the longest one.
        duration_s: its duration under the profiler.
        memory_pct: memory throughput in percent of peak.
        compute_pct: compute throughput in percent of peak.
        occupancy_pct: achieved occupancy.
        wavefront_excess_pct: shared-memory wavefronts beyond the ideal.
        intensity: FLOP per byte of DRAM traffic, both as measured.
        bound: what the hardware was busiest with.
        finding: rule of the first finding.
        headline: what it says.
    """

    kernels: tuple[str, ...]
    kernel: str
    duration_s: float | None = None
    memory_pct: float | None = None
    compute_pct: float | None = None
    occupancy_pct: float | None = None
    wavefront_excess_pct: float | None = None
    intensity: float | None = None
    bound: str | None = None
    finding: str | None = None
    headline: str | None = None


@dataclass(frozen=True, slots=True)
class UnitResult:
    """One unit on one shape.

    Attributes:
        unit: variant and parameters as one word.
        status: anything but ``ok`` has no timing.
        message: why it is not ``ok``.
        why: the diagnosis, with ``--profile``.
    """

    unit: str
    variant: str
    parameters: Mapping[str, Any]
    status: Status
    message: str | None = None
    timing: Timing | None = None
    why: Why | None = None


@dataclass(frozen=True, slots=True)
class ShapeResult:
    """All units on one shape.

    Attributes:
        bytes: the least that the operator has to move, None where the bench file does not say.
        flops: its operations.
        precision: of the operations.
        copy_s: what copying as many bytes takes, the median.
        noise: how far a unit came out from itself, timed twice.
        problem: why none of its units could be timed, None where they could.
    """

    shape: str
    units: tuple[UnitResult, ...]
    bytes: float | None = None
    flops: float | None = None
    precision: str | None = None
    copy_s: float | None = None
    noise: float | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class UnitChecks:
    """Every check of one unit."""

    unit: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything that a bench found.

    Attributes:
        target: the bench file, as it was named.
        torch: its version.
        notes: what else a reader should know.
        interrupted: a signal ended it early; what was not run by then is skipped.
    """

    target: str
    python: str
    torch: str
    device: BenchDevice
    conditions: Conditions
    checks: tuple[UnitChecks, ...]
    shapes: tuple[ShapeResult, ...]
    notes: tuple[str, ...] = field(default=())
    interrupted: bool = False

    @property
    def wrong(self) -> tuple[str, ...]:
        """The units that gave a wrong result."""
        return self._units("wrong")

    @property
    def broken(self) -> tuple[str, ...]:
        """The units that failed or were ended."""
        return self._units("failed", "timeout")

    def _units(self, *statuses: str) -> tuple[str, ...]:
        checked = [u.unit for u in self.checks if any(c.status in statuses for c in u.checks)]
        ran = [u.unit for shape in self.shapes for u in shape.units if u.status in statuses]
        return tuple(dict.fromkeys([*checked, *ran]))
