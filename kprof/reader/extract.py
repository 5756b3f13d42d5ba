"""One action of the library as one :class:`~kprof.model.profile.Kernel`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kprof.metrics import accesses, opcodes
from kprof.model.profile import Kernel
from kprof.reader import values
from kprof.reader.devices import LAUNCH, Devices, launch
from kprof.reader.disassembly import Listing
from kprof.reader.instructions import (
    Columns,
    counters,
    executions,
    function_sizes,
    function_starts,
)
from kprof.reader.library import DEMANGLED, FUNCTION, MANGLED, Action
from kprof.reader.opinions import nvtx_ranges, opinions

_WORKLOADS = {0: "kernel", 1: "range", 2: "cmdlist", 3: "graph"}
_DURATION = "gpu__time_duration.sum"
_OPCODES = "sass__inst_executed_per_opcode"
_NS = 1e-9

# The what-if curves of a launch follow from these; a report may repeat one 2,000 times.
_CURVES_FOLLOW_FROM = (
    "launch__block_size",
    "launch__registers_per_thread",
    "launch__shared_mem_per_block_static",
    "launch__shared_mem_per_block_dynamic",
    "launch__shared_mem_per_block_driver",
    "launch__shared_mem_config_size",
    "launch__cluster_size",
    "launch__barrier_count",
)
# Read whether or not a rule wants them.
_OWN = (_DURATION, *LAUNCH, *_CURVES_FOLLOW_FROM)
_TIMING = (_DURATION, *LAUNCH)

Curves = dict[str, tuple[tuple[float, float], ...]]


class Extractor:
    """Reads actions one by one and remembers what they share.

    Attributes:
        devices: the GPUs seen so far.
        counters: True once a kernel had anything measured besides its duration.
    """

    def __init__(
        self, extra: tuple[str, ...] = (), *, instructions: bool = True, timing: bool = False
    ) -> None:
        """Prepare to read.

        Args:
            extra: metrics to read besides those kprof wants.
            instructions: whether to read counters per instruction.
            timing: read only what launch each kernel is and how long it took.
        """
        self._instructions = instructions
        self._timing = timing
        self._extra = (*_OWN, *extra)
        self._curves: dict[tuple[object, ...], Curves] = {}
        self.devices = Devices()
        self.counters = False

    def read(self, index: int, action: Action) -> tuple[Kernel, Listing | None] | None:
        """Read one action: the kernel, and its instructions when any has counters.

        Returns:
            None for an action without name and metrics, which a truncated file may end with.
        """
        name = action.name(FUNCTION)
        if self._timing and name is not None:
            return self._timed(index, action, name), None
        names = tuple(action.metric_names())
        if name is None and not names:
            return None
        kernel = self._kernel(index, action, name or "unnamed", names)
        return kernel, _listing(action, kernel, names) if self._instructions else None

    def _timed(self, index: int, action: Action, name: str) -> Kernel:
        return self._known(index, action, name, *values.read(action, _TIMING))

    def _known(
        self,
        index: int,
        action: Action,
        name: str,
        metrics: dict[str, float],
        unusable: dict[str, str],
    ) -> Kernel:
        """Return which launch it is, and what was read of it."""
        workload = _WORKLOADS.get(action.workload_type(), "kernel")
        return Kernel(
            index=index,
            name=name,
            demangled=action.name(DEMANGLED) or name,
            mangled=action.name(MANGLED) or "",
            device=self.devices.index(action),
            workload=workload,
            launch=launch(metrics) if workload == "kernel" else None,
            nvtx=nvtx_ranges(action),
            duration_s=_duration(metrics),
            metrics=metrics,
            unusable=unusable,
        )

    def _kernel(self, index: int, action: Action, name: str, names: tuple[str, ...]) -> Kernel:
        plan = values.plan(names, self._extra)
        self.counters = self.counters or plan.counters
        breakdowns = values.breakdowns(action, plan.breakdowns)
        constituents = (part for parts in breakdowns.values() for part in parts)
        metrics, unusable = values.read(action, list(dict.fromkeys((*plan.scalars, *constituents))))
        by_thread = values.table(action, opcodes.THREAD_OPCODES)
        by_warp = values.table(action, accesses.WARP_OPCODES)
        metrics |= accesses.totals(by_warp)
        metrics |= opcodes.totals(by_thread) | opcodes.atomics(by_thread)
        kernel = self._known(index, action, name, metrics, unusable)
        return replace(
            kernel,
            breakdowns=breakdowns,
            opcodes=values.table(action, _OPCODES),
            opcodes_full=by_warp,
            thread_opcodes=by_thread,
            curves=self._curves_of(action, kernel.device, metrics),
            opinions=opinions(action),
        )

    def _curves_of(self, action: Action, device: int, metrics: Mapping[str, float]) -> Curves:
        shape = (device, *(metrics.get(name) for name in _CURVES_FOLLOW_FROM))
        if shape not in self._curves:
            curves = {name: values.curve(action, name) for name in values.CURVES}
            self._curves[shape] = {name: points for name, points in curves.items() if points}
        return self._curves[shape]


def _duration(metrics: Mapping[str, float]) -> float | None:
    nanoseconds = metrics.get(_DURATION)
    return nanoseconds * _NS if nanoseconds is not None and nanoseconds > 0 else None


def _listing(action: Action, kernel: Kernel, names: Sequence[str]) -> Listing | None:
    columns = Columns(action, names)
    executed = executions(columns, kernel.metrics)
    rows = counters(columns, names, kernel.metrics, executed)
    if not rows:
        return None
    starts = function_starts(action, rows)
    # The name alone is not enough: Triton tunes many variants of one name.
    function = (
        kernel.demangled,
        kernel.device,
        kernel.launch and kernel.launch.registers_per_thread,
        tuple(sorted(kernel.opcodes_full)),
        function_sizes(action),
        tuple(start - starts[0] for start in starts),
    )
    return Listing(
        index=kernel.index,
        function=function,
        duration_s=kernel.duration_s or 0.0,
        starts=starts,
        rows=rows,
        executed=executed,
        name=kernel.mangled,
    )
