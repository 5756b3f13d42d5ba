"""When waiting is the limit: the gate and the estimate that the rules about stall reasons share."""

from __future__ import annotations

from collections.abc import Callable

from kprof import estimate
from kprof import metrics as m
from kprof.limiter import BUSY_PCT, is_too_small, limiter
from kprof.model import Instruction, Kernel, Limiter, Speedup

NVIDIA_STALL = "NVIDIA rule CPIStall, ncu 2025.3"
STALL_SHARE = 0.3  # a stall reason matters from here on: NVIDIA rule CPIStall, ncu 2025.3
FEW_IDLE_SLOTS = 0.2  # of the cycles with warps. kprof's own, unsourced.
SURE_SHARE = 0.5  # half of all waiting has one reason. kprof's own, unsourced.


def idle(kernel: Kernel) -> Limiter | None:
    """Return the busiest unit where waiting is the limit, None where it is not or nobody knows.

    Waiting is the limit when no unit is 60 % busy and the launch is large enough to fill the GPU.
    That every level is measured is for the rule to require (``metrics.COVERAGE``).
    """
    top = limiter(kernel)
    if top is None or top.pct >= BUSY_PCT:
        return None
    return None if is_too_small(kernel) else top


def waiting(kernel: Kernel) -> Limiter | None:
    """Return the busiest unit where it is warps that keep it waiting; see :func:`idle`.

    None, too, where the schedulers that have work issue in 80 % of their cycles or more: then SMs
    without work are why nothing is busy on average, and why warps wait is a share of very little.
    """
    return idle(kernel) if idle_slots(kernel) > FEW_IDLE_SLOTS else None


def is_warp_specialised(kernel: Kernel) -> bool:
    """Say whether warps of a block have different jobs, so that waiting for each other is meant.

    They move registers between warps (USETMAXREG) or signal a barrier without waiting at it
    (BAR.ARV).
    """
    moves = any(name.startswith("USETMAXREG") for name in kernel.opcodes)
    return moves or any(name.startswith("BAR.ARV") for name in kernel.opcodes_full)


def idle_slots(kernel: Kernel) -> float:
    """Return the share (0..1) of cycles in which a scheduler with work issues nothing."""
    issued = m.ISSUE_ACTIVE.read(kernel.metrics)
    if issued is None:
        issued = (m.ISSUE_PCT.read(kernel.metrics) or 0.0) / 100.0
    return max(1.0 - issued, 0.0)


def gain(kernel: Kernel, share: float) -> Speedup:
    """Estimate what it brings to end the waiting that has this share of all stalled time.

    At best all of it, or all idle issue slots, whichever is less: NVIDIA's estimate (CPIStall,
    ncu 2025.3). At worst its part of the idle slots. The work itself stays.
    """
    slots = idle_slots(kernel)
    best = estimate.gain(kernel, min(share, slots), ())
    worst = estimate.gain(kernel, share * slots, ())
    return Speedup(low=min(worst.low, best.high), high=best.high)


def samples(*reasons: str) -> Callable[[Instruction], float]:
    """Return how often an instruction was sampled waiting for these reasons."""
    names = tuple(m.SAMPLED_STALL_NOT_ISSUED.format(reason) for reason in reasons)
    return lambda row: sum(row.values.get(name, 0.0) for name in names)
