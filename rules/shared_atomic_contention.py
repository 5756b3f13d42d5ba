"""Lanes of a warp update the same shared words one by one."""

from __future__ import annotations

from kprof import estimate
from kprof import metrics as m
from kprof.evidence import OWN, derived, measured, places, where
from kprof.limiter import BUSY_PCT, limiter
from kprof.metrics import accesses
from kprof.model import Finding, Instruction, Kernel
from kprof.rule import rule
from kprof.stalls import stalls

# kprof's own: 32 lanes with random words meet three to four deep in 32 banks anyway. Unsourced.
TURNS = 5.0
# kprof's own gates, those of shared-bank-conflicts (forums.developer.nvidia.com/t/115731). Unsourced.
DATA_STAGE_PCT = 40.0
STALL_SHARE = 0.20
# Lanes that are left in a retry loop, on average, when each word has that many takers: see _takers.
HALF_WARP, WARP = 16.0, 32.0
EXECUTED, THREADS = "inst_executed", "thread_inst_executed"
WAVEFRONTS = m.SHARED_WAVEFRONTS.ways[0].metrics[0]
RELIEVES = frozenset({"l1_data", "l1_front", "issue", "control"})
# What the other instructions of a retry loop use: they repeat with it.
LOOP = frozenset({"alu", "fma"})
# As often as the swap, but for warps that leave the loop in between. kprof's own.
SAME_LOOP = 0.9
OWN_LIMITS = frozenset({"shared", "l1", "issue"})


@rule(requires=[m.SHARED_ATOMICS, m.SHARED_WAVEFRONTS, m.L1_DATA_PCT, *m.COVERAGE])
def shared_atomic_contention(kernel: Kernel) -> Finding | None:
    """## What it detects

    Atomic updates of shared memory take at least five turns per instruction, because lanes of a
    warp (or warps of a block) want the same word, and the kernel waits for them: the data stage is
    40 % busy, or a fifth of the stalled time waits for shared memory.

    ## Why it matters

    Updates of one word happen one after the other. Where the hardware has no such instruction, as
    for `float`, the compiler makes a loop that reads, computes and swaps if nobody was faster
    (`ATOMS.CAST.SPIN`): with 32 lanes on one word it runs 32 times.

    ## How to fix it

    Give warps or lanes their own copies and add them up once; combine within the warp before
    updating; sort or stride the input so that neighbours differ.

    ```cuda
    __shared__ float bins[BINS][32];                   // one column, and one bank, per lane
    atomicAdd(&bins[key][threadIdx.x % 32], weight);
    // or, where most of a warp has the same key:
    int peers = __match_any_sync(__activemask(), key);
    ```

    ## Known problems

    How often a retry loop runs is seen from the global access that leads into it and from the
    lanes left in it: an estimate, not a count. Integer
    additions of a constant one are combined by the hardware (`ATOMS.POPC.INC`). Contention between
    blocks belongs to atomic-contention.

    ## References

    Retry loops by opcode: the idea is GPUscout's. 40 % and 20 %: kprof's own gates, as in
    shared-bank-conflicts. Five turns: kprof's own, unsourced.
    """
    top = limiter(kernel)
    if not m.SHARED_ATOMICS.read(kernel.metrics) or top is None:
        return None
    if top.pct >= BUSY_PCT and top.resource not in OWN_LIMITS:
        return None
    rows = [row for row in kernel.instructions if _is_atomic(row)]
    turns = _turns(kernel, rows)
    data_stage, waiting = m.L1_DATA_PCT.read(kernel.metrics) or 0.0, _waiting(kernel)
    if turns < TURNS or (data_stage < DATA_STAGE_PCT and waiting < STALL_SHARE):
        return None
    cost = max(waiting, estimate.pressure(kernel, {"l1_data"}) * _share_of_stage(kernel, rows))
    relieves = RELIEVES | LOOP if any(_retries(row) for row in rows) else RELIEVES
    speedup = estimate.gain(kernel, (1.0 - 1.0 / turns) * cost, relieves)
    if not estimate.is_worth_it(speedup):
        return None
    found = places(
        kernel,
        lambda row: row.values.get(EXECUTED, 0.0) if row in rows else 0.0,
        of="the executed shared atomics",
    )
    return Finding(
        rule="shared-atomic-contention",
        severity=estimate.severity(speedup),
        confidence="high" if any(_retries(row) for row in rows) else "medium",
        headline=f"Atomic updates of shared memory take {turns:.0f} turns each: lanes want the same word{where(found)}",
        detail=_detail(rows),
        estimated_speedup=speedup,
        resource="shared",
        evidence=(
            derived("turns per atomic instruction", turns, "", TURNS, OWN, side="at least"),
            *measured(kernel, m.SHARED_ATOMICS),
            *measured(kernel, m.L1_DATA_PCT, DATA_STAGE_PCT, OWN, side="at least"),
            derived("short-scoreboard and MIO stalls", 100.0 * waiting, "%", 100.0 * STALL_SHARE, OWN, side="at least"),
            *measured(kernel, m.SHARED_WAVEFRONTS_HARDWARE),
        ),
        refuted_by="no change in time when every lane updates a word of its own",
        source=found,
        advice=(
            "Keep one copy per warp or per lane in shared memory and add the copies up once at the end.",
            "Combine equal keys within the warp first (`__match_any_sync`, `__reduce_add_sync`), then let one lane update.",
            "Let neighbouring threads process elements that lie far apart, so that their keys differ.",
            "Where integers will do, use them: they need no retry loop.",
        ),
    )  # fmt: skip


def _is_atomic(row: Instruction) -> bool:
    return accesses.is_shared_atomic(accesses.mnemonic(row.sass)) and bool(row.values.get(EXECUTED))


def _retries(row: Instruction) -> bool:
    return accesses.retries(accesses.mnemonic(row.sass))


def _turns(kernel: Kernel, rows: list[Instruction]) -> float:
    """Return the turns per atomic instruction: retries where there is a loop, else wavefronts."""
    executed = sum(row.values[EXECUTED] for row in rows)
    if not executed:
        return 1.0
    entered = sum(row.values[EXECUTED] / _takers(kernel, row) for row in rows)
    passes = _wavefronts(kernel, rows) / executed
    return max(executed / entered, passes)


def _takers(kernel: Kernel, row: Instruction) -> float:
    """Return how often a retry loop runs per warp that enters it, 1 where there is no loop.

    The last global access before it was executed once per entry, where it is in the same loop over
    elements. And the lanes tell: when each word has N takers, on average 16 (1 + 1/N) are left, so
    that a full warp means one taker whatever was executed before.
    """
    if not _retries(row):
        return 1.0
    times = row.values[EXECUTED]
    entries = _executed_before(kernel, row)
    by_entries = times / entries if 0.0 < entries < times else WARP
    left = row.values.get(THREADS, 0.0) / times - HALF_WARP
    by_lanes = HALF_WARP / left if left > 0.0 else by_entries
    return max(min(by_entries, by_lanes), 1.0)


def _executed_before(kernel: Kernel, row: Instruction) -> float:
    """Return how often the last global access before an instruction was executed, 0 without one."""
    before = (
        item.values.get(EXECUTED, 0.0)
        for item in reversed(kernel.instructions)
        if item.pc < row.pc and accesses.is_global(accesses.mnemonic(item.sass))
    )
    return next(before, 0.0)


def _wavefronts(kernel: Kernel, rows: list[Instruction]) -> float:
    """Return the wavefronts of these rows: what the hardware counted beside all others, or theirs."""
    own = sum(row.values.get(WAVEFRONTS, 0.0) for row in rows)
    counted = m.SHARED_WAVEFRONTS_HARDWARE.read(kernel.metrics)
    everything = m.SHARED_WAVEFRONTS.read(kernel.metrics) or 0.0
    return own if counted is None else max(counted - (everything - own), own)


def _share_of_stage(kernel: Kernel, rows: list[Instruction]) -> float:
    total = m.L1_WAVEFRONTS.read(kernel.metrics)
    mine = _wavefronts(kernel, rows) + _reread(kernel, rows)
    return min(mine / total, 1.0) if total else 1.0


def _reread(kernel: Kernel, rows: list[Instruction]) -> float:
    """Return the wavefronts of the loads that retry loops repeat: they run as often as the swap."""
    most = max((row.values[EXECUTED] for row in rows if _retries(row)), default=0.0)
    return sum(
        row.values.get(WAVEFRONTS, 0.0)
        for row in kernel.instructions
        if most and row not in rows and row.values.get(EXECUTED, 0.0) >= SAME_LOOP * most
    )


def _waiting(kernel: Kernel) -> float:
    shares = stalls(kernel)
    return shares.get("short_scoreboard", 0.0) + shares.get("mio_throttle", 0.0)


def _detail(rows: list[Instruction]) -> str:
    swap = next((accesses.mnemonic(row.sass) for row in rows if _retries(row)), None)
    if swap is not None:
        return (
            f"Each update is a loop around {swap}: where the hardware has no atomic instruction for it (adding "
            "floats, say), the compiler reads, computes and swaps until nobody else was faster."
        )
    return "The hardware updates one word at a time."
