"""Few threads of a warp do the work."""

from __future__ import annotations

import math

from kprof import estimate
from kprof import metrics as m
from kprof.evidence import derived, measured, places, where
from kprof.limiter import limiter
from kprof.model import Finding, Instruction, Kernel, Resource
from kprof.rule import rule
from kprof.source_view import EXECUTED, every_instruction
from kprof.source_view import THREADS as ACTIVE

THREADS = 24.0  # of 32; NVIDIA rule ThreadDivergence, ncu 2025.3
WARP = 32
PIPES = frozenset({"issue", "control", "fma", "alu", "fp64", "fp16", "xu"})
MATH = frozenset({"fp32", "fp16", "fp64", "int", "xu"})


@rule(requires=[m.THREADS_PER_INSTRUCTION, m.ISSUE_PCT])
def thread_divergence(kernel: Kernel) -> Finding | None:
    """## What it detects

    On average fewer than 24 of the 32 threads of a warp are active per executed instruction,
    because the warp's threads take different branches or loop for different times.

    ## Why it matters

    A warp executes every path any of its threads takes; the others wait. With 16 active threads
    the SM does half the work per instruction it issues.

    ## How to fix it

    Branch on values that are the same for a whole warp (`threadIdx.x / 32`), sort or bin the
    work so that neighbours take the same path, replace short branches by arithmetic, give
    long-running items to whole warps.

    ## Known problems

    Threads that were never launched (a block of 16 threads) are not divergence and do not fire.
    Elected-thread code (one thread per warp starts a TMA copy) is normal; its instructions are
    few, so the estimate stays small. Predication is told apart: it executes with all threads on.

    ## References

    24 of 32: NVIDIA rule ThreadDivergence (ncu 2025.3).
    """
    threads = m.THREADS_PER_INSTRUCTION.read(kernel.metrics)
    if threads is None or threads >= THREADS or _launched(kernel, threads):
        return None
    lost = 1.0 - threads / WARP
    top = limiter(kernel)
    pct = _busy(kernel)
    speedup = estimate.gain(kernel, lost * estimate.pressure(kernel, PIPES), PIPES)
    if not estimate.is_worth_it(speedup):
        return None
    found = places(kernel, _idle, rows=every_instruction(kernel))
    return Finding(
        rule="thread-divergence",
        severity=estimate.severity(speedup),
        confidence="high" if pct >= 60.0 else "medium",
        headline=f"Warps diverge: {threads:.1f} of {WARP} threads are active per instruction"
        f"{where(found)}",
        detail=f"{100 * lost:.0f} % of the execution slots pass without a thread in them.",
        estimated_speedup=speedup,
        resource=_resource(top.resource if top else ""),
        evidence=(
            *measured(
                kernel,
                m.THREADS_PER_INSTRUCTION,
                THREADS,
                "NVIDIA rule ThreadDivergence, ncu 2025.3",
            ),
            *measured(kernel, m.THREADS_PER_INSTRUCTION_ON),
            derived("busiest of issue and math pipes", pct, "%"),
        ),
        refuted_by="all threads active in the instructions that take the time (see the source table)",
        source=found,
        advice=(
            "Make the branch condition the same for all threads of a warp: decide by threadIdx.x / 32 instead of by lane, or sort the work so that neighbours agree.",
            "Replace short branches by selects (a ? b : c) or arithmetic.",
            "Where loop counts differ per thread, let a whole warp work on one item.",
        ),
    )


def _idle(row: Instruction) -> float:
    """Return the thread slots that an instruction left empty."""
    ran, active = row.values.get(EXECUTED), row.values.get(ACTIVE)
    return 0.0 if ran is None or active is None else WARP * ran - active


def _launched(kernel: Kernel, threads: float) -> bool:
    """Say whether the warps simply have no more threads: blocks that do not fill them."""
    if kernel.launch is None or kernel.launch.block is None:
        return False
    size = math.prod(kernel.launch.block)
    per_warp = size / math.ceil(size / WARP) if size else WARP
    return threads >= 0.75 * per_warp and per_warp < THREADS


def _busy(kernel: Kernel) -> float:
    top = limiter(kernel)
    issue = m.ISSUE_PCT.read(kernel.metrics) or 0.0
    return max(issue, top.pct) if top and top.resource in MATH else issue


def _resource(limiting: str) -> Resource:
    if limiting in MATH:
        return "math"
    return "issue" if limiting == "issue" else "latency"
