"""The last wave of blocks leaves most SMs without work."""

from __future__ import annotations

import math

from kprof import balance, estimate
from kprof import metrics as m
from kprof.evidence import derived, measured
from kprof.model import Finding, Kernel
from kprof.rule import rule

# Beside a busy unit, less is the difference between two runs. kprof's own, unsourced.
NOISE = 1.05


@rule(
    requires=[
        m.DURATION,
        m.WAVES,
        m.SM_CYCLES_ACTIVE_AVG,
        m.SM_CYCLES_ACTIVE_MAX,
        m.SM_CYCLES_ELAPSED,
    ]
)
def tail_effect(kernel: Kernel) -> Finding | None:
    """## What it detects

    The grid is more than one wave and not a whole number of them, so that the last wave fills only
    part of the GPU, and SMs really were idle meanwhile: the mean of their active cycles lies at
    least a tenth of the time below the maximum.

    ## Why it matters

    All SMs together hold so many blocks at once: one wave. With 1.1 waves of equal blocks the kernel
    takes nearly twice the time of one wave, because a tenth of the SMs work through a second round
    and the others wait for them.

    ## How to fix it

    Make the grid a whole number of waves, or let a fixed number of blocks share the work:

    ```cuda
    int per_sm;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, threads, 0);
    kernel<<<per_sm * sm_count, threads>>>(...);   // one wave

    for (size_t i = blockIdx.x; i < tiles; i += gridDim.x)  // in the kernel
      work_on(i);
    ```

    Smaller blocks or tiles make more waves, and the last one costs less. Matrix products split the
    work of the last wave along K (stream-K).

    ## Known problems

    A part of a wave need not cost anything: in kernels with a grid-stride loop the first blocks do
    the work and the later ones find none left. NVIDIA's rule tells such a kernel of torch with 1.6
    waves to expect 50 %, where its SMs were busy within 0.4 % of each other. So the measured
    difference caps the estimate here, and nothing is said without one. Where a unit is 60 % busy
    over the whole launch the finding is low: the unit comes first.

    ## References

    NVIDIA rule TailEffect (LaunchStats section, ncu 2025.3): up to 1 / (whole waves + 1), which is 20 %
    or more up to four whole waves. kprof takes 1 - waves / (waves rounded up), and the distance of
    the mean from the maximum of `sm__cycles_active` (NVIDIA rule WorkloadImbalance) if that is less.
    10 %: kprof's own.
    """
    waves, idle = m.WAVES.read(kernel.metrics) or 0.0, balance.idle_share(kernel) or 0.0
    tail = balance.tail_share(kernel)
    saved = min(tail, idle)
    if saved < balance.UNEVEN:
        return None
    speedup = estimate.gain(kernel, saved, ())
    severity = estimate.severity_beside(kernel, speedup)
    if speedup.high < NOISE:
        return None
    return Finding(
        rule="tail-effect",
        severity=severity,
        confidence="high" if idle >= 0.5 * tail else "medium",
        headline=f"The last wave is only partly filled: {waves:.2f} waves take the time of "
        f"{math.ceil(waves)}, and SMs idle {100 * idle:.0f} % of it",
        detail="Blocks are started in waves that fill the GPU; when the last few run, most SMs have none.",
        estimated_speedup=speedup,
        resource="launch",
        evidence=(
            *measured(kernel, m.WAVES),
            balance.evidence(idle),
            derived("unfilled part of all waves", 100.0 * tail, "%"),
            *measured(kernel, m.GRID_BLOCKS),
        ),
        refuted_by="a mean of sm__cycles_active close to its maximum, or no change in time with a grid "
        "of a whole number of waves",
        advice=(
            "Launch as many blocks as fit at once (cudaOccupancyMaxActiveBlocksPerMultiprocessor x SMs) and let them loop over the tiles.",
            "Choose the tile so that the grid comes just below a whole number of waves, or make blocks smaller: the last of many waves costs little.",
            "For matrix products split the last wave's tiles along K (stream-K, split-K).",
        ),
    )
