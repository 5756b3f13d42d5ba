"""The rules about what warps wait for while no unit is busy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kprof import metrics as m
from kprof.model import Kernel
from tests.kernels import DRAM, FULL_GRID, ISSUE, kernel, row, sampled
from tests.rules.case import FIRES, SILENT, Case


def stalled(share: float, reason: str, others: tuple[str, ...] = ("wait",)) -> dict[str, float]:
    """Return 1000 samples: a reason's share, the rest in equal parts."""
    rest = 1000.0 * (1.0 - share) / len(others)
    return sampled(**{reason: 1000.0 * share}, **dict.fromkeys(others, rest))


MANY = ("wait", "drain", "long_scoreboard")  # so that 30 % can be the largest of them
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
            kernel(metrics={name: value / 11.0 for name, value in metrics.items()}, **fields),
            SILENT,
        ),
    )


HALF = stalled(0.5, "barrier", ("wait", "long_scoreboard"))
BARRIER = (
    Case(
        "barrier-stalls",
        "one warp works",
        kernel(metrics=stalled(0.8, "barrier"), instructions=(PLACED,)),
        "high",
        "80 % of stalled time passes at barriers and no unit is more than 5 % busy at scan.cu:7",
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
CASES = (*BARRIER,)
