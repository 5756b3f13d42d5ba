"""The rules about execution: double precision, divergence, occupancy."""

from __future__ import annotations

from dataclasses import replace

from kprof.model import Code, Kernel
from tests.kernels import (
    DRAM,
    ELIGIBLE,
    FP64,
    FULL_GRID,
    ISSUE,
    PEAKS,
    THEORETICAL,
    THREADS_RATIO,
    block_of,
    counted,
    declaring,
    kernel,
    sampled,
)
from tests.rules.case import FIRES, SILENT, Case

# Double precision.
DOUBLES = counted(fp64=(0.0, 0.0, 1e6))
GEFORCE = PEAKS | {
    "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained": 264.0  # 1/64 of FP32
}
FP64_USAGE = (
    Case(
        "fp64-usage", "the limit", kernel({FP64: 90.0}, PEAKS | DOUBLES), FIRES, "100 % of", "high"
    ),
    Case("fp64-usage", "15 % on GeForce", kernel({FP64: 15.0}, GEFORCE | DOUBLES)),
    Case("fp64-usage", "14.99 % on GeForce", kernel({FP64: 14.99}, GEFORCE | DOUBLES), SILENT),
    Case("fp64-usage", "costs 5 %", kernel({FP64: 20.1}, PEAKS | DOUBLES), confidence="medium"),
    Case("fp64-usage", "costs less", kernel({FP64: 19.9}, PEAKS | DOUBLES), SILENT),
    Case("fp64-usage", "pipe busy with no FP64", kernel({FP64: 90.0}, PEAKS | counted()), SILENT),
    Case(
        "fp64-usage",
        "memory is the limit",
        kernel({FP64: 50.0, DRAM: 60.0}, PEAKS | DOUBLES),
        SILENT,
    ),
)


# Divergence.
def threads(active: float) -> dict[str, float]:
    return {THREADS_RATIO: active}


def _parting(second: str, active: float, line: int = 2) -> Kernel:
    """Make a kernel whose third line has few threads; the second has a branch or not."""
    sass = ("S2R R0, SR_TID.X", second, "MOV R4, R35", "FMUL R36, R35, 0.125")
    lines = (1, line, line, 3)
    return kernel(
        {ISSUE: 80.0},
        threads(16.0),
        code=tuple(
            Code(16 * n, text, "k.cu", at)
            for n, (text, at) in enumerate(zip(sass, lines, strict=True))
        ),
        executed=(1.0, 1.0, 1.0, 90.0),
        threads=(32.0, 32.0, active, 90.0 * 16.0),
    )


DIVERGENCE = (
    Case("thread-divergence", "half", kernel({ISSUE: 80.0}, threads(16.0)), "high", "16.0 of 32"),
    Case("thread-divergence", "23.99", kernel({ISSUE: 80.0}, threads(23.99))),
    Case("thread-divergence", "24", kernel({ISSUE: 80.0}, threads(24.0)), SILENT),
    Case("thread-divergence", "60 % busy", kernel({ISSUE: 60.0}, threads(16.0)), confidence="high"),
    Case("thread-divergence", "59 %", kernel({ISSUE: 59.0}, threads(16.0)), confidence="medium"),
    Case(
        "thread-divergence",
        "blocks of 16",
        kernel({ISSUE: 80.0}, threads(16.0), launch=block_of(16)),
        SILENT,
    ),
    Case(
        "thread-divergence",
        "blocks of 40 as launched",
        kernel({ISSUE: 80.0}, threads(15.0), launch=block_of(40)),
        SILENT,
    ),
    Case(
        "thread-divergence",
        "blocks of 40 that diverge",
        kernel({ISSUE: 80.0}, threads(14.9), launch=block_of(40)),
    ),
    Case(
        "thread-divergence",
        "blocks of 8 x 2",
        kernel({ISSUE: 80.0}, threads(15.5), launch=block_of(8, 2)),
        SILENT,
    ),
    Case(
        "thread-divergence",
        "full blocks that diverge",
        kernel({ISSUE: 80.0}, threads(16.0), launch=block_of(256)),
    ),
    Case("thread-divergence", "an elected thread", kernel({ISSUE: 1.0}, threads(3.0)), SILENT),
    Case(
        "thread-divergence",
        "the branch is named beside its body",
        _parting("@P0   BRA 0x40", active=16.0),
        says="at k.cu:3, after the branch at k.cu:2",
    ),
    Case(
        "thread-divergence",
        "a branch that all threads take alike",
        _parting("@P0   BRA 0x40", active=32.0),
        says="at k.cu:3",
        lacks="after the branch",
    ),
    Case(
        "thread-divergence",
        "fewer threads without a branch",
        _parting("ISETP.NE.AND P0, PT, R7, RZ, PT", active=16.0),
        says="at k.cu:3",
        lacks="after the branch",
    ),
    Case(
        "thread-divergence",
        "fewer threads behind a jump that all take",
        _parting("BRA 0x40", active=16.0),
        says="at k.cu:3",
        lacks="after the branch",
    ),
    Case(
        "thread-divergence",
        "fewer threads behind a predicated instruction",
        _parting("@P0   FADD R4, R4, R5", active=16.0),
        says="at k.cu:3",
        lacks="after the branch",
    ),
    Case(
        "thread-divergence",
        "a branch on the line of its body",
        _parting("@P0   BRA 0x40", active=16.0, line=3),
        says="at k.cu:3",
        lacks="after the branch",
    ),
)


# Partly empty warps.
def _block(threads: float) -> dict[str, float]:
    return {"launch__block_size": threads} | FULL_GRID


PARTIAL = (
    Case("partial-warps", "one thread", kernel({ISSUE: 70.0}, _block(1.0)), "high", "97 %", "high"),
    Case("partial-warps", "ten empty lanes of 64", kernel({ISSUE: 70.0}, _block(54.0))),
    Case("partial-warps", "four empty lanes of 32", kernel({ISSUE: 70.0}, _block(28.0))),
    Case("partial-warps", "three empty lanes", kernel({ISSUE: 70.0}, _block(29.0)), SILENT),
    Case("partial-warps", "whole warps", kernel({ISSUE: 90.0}, _block(96.0)), SILENT),
    Case("partial-warps", "memory is the limit", kernel({DRAM: 90.0}, _block(16.0)), SILENT),
    Case(
        "partial-warps",
        "nothing is busy",
        kernel(metrics=_block(8.0)),
        confidence="medium",
    ),
)

# Occupancy.
LIMIT = "launch__occupancy_limit_"
SUFFERS = (
    FULL_GRID
    | {THEORETICAL: 25.0, ELIGIBLE: 0.2}
    | {f"{LIMIT}{name}": 8.0 for name in ("warps", "blocks", "barriers")}
    | sampled(long_scoreboard=900.0, barrier=100.0)
)
BY_REGISTERS = SUFFERS | {f"{LIMIT}registers": 2.0, f"{LIMIT}shared_mem": 8.0}
BY_SHARED = SUFFERS | {f"{LIMIT}registers": 8.0, f"{LIMIT}shared_mem": 2.0}
TIED = SUFFERS | {f"{LIMIT}registers": 2.0, f"{LIMIT}shared_mem": 2.0}


def _occupancy(rule: str, metrics: dict[str, float]) -> tuple[Case, ...]:
    def case(title: str, expected: str, *, unit: float = 5.0, **changes: float) -> Case:
        renamed = {
            "theoretical": THEORETICAL,
            "eligible": ELIGIBLE,
            "waves": "launch__waves_per_multiprocessor",
            "achieved": "sm__warps_active.avg.pct_of_peak_sustained_active",
        }
        changed = {renamed.get(name, name): value for name, value in changes.items()}
        return Case(rule, title, kernel({DRAM: unit}, metrics | changed), expected)

    waits = sampled(long_scoreboard=100.0, short_scoreboard=100.0, wait=100.0, barrier=700.0)
    busy = sampled(long_scoreboard=100.0, short_scoreboard=100.0, wait=99.0, barrier=701.0)
    return (
        Case(rule, "few warps", kernel(metrics=metrics), "high", "25 % occupancy", "high"),
        Case(rule, "limits tie", kernel(metrics=TIED), confidence="medium"),
        case("79.99 %", FIRES, theoretical=79.99),
        case("80 %", SILENT, theoretical=80.0),
        case("0.99 eligible warps", FIRES, eligible=0.99),
        case("1 eligible warp", SILENT, eligible=1.0),
        case("59.99 % busy", FIRES, unit=59.99),
        case("60 % busy", SILENT, unit=60.0),
        Case(rule, "30 % waits for data", kernel(metrics=metrics | waits)),
        Case(rule, "less waits for data", kernel(metrics=metrics | busy), SILENT),
        case("a small grid", SILENT, launch__grid_size=8.0),
        case("one wave", FIRES, waves=1.0),
        case("less than a wave cannot use more room", SILENT, waves=0.99),
        case("60 % of what is allowed", FIRES, achieved=15.0),
        case("far fewer warps than allowed", SILENT, achieved=14.9),
        Case(
            rule,
            "registers change at run time",
            kernel(metrics=metrics, opcodes={"USETMAXREG": 4.0, "FFMA": 9.0}),
            SILENT,
        ),
    )


OCCUPANCY = (
    *_occupancy("occupancy-limited-by-registers", BY_REGISTERS),
    *_occupancy("occupancy-limited-by-shared-memory", BY_SHARED),
    Case(
        "occupancy-limited-by-registers", "shared memory limits", kernel(metrics=BY_SHARED), SILENT
    ),
    Case(
        "occupancy-limited-by-shared-memory",
        "the driver's own is all there is",
        kernel(metrics=BY_SHARED, launch=declaring(0)),
        SILENT,
    ),
    Case(
        "occupancy-limited-by-shared-memory",
        "some is declared",
        kernel(metrics=BY_SHARED, launch=declaring(4)),
    ),
    Case(
        "occupancy-limited-by-shared-memory",
        "all is given at launch",
        kernel(metrics=BY_SHARED, launch=replace(declaring(0), shared_dynamic_bytes=4)),
    ),
    Case(
        "occupancy-limited-by-shared-memory",
        "registers limit",
        kernel(metrics=BY_REGISTERS),
        SILENT,
    ),
)
CASES = (*FP64_USAGE, *DIVERGENCE, *PARTIAL, *OCCUPANCY)
