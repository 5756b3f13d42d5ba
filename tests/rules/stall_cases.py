"""The rules about what warps wait for while no unit is busy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kprof import metrics as m
from kprof.model import Instruction, Kernel
from tests.kernels import (
    DRAM,
    ELIGIBLE,
    FULL_GRID,
    ISSUE,
    WAVEFRONTS,
    WAVEFRONTS_IDEAL,
    kernel,
    row,
    sampled,
)
from tests.rules.case import FIRES, SILENT, Case


def stalled(share: float, reason: str, others: tuple[str, ...] = ("wait",)) -> dict[str, float]:
    """Return 1000 samples: a reason's share, the rest in equal parts."""
    rest = 1000.0 * (1.0 - share) / len(others)
    return sampled(**{reason: 1000.0 * share}, **dict.fromkeys(others, rest))


MANY = ("wait", "drain", "long_scoreboard")  # so that 30 % can be the largest of them
OTHERS = ("barrier", "drain", "long_scoreboard")
ISSUED = "smsp__issue_active.avg.per_cycle_active"
PLACED = row(
    "LDS R0, [R1]", 16, file="/src/scan.cu", line=7,
    **{m.SAMPLED_STALL_NOT_ISSUED.format("barrier"): 9.0},
)  # fmt: skip


def gates(rule: str, metrics: Mapping[str, float], **fields: Any) -> tuple[Case, ...]:
    """Return the cases every rule shares: waiting is not the limit, or nobody knows."""

    def case(title: str, item: Kernel, expected: str) -> Case:
        return Case(rule, title, item, expected)

    small = {"launch__grid_size": 8.0, "launch__sm_count": 132.0}
    return (
        case("59.99 % busy", kernel({ISSUE: 59.99}, metrics, **fields), FIRES),
        case("60 % busy", kernel({ISSUE: 60.0}, metrics, **fields), SILENT),
        case("memory is busy", kernel({DRAM: 75.0}, metrics, **fields), SILENT),
        case("a small grid", kernel(metrics={**metrics, **small}, **fields), SILENT),
        case(
            "a short launch",
            kernel(metrics={**metrics, **FULL_GRID}, duration_s=4.9e-6, **fields),
            SILENT,
        ),
        case(
            "too few samples",
            kernel(metrics={name: _few(name, value) for name, value in metrics.items()}, **fields),
            SILENT,
        ),
    )


def _few(name: str, value: float) -> float:
    return value / 11.0 if "pcsamp" in name else value


HALF = stalled(0.5, "barrier", ("wait", "long_scoreboard"))
BARRIER = (
    Case(
        "barrier-stalls",
        "one warp works",
        kernel(metrics=stalled(0.8, "barrier"), instructions=(PLACED,)),
        "high",
        "80 % of stalled time passes at barriers and no unit is more than 5 % busy; most wait at scan.cu:7",
        "high",
    ),
    *gates("barrier-stalls", HALF),
    Case("barrier-stalls", "half", kernel(metrics=HALF), "high", confidence="high"),
    Case(
        "barrier-stalls",
        "less than half",
        kernel(metrics=stalled(0.499, "barrier", MANY)),
        confidence="medium",
    ),
    Case("barrier-stalls", "30 %", kernel(metrics=stalled(0.3, "barrier", MANY))),
    Case("barrier-stalls", "29.9 %", kernel(metrics=stalled(0.299, "barrier", (*MANY, "membar"))), SILENT),
    Case("barrier-stalls", "loads are waited for longer", kernel(metrics=stalled(0.45, "barrier", ("long_scoreboard",))), SILENT),
    Case(
        "barrier-stalls",
        "registers move between warps",
        kernel(metrics=HALF, opcodes={"USETMAXREG": 4.0, "BAR": 9.0}),
        SILENT,
    ),
    Case(
        "barrier-stalls",
        "arrival without waiting",
        kernel(metrics=HALF, opcodes={"BAR": 9.0}, opcodes_full={"BAR.ARV": 4.0, "BAR.SYNC": 5.0}),
        SILENT,
    ),
    Case(
        "barrier-stalls",
        "schedulers hardly ever idle",
        kernel(metrics=HALF | {"smsp__issue_active.avg.per_cycle_active": 0.99}),
        SILENT,
    ),
)  # fmt: skip


# Dependencies.
def chained(share: float, *others: str, eligible: float = 0.2) -> dict[str, float]:
    return stalled(share, "wait", others or ("barrier", "drain")) | {ELIGIBLE: eligible}


LONG_WARPS = {"smsp__inst_executed.sum": 100.0 * 8 * 1000, "launch__grid_size": 1000.0,
              "launch__block_size": 250.0}  # fmt: skip
CHAIN = chained(0.5)
ON_CHIP = sampled(short_scoreboard=600.0, wait=300.0, drain=100.0) | {ELIGIBLE: 0.2}
DEPENDENCY = (
    Case(
        "dependency-stalls",
        "one chain",
        kernel(metrics=chained(0.8)),
        "high",
        "80 % of stalled time, with 0.20 warps per scheduler ready and no unit more than 5 % busy",
        "high",
    ),
    *gates("dependency-stalls", CHAIN),
    Case("dependency-stalls", "half", kernel(metrics=CHAIN), confidence="high"),
    Case("dependency-stalls", "less", kernel(metrics=chained(0.499, *OTHERS)), confidence="medium"),
    Case("dependency-stalls", "30 %", kernel(metrics=chained(0.3, *OTHERS))),
    Case("dependency-stalls", "29.9 %", kernel(metrics=chained(0.299, *OTHERS, "membar")), SILENT),
    Case(
        "dependency-stalls",
        "the three reasons add up",
        kernel(
            metrics=sampled(
                wait=260.0, short_scoreboard=250.0, math_pipe_throttle=250.0, drain=240.0
            )
            | {ELIGIBLE: 0.2}
        ),
        FIRES,
        "76 % of stalled time",
    ),
    Case(
        "dependency-stalls",
        "another reason is the largest",
        kernel(metrics=sampled(wait=300.0, short_scoreboard=300.0, drain=400.0) | {ELIGIBLE: 0.2}),
        SILENT,
    ),
    Case("dependency-stalls", "0.99 warps ready", kernel(metrics=chained(0.5, eligible=0.99))),
    Case("dependency-stalls", "1 warp ready", kernel(metrics=chained(0.5, eligible=1.0)), SILENT),
    Case(
        "dependency-stalls",
        "matrix instructions",
        kernel(metrics=CHAIN, opcodes={"HMMA": 1.0}),
        SILENT,
    ),
    Case("dependency-stalls", "100 instructions", kernel(metrics=CHAIN | LONG_WARPS)),
    Case(
        "dependency-stalls",
        "99.9 instructions",
        kernel(metrics=CHAIN | LONG_WARPS | {"smsp__inst_executed.sum": 99.9 * 8 * 1000}),
        SILENT,
    ),
    Case(
        "dependency-stalls",
        "bank conflicts",
        kernel(metrics=ON_CHIP | {WAVEFRONTS: 100.0, WAVEFRONTS_IDEAL: 90.0}),
        SILENT,
    ),
    Case(
        "dependency-stalls",
        "few bank conflicts",
        kernel(metrics=ON_CHIP | {WAVEFRONTS: 100.0, WAVEFRONTS_IDEAL: 90.1}),
    ),
    Case(
        "dependency-stalls",
        "bank conflicts nobody waits for",
        kernel(metrics=CHAIN | {WAVEFRONTS: 100.0, WAVEFRONTS_IDEAL: 10.0}),
    ),
    Case(
        "dependency-stalls",
        "schedulers hardly ever idle",
        kernel(metrics=CHAIN | {ISSUED: 0.99}),
        SILENT,
    ),
)

# Fences.
FENCED = stalled(0.5, "membar")
SCARCE = ("wait", "long_scoreboard", "barrier", "drain")
FENCES = (
    Case(
        "memory-fence-stalls",
        "a fence after every write",
        kernel(metrics=stalled(0.8, "membar")),
        "high",
        "80 % of stalled time and no unit is more than 5 % busy",
        "high",
    ),
    *gates("memory-fence-stalls", FENCED),
    Case(
        "memory-fence-stalls",
        "30 %",
        kernel(metrics=stalled(0.3, "membar", SCARCE)),
        confidence="high",
    ),
    Case(
        "memory-fence-stalls",
        "29.9 %",
        kernel(metrics=stalled(0.299, "membar", SCARCE)),
        confidence="medium",
    ),
    Case("memory-fence-stalls", "10 %", kernel(metrics=stalled(0.1, "membar", SCARCE)), "low"),
    Case("memory-fence-stalls", "9.9 %", kernel(metrics=stalled(0.099, "membar", SCARCE)), SILENT),
    Case("memory-fence-stalls", "none", kernel(metrics=sampled(membar=0.0, wait=900.0)), SILENT),
    Case(
        "memory-fence-stalls",
        "schedulers hardly ever idle",
        kernel(metrics=FENCED | {ISSUED: 0.99}),
        SILENT,
    ),
)


# Instruction cache.
def unfetched(share: float, *others: str, waves: float = 4.0) -> dict[str, float]:
    rest = others or ("wait",)
    return stalled(share, "no_instructions", rest) | {"launch__waves_per_multiprocessor": waves}


def looping(trips: float) -> tuple[Instruction, ...]:
    """Return an instruction that each of 32 warps in 132 blocks executes that often."""
    samples = m.SAMPLED_STALL_NOT_ISSUED.format("no_instructions")
    values = {samples: 50.0, "inst_executed": trips * 132 * 32}
    missed = Instruction(16, "FFMA R0, R1, R2, R3", "/src/big.cu", 5, values)
    return (missed, row("FADD R0, R1, R2", 32))


FOUR_WAVES = {"launch__waves_per_multiprocessor": 4.0}
THREE_WAVES = {"launch__waves_per_multiprocessor": 3.9}
ONE_WAVE = unfetched(0.5, waves=0.25) | {
    "launch__grid_size": 132.0,
    "launch__block_size": 1024.0,
    "launch__sm_count": 132.0,
}
FETCH = (
    Case(
        "instruction-cache-misses",
        "a large loop",
        kernel(metrics=unfetched(0.8), instructions=looping(1.0)),
        "high",
        "80 % of stalled time waits for instructions and no unit is more than 5 % busy; most wait at big.cu:5",
        "high",
    ),
    *gates("instruction-cache-misses", unfetched(0.5)),
    Case(
        "instruction-cache-misses",
        "constants",
        kernel(metrics=stalled(0.9, "imc_miss", ("wait", "no_instructions")) | FOUR_WAVES),
        "high",
        "The constant cache misses: 90 % of stalled time waits for constants",
        "high",
    ),
    Case(
        "instruction-cache-misses",
        "constants once per block",
        kernel(metrics=stalled(0.9, "imc_miss", ("wait", "no_instructions")) | THREE_WAVES),
        SILENT,
    ),
    Case("instruction-cache-misses", "half", kernel(metrics=unfetched(0.5)), confidence="high"),
    Case(
        "instruction-cache-misses",
        "less",
        kernel(metrics=unfetched(0.499, *MANY)),
        confidence="medium",
    ),
    Case("instruction-cache-misses", "30 %", kernel(metrics=unfetched(0.3, *MANY))),
    Case(
        "instruction-cache-misses",
        "29.9 %",
        kernel(metrics=unfetched(0.299, *MANY, "membar")),
        SILENT,
    ),
    Case(
        "instruction-cache-misses",
        "loads are waited for longer",
        kernel(metrics=unfetched(0.45, "long_scoreboard")),
        SILENT,
    ),
    Case(
        "instruction-cache-misses",
        "20 us",
        kernel(metrics=unfetched(0.5) | FULL_GRID, duration_s=20e-6),
    ),
    Case(
        "instruction-cache-misses",
        "19.9 us",
        kernel(metrics=unfetched(0.5) | FULL_GRID, duration_s=19.9e-6),
        SILENT,
    ),
    Case(
        "instruction-cache-misses", "3.9 waves", kernel(metrics=unfetched(0.5, waves=3.9)), SILENT
    ),
    Case(
        "instruction-cache-misses",
        "4 trips in less than a wave",
        kernel(metrics=ONE_WAVE, instructions=looping(4.0)),
    ),
    Case(
        "instruction-cache-misses",
        "3.9 trips in less than a wave",
        kernel(metrics=ONE_WAVE, instructions=looping(3.9)),
        SILENT,
    ),
    Case(
        "instruction-cache-misses",
        "schedulers hardly ever idle",
        kernel(metrics=unfetched(0.5) | {ISSUED: 0.99}),
        SILENT,
    ),
)

CASES = (*BARRIER, *DEPENDENCY, *FENCES, *FETCH)
