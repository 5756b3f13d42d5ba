"""Kernels made by hand for tests: every level measured and nearly idle unless told otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kprof import metrics as m
from kprof.model import Collection, Device, Instruction, Kernel, Launch, Profile, Source

# One unit of each level that a verdict needs.
DRAM = "dram__throughput"
L2 = "lts__t_sectors"
L1 = "l1tex__data_pipe_lsu_wavefronts"
LSU = "sm__inst_executed_pipe_lsu"
ISSUE = "sm__inst_executed"
FMA = "sm__pipe_fma_cycles_active"
ALU = "sm__pipe_alu_cycles_active"
FP64 = "sm__pipe_fp64_cycles_active"
FP16 = "sm__pipe_fp16_cycles_active"
XU = "sm__inst_executed_pipe_xu"
TENSOR = "sm__pipe_tensor_cycles_active"
QUIET = {DRAM: 5.0, L2: 5.0, L1: 5.0, ISSUE: 5.0, TENSOR: 0.0}

# H200 at its full clock.
SMS = 132.0
CLOCK = 1.98e9
PEAKS = {
    "sm__cycles_elapsed.avg.per_second": CLOCK,
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 16896.0,
    "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained": 8448.0,
    "sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained": 16896.0,
    "dram__bytes.sum.peak_sustained": 1504.0,
    "dram__cycles_elapsed.avg.per_second": 3.2e9,
    "lts__lts2xbar_cycles_active.sum.peak_sustained": 188.0,
    "lts__cycles_elapsed.avg.per_second": 1.7e9,
    "l1tex__lsu_writeback_active_mem_lgds.sum.peak_sustained": 132.0,
}
SECTORS = "memory_l2_theoretical_sectors_global"
SECTORS_IDEAL = "memory_l2_theoretical_sectors_global_ideal"
LOCAL_SECTORS = "memory_l2_theoretical_sectors_local"
WAVEFRONTS = "memory_l1_wavefronts_shared"
WAVEFRONTS_IDEAL = "memory_l1_wavefronts_shared_ideal"
THREADS_RATIO = "smsp__thread_inst_executed_per_inst_executed.ratio"
ELIGIBLE = "smsp__warps_eligible.avg.per_cycle_active"
L1_HIT = "l1tex__t_sector_hit_rate.pct"
THEORETICAL = "sm__maximum_warps_per_active_cycle_pct"
SPILLS = "sass__inst_executed_register_spilling"
FULL_GRID = {"launch__grid_size": 10_000.0, "launch__sm_count": SMS}


def kernel(
    units: Mapping[str, float] | None = None,
    metrics: Mapping[str, float] | None = None,
    *,
    duration_s: float | None = 1e-3,
    measured: Mapping[str, float] = QUIET,
    **fields: Any,
) -> Kernel:
    """Make a kernel.

    Args:
        units: percent of peak by unit, without the metric's ending.
        metrics: further values by full name.
        duration_s: also written as the duration metric.
        measured: units present unless overridden; ``{}`` for a report without any.
        fields: anything else a kernel has.
    """
    values = {m.elapsed(base): pct for base, pct in {**measured, **(units or {})}.items()}
    if duration_s is not None:
        values["gpu__time_duration.sum"] = duration_s * 1e9
    return Kernel(
        index=0,
        name="k",
        demangled="k(float *)",
        duration_s=duration_s,
        metrics={**values, **(metrics or {})},
        **fields,
    )


def counted(
    fp32: tuple[float, float, float] | None = (0.0, 0.0, 0.0),
    fp64: tuple[float, float, float] | None = (0.0, 0.0, 0.0),
    fp16: tuple[float, float, float] | None = (0.0, 0.0, 0.0),
) -> dict[str, float]:
    """Return executed thread instructions: (add, multiply, fused) per precision."""
    found: dict[str, float] = {}
    for letter, amounts in (("f", fp32), ("d", fp64), ("h", fp16)):
        if amounts is not None:
            for operation, amount in zip(("add", "mul", "fma"), amounts, strict=True):
                name = f"smsp__sass_thread_inst_executed_op_{letter}{operation}_pred_on.sum"
                found[name] = amount
    return found


def sampled(**reasons: float) -> dict[str, float]:
    """Return warp samples by stall reason, in the form that cost time."""
    return {m.SAMPLED_STALL_NOT_ISSUED.format(reason): n for reason, n in reasons.items()}


def row(
    sass: str, pc: int = 0, *, line: int | None = None, file: str | None = None, **values: float
) -> Instruction:
    """Make a SASS instruction; keyword names are metric names."""
    return Instruction(pc=pc, sass=sass, file=file, line=line, values=values)


def at(
    sass: str,
    pc: int,
    values: dict[str, float],
    file: str | None = None,
    line: int | None = None,
) -> Instruction:
    """Make an instruction with these counters."""
    return Instruction(pc, sass, file, line, values)


def block_of(*block: int, registers: int | None = None) -> Launch:
    """Make a launch with that block."""
    x, y, z = (*block, 1, 1)[:3]
    return Launch(grid=(10_000, 1, 1), block=(x, y, z), registers_per_thread=registers)


def declaring(shared_bytes: int) -> Launch:
    """Make a launch whose blocks declare this much shared memory."""
    return replace(block_of(256), shared_static_bytes=shared_bytes, shared_dynamic_bytes=0)


def profile_of(*kernels: Kernel) -> Profile:
    """Make a profile of one H200."""
    return Profile(
        source=Source("made-by-hand.ncu-rep", "0" * 64),
        collection=Collection(depth="standard"),
        devices=(Device("NVIDIA H200", "9.0", 132),),
        kernels=kernels,
    )
