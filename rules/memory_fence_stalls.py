"""Warps wait for memory fences."""

from __future__ import annotations

from kprof import metrics as m
from kprof import stall_rule
from kprof.estimate import severity
from kprof.evidence import OWN, busy, derived, mostly, places, samples_of
from kprof.limiter import BUSY_PCT
from kprof.model import Evidence, Finding, Kernel
from kprof.rule import rule
from kprof.stalls import stalls

# kprof's own: a fence is avoidable more often than other waiting, so it is worth naming earlier
# than the 30 % of NVIDIA rule CPIStall. Unsourced.
FENCE_SHARE = 0.10
FENCE = "MEMBAR"
SCOPES = {"SYS": "the whole system", "GPU": "the GPU", "CTA": "the block"}


@rule(requires=[*m.COVERAGE, m.MEMBAR_STALLS])
def memory_fence_stalls(kernel: Kernel) -> Finding | None:
    """## What it detects

    No unit is 60 % busy and warps spend at least 10 % of stalled time waiting for a memory fence
    (`__threadfence`, `__threadfence_system`, a sequentially consistent or releasing atomic).

    ## Why it matters

    A fence lasts until all earlier writes of the thread are visible to the others in its scope:
    the block in a few cycles, the GPU in a trip to L2 and back, the system over PCIe or NVLink.
    Fencing for the GPU also invalidates the SM's L1 lines.

    ## How to fix it

    One fence per block instead of one per thread, after the last write instead of each:

    ```cuda
    out[i] = value;
    __syncthreads();                 // the block's writes are done
    if (threadIdx.x == 0) {
      __threadfence();               // one thread makes them visible
      atomicAdd(&arrived, 1u);
    }
    ```

    Use the narrowest scope (`__threadfence_block` within a block) and the weakest order that is
    right: `cuda::atomic_ref<int, cuda::thread_scope_device>` with `memory_order_release` instead
    of the default, which is sequentially consistent.

    ## Known problems

    A reduction over several blocks needs one fence per block: a small share of a short kernel
    stays. The rule does not know which fences the algorithm needs.

    ## References

    10 %: kprof's own. 60 %: NVIDIA rule SOLBottleneck (ncu 2025.3). Scopes and what a fence
    waits for: CUDA C++ Programming Guide, "Memory Fence Functions".
    """
    top, share = stall_rule.waiting(kernel), stalls(kernel).get("membar", 0.0)
    if top is None or share < FENCE_SHARE:
        return None
    speedup = stall_rule.gain(kernel, share)
    found = places(kernel, stall_rule.samples("membar"), of=samples_of("membar"))
    fences = _fences(kernel)
    return Finding(
        rule="memory-fence-stalls",
        severity=severity(speedup),
        confidence="high" if share >= stall_rule.STALL_SHARE else "medium",
        headline=f"Warps wait for memory fences: {100 * share:.0f} % of stalled time and no unit is more than "
        f"{top.pct:.0f} % busy{mostly(found)}",
        detail=_detail(fences),
        estimated_speedup=speedup,
        resource="latency",
        evidence=(
            derived("membar share of stalls", 100.0 * share, "%", 100.0 * FENCE_SHARE, OWN, side="at least"),
            busy(top),
            *_counts(fences),
        ),
        refuted_by=f"a unit at {BUSY_PCT:.0f} % or more, or no change in time with fewer or narrower fences",
        source=found,
        advice=_advice(fences),
    )  # fmt: skip


def _fences(kernel: Kernel) -> dict[str, float]:
    """Return how often warps executed a fence, by the scope it covers, widest first."""
    found: dict[str, float] = {}
    for scope in SCOPES:
        executed = sum(
            count
            for opcode, count in kernel.opcodes_full.items()
            if opcode.startswith(FENCE) and scope in opcode.split(".")
        )
        if executed:
            found[scope] = executed
    return found


def _counts(fences: dict[str, float]) -> tuple[Evidence, ...]:
    return tuple(
        derived(f"fences over {SCOPES[scope]}", count, "inst") for scope, count in fences.items()
    )


def _detail(fences: dict[str, float]) -> str:
    if not fences:
        return "A fence lasts until all earlier writes are visible."
    scope, count = next(iter(fences.items()))
    return f"Warps executed {count:,.0f} fences over {SCOPES[scope]}; each lasts until all earlier writes are visible there."


def _advice(fences: dict[str, float]) -> tuple[str, ...]:
    found = [
        "Fence once per block: __syncthreads(), then one thread fences and signals for all.",
        "Fence after the last write instead of each, and use the weakest order that is right (release or acquire instead of sequentially consistent).",
    ]
    if "SYS" in fences:
        found.insert(
            0,
            "Unless the CPU or another GPU reads the data while the kernel runs, __threadfence() is enough instead of __threadfence_system().",
        )
    elif "GPU" in fences:
        found.append("Where only the own block reads the data, __threadfence_block() is enough.")
    return tuple(found)
