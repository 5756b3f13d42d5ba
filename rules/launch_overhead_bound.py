"""The kernel is too short to be worth a launch."""

from __future__ import annotations

from kprof import estimate
from kprof import metrics as m
from kprof.evidence import OWN, derived, measured
from kprof.limiter import BUSY_PCT, LAUNCH_BOUND_S, limiter
from kprof.model import Finding, Kernel
from kprof.rule import rule
from kprof.units import si

FORUM = "forums.developer.nvidia.com/t/360150"


@rule(requires=[m.DURATION, *m.COVERAGE])
def launch_overhead_bound(kernel: Kernel) -> Finding | None:
    """## What it detects

    The launch takes less than 5 us and no unit is busy: much of the time is starting and ending it.

    ## Why it matters

    Starting a kernel and draining it takes the GPU 0.5 to 2 us, and the CPU 2 to 10 us to launch it.
    A kernel of 3 us spends most of that on neither memory nor arithmetic, and no change inside it
    helps. A program of many such launches is limited by launching.

    ## How to fix it

    Do more per launch: fuse the kernel with its neighbours, or give one launch the whole batch
    instead of one item:

    ```cuda
    for (int i = 0; i < items; ++i)          // before
      step<<<blocks, threads>>>(data + i * n, n);
    step_all<<<dim3(blocks, items), threads>>>(data, n);  // after: blockIdx.y is the item
    ```

    If the sequence of launches is always the same, capture it in a CUDA graph; in PyTorch
    `torch.compile(mode="reduce-overhead")`.

    ## Known problems

    One short launch in a program costs nothing worth having: look at how often it runs. ncu measures
    launches one at a time, so that neither gaps between them nor what a CUDA graph saves show here,
    and its durations hold start-up that a timeline (nsys) does not count. The severity is low for
    that reason.

    There is no estimate of the speed-up: it depends on how many launches there are and on what lies
    between them, which the counters of one kernel do not hold. On an H200, 1,024 launches of 2.4 us
    as one launch took a 25th of the time; a launch that comes once gains nothing.

    ## References

    5 us: kprof's own. 0.5 to 2 us within ncu's duration: forums.developer.nvidia.com/t/360150.
    """
    duration, top = kernel.duration_s, limiter(kernel)
    if duration is None or duration >= LAUNCH_BOUND_S or top is None or top.pct >= BUSY_PCT:
        return None
    return Finding(
        rule="launch-overhead-bound",
        severity="low",
        confidence="high" if duration <= 2.0 * estimate.LAUNCH_S[1] else "medium",
        headline=f"The launch takes only {si(duration, 's')}: much of it is starting and ending",
        detail="Start and end of a launch take 0.5 to 2 us of ncu's duration, and no unit was busy in the rest. "
        "What fewer launches save depends on how many there are and what lies between them: one kernel's "
        "counters do not show it, so there is no estimate.",
        estimated_speedup=None,
        resource="launch",
        evidence=(
            *measured(kernel, m.DURATION, LAUNCH_BOUND_S, OWN, side="below"),
            derived(f"start and end of a launch, at most ({FORUM})", estimate.LAUNCH_S[1], "s"),
            *measured(kernel, m.GRID_BLOCKS),
            derived("busiest unit", top.pct, "%"),
        ),
        refuted_by="a timeline (nsys) in which this launch overlaps with others or runs rarely",
        advice=(
            "Do more per launch: fuse it with the kernels before and after it, or let one launch work on the whole batch.",
            'If the same sequence of launches repeats, capture it in a CUDA graph (torch: torch.compile(mode="reduce-overhead")).',
            "Look at a timeline first: if this launch is rare, leave it alone.",
        ),
    )
