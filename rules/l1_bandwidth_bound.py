"""The L1 cache or the load/store front end is the limit."""

from __future__ import annotations

from kprof import estimate, filling
from kprof import metrics as m
from kprof.attribution import traffic
from kprof.evidence import busy, measured
from kprof.limiter import BUSY_PCT, limiter, shared_memory_share
from kprof.metrics import accesses
from kprof.model import Finding, Kernel, Limiter
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
    one 128-bit load replaces four 32-bit ones at the front end. Hoist loads out of loops. Below 80 %
    the stage idles part of the time: the estimate is for filling it, fewer loads help beyond that.

    ```cuda
    float4 v = reinterpret_cast<const float4*>(row)[i];  // 1 instruction, 4 values
    ```

    ## Known problems

    Shared memory uses the same stage. Where the report has no wavefront counts and the kernel
    declares shared memory, the finding says that it cannot tell the two apart. Convolutions that read each input k*k times through L1 land here; the tiled version is the fix,
    not a larger cache.

    ## References

    60 and 80 %: NVIDIA rule SOLBottleneck (ncu 2025.3).
    """
    top = limiter(kernel)
    if top is None or top.resource != "l1" or top.pct < BUSY_PCT:
        return None
    certain = not may_be_shared_memory(kernel)
    speedup = estimate.headroom(top.pct)
    return Finding(
        rule="l1-bandwidth-bound",
        severity=estimate.severity(speedup),
        confidence="high" if certain else "low",
        headline=_headline(top, certain=certain),
        detail=_detail(top, certain=certain),
        estimated_speedup=speedup,
        resource="l1",
        evidence=(
            busy(top),
            *measured(kernel, m.L1_HIT),
            *measured(kernel, m.L2_PCT),
            *measured(kernel, m.DRAM_PCT),
        ),
        refuted_by="no change in time when half the loads are replaced by register reuse",
        source=traffic(kernel),
        advice=(
            *(() if certain else (_PROFILE_AGAIN,)),
            *filling.advice(kernel, top),
            *_advice(kernel),
        ),
    )


_CERTAIN = (
    "Load and store instructions queue up inside the SM; what they fetch is mostly there already, "
    "there are too many of them."
)
_UNCERTAIN = (
    "Shared memory and the L1 cache share this stage, the kernel uses shared memory, and this "
    "report does not say which of the two fills it: bank conflicts look the same."
)


def _detail(top: Limiter, *, certain: bool) -> str:
    what = _CERTAIN if certain else _UNCERTAIN
    return what if filling.at_the_roof(top) else f"{what} {filling.unfilled(top, 'this stage')}"


_PROFILE_AGAIN = "Profile with `kprof profile --depth standard`: it tells shared memory, its bank conflicts and global loads apart."
_ONCE = (
    "Read each value once: keep it in registers across iterations or stage a tile in shared memory."
)
_OUTPUTS = "Let each thread make several outputs from what it loads: the loads are 128 bits wide already, only fewer help."
_WIDER = "Use wider loads (float2, float4): fewer instructions for the same bytes."


def _advice(kernel: Kernel) -> tuple[str, ...]:
    return _ONCE, _OUTPUTS if accesses.loads_are_wide(kernel.opcodes_full) else _WIDER


def may_be_shared_memory(kernel: Kernel) -> bool:
    """Say whether shared memory could be what fills the stage, for all the report shows."""
    if shared_memory_share(kernel) is not None:
        return False
    launch = kernel.launch
    if launch is None:
        return True
    declared = (launch.shared_static_bytes, launch.shared_dynamic_bytes)
    return None in declared or any(declared)


def _headline(top: Limiter, *, certain: bool) -> str:
    front = m.UNIT_CLASS.get(top.metric) == "l1_front"
    if front:
        what = "the load/store front end"
    else:
        what = "the L1 data stage" if certain else "the L1 / shared-memory data stage"
    doubt = "" if certain else "; whether shared memory or the cache fills it is unknown"
    return f"L1 is the limit: {what} is {top.pct:.0f} % busy{doubt}"
