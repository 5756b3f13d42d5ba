"""Warps wait for their next instruction or its constants."""

from __future__ import annotations

from dataclasses import dataclass

from kprof import metrics as m
from kprof import stall_rule
from kprof.estimate import severity
from kprof.evidence import OWN, busy, derived, measured, mostly, places, samples_of
from kprof.limiter import BUSY_PCT
from kprof.model import Finding, Kernel
from kprof.rule import rule
from kprof.stalls import stalls

# Of stalls; less than NVIDIA's 30 % for other reasons is normal at the start of every block.
# Below this duration the caches are still cold for much of the time (gate Q3).
MIN_DURATION_S = 20e-6
# How often an SM passes over the code; with fewer the first pass, which always misses, weighs too
# much. kprof's own, unsourced.
PASSES = 4.0
WARP = 32.0


@dataclass(frozen=True)
class Kind:
    """One of the caches beside the instructions, and what helps where it is too small.

    Attributes:
        stall: stall reason.
        sampled: the same as it is spelled in sampling.
        cache: its name, as the start of a sentence.
        what: what warps wait for.
        detail: why it misses.
        test: what would refute it if it changed nothing.
        advice: what to change.
    """

    stall: str
    sampled: str
    cache: str
    what: str
    detail: str
    test: str
    advice: tuple[str, ...]


KINDS = (
    Kind(
        "no_instruction",
        "no_instructions",
        "The instruction cache",
        "instructions",
        "The code that runs together is larger than the instruction caches, and is fetched again on every pass.",
        "less unrolling",
        (
            "Unroll less: #pragma unroll 4 or 8 on the loop that the samples are in, and no full unrolling of long loops.",
            "Keep rare paths out of the hot loop (__noinline__), and check the size of the kernel with cuobjdump -sass.",
            "Give each variant a kernel of its own instead of a large switch that warps take apart.",
        ),
    ),
    Kind(
        "imc_miss",
        "imc_miss",
        "The constant cache",
        "constants",
        "Constants that instructions name (c[bank][offset]) come through a small cache; more of them are used in turn than it holds.",
        "the constants in registers or shared memory",
        (
            "Use fewer constants at a time: loop over the data inside the loop over the coefficients, a few coefficients in registers.",
            "Copy the table to shared memory once per block and read it from there.",
            "Pass less by value in kernel arguments: they are constants too.",
        ),
    ),
)


@rule(requires=[*m.COVERAGE, m.NO_INSTRUCTION_STALLS, m.DURATION])
def instruction_cache_misses(kernel: Kernel) -> Finding | None:
    """## What it detects

    No unit is 60 % busy, and warps spend at least 30 % of stalled time, more than on anything
    else, without an instruction to execute: it was not in the instruction cache. Or, up to compute
    capability 9.0, for a constant that the instruction names (stall reason IMC miss).

    ## Why it matters

    An instruction takes 16 bytes. A loop body of some thousand instructions, or warps that are in
    many different places of a large kernel, exceed the caches (about 128 KB per SM), and every
    pass fetches the code from L2 again. Constants (`__constant__` arrays with fixed indices, kernel
    arguments) come through caches of a few KB: a polynomial with 256 coefficients, taken in turn by
    warps at different places, waits for them 92 % of its stalled time on an H200.

    ## How to fix it

    Make the code that runs together smaller: unroll less, keep rarely used paths out of line, and
    split a kernel that switches between many variants into one kernel for each:

    ```cuda
    #pragma unroll          // 4096 copies of the body
    for (int i = 0; i < 4096; ++i) step(i);

    #pragma unroll 8        // 8 copies, in the cache after the first pass
    for (int i = 0; i < 4096; ++i) step(i);
    ```

    ## Known problems

    Every kernel misses when it starts. Kernels below 20 us, and kernels that pass over their code
    less than 4 times per SM (blocks one after the other, times the trips of the loop the samples
    are in), are not judged: there it is the start that shows, or the end of the grid, where few
    warps are left to hide anything.

    ## References

    30 %: NVIDIA rule CPIStall; 60 %: SOLBottleneck (ncu 2025.3). 20 us: Nsight Compute Profiling
    Guide on the precision of short kernels. 4 passes: kprof's own.
    """
    top, shares = stall_rule.waiting(kernel), stalls(kernel)
    missing = max(KINDS, key=lambda kind: shares.get(kind.stall, 0.0))
    share = shares.get(missing.stall, 0.0)
    if top is None or share < stall_rule.STALL_SHARE or share < max(shares.values()):
        return None
    passes = _passes(kernel, missing)
    if (kernel.duration_s or 0.0) < MIN_DURATION_S or passes is None or passes < PASSES:
        return None
    speedup = stall_rule.gain(kernel, share)
    found = places(kernel, stall_rule.samples(missing.sampled), of=samples_of(missing.stall))
    return Finding(
        rule="instruction-cache-misses",
        severity=severity(speedup),
        confidence="high" if share >= stall_rule.SURE_SHARE else "medium",
        headline=f"{missing.cache} misses: {100 * share:.0f} % of stalled time waits for {missing.what} and no unit "
        f"is more than {top.pct:.0f} % busy{mostly(found)}",
        detail=missing.detail,
        estimated_speedup=speedup,
        resource="latency",
        evidence=(
            derived(f"{missing.stall.replace('_', '-')} share of stalls", 100.0 * share, "%",
                    100.0 * stall_rule.STALL_SHARE, stall_rule.NVIDIA_STALL, side="at least"),
            busy(top),
            derived("passes over the code per SM", passes, "", PASSES, OWN, side="at least"),
            *measured(kernel, m.ISSUE_ACTIVE),
        ),
        refuted_by=f"a unit at {BUSY_PCT:.0f} % or more, or no change in time with {missing.test}",
        source=found,
        advice=missing.advice,
    )  # fmt: skip


def _passes(kernel: Kernel, missing: Kind) -> float | None:
    """Return how often an SM passes over the instructions that miss, None where nobody knows."""
    waves = m.WAVES.read(kernel.metrics)
    if waves is None:
        return None
    return max(waves, 1.0) * max(_trips(kernel, missing), 1.0)


def _trips(kernel: Kernel, missing: Kind) -> float:
    """Return how often a warp executes the instructions that miss; 0 where it is not known."""
    blocks, threads = m.GRID_BLOCKS.read(kernel.metrics), m.BLOCK_THREADS.read(kernel.metrics)
    if not blocks or not threads:
        return 0.0
    weight = stall_rule.samples(missing.sampled)
    rows = [(weight(row), row.values.get("inst_executed", 0.0)) for row in kernel.instructions]
    sampled = sum(w for w, _ in rows)
    if not sampled:
        return 0.0
    executed = sum(w * n for w, n in rows) / sampled
    return executed / (blocks * -(-threads // WARP))
