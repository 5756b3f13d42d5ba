"""The rule about atomic updates of global memory."""

from __future__ import annotations

from collections.abc import Mapping

from kprof import metrics as m
from kprof.metrics import opcodes
from kprof.model import Instruction
from tests.kernels import kernel, sampled
from tests.rules.case import SILENT, Case
from tests.rules.stall_cases import gates

# 1 ms at 1.98 GHz (no clock of L2 in the report) are 1.98 million cycles.
CYCLES = 1.98e6
ISSUED = "smsp__issue_active.avg.per_cycle_active"
AT = m.SAMPLED_STALL_NOT_ISSUED.format("long_scoreboard")


def atomics(per_cycle: float, metrics: Mapping[str, float] | None = None) -> dict[str, float]:
    queued = sampled(lg_throttle=200.0, drain=300.0, long_scoreboard=400.0, wait=100.0)
    clock = {"sm__cycles_elapsed.avg.per_second": 1.98e9}
    return queued | clock | {opcodes.GLOBAL_ATOMICS: per_cycle * CYCLES} | dict(metrics or {})


def reductions(sectors: float, **values: float) -> tuple[Instruction, ...]:
    """Return an atomic of 32 threads and a load, and what they wait for."""
    return (
        Instruction(
            16,
            "@P0 RED.E.ADD.F32 [R2], R0",
            "/src/sum.cu",
            4,
            {
                "thread_inst_executed": 320.0,
                "memory_l2_theoretical_sectors_global": sectors,
                **values,
            },
        ),
        Instruction(32, "FADD R0, R1, R2", None, None, {AT: 40.0}),
    )


BEHIND_ATOMICS = sampled(long_scoreboard=700.0, wait=300.0, lg_throttle=0.0, drain=0.0)
CASES = (
    Case(
        "atomic-contention",
        "one sum",
        kernel(metrics=atomics(1.0), instructions=reductions(10.0)),
        "high",
        "Atomic updates wait for each other: 1 per L2 cycle are all that get done, and no unit is "
        "more than 5 % busy; most updates at sum.cu:4",
        "high",
    ),
    *gates("atomic-contention", atomics(0.5)),
    Case("atomic-contention", "0.1 per cycle", kernel(metrics=atomics(0.1)), confidence="medium"),
    Case("atomic-contention", "0.099 per cycle", kernel(metrics=atomics(0.099)), SILENT),
    Case("atomic-contention", "no atomics", kernel(metrics=atomics(0.0)), SILENT),
    Case(
        "atomic-contention",
        "L2 at its own clock",
        kernel(metrics=atomics(0.1, {"lts__cycles_elapsed.avg.per_second": 2.0e9})),
        SILENT,
    ),
    Case(
        "atomic-contention",
        "8 updates per sector",
        kernel(metrics=atomics(1.0), instructions=reductions(40.0)),
        confidence="medium",
    ),
    Case(
        "atomic-contention",
        "more than 8",
        kernel(metrics=atomics(1.0), instructions=reductions(39.0)),
        confidence="high",
    ),
    Case(
        "atomic-contention",
        "30 % behind full queues",
        kernel(
            metrics=atomics(1.0)
            | sampled(lg_throttle=150.0, drain=150.0, long_scoreboard=700.0, wait=0.0)
        ),
    ),
    Case(
        "atomic-contention",
        "less behind full queues",
        kernel(
            metrics=atomics(1.0)
            | sampled(lg_throttle=149.0, drain=150.0, long_scoreboard=701.0, wait=0.0)
        ),
        SILENT,
    ),
    Case(
        "atomic-contention",
        "waiting at the atomics",
        kernel(metrics=atomics(1.0) | BEHIND_ATOMICS, instructions=reductions(320.0, **{AT: 60.0})),
    ),
    Case(
        "atomic-contention",
        "waiting at the loads",
        kernel(metrics=atomics(1.0) | BEHIND_ATOMICS, instructions=reductions(320.0, **{AT: 25.0})),
        SILENT,
    ),
    Case(
        "atomic-contention",
        "schedulers hardly ever idle",
        kernel(metrics=atomics(1.0) | {ISSUED: 0.99}),
        SILENT,
    ),
)
