"""Instructions wait for each other, too few warps fill the gaps."""

from __future__ import annotations

from kprof import metrics as m
from kprof import stall_rule
from kprof.estimate import severity
from kprof.evidence import busy, derived, measured, mostly, places
from kprof.limiter import BUSY_PCT, runs_matrix_instructions
from kprof.model import Finding, Kernel
from kprof.rule import rule
from kprof.stalls import stalls

# Waiting for arithmetic and on-chip results: fixed latency, shared memory and special functions,
# a pipe that takes the next instruction only after the last one.
CHAIN = ("wait", "short_scoreboard", "math_pipe_throttle")
ELIGIBLE = 1.0  # NVIDIA rule IssueSlotUtilization, ncu 2025.3
# A warp this short is over before a chain matters: what shows is starting and ending it. In public
# reports such warps have 11 to 70 instructions. kprof's own, unsourced.
SHORTEST = 100.0
WARP = 32.0
CONFLICTS = 0.10  # of the wavefronts, as in shared-bank-conflicts
ADVICE = {
    "wait": "Give each thread independent chains: process 2-4 elements at once, unroll the loop, split a sum into several partial sums.",
    "short_scoreboard": "Load the next value from shared memory, or start the next special function, before using the last one: unroll and double-buffer in registers.",
    "math_pipe_throttle": "Mix the instructions: the pipe named most often in the source table is asked in bursts; interleave it with other work.",
}


@rule(requires=[*m.COVERAGE, m.WAIT_STALLS, m.ELIGIBLE_WARPS])
def dependency_stalls(kernel: Kernel) -> Finding | None:
    """## What it detects

    No unit is 60 % busy and fewer than one warp per scheduler is ready, because warps wait for
    their own last results: fixed latencies (wait), shared memory and special functions (short
    scoreboard) or a pipe still busy with the last instruction (math pipe throttle). Together
    these are at least 30 % of stalled time, and one of them is the largest reason of all.

    ## Why it matters

    An addition takes about 4 cycles, a result from shared memory or the special-function unit
    20 to 30. A scheduler with one warp that always needs the result before it issues once per
    latency. It takes independent instructions in the same thread, or more warps, to use the
    cycles between.

    ## How to fix it

    Break the chain into independent ones:

    ```cuda
    for (int i = 0; i < n; ++i) sum = fmaf(a[i], b[i], sum);  // one chain

    for (int i = 0; i < n; i += 4) {                          // four chains
      sum0 = fmaf(a[i], b[i], sum0);
      sum1 = fmaf(a[i + 1], b[i + 1], sum1);
      ...
    }
    ```

    Or bring more warps: a larger grid, less work per thread, fewer resources per block.

    ## Known problems

    Tuned kernels show wait stalls too; their schedulers have a warp ready or a pipe is busy, and
    the rule is silent. So it is for warps of fewer than 100 instructions: their thread has too
    little to do, and starting and ending it is what shows. Waiting for shared memory because of bank conflicts belongs to
    shared-bank-conflicts, chains of matrix instructions to the rules about tensor cores.

    ## References

    30 %: NVIDIA rule CPIStall; one eligible warp: IssueSlotUtilization; 60 %: SOLBottleneck (ncu
    2025.3). Adding the three reasons up is kprof's own, and so are 10 % for
    conflicts and 100 instructions.
    """
    top, eligible = stall_rule.waiting(kernel), m.ELIGIBLE_WARPS.read(kernel.metrics)
    if top is None or eligible is None or eligible >= ELIGIBLE or _is_for_others(kernel):
        return None
    shares = stalls(kernel)
    share = sum(shares.get(reason, 0.0) for reason in CHAIN)
    if share < stall_rule.STALL_SHARE or next(iter(shares)) not in CHAIN:
        return None
    speedup = stall_rule.gain(kernel, share)
    found = places(kernel, stall_rule.samples(*CHAIN), of="the dependency samples")
    return Finding(
        rule="dependency-stalls",
        severity=severity(speedup),
        confidence="high" if share >= stall_rule.SURE_SHARE else "medium",
        headline=f"Instructions wait for each other: {100 * share:.0f} % of stalled time, with {eligible:.2f} warps per "
        f"scheduler ready and no unit more than {top.pct:.0f} % busy{mostly(found)}",
        detail="There are too few independent instructions, in a thread or over all warps, to fill the latency of arithmetic.",
        estimated_speedup=speedup,
        resource="latency",
        evidence=(
            derived("dependency share of stalls", 100.0 * share, "%", 100.0 * stall_rule.STALL_SHARE,
                    stall_rule.NVIDIA_STALL, side="at least"),
            *measured(kernel, m.ELIGIBLE_WARPS, ELIGIBLE, "NVIDIA rule IssueSlotUtilization, ncu 2025.3", side="below"),
            busy(top),
            *(derived(f"{reason} share of stalls", 100.0 * shares[reason], "%")
              for reason in CHAIN if reason in shares),
            *measured(kernel, m.ISSUE_ACTIVE),
            *measured(kernel, m.ACHIEVED_OCCUPANCY),
        ),
        refuted_by=f"a unit at {BUSY_PCT:.0f} % or more, a warp always ready, or no change in time with twice the "
        "independent work per thread",
        source=found,
        advice=_advice(kernel, shares),
    )  # fmt: skip


def _is_for_others(kernel: Kernel) -> bool:
    """Say whether the same waiting has a cause that another rule names."""
    if runs_matrix_instructions(kernel) or _is_short(kernel):
        return True
    return _has_conflicts(kernel)


def _is_short(kernel: Kernel) -> bool:
    """Say whether a warp executes so few instructions that starting and ending it is what shows."""
    executed = m.WARP_INSTRUCTIONS.read(kernel.metrics)
    blocks, threads = m.GRID_BLOCKS.read(kernel.metrics), m.BLOCK_THREADS.read(kernel.metrics)
    if executed is None or not blocks or not threads:
        return False
    return executed / (blocks * -(-threads // WARP)) < SHORTEST


def _has_conflicts(kernel: Kernel) -> bool:
    """Say whether warps wait for shared memory, and it for bank conflicts."""
    wavefronts = m.SHARED_WAVEFRONTS.read(kernel.metrics)
    ideal = m.SHARED_WAVEFRONTS_IDEAL.read(kernel.metrics)
    if not wavefronts or ideal is None or wavefronts - ideal < CONFLICTS * wavefronts:
        return False
    shares = stalls(kernel)
    return shares.get("short_scoreboard", 0.0) >= shares.get("wait", 0.0)


def _advice(kernel: Kernel, shares: dict[str, float]) -> tuple[str, ...]:
    ranked = [reason for reason in shares if reason in CHAIN]
    found = [ADVICE[reason] for reason in ranked[:2]]
    achieved = m.ACHIEVED_OCCUPANCY.read(kernel.metrics)
    if achieved is not None and achieved < 50.0:
        found.append(
            f"Or bring more warps: achieved occupancy is {achieved:.0f} %; spread the work over more threads and blocks."
        )
    return tuple(found)
