"""The L1 cache, or the load/store front end before it, is the limit."""

from __future__ import annotations

from kprof import estimate
from kprof import metrics as m
from kprof.evidence import busy, measured
from kprof.limiter import BUSY_PCT, limiter
from kprof.model import Finding, Kernel
from kprof.rule import rule


@rule(requires=m.COVERAGE)
def l1_bandwidth_bound(kernel: Kernel) -> Finding | None:
    """## What it detects

    The busiest unit is the L1 data stage or the load/store front end (LSU, MIO, texture), at
    least 60 % busy, and global or local memory, not shared memory, is what fills it.

    ## Why it matters

    Every load instruction passes this stage whether it hits or not: one wavefront per SM and
    cycle. Redundant or narrow loads fill it long before L2 or device memory are busy.

    ## How to fix it

    Load each value once: keep it in a register, or tile it in shared memory. Load wider:
    one 128-bit load replaces four 32-bit ones at the front end. Hoist loads out of loops.

    ```cuda
    float4 v = reinterpret_cast<const float4*>(row)[i];  // 1 instruction, 4 values
    ```

    ## Known problems

    Convolutions that read each input k*k times through L1 land here; the tiled version is the fix,
    not a larger cache.

    ## References

    60 %: NVIDIA rule SOLBottleneck (ncu 2025.3).
    """
    top = limiter(kernel)
    if top is None or top.resource != "l1" or top.pct < BUSY_PCT:
        return None
    front = "lsuin" in top.metric or "pipe_lsu" in top.metric.split("__")[-1][:24]
    what = "the load/store front end" if front else "the L1 data stage"
    return Finding(
        rule="l1-bandwidth-bound",
        severity="medium",
        confidence="high",
        headline=f"L1 is the limit: {what} is {top.pct:.0f} % busy",
        detail="Load and store instructions queue up inside the SM; what they fetch is mostly "
        "there already, there are too many of them.",
        estimated_speedup=estimate.headroom(top.pct),
        resource="l1",
        evidence=(
            busy(top),
            *measured(kernel, m.L1_HIT),
            *measured(kernel, m.L2_PCT),
            *measured(kernel, m.DRAM_PCT),
        ),
        refuted_by="no change in time when half the loads are replaced by register reuse",
        advice=(
            "Read each value once: keep it in registers across iterations or stage a tile in shared memory.",
            "Use wider loads (float2, float4): fewer instructions for the same bytes.",
        ),
    )
