"""Why warps were not issuing: stall reasons as shares.

Sampled stalls are preferred in their ``_not_issued`` form: a sample taken while the scheduler
issued another warp cost no time (Nsight Compute Profiling Guide, "Warp sampling").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from kprof import metrics as m
from kprof.model import Instruction, Kernel

# Not stalls: the warp was issuing, or could have.
NOT_STALLS = frozenset({"selected", "not_selected"})
# Fewer samples than this say nothing about one reason's share. kprof's own, unsourced.
MIN_SAMPLES = 100.0
_SPELLING = {"no_instructions": "no_instruction", "warpgroup_arrive": "gmma"}


def stalls(kernel: Kernel) -> dict[str, float]:
    """Return stall reason to its share (0..1) of stalled warp time, largest first.

    Empty when the report has no stall data, or too few samples to speak of.
    """
    for form in (m.SAMPLED_STALL_NOT_ISSUED, m.SAMPLED_STALL, m.COUNTED_STALL):
        found = amounts(kernel, form)
        total = sum(found.values())
        enough = total > 0.0 if form is m.COUNTED_STALL else total >= MIN_SAMPLES
        if enough:
            ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
            return {reason: amount / total for reason, amount in ranked if amount > 0.0}
    return {}


def top_stall(kernel: Kernel) -> tuple[str, float] | None:
    """Return the largest stall reason and its share, None without data."""
    return next(iter(stalls(kernel).items()), None)


def samples_at(kernel: Kernel, reason: str) -> Callable[[Instruction], float]:
    """Return what counts the samples of a stall reason at an instruction.

    Args:
        kernel: its report has samples without an issue, or only all of them.
        reason: ncu's name; where it goes by two, either.
    """
    names = [name for name in m.STALL_REASONS if _SPELLING.get(name, name) == reason] or [reason]
    costly = [m.SAMPLED_STALL_NOT_ISSUED.format(name) for name in names]
    every = [m.SAMPLED_STALL.format(name) for name in names]
    told_apart = any(name in kernel.metrics for name in costly)
    chosen = costly if told_apart else every
    if len(chosen) == 1:
        (only,) = chosen
        return lambda row: row.values.get(only, 0.0)
    return lambda row: max(row.values.get(name, 0.0) for name in chosen)


_SAMPLED = re.compile(re.escape(m.SAMPLED_STALL).replace(re.escape("{}"), r"(\w+?)(_not_issued)?$"))


@lru_cache(maxsize=256)
def reason_of(name: str) -> str | None:
    """Return the stall reason of a sampled metric, None for any other metric."""
    found = _SAMPLED.match(name)
    return _SPELLING.get(found[1], found[1]) if found else None


def amounts(kernel: Kernel, form: str) -> dict[str, float]:
    """Return stall reason to amount, in one of the forms in which reports have it."""
    found: dict[str, float] = {}
    for reason in m.STALL_REASONS:
        amount = kernel.metrics.get(form.format(reason))
        if amount is not None and reason not in NOT_STALLS and amount > 0.0:
            name = _SPELLING.get(reason, reason)
            found[name] = max(amount, found.get(name, 0.0))
    return found
