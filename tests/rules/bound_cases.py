"""The rules that name the busiest unit, and grid-too-small, memory-latency-bound."""

from __future__ import annotations

from dataclasses import replace

from kprof.metrics import SAMPLED_STALL_NOT_ISSUED
from kprof.model import Code, Instruction, Kernel, Launch
from tests.kernels import (
    ALU,
    DRAM,
    FMA,
    FP16,
    FP64,
    FULL_GRID,
    ISSUE,
    L1,
    L2,
    LSU,
    TENSOR,
    WAVEFRONTS,
    WAVEFRONTS_IDEAL,
    XU,
    kernel,
    row,
    sampled,
)
from tests.rules.case import FIRES, SILENT, Case

PEAK = "sm__ops_path_tensor_{}.sum.peak_sustained"
HOPPER = {
    PEAK.format("op_hgmma_src_fp16_sparsity_off"): 540672.0,
    PEAK.format("op_hmma_src_fp16_dst_fp32_sparsity_off"): 360448.0,
}
SHARED_COUNTED = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
FILLED_BY_SHARED = {
    "l1tex__data_pipe_lsu_wavefronts.sum": 1000.0,
    SHARED_COUNTED: 900.0,
}
NO_CONFLICTS = {WAVEFRONTS: 1000.0, WAVEFRONTS_IDEAL: 1000.0}
MMA = {"HMMA": 1.0}
GROUP = {"HGMMA.64x128x16.F32": 1.0}

DRAM_BOUND = (
    Case("dram-bandwidth-bound", "60 %", kernel({DRAM: 60.0}), "medium", "60 % busy"),
    Case(
        "dram-bandwidth-bound",
        "narrow loads",
        kernel({DRAM: 60.0}, opcodes_full={"LDG.E": 5.0, "LDG.E.128.CONSTANT": 5.0}),
        holds="load 128 bits per thread",
    ),
    Case(
        "dram-bandwidth-bound",
        "wide loads",
        kernel({DRAM: 60.0}, opcodes_full={"LDG.E": 4.0, "LDG.E.128.CONSTANT": 5.0}),
        holds="they are 128 bits wide already",
        lacks="float4",
    ),
    Case("dram-bandwidth-bound", "59.99 %", kernel({DRAM: 59.99}), SILENT),
    Case("dram-bandwidth-bound", "near its roof", kernel({DRAM: 79.99}), "low"),
    Case(
        "dram-bandwidth-bound",
        "at its roof",
        kernel({DRAM: 80.0}),
        "info",
        holds="runs near the speed of the memory",
    ),
    Case(
        "dram-bandwidth-bound",
        "nearly full",
        kernel({DRAM: 89.9}),
        "info",
        holds="runs near the speed",
    ),
    Case(
        "dram-bandwidth-bound",
        "full",
        kernel({DRAM: 90.0}),
        "info",
        holds="only moving fewer bytes",
    ),
    Case("dram-bandwidth-bound", "L2 is busier", kernel({DRAM: 70.0, L2: 71.0}), SILENT),
    Case("dram-bandwidth-bound", "idle", kernel({DRAM: 0.0}), SILENT),
)
L2_BOUND = (
    Case("l2-bandwidth-bound", "60 %", kernel({L2: 60.0}), FIRES, "tag stage (sectors) is 60 %"),
    Case("l2-bandwidth-bound", "much to gain", kernel({L2: 74.0}), "medium"),
    Case("l2-bandwidth-bound", "little to gain", kernel({L2: 75.0}), "low"),
    Case("l2-bandwidth-bound", "near its roof", kernel({L2: 89.99}), "info"),
    Case("l2-bandwidth-bound", "59.99 %", kernel({L2: 59.99}), SILENT),
    Case("l2-bandwidth-bound", "DRAM is busier", kernel({L2: 70.0, DRAM: 71.0}), SILENT),
    Case(
        "l2-bandwidth-bound",
        "the way back",
        kernel({"lts__lts2xbar_cycles_active": 70.0}),
        FIRES,
        "the return path from L2 to the SMs",
    ),
    Case(
        "l2-bandwidth-bound",
        "filling is not the data stage",
        kernel({"lts__d_sectors_fill_device": 70.0}),
        FIRES,
        "filling L2 from memory",
    ),
)
L1_BOUND = (
    Case("l1-bandwidth-bound", "60 %", kernel({LSU: 60.0}), FIRES, "load/store front end"),
    Case("l1-bandwidth-bound", "much to gain", kernel({LSU: 74.0}), "medium"),
    Case("l1-bandwidth-bound", "little to gain", kernel({LSU: 75.0}), "low"),
    Case("l1-bandwidth-bound", "near its roof", kernel({LSU: 89.99}), "info"),
    Case("l1-bandwidth-bound", "59.99 %", kernel({LSU: 59.99}), SILENT),
    Case(
        "l1-bandwidth-bound",
        "the data stage",
        kernel({L1: 70.0}, {**FILLED_BY_SHARED, SHARED_COUNTED: 499.0}),
        FIRES,
        "the L1 data stage is 70 % busy",
        "high",
    ),
    Case(
        "l1-bandwidth-bound",
        "filled by what is unknown",
        kernel({L1: 70.0}),
        FIRES,
        "whether shared memory or the cache fills it is unknown",
        "low",
    ),
    Case(
        "l1-bandwidth-bound",
        "filled by what is unknown without shared memory",
        kernel({L1: 70.0}, launch=Launch(shared_static_bytes=0, shared_dynamic_bytes=0)),
        confidence="high",
    ),
    Case("l1-bandwidth-bound", "shared memory's", kernel({L1: 70.0}, FILLED_BY_SHARED), SILENT),
    Case("l1-bandwidth-bound", "feeds tensor cores", kernel({L1: 70.0, TENSOR: 65.0}), SILENT),
)
SHARED_BOUND = (
    Case(
        "shared-memory-bandwidth-bound",
        "60 %",
        kernel({L1: 60.0}, FILLED_BY_SHARED | NO_CONFLICTS),
        FIRES,
        "without bank conflicts",
    ),
    Case(
        "shared-memory-bandwidth-bound",
        "the front end",
        kernel({LSU: 70.0, L1: 40.0}, FILLED_BY_SHARED | NO_CONFLICTS),
        FIRES,
        "the load/store front end is 70 % busy",
    ),
    *(
        Case(
            "shared-memory-bandwidth-bound",
            title,
            kernel({L1: pct}, FILLED_BY_SHARED | NO_CONFLICTS),
            severity,
        )
        for title, pct, severity in (
            ("much to gain", 74.0, "medium"),
            ("little to gain", 75.0, "low"),
            ("near its roof", 89.99, "info"),
        )
    ),
    Case(
        "shared-memory-bandwidth-bound",
        "59.99 %",
        kernel({L1: 59.99}, FILLED_BY_SHARED | NO_CONFLICTS),
        SILENT,
    ),
    Case(
        "shared-memory-bandwidth-bound",
        "few conflicts",
        kernel({L1: 70.0}, FILLED_BY_SHARED | {WAVEFRONTS: 1000.0, WAVEFRONTS_IDEAL: 900.1}),
    ),
    Case(
        "shared-memory-bandwidth-bound",
        "conflicts are the cause",
        kernel({L1: 70.0}, FILLED_BY_SHARED | {WAVEFRONTS: 1000.0, WAVEFRONTS_IDEAL: 900.0}),
        SILENT,
    ),
    Case(
        "shared-memory-bandwidth-bound",
        "global loads fill the stage",
        kernel({L1: 70.0}, NO_CONFLICTS | {"l1tex__data_pipe_lsu_wavefronts.sum": 9000.0}),
        SILENT,
    ),
)


def multiplying(factor: str) -> Kernel:
    """Make a kernel of multiply-adds with this second factor."""
    fused = replace(row(f"FFMA R3, R5, {factor}, R3"), values={"inst_executed": 100.0})
    return kernel({FMA: 60.0}, instructions=(fused,))


COMPUTE_BOUND = (
    Case("compute-bound", "60 %", kernel({FMA: 60.0}), "medium", "the FP32 (FMA) pipe is 60 %"),
    Case(
        "compute-bound",
        "may be a product of matrices",
        kernel({FMA: 60.0}),
        holds="use the tensor cores",
    ),
    Case(
        "compute-bound",
        "multiplies numbers",
        multiplying("0.9375"),
        holds="Remove arithmetic",
        lacks="tensor cores",
    ),
    Case("compute-bound", "multiplies values", multiplying("R7"), holds="use the tensor cores"),
    Case("compute-bound", "59.99 %", kernel({FMA: 59.99}), SILENT),
    Case("compute-bound", "much to gain", kernel({FMA: 74.0}), "medium"),
    Case("compute-bound", "little to gain", kernel({FMA: 75.0}), "low"),
    Case("compute-bound", "near its roof", kernel({FMA: 89.99}), "info"),
    Case("compute-bound", "at its roof", kernel({FMA: 90.0}), "info"),
    Case("compute-bound", "integer", kernel({ALU: 70.0}), FIRES, "integer pipe"),
    Case(
        "compute-bound",
        "integer multiply-add",
        kernel({FMA: 70.0}, opcodes={"IMAD": 1.0}),
        FIRES,
        "integer pipe",
    ),
    Case("compute-bound", "double", kernel({FP64: 70.0}), FIRES, "FP64 pipe"),
    Case("compute-bound", "half", kernel({FP16: 70.0}), FIRES, "half-precision pipe"),
    Case("compute-bound", "special functions", kernel({XU: 70.0}), FIRES, "special-function"),
    Case("compute-bound", "tensor", kernel({TENSOR: 90.0}, opcodes=MMA), SILENT),
    Case("compute-bound", "memory is busier", kernel({FMA: 70.0, DRAM: 75.0}), SILENT),
)
ISSUE_BOUND = (
    Case("issue-bound", "60 %", kernel({ISSUE: 60.0}), FIRES, "60 % used", "medium"),
    Case("issue-bound", "59.99 %", kernel({ISSUE: 59.99}), SILENT),
    Case(
        "issue-bound",
        "named by opcode",
        kernel({ISSUE: 70.0}, opcodes={"IMAD": 3.0, "FFMA": 5.0, "BRA": 2.0}),
        FIRES,
        "30 % of the instructions are integer and address arithmetic",
        "high",
    ),
    Case(
        "issue-bound",
        "a GEMM multiplies at full rate",
        kernel({ISSUE: 90.0, FMA: 72.0}, opcodes={"FFMA": 9.0, "LDS": 1.0}),
        SILENT,
    ),
    Case(
        "issue-bound",
        "integer multiply-adds do not count as arithmetic",
        kernel({ISSUE: 90.0, FMA: 85.0}, opcodes={"IMAD": 9.0, "FFMA": 1.0}),
    ),
)
TENSOR_BOUND = (
    Case("tensor-core-bound", "60 %", kernel({TENSOR: 60.0}, opcodes=MMA), "medium", "60 % busy"),
    Case("tensor-core-bound", "little left", kernel({TENSOR: 79.9}, opcodes=MMA), "low"),
    Case("tensor-core-bound", "59.99 %", kernel({TENSOR: 59.99}, opcodes=MMA), SILENT),
    Case("tensor-core-bound", "at its roof", kernel({TENSOR: 80.0}, opcodes=MMA), "info"),
    Case(
        "tensor-core-bound",
        "the slower path",
        kernel({TENSOR: 95.0}, HOPPER, opcodes=MMA, opcodes_full={"HMMA.16816.F32": 1.0}),
        "medium",
        "the slower of two instruction paths",
    ),
    Case(
        "tensor-core-bound",
        "the faster path",
        kernel({TENSOR: 95.0}, HOPPER, opcodes={"HGMMA": 1.0}, opcodes_full=GROUP),
        "info",
    ),
    Case(
        "tensor-core-bound",
        "low occupancy is no flaw",
        kernel(
            {TENSOR: 92.0, L1: 94.0},
            {"sm__maximum_warps_per_active_cycle_pct": 12.5},
            opcodes={"HGMMA": 1.0},
        ),
        "info",
    ),
    Case(
        "tensor-core-bound", "packed half", kernel({TENSOR: 90.0}, opcodes={"HFMA2": 1.0}), SILENT
    ),
)


def _grid(blocks: float) -> dict[str, float]:
    return {"launch__grid_size": blocks, "launch__sm_count": 132.0}


GRID = (
    Case("grid-too-small", "8 blocks", kernel(metrics=_grid(8.0)), "high", "8 blocks for 132 SMs"),
    Case("grid-too-small", "half the SMs", kernel(metrics=_grid(66.0)), "high"),
    Case("grid-too-small", "a fifth of the SMs idle", kernel(metrics=_grid(105.0)), "medium"),
    Case("grid-too-small", "fewer SMs idle", kernel(metrics=_grid(106.0)), SILENT),
    Case("grid-too-small", "about one block per SM", kernel(metrics=_grid(128.0)), SILENT),
    Case("grid-too-small", "persistent", kernel(metrics=_grid(132.0)), SILENT),
    Case("grid-too-small", "no grid", kernel(metrics=_grid(0.0)), SILENT),
    Case("grid-too-small", "59.99 % busy", kernel({L2: 59.99}, _grid(8.0))),
    Case("grid-too-small", "60 % busy", kernel({L2: 60.0}, _grid(8.0)), SILENT),
    Case(
        "grid-too-small",
        "a level unknown",
        kernel(metrics=_grid(8.0), measured={DRAM: 5.0}),
        confidence="medium",
    ),
)


def _waiting(share: float, other: str = "wait") -> dict[str, float]:
    return {**sampled(long_scoreboard=1000.0 * share), **sampled(**{other: 1000.0 * (1 - share)})}


def _at_mbarrier(share: float) -> Kernel:
    """Return a kernel whose waits for data are at an mbarrier by this share."""
    name = SAMPLED_STALL_NOT_ISSUED.format("long_scoreboard")
    texts = (
        "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], R2",
        "@P0 BRA 0x0",
        "LDG.E R4, [R2.64]",
        "FADD R5, R4, R6",
    )
    samples = {1: 1000.0 * share, 3: 1000.0 * (1.0 - share)}
    return kernel(
        metrics=sampled(long_scoreboard=1000.0),
        code=tuple(Code(16 * at, text) for at, text in enumerate(texts)),
        instructions=tuple(
            Instruction(16 * at, texts[at], None, None, {name: value})
            for at, value in samples.items()
            if value
        ),
    )


SPREAD = sampled(long_scoreboard=300.0, wait=200.0, barrier=200.0, math_pipe_throttle=300.0)
THIN = sampled(long_scoreboard=299.0, wait=200.0, barrier=250.0, drain=251.0)
LATENCY = (
    Case("memory-latency-bound", "waits", kernel(metrics=_waiting(0.5)), FIRES, "50 %", "high"),
    Case(
        "memory-latency-bound",
        "waits less",
        kernel(metrics=sampled(long_scoreboard=499.0, wait=251.0, barrier=250.0)),
        confidence="medium",
    ),
    Case(
        "memory-latency-bound",
        "at mbarriers",
        _at_mbarrier(0.26),
        says="(26 % of that at an mbarrier)",
        confidence="medium",
        holds="give the pipeline more stages",
    ),
    Case(
        "memory-latency-bound", "at loads", _at_mbarrier(0.24), lacks="mbarrier", confidence="high"
    ),
    Case("memory-latency-bound", "30 % of stalls", kernel(metrics=SPREAD)),
    Case("memory-latency-bound", "below 30 %", kernel(metrics=THIN), SILENT),
    Case("memory-latency-bound", "waits for arithmetic", kernel(metrics=_waiting(0.4)), SILENT),
    Case("memory-latency-bound", "59.99 %", kernel({L2: 59.99}, _waiting(0.9))),
    Case("memory-latency-bound", "60 %", kernel({L2: 60.0}, _waiting(0.9)), SILENT),
    Case(
        "memory-latency-bound",
        "too few samples",
        kernel(metrics=sampled(long_scoreboard=99.0)),
        SILENT,
    ),
    Case(
        "memory-latency-bound", "a small grid", kernel(metrics=_waiting(0.9) | _grid(8.0)), SILENT
    ),
    Case(
        "memory-latency-bound",
        "a short launch",
        kernel(metrics=_waiting(0.9) | FULL_GRID, duration_s=4e-6),
        SILENT,
    ),
)
CASES = (
    *DRAM_BOUND, *L2_BOUND, *L1_BOUND, *SHARED_BOUND, *COMPUTE_BOUND, *ISSUE_BOUND, *TENSOR_BOUND,
    *GRID, *LATENCY,
)  # fmt: skip
