"""What warps did, as a tree: issued or not, why not, and where."""

from __future__ import annotations

from collections.abc import Mapping

from kprof import metrics as m
from kprof.evidence import places, samples_of
from kprof.model import Kernel, StallReason, StallTree
from kprof.stalls import MIN_SAMPLES, amounts, samples_at

# Of a reason that is rarer nobody asks where. kprof's own.
LEAST_SHARE = 0.02


def stall_tree(kernel: Kernel) -> StallTree | None:
    """Return all that is known of why warps did not issue, None without any stall data.

    Samples are preferred, unless they are too few and the report has counters too.
    """
    sampled = _sampled(kernel)
    if sampled is not None and not sampled.undersampled:
        return sampled
    counted = _counted(kernel, undersampled=sampled is not None)
    return sampled if counted is None else counted


def _sampled(kernel: Kernel) -> StallTree | None:
    costly = _read(kernel, m.SAMPLED_STALL_NOT_ISSUED)
    every = _read(kernel, m.SAMPLED_STALL)
    if not costly and not every:
        return None
    taken = m.SAMPLES.read(kernel.metrics)
    total = sum(every.values()) if taken is None and every else taken
    not_issued = sum(costly.values()) if costly else None
    if total is None or total < (not_issued or 0.0):  # of other passes: nothing to subtract from
        issued, total = None, max(sum(every.values()), not_issued or 0.0)
    else:
        issued = None if not_issued is None else total - not_issued
    stalled = amounts(kernel, m.SAMPLED_STALL_NOT_ISSUED if costly else m.SAMPLED_STALL)
    return StallTree(
        form="sampled",
        total=total,
        issued=issued,
        not_issued=not_issued,
        selected=every.get("selected"),
        not_selected=every.get("not_selected"),
        reasons=_reasons(kernel, stalled),
        undersampled=sum(stalled.values()) < MIN_SAMPLES,
    )


def _counted(kernel: Kernel, *, undersampled: bool) -> StallTree | None:
    every = _read(kernel, m.COUNTED_STALL)
    if not every:
        return None
    return StallTree(
        form="counted",
        total=sum(every.values()),
        selected=every.get("selected"),
        not_selected=every.get("not_selected"),
        reasons=_reasons(kernel, amounts(kernel, m.COUNTED_STALL), places_known=False),
        undersampled=undersampled,
    )


def _read(kernel: Kernel, form: str) -> dict[str, float]:
    """Return every state by name, those that are no stalls too, and 0 where nothing was seen."""
    found = {reason: kernel.metrics.get(form.format(reason)) for reason in m.STALL_REASONS}
    return {reason: amount for reason, amount in found.items() if amount is not None}


def _reasons(
    kernel: Kernel, stalled: Mapping[str, float], *, places_known: bool = True
) -> tuple[StallReason, ...]:
    total = sum(stalled.values())
    ranked = sorted(stalled.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        StallReason(
            reason,
            amount,
            amount / total,
            places(kernel, samples_at(kernel, reason), of=samples_of(reason))
            if places_known and amount >= LEAST_SHARE * total
            else (),
        )
        for reason, amount in ranked
    )
