"""Far fewer warps are resident than the launch allows."""

from __future__ import annotations

from kprof import balance, estimate, occupancy
from kprof import metrics as m
from kprof.evidence import OWN, derived, measured
from kprof.model import Confidence, Evidence, Finding, Kernel
from kprof.occupancy_rule import is_starved
from kprof.rule import rule

GAP_POINTS = 10.0  # NVIDIA rule AchievedOccupancy, ncu 2025.3
# kprof's own: NVIDIA's ten points are next to nothing of 100 %. Unsourced.
GAP_SHARE = 0.25
# A block that lives no longer than this is hardly started when it ends: kprof's own. Blocks of one
# element per thread that reach 17 to 71 % occupancy live 360 to 1,120 cycles on an H200.
SHORT_CYCLES = 2_000.0
MOSTLY_EMPTY = 0.5  # of the places for warps. kprof's own, unsourced.


@rule(
    requires=[
        *m.COVERAGE,
        m.WAVES,
        m.ACHIEVED_OCCUPANCY,
        m.THEORETICAL_OCCUPANCY,
        m.ELIGIBLE_WARPS,
    ]
)
def achieved_occupancy_gap(kernel: Kernel) -> Finding | None:
    """## What it detects

    The grid could fill the SMs, but the warps that were resident on average are at least a quarter
    (and ten points) below what registers, shared memory and block size allow, and the kernel suffers
    from it: no unit is busy, fewer than one warp per scheduler is ready, and warps mostly wait.

    ## Why it matters

    Theoretical occupancy is what fits; achieved occupancy is what was there. Blocks that end after a
    few hundred cycles leave their place empty until the next one is started, and an SM starts only
    one block at a time. Warps that finish before the rest of their block keep their place without
    using it.

    ## How to fix it

    More work per block. Instead of one element per thread:

    ```cuda
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
      y[i] = f(x[i]);
    ```

    with as many blocks as fit at once. If warps of a block finish at different times, use smaller
    blocks, or share the work out evenly between them.

    ## Known problems

    A grid of less than one wave cannot fill the SMs: what is missing there is work, not residency, and
    nothing is said here. In a launch of a few microseconds the SMs fill up and empty during much of it:
    2 us are left out. Where a unit is busy, or a warp is always ready, more warps bring nothing:
    in public reports a quarter of NVIDIA's findings of this kind are such kernels.

    ## References

    Ten points: NVIDIA rule AchievedOccupancy (Occupancy section, ncu 2025.3). A quarter, and the
    lifetime from which blocks count as short: kprof's own. The gate is that of the other occupancy
    rules: below 60 % busy, fewer than one eligible warp, 30 % waiting.
    """
    achieved = m.ACHIEVED_OCCUPANCY.read(kernel.metrics) or 0.0
    allowed, waves = (q.read(kernel.metrics) for q in (m.THEORETICAL_OCCUPANCY, m.WAVES))
    if not allowed or waves is None or waves < 1.0 or not is_starved(kernel):
        return None
    gap = 1.0 - achieved / allowed - _ramp(kernel)
    if allowed - achieved < GAP_POINTS or gap < GAP_SHARE:
        return None
    speedup = estimate.gain(kernel, gap, ())
    lives = lifetime(kernel, allowed)
    short = lives is not None and lives < SHORT_CYCLES
    return Finding(
        rule="achieved-occupancy-gap",
        severity=estimate.severity(speedup),
        confidence=_confidence(gap, short=short),
        headline=f"The SMs are not filled: {achieved:.0f} % occupancy where {allowed:.0f} % fit"
        + (f"; blocks live only {lives:,.0f} cycles" if short else ""),
        detail=_SHORT if short else _OTHER,
        estimated_speedup=speedup,
        resource="occupancy",
        evidence=(
            *measured(kernel, m.ACHIEVED_OCCUPANCY),
            derived("empty places for warps, start of the launch left out", 100.0 * gap, "%",
                    100.0 * GAP_SHARE, OWN, side="at least"),
            *measured(kernel, m.THEORETICAL_OCCUPANCY),
            *_life(lives),
        ),
        refuted_by="a unit at 60 % or more, at least one eligible warp per scheduler, or no change in time "
        "with fewer blocks that do more each",
        advice=(_LONGER, _EVEN) if short else (_EVEN, _LONGER),
    )  # fmt: skip


def _confidence(gap: float, *, short: bool) -> Confidence:
    if not short:
        return "low"
    return "high" if gap >= MOSTLY_EMPTY else "medium"


def _ramp(kernel: Kernel) -> float:
    """Return the share of the time in which the SMs fill up and empty, whatever the kernel does."""
    return balance.SKEW_S / kernel.duration_s if kernel.duration_s else 0.0


def lifetime(kernel: Kernel, allowed: float) -> float | None:
    """Return how many cycles a block is resident, by Little's law; None when not measured.

    Blocks resident on an SM, times its active cycles, over the blocks it had.
    """
    achieved = m.ACHIEVED_OCCUPANCY.read(kernel.metrics)
    cycles, sms = (q.read(kernel.metrics) for q in (m.SM_CYCLES_ACTIVE_AVG, m.SM_COUNT))
    blocks, fit = m.GRID_BLOCKS.read(kernel.metrics), occupancy.blocks_per_sm(kernel)
    if not achieved or not cycles or not sms or not blocks or not fit:
        return None
    return fit * achieved / allowed * cycles / (blocks / sms)


_SHORT = "An SM starts one block at a time; blocks that end so soon leave before it has filled up."
_OTHER = "Blocks do not keep their places filled: warps end before their block does, or blocks start late."
_LONGER = "Do more per block: several elements per thread in a grid-stride loop, and as many blocks as fit at once."
_EVEN = "Use smaller blocks, or give all warps of a block the same amount of work, so that none holds its place while idle."


def _life(cycles: float | None) -> tuple[Evidence, ...]:
    if cycles is None:
        return ()
    return (derived("lifetime of a block", cycles, "cycle", SHORT_CYCLES, OWN, side="below"),)
