"""Few threads of a warp do the work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from kprof import estimate
from kprof import metrics as m
from kprof.evidence import derived, measured, places, where
from kprof.instruction_mix import mnemonic
from kprof.limiter import limiter
from kprof.model import Finding, Instruction, Kernel, Place, Resource
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
    rows = every_instruction(kernel)
    found = places(kernel, _idle, rows=rows, of="the thread slots left empty")
    return Finding(
        rule="thread-divergence",
        severity=estimate.severity(speedup),
        confidence="high" if pct >= 60.0 else "medium",
        headline=f"Warps diverge: {threads:.1f} of {WARP} threads are active per instruction"
        f"{where(found)}{_after_branch(rows, found)}",
        detail=f"{100 * lost:.0f} % of the execution slots pass without a thread in them.",
        estimated_speedup=speedup,
        resource=_resource(top.resource if top else ""),
        evidence=(
            *measured(
                kernel,
                m.THREADS_PER_INSTRUCTION,
                THREADS,
                "NVIDIA rule ThreadDivergence, ncu 2025.3",
                side="below",
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


def _after_branch(rows: Sequence[Instruction], found: Sequence[Place]) -> str:
    """Name the branch that leads to the first place, where it is on a line of its own.

    It is the last one before that place behind which fewer threads go on.
    """
    at = next(
        (
            n
            for n, row in enumerate(rows)
            if found and (row.pc, row.sass) == (found[0].pc, found[0].sass)
        ),
        0,
    )
    before = [
        branch
        for branch, after in pairwise(rows[: at + 1])
        if branch.function == rows[at].function
        and _is_branch(branch)
        and _active(after) < _active(branch)
    ]
    if not before:
        return ""
    last = before[-1]
    name = where((Place(last.file, last.line, last.sass, last.pc, 0.0, last.chain),))
    return "" if not name or name == where(found[:1]) else f", after the branch{name}"


def _is_branch(row: Instruction) -> bool:
    return row.sass.startswith("@") and mnemonic(row.sass).startswith("BR")


def _active(row: Instruction) -> float:
    """Return the active threads per execution."""
    ran = row.values.get(EXECUTED)
    return row.values.get(ACTIVE, 0.0) / ran if ran else WARP


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
