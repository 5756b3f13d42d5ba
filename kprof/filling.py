"""What is left below the roof of the unit that is the limit: who keeps it waiting, what fills it."""

from __future__ import annotations

from kprof import metrics as m
from kprof.model import Kernel, Limiter
from kprof.stalls import stalls

# From here on a unit is at its roof and only less work helps: NVIDIA rule SOLBottleneck (ncu 2025.3).
ROOF_PCT = 80.0
# kprof's own, unsourced: SMs without a block for a tenth of the time; a reason for 30 % of all stalls
# (NVIDIA rule CPIStall).
IDLE_SMS, MUCH = 0.1, 0.3

_REASONS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("long_scoreboard", "short_scoreboard"),
        "Load earlier: {share:.0f} % of the stalled time waits for data. Unroll, fetch the next values before using "
        "these, or keep more warps resident.",
    ),
    (
        ("barrier", "membar"),
        "Synchronise less often, or run more blocks per SM: {share:.0f} % of the stalled time waits at barriers.",
    ),
    (
        ("wait",),
        "Interleave independent calculations (unroll, several outputs per thread): {share:.0f} % of the stalled time "
        "waits for the instruction before.",
    ),
)
_ANYTHING = (
    "Keep more independent work in flight: several outputs per thread, or more resident warps."
)
_ISSUE = (
    "Issue less beside it: the issue slots are {pct:.0f} % used. Unroll, and share address and loop arithmetic between "
    "several outputs per thread."
)
_SMS = (
    "Keep all SMs at work to the end: on average they are without a block for {share:.0f} % of the time. Whole waves "
    "and equal, smaller blocks even it out."
)


def at_the_roof(top: Limiter) -> bool:
    """Say whether the unit has nothing left to give: only less work for it helps."""
    return top.pct >= ROOF_PCT


def unfilled(top: Limiter, unit: str) -> str:
    """Say that a unit that is the limit has room below its roof."""
    idle = 100.0 - top.pct
    return (
        f"It is not full yet: {unit} idles {idle:.0f} % of the time. What keeps it filled helps, and less work for it "
        "does."
    )


def advice(kernel: Kernel, top: Limiter) -> tuple[str, ...]:
    """Return what would keep the unit busier, by what the report shows; nothing at the roof."""
    if at_the_roof(top):
        return ()
    working = 1.0 - _idle_sms(kernel)
    sms = (_SMS.format(share=100.0 * (1.0 - working)),) if working <= 1.0 - IDLE_SMS else ()
    # Where the SMs that have work fill the unit, their number is all that is missing.
    return sms if sms and top.pct / working >= ROOF_PCT else (*sms, _in_the_sms(kernel, top))


def _idle_sms(kernel: Kernel) -> float:
    """Return the share (0..1) of the time for which an average SM has no block; 0 when unknown."""
    active = m.SM_CYCLES_ACTIVE_AVG.read(kernel.metrics)
    elapsed = m.SM_CYCLES_ELAPSED.read(kernel.metrics)
    return 1.0 - min(active / elapsed, 1.0) if active and elapsed else 0.0


def _in_the_sms(kernel: Kernel, top: Limiter) -> str:
    issuing = m.ISSUE_PCT.read(kernel.metrics)
    if issuing is not None and issuing >= ROOF_PCT and top.resource != "issue":
        return _ISSUE.format(pct=issuing)
    shares = stalls(kernel)
    share, text = max(
        ((sum(shares.get(name, 0.0) for name in names), text) for names, text in _REASONS),
        key=lambda item: item[0],
    )
    return text.format(share=100.0 * share) if share >= MUCH else _ANYTHING
