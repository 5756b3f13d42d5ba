"""Nothing is busy: warps wait for loads."""

from __future__ import annotations

from kprof import estimate, stall_rule
from kprof import metrics as m
from kprof.evidence import busy, derived, measured, places, samples_of
from kprof.metrics import accesses
from kprof.model import Finding, Kernel, Speedup
from kprof.producer import LONG, at_mbarriers, told, waits
from kprof.rule import rule
from kprof.stalls import samples_at, stalls, top_stall

# Below this more warps are advised; they are there already when this part of what fits is reached.
# kprof's own, unsourced.
LOW_OCCUPANCY_PCT = 50.0
REACHED = 0.8
# From this share of those waits on, the finding says that they are at an mbarrier. kprof's own.
MBARRIERS = 0.25


@rule(requires=[*m.COVERAGE, m.LONG_SCOREBOARD])
def memory_latency_bound(kernel: Kernel) -> Finding | None:
    """## What it detects

    No unit is 60 % busy, and most of the time warps wait for a global, local or texture load
    (long scoreboard is the largest stall reason, at least 30 % of stalled time).

    ## Why it matters

    By Little's law the bytes in flight must be bandwidth times latency. Too few warps, or warps
    with one load at a time, leave every unit waiting: the kernel is limited by latency, and
    neither bandwidth nor arithmetic advice applies.

    ## How to fix it

    More independent loads per thread before the first use (unroll, process several elements,
    128-bit loads); asynchronous copies (cp.async, TMA) to fetch the next tile during the current
    one; more resident warps if occupancy is low; shorter chains of dependent loads (pointer
    chasing, index-of-index).

    ## Known problems

    The stall is booked on the instruction that needs the value. The load it waits for is found by
    following the registers back; where several may be meant, each is listed with its likely share.
    Launches too small for the GPU are left to grid-too-small, and those whose schedulers issue in
    80 % of the cycles in which they have warps to the rules about SMs without work. Where one slice
    of a cache, one address or a link is full, that finding stands alone: more loads would queue there.
    A wait at an mbarrier (asynchronous copies, warp specialisation) counts as one for a load; it may be
    for other warps. From a quarter of those waits on the finding says so, with medium confidence.

    ## References

    60 %: NVIDIA rule SOLBottleneck; 30 %: NVIDIA rule CPIStall (ncu 2025.3).
    """
    top, stall = stall_rule.waiting(kernel), top_stall(kernel)
    if top is None or stall is None:
        return None
    if stall[0] != "long_scoreboard" or stall[1] < stall_rule.STALL_SHARE:
        return None
    waiting = waits(kernel, LONG)
    speedup = _speedup(kernel, top.pct, stall[1])
    there = at_mbarriers(waiting)
    mixed = there >= MBARRIERS
    of_those = f" ({100 * there:.0f} % of that at an mbarrier)" if mixed else ""
    return Finding(
        rule="memory-latency-bound",
        severity=estimate.severity(speedup),
        confidence="high" if stall[1] >= stall_rule.SURE_SHARE and not mixed else "medium",
        headline=f"Memory latency is the limit: {100 * stall[1]:.0f} % of stalled time waits for loads"
        f"{of_those} and no unit is more than {top.pct:.0f} % busy{told(waiting)}",
        detail="There are too few loads in flight to keep any memory level busy."
        + (_AT_MBARRIERS if mixed else ""),
        estimated_speedup=speedup,
        resource="latency",
        evidence=(
            busy(top),
            derived("long-scoreboard share of stalls", 100.0 * stall[1], "%", 100.0 * stall_rule.STALL_SHARE,
                    stall_rule.NVIDIA_STALL, side="at least"),
            *measured(kernel, m.DRAM_PCT),
            *measured(kernel, m.ACHIEVED_OCCUPANCY),
            *measured(kernel, m.ELIGIBLE_WARPS),
            *measured(kernel, m.L1_HIT),
            *measured(kernel, m.L2_HIT),
        ),
        refuted_by="device memory at 80 % or more (then it is bandwidth), or no change in time with twice "
        "the independent loads per thread",
        source=places(kernel, samples_at(kernel, LONG), of=samples_of(LONG)),
        waits=waiting,
        advice=(*([_STAGES] if mixed else []), *_advice(kernel)),
    )  # fmt: skip


_AT_MBARRIERS = (
    " Who waits at an mbarrier waits for an asynchronous copy or for other warps: a warp that only "
    "copies and waits for a free stage costs nothing."
)
_STAGES = "Where warps that compute wait at an mbarrier, give the pipeline more stages or start its copies earlier."


def _speedup(kernel: Kernel, pct: float, share: float) -> Speedup:
    """Hiding the waits helps until the busiest unit is full."""
    hidden = share * (1.0 - pct / 100.0)
    return estimate.gain(kernel, hidden, ())


def _advice(kernel: Kernel) -> tuple[str, ...]:
    wide = accesses.loads_are_wide(kernel.opcodes_full)
    throttled = stalls(kernel).get("lg_throttle", 0.0) > 0.1
    fewer = "fewer loads" if wide else "fewer, wider loads"
    return (
        *_blocks(kernel),
        "Issue several independent loads before using the first: unroll the loop, process 2-8 elements per thread"
        + ("." if wide else ", load 128 bits at once."),
        *_warps(kernel),
        "Fetch the next tile while computing on this one (cp.async, TMA, or plain register double buffering).",
        "Break chains of dependent loads (pointer chasing, index lookups): store what is needed together, or prefetch.",
        *([f"The load queue is full (LG throttle): {fewer}."] if throttled else []),
    )


def _blocks(kernel: Kernel) -> tuple[str, ...]:
    waves = m.WAVES.read(kernel.metrics)
    if waves is None or waves >= 1.0:
        return ()
    filled = f"{100 * waves:.0f} % of the blocks the SMs can hold at once"
    return (f"Launch more blocks: the grid fills {filled}.",)


def _warps(kernel: Kernel) -> tuple[str, ...]:
    """Advise more warps by what keeps them away; a grid that is too small is told apart."""
    achieved = m.ACHIEVED_OCCUPANCY.read(kernel.metrics)
    allowed = m.THEORETICAL_OCCUPANCY.read(kernel.metrics)
    if achieved is None or achieved >= LOW_OCCUPANCY_PCT or _blocks(kernel):
        return ()
    if allowed is not None and achieved < REACHED * allowed:
        there = f"{achieved:.0f} % of the warp slots are filled, and {allowed:.0f} % could be"
        return (f"Keep more warps there: {there}; blocks of equal and longer work leave no gaps.",)
    less = "fewer registers or less shared memory per block, or another block size, lets in more"
    return (f"Bring more warps: achieved occupancy is {achieved:.0f} %; {less}.",)
