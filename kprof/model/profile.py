"""What was measured: a report file as plain data, before any judgement.

Units are SI base units. A value that is absent, NaN or infinite in the report has no key in
``Kernel.metrics``; why it is missing stands in ``Kernel.unusable``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kprof.model.finding import Spot
from kprof.model.source import SourceFile

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a profile came from.

    Attributes:
        path: the file as the user named it.
        sha256: hex digest of the file's bytes as stored on disk (compressed if it is).
        ncu_version: version of the Nsight Compute that wrote it, None when not recorded.
        truncated: True when only the complete kernels of a cut-off file could be read.
        command: the profiled command line, when kprof itself ran it.
        target_exit: the profiled program's exit status, when kprof itself ran it.
    """

    path: str
    sha256: str
    ncu_version: str | None = None
    truncated: bool = False
    command: tuple[str, ...] | None = None
    target_exit: int | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """What a first run without replay saw of the whole program.

    Attributes:
        launches: kernel launches that were timed.
        kernels: distinct (name, grid, block, shared memory) among them.
        total_s: GPU time of them all in seconds.
        in_depth: distinct kernels that were then measured in depth.
        covered: their share of ``total_s`` less ``tuning_s``, 0..1.
        tuning_launches: launches recognised as a search for the best configuration, left out.
        tuning_s: their GPU time in seconds.
        complete: False when the program launched more than the survey takes.
        timed_by: ``cupti`` while the program ran as it does alone, ``ncu`` one launch at a time.
    """

    launches: int
    kernels: int
    total_s: float
    in_depth: int
    covered: float
    tuning_launches: int = 0
    tuning_s: float = 0.0
    complete: bool = True
    timed_by: str = "ncu"


@dataclass(frozen=True, slots=True)
class Collection:
    """How the counters were collected; None where the report does not say.

    Attributes:
        passes: replay passes of the kernel that needed most.
        depth: ``quick``, ``standard`` or ``full`` as asked of kprof, ``sections`` for reports
            made with ncu's own sets, ``survey`` for durations alone.
        replay_mode: ``kernel``, ``application``, ``range`` or ``app-range``.
        clock_control: ``none`` or ``base``.
        cache_control: ``all`` (flushed before every pass) or ``none``.
        survey: what a first run saw of the whole program, None without one.
    """

    passes: int | None = None
    depth: str | None = None
    replay_mode: str | None = None
    clock_control: str | None = None
    cache_control: str | None = None
    survey: Survey | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU of the report.

    Attributes:
        name: marketing name, e.g. ``NVIDIA H200``.
        compute_capability: ``"9.0"``.
        sm_count: streaming multiprocessors.
        attributes: CUDA device attributes by name without the ``device__attribute_`` prefix.
    """

    name: str
    compute_capability: str | None
    sm_count: int | None
    attributes: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch configuration; None where the report lacks the value.

    Attributes:
        grid: blocks per dimension.
        block: threads per dimension.
        registers_per_thread: as compiled.
        shared_static_bytes: per block, declared in the kernel.
        shared_dynamic_bytes: per block, given at launch.
        shared_driver_bytes: per block, reserved by the driver.
        stream: CUDA stream id.
        waves_per_sm: grid size over what all SMs hold at once (``launch__waves_per_multiprocessor``).
        cluster_size: thread blocks per cluster, 0 or None without clusters.
    """

    grid: Dim3 | None = None
    block: Dim3 | None = None
    registers_per_thread: int | None = None
    shared_static_bytes: int | None = None
    shared_dynamic_bytes: int | None = None
    shared_driver_bytes: int | None = None
    stream: int | None = None
    waves_per_sm: float | None = None
    cluster_size: int | None = None


@dataclass(frozen=True, slots=True)
class Instruction:
    """One SASS instruction that has per-instruction counters.

    Attributes:
        pc: byte offset from the function's start.
        sass: the disassembled instruction.
        file: source file, None without line information.
        line: 1-based source line, None without line information.
        values: counters by metric name, e.g. ``memory_l1_wavefronts_shared``.
        function: position among the kernel's functions, 0 unless code is called.
        chain: as :attr:`kprof.model.Place.chain`.
    """

    pc: int
    sass: str
    file: str | None
    line: int | None
    values: Mapping[str, float]
    function: int = 0
    chain: tuple[Spot, ...] = ()


@dataclass(frozen=True, slots=True)
class Code:
    """One SASS instruction of a function that was read as a whole, counters or not.

    Attributes:
        pc: byte offset from the function's start.
        sass: the disassembled instruction, targets of branches as offsets too; empty where the
            library cannot read it.
        file: source file, None without line information.
        line: 1-based source line, None without line information.
        function: position among the kernel's functions, 0 unless code is called.
        chain: as :attr:`kprof.model.Place.chain`.
    """

    pc: int
    sass: str
    file: str | None = None
    line: int | None = None
    function: int = 0
    chain: tuple[Spot, ...] = ()


@dataclass(frozen=True, slots=True)
class Opinion:
    """A result of one of NVIDIA's own rules, as stored in the report and cleaned of markup."""

    rule: str
    title: str
    message: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """One profiled launch (or graph, range, command list).

    Attributes:
        index: position in the report.
        name: function name without template arguments and parameters.
        demangled: full name.
        mangled: name as the compiler wrote it, empty where the report has none.
        device: index into ``Profile.devices``.
        workload: ``kernel``, ``graph``, ``range`` or ``cmdlist``.
        launch: None for workloads that are not a kernel, or when not recorded.
        nvtx: enclosing push/pop range names, outermost first.
        duration_s: ``gpu__time_duration.sum`` in seconds, None when not measured.
        metrics: finite values by full ncu metric name, in the report's base units; totals that
            kprof made of the opcode mix have names with ``kprof__``.
        unusable: metric name to reason (``"NaN"``, ``"inf"``, ``"no value"``) for
            metrics the report holds without a usable number.
        breakdowns: throughput metric to the metrics it is the maximum of.
        instructions: SASS instructions with counters, ordered by address.
        code: the whole function in the order of its addresses; of a very large one only the
            instructions with counters, and those before them that may be waited for, have text.
            Empty where nothing was described.
        executed: executions per warp of each instruction of ``code``.
        threads: the same per active thread.
        opcodes: warp-level executions by SASS opcode without modifiers.
        opcodes_full: the same with modifiers, e.g. ``HGMMA.64x256x16.F32``.
        thread_opcodes: executions by threads that were not predicated off, by opcode with
            modifiers.
        curves: instanced what-if metrics: name to (x, y) points in ascending x.
        opinions: NVIDIA's own rule results.
        other_run: what was counted in a further run of the program, in words.
    """

    index: int
    name: str
    demangled: str
    mangled: str = ""
    device: int = 0
    workload: str = "kernel"
    launch: Launch | None = None
    nvtx: tuple[str, ...] = ()
    duration_s: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    unusable: Mapping[str, str] = field(default_factory=dict)
    breakdowns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    instructions: tuple[Instruction, ...] = ()
    code: tuple[Code, ...] = ()
    executed: Sequence[float] = ()
    threads: Sequence[float] = ()
    opcodes: Mapping[str, float] = field(default_factory=dict)
    opcodes_full: Mapping[str, float] = field(default_factory=dict)
    thread_opcodes: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    opinions: tuple[Opinion, ...] = ()
    other_run: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """A whole report.

    Attributes:
        source: the file.
        collection: how it was collected.
        devices: every GPU a kernel ran on.
        kernels: in launch order.
        notes: what the reader could not read, one sentence each.
        files: text of source files, as far as found.
    """

    source: Source
    collection: Collection
    devices: tuple[Device, ...]
    kernels: tuple[Kernel, ...]
    notes: tuple[str, ...] = ()
    files: tuple[SourceFile, ...] = ()
