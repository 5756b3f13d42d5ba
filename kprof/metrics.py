"""The ncu metrics kprof knows: every quantity it derives, and which report metrics are read.

Names differ by chip, ncu version and section set; docs/metrics.md has the table and its sources.
Formulas for traffic and arithmetic are those of NVIDIA's own roofline sections
(``SpeedOfLight_HierarchicalSingleRooflineChart``, ncu 2025.3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from kprof.quantity import Quantity, Way, either, plain

ELAPSED = ".avg.pct_of_peak_sustained_elapsed"
NS = 1e-9


def elapsed(base: str) -> str:
    """Return the full name of a unit's utilisation, percent of peak over elapsed cycles."""
    return base + ELAPSED


# --- Time and clocks -------------------------------------------------------------------------

DURATION = plain("duration", "gpu__time_duration.sum", "GPU time of the launch", "s", scale=NS)
SM_CLOCK = either(
    "sm_clock",
    (
        "sm__cycles_elapsed.avg.per_second",
        "smsp__cycles_elapsed.avg.per_second",
        "gpc__cycles_elapsed.avg.per_second",
        "l1tex__cycles_elapsed.avg.per_second",
    ),
    "SM clock while the kernel ran",
    "Hz",
)
DRAM_CLOCK = plain(
    "dram_clock", "dram__cycles_elapsed.avg.per_second", "memory clock while it ran", "Hz"
)
L2_CLOCK = plain("l2_clock", "lts__cycles_elapsed.avg.per_second", "L2 clock while it ran", "Hz")
SM_COUNT = either(
    "sm_count",
    ("device__attribute_multiprocessor_count", "launch__sm_count"),
    "streaming multiprocessors of the GPU",
    "",
)
SM_CYCLES_ACTIVE_AVG = plain(
    "sm_cycles_active_avg", "sm__cycles_active.avg", "cycles an SM had work, mean over SMs", "cycle"
)
SM_CYCLES_ACTIVE_MAX = plain(
    "sm_cycles_active_max", "sm__cycles_active.max", "cycles the busiest SM had work", "cycle"
)
SM_CYCLES_ELAPSED = either(
    "sm_cycles_elapsed",
    ("sm__cycles_elapsed.max", "gpc__cycles_elapsed.max", "sm__cycles_elapsed.avg"),
    "SM clock cycles from start to end",
    "cycle",
)
PASSES = plain("passes", "profiler__replayer_passes", "replay passes of this kernel", "pass")

# --- Traffic ---------------------------------------------------------------------------------


def _traffic(
    name: str, counter: str, meaning: str, scale: float = 1.0, extra: tuple[Way, ...] = ()
) -> Quantity:
    """Bytes from an exact total, else from a rate and the duration (section-set reports)."""
    exact = Way((counter,), lambda total: total * scale)
    rate = Way(
        (counter + ".per_second", "gpu__time_duration.sum"),
        lambda per_second, ns: per_second * scale * ns * NS,
    )
    return Quantity(name, meaning, "byte", (exact, *extra, rate))


def _sum(*names: str) -> Way:
    return Way(names, lambda *values: sum(values))


DRAM_BYTES = _traffic(
    "dram_bytes",
    "dram__bytes.sum",
    "bytes moved between L2 and device memory",
    extra=(
        _sum("dram__bytes_read.sum", "dram__bytes_write.sum"),
        _sum("dram__bytes_op_read.sum", "dram__bytes_op_write.sum"),
    ),
)
L2_BYTES = _traffic(
    "l2_bytes",
    "lts__lts2xbar_cycles_active.sum",
    "bytes returned from L2 to the SMs (32 per active return cycle)",
    scale=32.0,
)
_WRITEBACK = (
    "l1tex__lsu_writeback_active_mem_lgds.sum",
    "l1tex__lsu_writeback_active_mem_lg.sum",
    "l1tex__lsu_writeback_active.sum",
)
L1_BYTES = Quantity(
    "l1_bytes",
    "bytes returned from L1 to the registers (128 per active write-back cycle)",
    "byte",
    tuple(
        way for counter in _WRITEBACK for way in _traffic("l1_bytes", counter, "", scale=128.0).ways
    ),
)
DRAM_PEAK = plain(
    "dram_peak",
    "dram__bytes.sum.peak_sustained",
    "device memory peak per memory clock",
    "byte/cycle",
)
L2_PEAK = plain(
    "l2_peak",
    "lts__lts2xbar_cycles_active.sum.peak_sustained",
    "L2 return cycles at peak, per L2 clock",
    "",
)
L1_PEAK = either(
    "l1_peak",
    tuple(f"{counter}.peak_sustained" for counter in _WRITEBACK),
    "L1 write-back cycles at peak, per SM clock",
    "",
)

# --- Arithmetic ------------------------------------------------------------------------------


def _thread_instructions(operation: str) -> Quantity:
    counter = f"smsp__sass_thread_inst_executed_op_{operation}_pred_on.sum"
    exact = Way((counter,), float)
    rate = Way(
        (
            counter + ".per_cycle_elapsed",
            "smsp__cycles_elapsed.avg.per_second",
            "gpu__time_duration.sum",
        ),
        lambda per_cycle, hertz, ns: per_cycle * hertz * ns * NS,
    )
    rate_sm = Way(
        (
            counter + ".per_cycle_elapsed",
            "sm__cycles_elapsed.avg.per_second",
            "gpu__time_duration.sum",
        ),
        lambda per_cycle, hertz, ns: per_cycle * hertz * ns * NS,
    )
    meaning = f"{operation.upper()} thread instructions executed, predicated-on threads only"
    return Quantity(f"{operation}_instructions", meaning, "inst", (exact, rate, rate_sm))


FADD, FMUL, FFMA = (_thread_instructions(op) for op in ("fadd", "fmul", "ffma"))
DADD, DMUL, DFMA = (_thread_instructions(op) for op in ("dadd", "dmul", "dfma"))
HADD, HMUL, HFMA = (_thread_instructions(op) for op in ("hadd", "hmul", "hfma"))
FP32_INSTRUCTIONS = (FADD, FMUL, FFMA)
FP64_INSTRUCTIONS = (DADD, DMUL, DFMA)
FP16_INSTRUCTIONS = (HADD, HMUL, HFMA)


def _peak(operation: str, label: str) -> Quantity:
    metric = f"sm__sass_thread_inst_executed_op_{operation}_pred_on.sum.peak_sustained"
    return plain(f"{operation}_peak", metric, f"{label} thread instructions at peak", "inst/cycle")


FFMA_PEAK = _peak("ffma", "FP32 multiply-add")
DFMA_PEAK = _peak("dfma", "FP64 multiply-add")
HFMA_PEAK = _peak("hfma", "FP16 multiply-add")

# --- Throughput ------------------------------------------------------------------------------

COMPUTE_SOL = Quantity(
    "compute_throughput",
    "NVIDIA's Compute (SM) Throughput: the busiest unit inside the SMs, memory front end included",
    "%",
    (Way((elapsed("sm__throughput"),), float),),
    collected=False,
)
MEMORY_SOL = Quantity(
    "memory_throughput",
    "NVIDIA's Memory Throughput: the busiest of L1, L2 and device memory",
    "%",
    (Way((elapsed("gpu__compute_memory_throughput"),), float),),
    collected=False,
)


@dataclass(frozen=True)
class Largest(Quantity):
    """A quantity that is the largest of whichever of its metrics are present."""

    def read(self, metrics: Mapping[str, float]) -> float | None:
        """Return the maximum over the metrics that are there, None when there is none."""
        values = [metrics[name] for name in self.names if name in metrics]
        return max(values) if values else None


def _largest(name: str, bases: Iterable[str], meaning: str) -> Largest:
    ways = tuple(Way((elapsed(base),), float) for base in bases)
    return Largest(name, meaning, "%", ways)


# Hardware units whose utilisation ncu reports, by what being busy there means. The classes are
# resolved to a bound in kprof.limiter. sm__pipe_shared is left out: it repeats the pipes it
# feeds. *_internal_activity are unnamed maxima that cannot be explained to anybody.
UNITS: dict[str, tuple[str, ...]] = {
    "dram": (
        "dram__throughput",
        "gpu__dram_throughput",
        "dram__cycles_active",
        "fbpa__dram_sectors",
    ),
    "l2": (
        "lts__t_sectors",
        "lts__d_sectors",
        "lts__t_tag_requests",
        "lts__lts2xbar_cycles_active",
        "lts__xbar2lts_cycles_active",
        "lts__d_sectors_fill_device",
        "lts__d_sectors_fill_sysmem",
        "lts__d_atomic_input_cycles_active",
        "lts__d_decomp_input_sectors",
        "l1tex__m_xbar2l1tex_read_sectors",
        "l1tex__m_xbar2l1tex_read_sectors_mem_dshared",
        "l1tex__m_l1tex2xbar_req_cycles_active",
        "syslts__t_sectors",
        "syslts__xbar2syslts_cycles_active",
        "syslts__syslts2xbar_cycles_active",
    ),
    "l1_data": (
        "l1tex__data_pipe_lsu_wavefronts",
        "l1tex__data_pipe_tex_wavefronts",
        "l1tex__data_bank_reads",
        "l1tex__data_bank_writes",
        "l1tex__lsu_writeback_active",
        "l1tex__tex_writeback_active",
        "l1tex__f_wavefronts",
        "l1tex__tmain_requests",
        "l1tex__texin_sm2tex_req_cycles_active",
    ),
    "l1_front": (
        "l1tex__lsuin_requests",
        "sm__inst_executed_pipe_lsu",
        "sm__inst_executed_pipe_tex",
        "sm__mio_inst_issued",
        "sm__mio_pq_read_cycles_active",
        "sm__mio_pq_write_cycles_active",
        "sm__mio2rf_writeback_active",
        "sm__pipe_tma_cycles_active",
        "sm__inst_executed_pipe_tma",
    ),
    "issue": (
        "sm__inst_executed",
        "sm__issue_active",
        "sm__inst_issued",
    ),
    "control": (
        "sm__inst_executed_pipe_adu",
        "sm__inst_executed_pipe_cbu",
        "sm__inst_executed_pipe_cbu_pred_on_any",
        "sm__inst_executed_pipe_uniform",
        "sm__inst_executed_pipe_ipa",
        "idc__request_cycles_active",
    ),
    "fma": (
        "sm__pipe_fma_cycles_active",
        "sm__pipe_fmaheavy_cycles_active",
        "sm__pipe_fmalite_cycles_active",
    ),
    "alu": ("sm__pipe_alu_cycles_active",),
    "fp64": ("sm__pipe_fp64_cycles_active", "sm__inst_executed_pipe_fp64"),
    "fp16": ("sm__pipe_fp16_cycles_active", "sm__inst_executed_pipe_fp16"),
    "xu": ("sm__inst_executed_pipe_xu", "sm__pipe_xu_cycles_active"),
    "tensor": (
        "sm__pipe_tensor_cycles_active",
        "sm__pipe_tensor_cycles_active_v2",
        "sm__pipe_tensor_op_hmma_cycles_active",
        "sm__pipe_tensor_op_hmma_cycles_active_v2",
        "sm__pipe_tensor_op_imma_cycles_active",
        "sm__pipe_tensor_op_dmma_cycles_active",
        "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active",
        "sm__pipe_tensor_subpipe_hmma_cycles_active",
        "sm__pipe_tensor_subpipe_imma_cycles_active",
        "sm__pipe_tensor_subpipe_dmma_cycles_active",
        "sm__pipe_tc_cycles_active",
    ),
}
UNIT_CLASS = {elapsed(base): kind for kind, bases in UNITS.items() for base in bases}

DRAM_PCT = _largest("dram_pct", UNITS["dram"], "device memory busy")
L2_PCT = _largest("l2_pct", UNITS["l2"], "busiest part of L2 or its crossbar")
L1_PCT = _largest(
    "l1_pct", (*UNITS["l1_data"], *UNITS["l1_front"]), "busiest part of L1 or its front end"
)
ISSUE_PCT = _largest("issue_pct", UNITS["issue"], "issue slots used")
FP64_PCT = _largest("fp64_pct", UNITS["fp64"], "FP64 pipe busy")
TENSOR_PCT = _largest("tensor_pct", UNITS["tensor"], "tensor pipe busy")
FMA_PCT = _largest("fma_pct", UNITS["fma"], "FMA pipe busy")
L1_DATA_PCT = _largest("l1_data_pct", UNITS["l1_data"], "L1 / shared-memory data stage busy")
# Enough to say which unit is busiest: one look at every level a kernel can wait for.
COVERAGE = (DRAM_PCT, L2_PCT, L1_PCT, ISSUE_PCT)

# --- Occupancy and issue ---------------------------------------------------------------------

ACHIEVED_OCCUPANCY = plain(
    "achieved_occupancy",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "resident warps, percent of the maximum, over cycles an SM was active",
    "%",
)
THEORETICAL_OCCUPANCY = plain(
    "theoretical_occupancy",
    "sm__maximum_warps_per_active_cycle_pct",
    "warps the launch configuration allows, percent of the maximum",
    "%",
)
OCCUPANCY_LIMITS = {
    "registers": "launch__occupancy_limit_registers",
    "shared_memory": "launch__occupancy_limit_shared_mem",
    "block_size": "launch__occupancy_limit_warps",
    "block_count": "launch__occupancy_limit_blocks",
    "barriers": "launch__occupancy_limit_barriers",
}
LIMIT_REGISTERS = plain(
    "limit_registers", OCCUPANCY_LIMITS["registers"], "blocks per SM the registers allow", "block"
)
LIMIT_SHARED = plain(
    "limit_shared_memory",
    OCCUPANCY_LIMITS["shared_memory"],
    "blocks per SM the shared memory allows",
    "block",
)
LIMIT_WARPS = plain(
    "limit_warps", OCCUPANCY_LIMITS["block_size"], "blocks per SM the warp slots allow", "block"
)
LIMIT_BLOCKS = plain(
    "limit_blocks", OCCUPANCY_LIMITS["block_count"], "blocks per SM the hardware holds", "block"
)
ISSUE_ACTIVE = plain(
    "issue_active",
    "smsp__issue_active.avg.per_cycle_active",
    "instructions a scheduler issues per cycle (at most 1)",
    "inst/cycle",
)
ELIGIBLE_WARPS = plain(
    "eligible_warps",
    "smsp__warps_eligible.avg.per_cycle_active",
    "warps per scheduler that could issue, mean per cycle",
    "warp",
)
GRID_BLOCKS = plain("grid_blocks", "launch__grid_size", "thread blocks in the grid", "block")
WAVES = plain(
    "waves", "launch__waves_per_multiprocessor", "grid over what all SMs hold at once", "wave"
)

# --- Shared memory ---------------------------------------------------------------------------

SHARED_WAVEFRONTS = plain(
    "shared_wavefronts",
    "memory_l1_wavefronts_shared",
    "shared-memory wavefronts the accessed addresses need",
    "wavefront",
)
SHARED_WAVEFRONTS_IDEAL = plain(
    "shared_wavefronts_ideal",
    "memory_l1_wavefronts_shared_ideal",
    "wavefronts of the same accesses without bank conflicts, by access width",
    "wavefront",
)
SHARED_WAVEFRONTS_HARDWARE = plain(
    "shared_wavefronts_hardware",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared-memory wavefronts the data stage counted",
    "wavefront",
)
L1_WAVEFRONTS = Quantity(
    "l1_wavefronts",
    "all wavefronts through the L1 data stage",
    "wavefront",
    (
        Way(("l1tex__data_pipe_lsu_wavefronts.sum",), float),
        # One wavefront per SM and cycle at peak.
        Way(
            (elapsed("l1tex__data_pipe_lsu_wavefronts"), "l1tex__cycles_elapsed.sum"),
            lambda pct, cycles: pct / 100.0 * cycles,
        ),
    ),
)

# --- Global and local memory -----------------------------------------------------------------

GLOBAL_SECTORS = plain(
    "global_sectors",
    "memory_l2_theoretical_sectors_global",
    "32-byte sectors the global accesses touch, before any cache",
    "sector",
)
GLOBAL_SECTORS_IDEAL = plain(
    "global_sectors_ideal",
    "memory_l2_theoretical_sectors_global_ideal",
    "sectors the same accesses would touch fully coalesced",
    "sector",
)
LOCAL_SECTORS = plain(
    "local_sectors",
    "memory_l2_theoretical_sectors_local",
    "32-byte sectors of local memory (spills, indexed arrays, stack)",
    "sector",
)
SPILL_INSTRUCTIONS = plain(
    "spill_instructions",
    "sass__inst_executed_register_spilling",
    "warp instructions that spill or refill registers",
    "inst",
)
WARP_INSTRUCTIONS = either(
    "warp_instructions",
    ("smsp__inst_executed.sum", "inst_executed"),
    "instructions executed, per warp",
    "inst",
)
L1_HIT = plain("l1_hit", "l1tex__t_sector_hit_rate.pct", "sectors found in L1", "%")
L2_HIT = plain("l2_hit", "lts__t_sector_hit_rate.pct", "sectors found in L2", "%")

# --- Divergence ------------------------------------------------------------------------------

THREADS_PER_INSTRUCTION = Quantity(
    "threads_per_instruction",
    "active threads per executed warp instruction (of 32)",
    "thread/inst",
    (
        Way(("smsp__thread_inst_executed_per_inst_executed.ratio",), float),
        Way(("thread_inst_executed", "inst_executed"), lambda threads, warps: threads / warps),
    ),
)
THREADS_PER_INSTRUCTION_ON = Quantity(
    "threads_per_instruction_predicated",
    "threads per executed warp instruction that were not predicated off (of 32)",
    "thread/inst",
    (
        Way(("smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",), float),
        Way(("thread_inst_executed_true", "inst_executed"), lambda threads, warps: threads / warps),
    ),
)

# --- Stalls ----------------------------------------------------------------------------------

STALL_REASONS = (
    "barrier",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "gmma",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "misc",
    "no_instruction",
    "no_instructions",
    "not_selected",
    "selected",
    "short_scoreboard",
    "sleeping",
    "tex_throttle",
    "wait",
    "warpgroup_arrive",
)
SAMPLED_STALL = "smsp__pcsamp_warps_issue_stalled_{}"
SAMPLED_STALL_NOT_ISSUED = "smsp__pcsamp_warps_issue_stalled_{}_not_issued"
COUNTED_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
SAMPLES = plain("samples", "smsp__pcsamp_sample_count", "warp samples taken", "sample")
LONG_SCOREBOARD = either(
    "long_scoreboard_stalls",
    tuple(
        form.format("long_scoreboard")
        for form in (SAMPLED_STALL_NOT_ISSUED, SAMPLED_STALL, COUNTED_STALL)
    ),
    "warps waiting for a global, local or texture load",
    "",
)

# --- Tensor ----------------------------------------------------------------------------------

TENSOR_OPS = re.compile(r"sm__ops_path_tensor_(?P<path>.+)\.sum(?P<peak>\.peak_sustained)?$")

# --- What the reader reads -------------------------------------------------------------------

DEVICE_ATTRIBUTES = tuple(
    f"device__attribute_{name}"
    for name in (
        "compute_capability_major",
        "compute_capability_minor",
        "multiprocessor_count",
        "clock_rate",
        "max_gpu_frequency_khz",
        "memory_clock_rate",
        "global_memory_bus_width",
        "fb_bus_width",
        "l2_cache_size",
        "max_warps_per_multiprocessor",
        "num_schedulers_per_multiprocessor",
    )
)


def quantities() -> tuple[Quantity, ...]:
    """Return every quantity declared in this module."""
    return tuple(value for value in globals().values() if isinstance(value, Quantity))


@lru_cache(maxsize=1)
def _exact_names() -> frozenset[str]:
    names = {name for quantity in quantities() for name in quantity.names}
    names.update(UNIT_CLASS, DEVICE_ATTRIBUTES, OCCUPANCY_LIMITS.values())
    for reason in STALL_REASONS:
        names.update(
            form.format(reason) for form in (SAMPLED_STALL, SAMPLED_STALL_NOT_ISSUED, COUNTED_STALL)
        )
    return frozenset(names)


@lru_cache(maxsize=65536)
def is_wanted(name: str) -> bool:
    """Say whether the reader keeps this metric's scalar value."""
    return name in _exact_names() or TENSOR_OPS.match(name) is not None
