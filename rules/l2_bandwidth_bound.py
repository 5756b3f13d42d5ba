"""L2, or the crossbar to it, is the limit."""

from __future__ import annotations

from kprof import estimate, filling
from kprof import metrics as m
from kprof.attribution import traffic
from kprof.evidence import busy, measured
from kprof.limiter import BUSY_PCT, limiter
from kprof.model import Finding, Kernel
from kprof.rule import rule

PARTS = {
    "lts__lts2xbar": "the return path from L2 to the SMs",
    "lts__xbar2lts": "the request and write path from the SMs to L2",
    "lts__t_sectors": "the L2 tag stage (sectors)",
    "lts__t_tag_requests": "the L2 tag stage (requests)",
    "lts__d_sectors_fill": "filling L2 from memory",
    "lts__d_sectors": "the L2 data stage",
    "lts__d_atomic": "the L2 atomic units",
    "l1tex__m_xbar2l1tex": "what the SMs receive from L2",
    "l1tex__m_l1tex2xbar": "what the SMs send to L2",
}


@rule(requires=m.COVERAGE)
def l2_bandwidth_bound(kernel: Kernel) -> Finding | None:
    """## What it detects

    The busiest unit is a part of L2 or of the crossbar between SMs and L2, at least 60 % busy.

    ## Why it matters

    The data is in L2, or passes through it more often than it need: device memory waits. Time is
    sectors over L2 bandwidth.

    ## How to fix it

    Take reuse closer: stage tiles in shared memory, keep values in registers across iterations,
    let each thread produce several outputs. Make every 32-byte sector count (coalesced, aligned
    accesses). For the write path, write whole sectors and combine small writes. Below 80 % it idles
    part of the time: the estimate is for filling it, less traffic helps beyond that.

    ## Known problems

    `lts__throughput` holds internal counters that exceed device memory on streaming kernels of
    an H200; it is deliberately not part of the decision.

    ## References

    60 and 80 %: NVIDIA rule SOLBottleneck (ncu 2025.3).
    """
    top = limiter(kernel)
    if top is None or top.resource != "l2" or top.pct < BUSY_PCT:
        return None
    part = next((text for prefix, text in PARTS.items() if top.metric.startswith(prefix)), "L2")
    speedup = estimate.headroom(top.pct)
    return Finding(
        rule="l2-bandwidth-bound",
        severity=estimate.severity(speedup),
        confidence="high",
        headline=f"L2 is the limit: {part} is {top.pct:.0f} % busy",
        detail=_WAITING
        if filling.at_the_roof(top)
        else f"{_WAITING} {filling.unfilled(top, part)}",
        estimated_speedup=speedup,
        resource="l2",
        evidence=(
            busy(top),
            *measured(kernel, m.DRAM_PCT),
            *measured(kernel, m.L1_HIT),
            *measured(kernel, m.L2_HIT),
        ),
        refuted_by="no change in time when the same data is read from a buffer that fits in L1",
        source=traffic(kernel),
        advice=(
            *filling.advice(kernel, top),
            "Reuse data before it leaves the SM: tile in shared memory, or compute several outputs per thread from registers.",
            "Use every byte of each 32-byte sector: neighbouring threads on neighbouring addresses, 128-bit accesses.",
        ),
    )


_WAITING = "The SMs wait for L2 traffic while device memory and the math pipes have room."
