"""Warps wait for their block at __syncthreads."""

from __future__ import annotations

from kprof import metrics as m
from kprof import stall_rule
from kprof.attribution import at_barriers
from kprof.estimate import severity
from kprof.evidence import busy, derived, measured, mostly
from kprof.limiter import BUSY_PCT
from kprof.model import Evidence, Finding, Kernel
from kprof.rule import rule
from kprof.stalls import stalls, top_stall

LARGE_BLOCK = 512.0  # threads; the advice of NVIDIA rule CPIStall for this reason, ncu 2025.3
# Warp instructions between two barriers of a warp below which the barriers themselves are the
# work. kprof's own, unsourced.
OFTEN = 50.0


@rule(requires=[*m.COVERAGE, m.BARRIER_STALLS])
def barrier_stalls(kernel: Kernel) -> Finding | None:
    """## What it detects

    No unit is 60 % busy, and what warps wait for most, at least 30 % of stalled time, is the
    other warps of their block at a barrier (`__syncthreads`, `BAR.SYNC`).

    ## Why it matters

    A barrier lasts until the slowest warp arrives. When one warp works for the whole block, or
    barriers come every few instructions, the other warps do nothing, and with one or two large
    blocks per SM there is nobody to fill the gap.

    ## How to fix it

    Give every warp its share of the work between two barriers:

    ```cuda
    if (threadIdx.x < 32) finish_all(tile);  // 31 warps wait
    __syncthreads();

    finish_one(tile, threadIdx.x);           // every thread finishes its own
    __syncthreads();
    ```

    Exchange within a warp by shuffles and `__syncwarp` instead of shared memory and barriers;
    use smaller blocks, so that another block runs while one waits; split arrival from waiting
    (`cuda::barrier`) and put independent work between.

    ## Known problems

    The samples are booked on the first instruction after the barrier. Warps that wait at a
    barrier for one that waits for memory look the same: where waiting for memory is the larger
    share, this rule is silent. Warp-specialised kernels (USETMAXREG, BAR.ARV) wait by design and
    are not judged. While a unit is busy, a barrier costs nothing.

    ## References

    30 %, and blocks of 512 threads and more: NVIDIA rule CPIStall; 60 %: SOLBottleneck (ncu
    2025.3). 50 instructions between barriers, for the advice: kprof's own.
    """
    top, stall = stall_rule.waiting(kernel), top_stall(kernel)
    if top is None or stall is None or stall_rule.is_warp_specialised(kernel):
        return None
    reason, share = stall
    if reason != "barrier" or share < stall_rule.STALL_SHARE:
        return None
    speedup = stall_rule.gain(kernel, share)
    found = at_barriers(kernel, stall_rule.samples("barrier"))
    between = _between(kernel)
    return Finding(
        rule="barrier-stalls",
        severity=severity(speedup),
        confidence="high" if share >= stall_rule.SURE_SHARE else "medium",
        headline=f"Warps wait for each other: {100 * share:.0f} % of stalled time passes at barriers and no unit "
        f"is more than {top.pct:.0f} % busy{mostly(found)}",
        detail=_detail(between),
        estimated_speedup=speedup,
        resource="latency",
        evidence=(
            derived("barrier share of stalls", 100.0 * share, "%", 100.0 * stall_rule.STALL_SHARE,
                    stall_rule.NVIDIA_STALL, side="at least"),
            busy(top),
            *_often(between),
            *measured(kernel, m.BLOCK_THREADS, LARGE_BLOCK, stall_rule.NVIDIA_STALL, side="at least"),
            *measured(kernel, m.ISSUE_ACTIVE),
            *measured(kernel, m.THREADS_PER_INSTRUCTION),
        ),
        refuted_by=f"a unit at {BUSY_PCT:.0f} % or more, or no change in time when the work between the "
        "barriers is spread over all warps",
        source=found,
        advice=_advice(kernel, between),
    )  # fmt: skip


def _between(kernel: Kernel) -> float | None:
    """Return how many instructions a warp executes from one barrier to the next."""
    barriers = kernel.opcodes.get("BAR", 0.0)
    return sum(kernel.opcodes.values()) / barriers if barriers else None


def _detail(between: float | None) -> str:
    if between is None:
        return "The slowest warp of each block sets the pace for all of them."
    return f"A warp meets a barrier every {between:.0f} instructions, and waits there for the slowest of its block."


def _often(between: float | None) -> tuple[Evidence, ...]:
    if between is None:
        return ()
    return (
        derived("warp instructions per barrier", between, "inst", OFTEN, "kprof", side="below"),
    )


def _advice(kernel: Kernel, between: float | None) -> tuple[str, ...]:
    spread = "Spread the work between two barriers over all warps: look for if (threadIdx.x < 32) or loops with different trip counts before the barrier."
    fewer = "Need fewer barriers: exchange within a warp by __shfl_sync or __syncwarp, double-buffer shared memory to save one barrier per step."
    more = [fewer, spread] if between is not None and between < OFTEN else [spread, fewer]
    threads = m.BLOCK_THREADS.read(kernel.metrics)
    if threads is not None and threads >= LARGE_BLOCK:
        more.append(
            f"Use smaller blocks than {threads:.0f} threads: a barrier then stops fewer warps, and other blocks fill the gap."
        )
    if stalls(kernel).get("long_scoreboard", 0.0) >= 0.1:
        more.append("The warps waited for also wait for loads: issue those before the barrier.")
    return tuple(more)
