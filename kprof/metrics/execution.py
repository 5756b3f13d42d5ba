"""Time, clocks, occupancy, issue, divergence and stalls."""

from __future__ import annotations

from kprof.quantity import Quantity, Way, either, plain

NS = 1e-9

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
CAPABILITY_MAJOR = plain(
    "capability_major",
    "device__attribute_compute_capability_major",
    "first number of the compute capability",
    "",
)
PASSES = plain("passes", "profiler__replayer_passes", "replay passes of this kernel", "pass")

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
BLOCK_THREADS = plain("block_threads", "launch__block_size", "threads per block", "thread")
CLUSTER_SIZE = plain(
    "cluster_size", "launch__cluster_size", "thread blocks per cluster, 0 without clusters", "block"
)
CLUSTERS_ACTIVE_MAX = plain(
    "clusters_active_max",
    "launch__cluster_max_active",
    "clusters of this launch the whole GPU holds at once",
    "cluster",
)
WAVES = plain(
    "waves", "launch__waves_per_multiprocessor", "grid over what all SMs hold at once", "wave"
)

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


def _stall(name: str, reasons: tuple[str, ...], meaning: str) -> Quantity:
    """A stall reason in whichever form a report has it; sampling and counting spell some apart."""
    forms = (SAMPLED_STALL_NOT_ISSUED, SAMPLED_STALL, COUNTED_STALL)
    names = tuple(form.format(reason) for form in forms for reason in reasons)
    return either(name, names, meaning, "")


LONG_SCOREBOARD = _stall(
    "long_scoreboard_stalls",
    ("long_scoreboard",),
    "warps waiting for a global, local or texture load",
)
BARRIER_STALLS = _stall(
    "barrier_stalls", ("barrier",), "warps waiting for their block at a barrier"
)
MEMBAR_STALLS = _stall("membar_stalls", ("membar",), "warps waiting for a memory fence")
WAIT_STALLS = _stall(
    "wait_stalls", ("wait",), "warps waiting out the fixed latency of their last instruction"
)
NO_INSTRUCTION_STALLS = _stall(
    "no_instruction_stalls",
    ("no_instructions", "no_instruction"),
    "warps whose next instruction had not been fetched",
)
