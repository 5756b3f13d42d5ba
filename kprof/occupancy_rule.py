"""When low occupancy is the cause: the gate and the finding the occupancy rules share."""

from __future__ import annotations

from kprof import estimate
from kprof import metrics as m
from kprof.evidence import busy, derived, measured
from kprof.limiter import BUSY_PCT, is_too_small, limiter
from kprof.model import Finding, Kernel, Occupancy, Speedup
from kprof.occupancy import occupancy
from kprof.stalls import stalls

LOW_PCT = 80.0
ELIGIBLE = 1.0
WAITING = 0.3
FILLED = 0.6  # of the theoretical occupancy, kprof's own, unsourced
WAITS = ("long_scoreboard", "short_scoreboard", "wait")


def limited_by(
    kernel: Kernel, resource: str, *, rule: str, noun: str, advice: tuple[str, ...]
) -> Finding | None:
    """Return the finding when ``resource`` limits occupancy and occupancy limits the kernel.

    Args:
        kernel: to judge.
        resource: a key of ``metrics.OCCUPANCY_LIMITS``.
        rule: public name of the asking rule.
        noun: the resource in words.
        advice: what to change.
    """
    now, top = occupancy(kernel), limiter(kernel)
    if top is None or now.theoretical_pct is None or not _suffers(kernel, now.theoretical_pct):
        return None
    if resource not in now.limiters or _changes_registers(kernel):
        return None
    tied = [name for name in now.limiters if name != resource]
    speedup = _speedup(kernel, now)
    return Finding(
        rule=rule,
        severity=estimate.severity(speedup),
        confidence="medium" if tied else "high",
        headline=f"Too few warps to hide latency: {noun} allow{'' if noun.endswith('s') else 's'} "
        f"{now.theoretical_pct:.0f} % occupancy" + _what_if(now),
        detail=_detail(tied),
        estimated_speedup=speedup,
        resource="occupancy",
        evidence=(
            *measured(kernel, m.THEORETICAL_OCCUPANCY, LOW_PCT, "NVIDIA rule TheoreticalOccupancy", side="below"),
            *measured(kernel, m.ACHIEVED_OCCUPANCY),
            *measured(kernel, m.ELIGIBLE_WARPS, ELIGIBLE, "NVIDIA rule IssueSlotUtilization", side="below"),
            derived("stalled time waiting for data", 100.0 * _waiting(kernel), "%", 100.0 * WAITING,
                    "NVIDIA rule CPIStall", side="at least"),
            busy(top),
        ),
        refuted_by="a unit at 60 % or more, at least one eligible warp per scheduler, or no change in "
        "time when the occupancy is raised",
        advice=advice,
    )  # fmt: skip


def is_starved(kernel: Kernel) -> bool:
    """Say whether more resident warps would help: nothing is busy, no warp is ready, most wait."""
    top, eligible = limiter(kernel), m.ELIGIBLE_WARPS.read(kernel.metrics)
    return (
        top is not None
        and top.pct < BUSY_PCT
        and eligible is not None
        and eligible < ELIGIBLE
        and _waiting(kernel) >= WAITING
        and not is_too_small(kernel)
    )


def _suffers(kernel: Kernel, theoretical: float) -> bool:
    return theoretical < LOW_PCT and _fills_what_it_may(kernel, theoretical) and is_starved(kernel)


def _fills_what_it_may(kernel: Kernel, theoretical: float) -> bool:
    """Say whether the blocks there are use the occupancy the launch allows.

    With less than one wave, or far fewer warps than allowed, more room changes nothing.
    """
    waves, achieved = m.WAVES.read(kernel.metrics), m.ACHIEVED_OCCUPANCY.read(kernel.metrics)
    if waves is not None and waves < 1.0:
        return False
    return achieved is None or achieved >= FILLED * theoretical


def _waiting(kernel: Kernel) -> float:
    shares = stalls(kernel)
    return sum(shares.get(reason, 0.0) for reason in WAITS)


def _changes_registers(kernel: Kernel) -> bool:
    return any(name.startswith("USETMAXREG") for name in kernel.opcodes)


def _speedup(kernel: Kernel, now: Occupancy) -> Speedup:
    """Latency hiding grows at most with resident warps: one step now, full occupancy at best."""
    theoretical = now.theoretical_pct or 100.0
    step = max((item.occupancy_pct for item in now.what_if), default=theoretical)
    best = estimate.gain(kernel, 1.0 - theoretical / 100.0, ())
    first = estimate.gain(kernel, 1.0 - theoretical / max(step, theoretical), ())
    return Speedup(low=min(first.low, best.high), high=best.high)


def _what_if(now: Occupancy) -> str:
    if not now.what_if:
        return ""
    change = now.what_if[0]
    return f"; {change.change} would fit {change.blocks_per_sm} blocks per SM"


def _detail(tied: list[str]) -> str:
    if not tied:
        return "No unit is busy and warps wait for data: more resident warps would fill the gaps."
    others = ", ".join(name.replace("_", " ") for name in tied)
    allow = "allows" if len(tied) == 1 and not others.endswith("s") else "allow"
    return f"Limits tie: {others} {allow} no more blocks either, so all of them have to change."
