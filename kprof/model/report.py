"""The diagnosis as other programs read it: ``kprof.report/1``.

Field names, nesting and units are the JSON's (docs/json.md); an absent value is None.
Percentages are 0..100, shares 0..1, everything else SI base units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kprof.model.finding import Finding, QualityNote, Skipped
from kprof.model.profile import Collection, Launch, Opinion, Source
from kprof.model.source import SourceFile, SourceView, StallTree

# Why a kernel that was only timed was not measured in depth: its share of the GPU time is smaller
# than those chosen (``--coverage``, ``--top``); it was launched in a search for the best
# configuration; it was chosen, and the run in depth did not measure it.
LeftOut = Literal["coverage", "autotuning", "missing"]
Bound = Literal[
    "dram", "l2", "l1", "shared", "fp64", "fp32", "fp16", "tensor", "int", "xu",
    "issue", "latency", "launch", "balanced", "unknown",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ClockHz:
    """Clocks while the kernels ran."""

    sm: float | None = None
    dram: float | None = None


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """One GPU with its clocks and roofs.

    Attributes:
        ceilings: roof name (``dram``, ``l2``, ``l1`` in byte/s; ``fp64``, ``fp32``,
            ``fp16``, ``tensor_<type>`` in FLOP/s or OP/s) at the clocks of the report.
    """

    name: str
    compute_capability: str | None
    sm_count: int | None
    clock_hz: ClockHz = field(default_factory=ClockHz)
    ceilings: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Limiter:
    """The unit that was busiest: its metric, its resource class and how busy in percent of peak."""

    metric: str
    resource: str
    pct: float


@dataclass(frozen=True, slots=True)
class Throughput:
    """Percent of peak. ``compute_pct`` and ``memory_pct`` are NVIDIA's Speed Of Light metrics."""

    compute_pct: float | None = None
    memory_pct: float | None = None
    dram_pct: float | None = None
    l2_pct: float | None = None
    l1_pct: float | None = None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The smallest launch change that fits one more block per SM."""

    change: str
    blocks_per_sm: int
    occupancy_pct: float


@dataclass(frozen=True, slots=True)
class OccupancyCurve:
    """How many warps an SM could hold if one resource of the launch were another.

    Attributes:
        resource: ``registers``, ``shared_memory`` or ``block_size``.
        unit: of ``points``' x: ``register/thread``, ``byte/block``, ``thread/block``.
        points: (x, resident warps per SM), where the curve bends.
        here: the launch itself, None when unknown.
    """

    resource: str
    unit: str
    points: tuple[tuple[float, float], ...]
    here: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Resident warps in percent of the maximum; every limiter that ties for the smallest.

    Attributes:
        what_if: the smallest changes that fit another block; empty where ``no_matter`` is given.
        curves: occupancy over each resource.
        no_matter: why more occupancy would change nothing or cannot be told, None otherwise.
    """

    theoretical_pct: float | None = None
    achieved_pct: float | None = None
    limiters: tuple[str, ...] = ()
    what_if: tuple[WhatIf, ...] = ()
    curves: tuple[OccupancyCurve, ...] = ()
    no_matter: str | None = None


@dataclass(frozen=True, slots=True)
class Caches:
    """Hit rates in percent of sectors looked up."""

    l1_hit_pct: float | None = None
    l2_hit_pct: float | None = None


@dataclass(frozen=True, slots=True)
class SharedLine:
    """Shared-memory wavefronts of one instruction: needed by the access, and ideal for its width."""

    file: str | None
    line: int | None
    sass: str | None
    pc: int | None
    wavefronts: float
    ideal: float


@dataclass(frozen=True, slots=True)
class SharedClass:
    """Shared-memory wavefronts of one kind of access.

    Attributes:
        opcode: ``LDS``, ``LDSM``, ``LDGSTS``, ``STS``, ``STSM``, ``ATOMS``, or whatever else
            accesses shared memory; empty where the instructions' text was not read.
        wavefronts: passes through the data banks the addresses needed.
        ideal: passes the same accesses need without conflicts.
    """

    opcode: str
    wavefronts: float
    ideal: float


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """Shared-memory access efficiency.

    Attributes:
        wavefronts: passes through the data banks the addresses needed.
        ideal: passes the same accesses need without conflicts, by access width.
        excess_pct: 100 * (wavefronts - ideal) / wavefronts.
        by_source: per instruction, most excess first.
        by_class: per kind of access, most excess first.
    """

    wavefronts: float | None = None
    ideal: float | None = None
    excess_pct: float | None = None
    by_source: tuple[SharedLine, ...] = ()
    by_class: tuple[SharedClass, ...] = ()


@dataclass(frozen=True, slots=True)
class Flops:
    """Operations of the launch by precision; ``tensor`` by input type (``fp16``, ``bf16``, ...)."""

    fp64: float | None = None
    fp32: float | None = None
    fp16: float | None = None
    tensor: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Levels:
    """One value per memory level (bytes, or FLOP/byte)."""

    dram: float | None = None
    l2: float | None = None
    l1: float | None = None


@dataclass(frozen=True, slots=True)
class Roofline:
    """The kernel on the roofline.

    Attributes:
        flops: operations of the launch.
        bytes: traffic of the launch (definitions: docs/metrics.md).
        intensity: FLOP per byte at each level.
        flops_per_s: achieved, all precisions together.
        roof_flops_per_s: the lowest roof above the kernel's point.
        roof_pct: 100 * achieved / roof, for the binding roof (bandwidth or arithmetic).
        roof: name of the binding roof: ``dram``, ``l2``, ``l1``, ``fp32``, ``tensor_fp16``...
        ceilings: as ``DeviceReport.ceilings``, at this kernel's own clocks.
    """

    flops: Flops = field(default_factory=Flops)
    bytes: Levels = field(default_factory=Levels)
    intensity: Levels = field(default_factory=Levels)
    flops_per_s: float | None = None
    roof_flops_per_s: float | None = None
    roof_pct: float | None = None
    roof: str | None = None
    ceilings: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Origin:
    """Which framework operator launched the kernel."""

    op: str | None = None
    file: str | None = None
    line: int | None = None
    shapes: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class KernelReport:
    """Everything kprof says about one kernel.

    Attributes:
        findings: ordered; the first is the primary limiter.
        clear: rules that had their data and did not fire.
        skipped: rules that lacked data.
        quality: doubts about the data.
        opinions: NVIDIA's own rule results, a second opinion that is never merged.
        launches: launches in the program that this one stands for.
        total_s: GPU time of all of them in the survey, None without one.
        depth: as ``Collection.depth``; ``survey`` for a kernel that was timed only.
        left_out: why a survey's kernel was not measured in depth: ``coverage`` for a smaller
            share of the time than those chosen, ``autotuning`` for a launch that tried a
            configuration, ``missing`` for one that was chosen and did not come up again; None
            otherwise.
        stalls: warp-stall reason to share (0..1) of stalled samples.
        pipes: execution pipe to percent of peak.
        source: lines and instructions with their cost, None without per-instruction counters.
        stall_tree: issued or not, why not and where; None without stall data.
    """

    index: int
    name: str
    demangled: str
    device: int
    workload: str
    bound: Bound
    launch: Launch | None = None
    nvtx: tuple[str, ...] = ()
    origin: Origin | None = None
    duration_s: float | None = None
    limiter: Limiter | None = None
    launches: int = 1
    total_s: float | None = None
    depth: str | None = None
    left_out: LeftOut | None = None
    throughput: Throughput = field(default_factory=Throughput)
    occupancy: Occupancy = field(default_factory=Occupancy)
    caches: Caches = field(default_factory=Caches)
    stalls: Mapping[str, float] = field(default_factory=dict)
    pipes: Mapping[str, float] = field(default_factory=dict)
    shared_memory: SharedMemory | None = None
    roofline: Roofline | None = None
    findings: tuple[Finding, ...] = ()
    clear: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    quality: tuple[QualityNote, ...] = ()
    opinions: tuple[Opinion, ...] = ()
    source: SourceView | None = None
    stall_tree: StallTree | None = None

    @property
    def timed_only(self) -> bool:
        """Whether it was not profiled in depth, and there is nothing to say but its duration."""
        return self.depth == "survey" and not self.findings


@dataclass(frozen=True, slots=True)
class Report:
    """A diagnosed profile.

    Attributes:
        findings: those that span kernels.
        files: text of the source files that the kernels' lines are in, as far as found.
    """

    source: Source
    collection: Collection
    devices: tuple[DeviceReport, ...]
    kernels: tuple[KernelReport, ...]
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    files: tuple[SourceFile, ...] = ()
