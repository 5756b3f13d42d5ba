"""Atomic updates of the same few addresses wait for each other."""

from __future__ import annotations

from kprof import estimate, stall_rule
from kprof import metrics as m
from kprof.evidence import OWN, busy, derived, measured, mostly, places
from kprof.limiter import BUSY_PCT
from kprof.metrics.opcodes import is_global_atomic
from kprof.model import Evidence, Finding, Instruction, Kernel, Speedup
from kprof.rule import rule
from kprof.stalls import stalls

# One L2 slice takes about one update of an address per cycle; a Turing GPU manages 0.3 updates
# per cycle of one float. Far below that rate the atomics cannot be what the kernel waits for.
# kprof's own, unsourced.
PER_CYCLE = 0.1
# Full queues and writes that have not drained: where atomics without a result make warps wait.
QUEUED = ("lg_throttle", "drain", "membar")
# Where the result of an atomic, or a load behind it, is waited for.
BEHIND = ("long_scoreboard", "short_scoreboard", "mio_throttle")
# A 32-byte sector holds 8 words: more updates than that in one sector hit the same words.
WORDS_PER_SECTOR = 8.0
L2 = frozenset({"l2"})
RETURNING = ("ATOM", "ATOMG")


@rule(requires=[*m.COVERAGE, m.GLOBAL_ATOMICS, m.LONG_SCOREBOARD, m.SM_CLOCK, m.DURATION])
def atomic_contention(kernel: Kernel) -> Finding | None:
    """## What it detects

    No unit is 60 % busy, threads update global memory atomically at least once per 10 L2 cycles,
    and at least 30 % of stalled time is spent at the atomics or behind full queues of writes
    (LG throttle, drain, fences).

    ## Why it matters

    Updates of one address are done one after the other in one slice of L2, however many threads
    and SMs ask. A sum with one counter runs at one addition per cycle or less while the rest of
    the GPU waits: bandwidth is not what is missing.

    ## How to fix it

    Combine before the update reaches memory: within the warp, then the block, then one atomic:

    ```cuda
    atomicAdd(total, value);                           // one per thread

    value = cub::BlockReduce<float, 256>(temp).Sum(value);
    if (threadIdx.x == 0) atomicAdd(total, value);     // one per block
    ```

    For histograms a copy of the counters per block (or warp) in shared memory; for scattered
    sums sort or bin by address first. Where the old value is not used the compiler emits RED,
    which waits less than ATOM: do not keep the result for nothing.

    ## Known problems

    Which addresses are hot is not in the counters. More than 8 updates per 32-byte sector of one
    instruction prove that threads of a warp share addresses; without that the confidence is
    lower. Atomics spread over many addresses keep L2 busy instead: l2-bandwidth-bound.

    ## References

    60 %: NVIDIA rule SOLBottleneck; 30 %: CPIStall (ncu 2025.3). One update per 10 cycles:
    kprof's own; a GTX 1660 Super adds 0.3 floats per L2 cycle to one address.
    """
    top, rate = stall_rule.idle(kernel), _per_cycle(kernel)
    if top is None or rate is None or rate < PER_CYCLE:
        return None
    share = _waiting(kernel)
    if share < stall_rule.STALL_SHARE:
        return None
    speedup = _speedup(kernel, share)
    if not estimate.is_worth_it(speedup):
        return None
    found, same = places(kernel, _updates, of="the executed atomics"), _per_sector(kernel)
    proven = same is not None and same > WORDS_PER_SECTOR
    return Finding(
        rule="atomic-contention",
        severity=estimate.severity(speedup),
        confidence="high" if proven else "medium",
        headline=f"Atomic updates wait for each other: {rate:.2g} per L2 cycle are all that get done, and no unit is "
        f"more than {top.pct:.0f} % busy{mostly(found, 'updates')}",
        detail=_detail(kernel, same if proven else None),
        estimated_speedup=speedup,
        resource="l2",
        evidence=(
            *measured(kernel, m.GLOBAL_ATOMICS),
            derived("updates per L2 cycle", rate, "inst/cycle", PER_CYCLE, OWN, side="at least"),
            derived("stalled time at atomics and full queues", 100.0 * share, "%",
                    100.0 * stall_rule.STALL_SHARE, stall_rule.NVIDIA_STALL, side="at least"),
            busy(top),
            *_shared(same),
        ),
        refuted_by=f"a unit at {BUSY_PCT:.0f} % or more, or no change in time when each block combines its updates first",
        source=found,
        advice=(*_COMBINE, _NO_ANSWER) if _returns(kernel) else _COMBINE,
    )  # fmt: skip


_COMBINE = (
    "Combine in the block first: warp shuffles or cub::BlockReduce, then one atomic per block.",
    "Keep a copy of the counters per block or warp in shared memory and add it to global memory once.",
)
_NO_ANSWER = "Do not use the value an atomic returns unless it is needed: RED does not wait for the answer, ATOM does."


def _returns(kernel: Kernel) -> bool:
    """Say whether atomics that return a value were executed; without the opcode mix, they may be."""
    mix = kernel.opcodes
    return not mix or any(mix.get(opcode) for opcode in RETURNING)


def _per_cycle(kernel: Kernel) -> float | None:
    updates = m.GLOBAL_ATOMICS.read(kernel.metrics)
    # Reports of ncu's smaller sections lack the clock of L2; the SMs' is close to it.
    clock = m.L2_CLOCK.read(kernel.metrics) or m.SM_CLOCK.read(kernel.metrics)
    if updates is None or not clock or not kernel.duration_s:
        return None
    return updates / (clock * kernel.duration_s)


def _waiting(kernel: Kernel) -> float:
    """Return the share (0..1) of stalled time behind full queues, or at the atomics themselves."""
    shares = stalls(kernel)
    queued = sum(shares.get(reason, 0.0) for reason in QUEUED)
    weight = stall_rule.samples(*QUEUED, *BEHIND)
    everywhere = sum(weight(row) for row in kernel.instructions)
    at_atomics = sum(weight(row) for row in kernel.instructions if _is_atomic(row))
    known = sum(shares.get(reason, 0.0) for reason in (*QUEUED, *BEHIND))
    return max(queued, known * at_atomics / everywhere if everywhere else 0.0)


def _speedup(kernel: Kernel, share: float) -> Speedup:
    """At best all waiting for memory ends, at worst what surely is for the atomics."""
    shares = stalls(kernel)
    behind = sum(shares.get(reason, 0.0) for reason in (*QUEUED, *BEHIND))
    best = estimate.gain(kernel, behind * stall_rule.idle_slots(kernel), L2)
    worst = estimate.gain(kernel, share * stall_rule.idle_slots(kernel), L2)
    return Speedup(low=min(worst.low, best.high), high=best.high)


def _is_atomic(row: Instruction) -> bool:
    words = [word for word in row.sass.split() if not word.startswith("@")]
    return bool(words) and is_global_atomic(words[0].rstrip(";"))


def _updates(row: Instruction) -> float:
    return row.values.get("thread_inst_executed", 0.0) if _is_atomic(row) else 0.0


def _per_sector(kernel: Kernel) -> float | None:
    """Return how many updates one instruction makes in each 32-byte sector, over all atomics."""
    rows = [row for row in kernel.instructions if _is_atomic(row)]
    sectors = sum(row.values.get("memory_l2_theoretical_sectors_global", 0.0) for row in rows)
    return sum(map(_updates, rows)) / sectors if sectors else None


def _detail(kernel: Kernel, same: float | None) -> str:
    updates = m.GLOBAL_ATOMICS.read(kernel.metrics) or 0.0
    shared = (
        "" if same is None else f"; {same:.0f} threads of a warp update the same 32 bytes at once"
    )
    return f"{updates:,.0f} threads update global memory atomically{shared}. L2 does updates of one address one after the other."


def _shared(same: float | None) -> tuple[Evidence, ...]:
    if same is None:
        return ()
    return (
        derived("updates per sector", same, "inst/sector", WORDS_PER_SECTOR, OWN, side="at least"),
    )
