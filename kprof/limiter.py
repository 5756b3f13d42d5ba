"""Which unit is really busiest, and what that means for the kernel.

NVIDIA's two Speed Of Light percentages are maxima over unlike units: "compute" is a load/store
queue or the issue rate more often than a math pipe. kprof looks at the constituents instead and
names the one on top (docs/decisions/0003).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar

from kprof import metrics as m
from kprof.model import Bound, Kernel, Limiter
from kprof.roofline import ceilings

# A unit is "the limiter" from here on: NVIDIA's SOLBottleneck rule calls everything below 60 %
# latency bound (ncu 2025.3, sections/SpeedOfLight.py).
BUSY_PCT = 60.0
# With a level missing from the report, the top one is named only when it leaves no room above it.
SURELY_BUSY_PCT = 80.0
# kprof's own: the multiply-add pipe takes this share of the issue slots, so the kernel is bound
# by arithmetic rather than by issuing something else. Unsourced.
PIPE_FILLS_ISSUE = 0.8
# kprof's own: wgmma reads its operands through the shared-memory data stage, which then shows
# within this factor of the tensor pipe that is the real limit. Unsourced.
TENSOR_FEEDS_ON_SHARED = 0.9
# kprof's own: two unlike units this close to each other at the top are a tie. Unsourced.
TIE_POINTS = 2.0
# Below this a launch is mostly start-up (docs/metrics.md: 0.5-2 us of it is in ncu's duration).
LAUNCH_BOUND_S = 5e-6
# Whole-graph durations include set-up; then no busy SM shows (docs/metrics.md, gate Q10).
INFLATED_ACTIVE_SHARE = 0.25
INFLATED_MIN_S = 20e-6

WHOLE_FMA = m.elapsed("sm__pipe_fma_cycles_active")
LOPSIDED = 1.5  # kprof's own, unsourced
# Units on the way of textures and surfaces, where shared memory never passes.
TEXTURE_BASES = (
    "sm__inst_executed_pipe_tex",
    "l1tex__data_pipe_tex_wavefronts",
    "l1tex__tex_writeback_active",
    "l1tex__f_wavefronts",
    "l1tex__tmain_requests",
    "l1tex__texin_sm2tex_req_cycles_active",
)
TEXTURE_UNITS = tuple(map(m.elapsed, TEXTURE_BASES))

# A grid that leaves more than a fifth of the SMs empty is small; 128 blocks on 132 SMs are not.
# kprof's own, unsourced.
FEW_BLOCKS = 0.8

MATRIX_OPCODES = ("MMA",)
FP32_OPCODES = frozenset({"FFMA", "FADD", "FMUL", "FFMA2", "FADD2", "FMUL2"})
# Packed halves have a pipe of their own up to compute capability 8.0 and share the FMA pipe later.
HALF_OPCODES = frozenset({"HFMA2", "HADD2", "HMUL2"})


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Utilisation:
    """How busy one unit was.

    Attributes:
        metric: full ncu metric name.
        kind: class of unit, a key of ``metrics.UNITS``.
        pct: percent of its peak over elapsed cycles.
    """

    metric: str
    kind: str
    pct: float


def _of_the_last(answer: Callable[[Kernel], T]) -> Callable[[Kernel], T]:
    """Keep the last answer: every rule asks for it, one kernel after the other."""
    kept: list[tuple[Kernel, T]] = []

    @wraps(answer)
    def ask(kernel: Kernel) -> T:
        last = kept[0] if kept else None
        if last is not None and last[0] is kernel:
            return last[1]
        found = answer(kernel)
        kept[:] = [(kernel, found)]
        return found

    return ask


@_of_the_last
def utilisations(kernel: Kernel) -> tuple[Utilisation, ...]:
    """Return every unit with a known utilisation, busiest first."""
    found = [
        Utilisation(name, kind, kernel.metrics[name])
        for name, kind in m.UNIT_CLASS.items()
        if name in kernel.metrics
    ]
    if all(unit.kind != "dram" for unit in found):
        found += _dram_from_bytes(kernel)
    return tuple(sorted(found, key=lambda unit: (-unit.pct, unit.metric)))


def _dram_from_bytes(kernel: Kernel) -> list[Utilisation]:
    """Return how busy the bytes alone make device memory, where no counter says how busy it was."""
    traffic, peak = m.DRAM_BYTES.read(kernel.metrics), ceilings(kernel).get("dram")
    if traffic is None or not peak or not kernel.duration_s:
        return []
    return [Utilisation("dram_bytes", "dram", 100.0 * traffic / kernel.duration_s / peak)]


def busiest(kernel: Kernel, kinds: Iterable[str]) -> Utilisation | None:
    """Return the busiest unit of the given classes, None when none of them is known."""
    wanted = frozenset(kinds)
    return next((unit for unit in utilisations(kernel) if unit.kind in wanted), None)


@_of_the_last
def limiter(kernel: Kernel) -> Limiter | None:
    """Return the busiest unit with its resource class, however busy it is.

    None when the report does not show every level (device memory, L2, L1, issue) and what it
    shows is not busy enough to exclude the others, or when the duration is not the kernel's.
    """
    units = utilisations(kernel)
    if not units or has_inflated_duration(kernel):
        return None
    top = _really_first(kernel, units)
    if top.pct < SURELY_BUSY_PCT and not covers_every_level(kernel):
        return None
    return Limiter(top.metric, _resource(kernel, top), top.pct)


def bound(kernel: Kernel) -> Bound:
    """Say what the hardware was busiest with.

    A resource when a unit reached 60 %; ``balanced`` for a tie of unlike units; ``launch`` when
    nothing was busy because there was too little work; ``latency`` when nothing was busy
    otherwise; ``unknown`` when the report cannot tell.
    """
    top = limiter(kernel)
    if top is None:
        return "unknown"
    if top.pct >= BUSY_PCT:
        return "balanced" if _is_tie(kernel, top) else _as_bound(top.resource)
    return "launch" if is_too_small(kernel) else "latency"


def covers_every_level(kernel: Kernel) -> bool:
    """Say whether each level a kernel can wait for is measured.

    Chips whose device memory has no counters (compute capability 8.7, 11.0, 12.1) are never
    covered: a kernel bound by their memory would look idle.
    """
    return all(quantity.read(kernel.metrics) is not None for quantity in m.COVERAGE)


def is_too_small(kernel: Kernel) -> bool:
    """Say whether the launch is too short, or has too few blocks, to fill the GPU."""
    if kernel.duration_s is not None and kernel.duration_s < LAUNCH_BOUND_S:
        return True
    blocks, sms = m.GRID_BLOCKS.read(kernel.metrics), m.SM_COUNT.read(kernel.metrics)
    return blocks is not None and sms is not None and blocks < FEW_BLOCKS * sms


def has_inflated_duration(kernel: Kernel) -> bool:
    """Say whether the duration holds much more than the kernel (gate Q10).

    Seen when a CUDA graph is profiled as one workload: 240-380 us on every launch. A grid that
    leaves most SMs without a block looks alike through its mean, so the busiest SM decides.
    """
    active = m.SM_CYCLES_ACTIVE_MAX.read(kernel.metrics)
    elapsed = m.SM_CYCLES_ELAPSED.read(kernel.metrics)
    if active is None or not elapsed or (kernel.duration_s or 0.0) <= INFLATED_MIN_S:
        return False
    return active / elapsed < INFLATED_ACTIVE_SHARE


def runs_matrix_instructions(kernel: Kernel) -> bool | None:
    """Say whether the SASS has tensor-core instructions, None when the opcode mix is unknown.

    ``HFMA2.MMA`` is a half-precision FMA that runs on the same pipe, not a matrix product.
    """
    if not kernel.opcodes:
        return None
    return any(name.endswith(MATRIX_OPCODES) for name in kernel.opcodes)


def shared_memory_share(kernel: Kernel) -> float | None:
    """Return the share (0..1) of L1 data-stage wavefronts that shared memory causes."""
    total = m.L1_WAVEFRONTS.read(kernel.metrics)
    shared = m.SHARED_WAVEFRONTS_HARDWARE.read(kernel.metrics)
    if shared is None:
        shared = m.SHARED_WAVEFRONTS.read(kernel.metrics)
    if shared is None or not total:
        return None
    return min(shared / total, 1.0)


def _really_first(kernel: Kernel, units: tuple[Utilisation, ...]) -> Utilisation:
    """Return the top unit, looking past units that are only busy because another one is."""
    top = units[0]
    if top.kind == "issue":
        # The whole FMA pipe takes an issue slot per instruction; its heavy half, which alone
        # executes integer multiply-add, runs at half the rate and fills at most half of them.
        fma = next((unit for unit in units if unit.metric == WHOLE_FMA), None)
        if fma and _explains(fma, top, PIPE_FILLS_ISSUE) and _fma_work(kernel, fma) != "int":
            return fma
    if top.kind in {"l1_data", "l1_front"}:
        tensor = busiest(kernel, ("tensor",))
        if tensor and _explains(tensor, top, TENSOR_FEEDS_ON_SHARED):
            return tensor
    return top


def _explains(unit: Utilisation, top: Utilisation, share: float) -> bool:
    """Say whether ``unit`` is close below ``top``, and itself busy enough to be a limit.

    Otherwise a kernel with a busy unit would be called idle.
    """
    return unit.pct >= share * top.pct and (unit.pct >= BUSY_PCT or top.pct < BUSY_PCT)


def _resource(kernel: Kernel, unit: Utilisation) -> str:
    if unit.metric in TEXTURE_UNITS:
        return "l1"
    if unit.kind in {"l1_data", "l1_front"}:
        share = shared_memory_share(kernel)
        return "shared" if share is not None and share >= 0.5 else "l1"
    if unit.kind == "fma":
        return _fma_work(kernel, unit)
    if unit.kind == "tensor":
        return "fp16" if runs_matrix_instructions(kernel) is False else "tensor"
    return {"alu": "int", "control": "issue"}.get(unit.kind, unit.kind)


def _fma_work(kernel: Kernel, fma: Utilisation) -> str:
    """Say what fills the multiply-add pipe: ``fp32``, ``fp16`` or ``int``."""
    if _half_share_by_opcode(kernel) >= 0.5:
        return "fp16"
    return "fp32" if _is_fp32(kernel, fma) else "int"


def _half_share_by_opcode(kernel: Kernel) -> float:
    """Return the share (0..1) of half arithmetic on the pipe, 0 where the mix is unknown.

    ``HFMA2.MMA`` runs beside the matrix instructions, ``HADD2.F32`` converts.
    """
    halves = sum(
        n
        for name, n in kernel.opcodes_full.items()
        if name.split(".")[0] in HALF_OPCODES and not {"MMA", "F32"} & set(name.split(".")[1:])
    )
    others = sum(
        n for name, n in kernel.opcodes.items() if name in FP32_OPCODES or name[:4] == "IMAD"
    )
    return halves / (halves + others) if halves else 0.0


def _is_fp32(kernel: Kernel, fma: Utilisation) -> bool:
    """Say whether floating-point work fills the multiply-add pipe, which integer IMAD shares."""
    by_opcode = _fp32_share_by_opcode(kernel)
    if by_opcode is not None:
        return by_opcode >= 0.5
    rate = fp32_instruction_pct(kernel)
    if rate is not None:
        return rate >= 0.5 * fma.pct
    # FP32 goes to both halves of the pipe alike; a lopsided heavy half is integer work.
    whole = kernel.metrics.get(WHOLE_FMA)
    return whole is None or fma.pct < LOPSIDED * whole


def _fp32_share_by_opcode(kernel: Kernel) -> float | None:
    on_pipe = {
        name: n for name, n in kernel.opcodes.items() if name in FP32_OPCODES or name[:4] == "IMAD"
    }
    total = sum(on_pipe.values())
    if not total:
        return None
    return sum(n for name, n in on_pipe.items() if name in FP32_OPCODES) / total


def fp32_instruction_pct(kernel: Kernel) -> float | None:
    """Return FP32 thread instructions as percent of what the FMA pipe could execute."""
    counts = [quantity.read(kernel.metrics) for quantity in m.FP32_INSTRUCTIONS]
    peak = m.FFMA_PEAK.read(kernel.metrics)
    clock = m.SM_CLOCK.read(kernel.metrics)
    if None in counts or not peak or not clock or not kernel.duration_s:
        return None
    return 100.0 * sum(c for c in counts if c is not None) / (peak * clock * kernel.duration_s)


def _is_tie(kernel: Kernel, top: Limiter) -> bool:
    if top.pct < SURELY_BUSY_PCT or top.resource in {"tensor", "fp32", "issue"}:
        return False  # their operands and issue slots are busy with the same work
    for unit in utilisations(kernel):
        if unit.pct < top.pct - TIE_POINTS:
            break
        if unit.kind in {"dram", "l2", "l1_data", "fp64", "xu"}:
            other = _resource(kernel, unit)
            if other != top.resource:
                return True
    return False


def _as_bound(resource: str) -> Bound:
    table: dict[str, Bound] = {
        "dram": "dram", "l2": "l2", "l1": "l1", "shared": "shared", "fp64": "fp64",
        "fp32": "fp32", "fp16": "fp16", "tensor": "tensor", "int": "int", "xu": "xu",
        "issue": "issue",
    }  # fmt: skip
    return table[resource]
