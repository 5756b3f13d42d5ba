"""Too few blocks for the SMs."""

from __future__ import annotations

from kprof import estimate
from kprof import metrics as m
from kprof.evidence import busy, measured
from kprof.limiter import BUSY_PCT, FEW_BLOCKS, limiter
from kprof.model import Finding, Kernel, Speedup
from kprof.rule import rule


@rule(requires=[m.GRID_BLOCKS, m.SM_COUNT, m.DURATION])
def grid_too_small(kernel: Kernel) -> Finding | None:
    """## What it detects

    The grid leaves more than a fifth of the SMs without a thread block, and no unit is busy.

    ## Why it matters

    A block runs on one SM. With 8 blocks on a GPU of 132 SMs, 124 of them do nothing, whatever
    the kernel does.

    ## How to fix it

    More, smaller blocks: split the work along another dimension, give each thread less, split the
    reduction (split-K) and add the parts in a second step or with atomics. If the problem is this
    small, run several of them in one launch (batch) or side by side in streams or a CUDA graph.

    ## Known problems

    Kernels meant to run beside others (streams, graphs) look alike: one kernel at a time is what
    a profiler sees. Persistent kernels launch about one block per SM and do not
    fire. The estimate is for this launch's work split into more blocks, all of it or half; whether it
    can be split the counters do not say, nor what batching or overlapping saves.

    ## References

    NVIDIA rule "Small Grid" (LaunchStats section, ncu 2025.3): speed-up at most SMs / blocks.
    """
    blocks, sms = m.GRID_BLOCKS.read(kernel.metrics), m.SM_COUNT.read(kernel.metrics)
    if not blocks or not sms or blocks >= FEW_BLOCKS * sms:
        return None
    top = limiter(kernel)
    if top is not None and top.pct >= BUSY_PCT:
        return None
    idle = (sms - blocks) / sms
    most = estimate.gain(kernel, idle, ())
    speedup = Speedup(low=_low(kernel, most.high), high=most.high)
    if not estimate.is_worth_it(speedup):
        return None
    return Finding(
        rule="grid-too-small",
        severity=estimate.severity(speedup) if top else "low",
        confidence="high" if top else "medium",  # a busy unit could hide in missing data
        headline=f"The grid is too small: {_blocks(blocks)} for {sms:.0f} SMs, {100 * idle:.0f} % of the GPU is idle",
        detail="A block runs on one SM: with fewer blocks than SMs the rest have nothing to do.",
        estimated_speedup=speedup,
        resource="launch",
        evidence=(
            *measured(
                kernel,
                m.GRID_BLOCKS,
                FEW_BLOCKS * sms,
                "80 % of this GPU's SMs, kprof",
                side="below",
            ),
            *measured(kernel, m.WAVES),
            *((busy(top),) if top else ()),
        ),
        refuted_by="other kernels that run at the same time and fill the remaining SMs",
        advice=(
            "Split the work into at least one block per SM, better two or more: another dimension, smaller blocks, split-K.",
            "If there is no more work, batch several problems into one launch or overlap them (streams, CUDA graph).",
        ),
    )


def _blocks(count: float) -> str:
    return "1 block" if count == 1.0 else f"{count:,.0f} blocks"


def _low(kernel: Kernel, high: float) -> float:
    """Return half of the gain, or what the launch itself leaves of it."""
    return min(1.0 + 0.5 * (high - 1.0), estimate.beside_the_launch(kernel))
