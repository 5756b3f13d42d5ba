"""Device memory is the limit."""

from __future__ import annotations

from kprof import estimate
from kprof import metrics as m
from kprof.attribution import traffic
from kprof.evidence import busy, derived, measured
from kprof.limiter import BUSY_PCT, limiter
from kprof.metrics import accesses
from kprof.model import Evidence, Finding, Kernel
from kprof.roofline import ceilings
from kprof.rule import rule
from kprof.units import si

BYTES_EXPLAIN = 0.9  # kprof's own, unsourced
FULL_PCT = 90.0  # what a float4 copy reaches on an H200; kprof's own
AT_ROOF_PCT = 80.0  # NVIDIA rule SOLBottleneck: above it a unit counts as highly utilised


@rule(requires=m.COVERAGE)
def dram_bandwidth_bound(kernel: Kernel) -> Finding | None:
    """## What it detects

    Device memory (HBM, GDDR) is the busiest unit of all and at least 60 % busy.

    ## Why it matters

    Time is bytes over bandwidth. No change to arithmetic, occupancy or instruction order makes
    the kernel faster; only moving fewer bytes, or, below 80 %, keeping more of them in flight.

    ## How to fix it

    At 80 % and above: read each byte once. Fuse the kernel with its neighbours, keep
    intermediates in registers, use a narrower type, improve L2 reuse.

    From 60 to 80 %: more bytes in flight per thread. 128-bit loads, several independent loads
    before the first use, a grid that is a multiple of the SM count:

    ```cuda
    float4 a = reinterpret_cast<const float4*>(x)[i];  // instead of x[4*i], x[4*i+1], ...
    ```

    ## Known problems

    Over-fetch is not visible here: a kernel that reads every second element twice is at the roof
    as well. uncoalesced-global-access looks for that and is listed first where it explains the
    traffic. Writes that stay dirty in a large L2 are not counted (20-24 MB per launch on an H200).

    ## References

    60 and 80 %: NVIDIA rule SOLBottleneck (ncu 2025.3, sections/SpeedOfLight.py). Speed-up: to
    90 % of peak, what float4 copies reach on an H200 (docs/decisions/0008).
    """
    top = limiter(kernel)
    if top is None or top.resource != "dram" or top.pct < BUSY_PCT:
        return None
    at_roof = top.pct >= AT_ROOF_PCT
    speedup = estimate.headroom(top.pct)
    return Finding(
        rule="dram-bandwidth-bound",
        severity="info" if at_roof else estimate.severity(speedup),
        confidence="high",
        headline=f"Device memory is the limit: {top.pct:.0f} % busy{_rate(kernel)}",
        detail=_detail(top.pct) + _turnarounds(kernel, top.pct),
        estimated_speedup=speedup,
        resource="dram",
        evidence=(busy(top), *_bytes(kernel), *measured(kernel, m.L2_HIT)),
        refuted_by="another unit above device memory in the utilisation list, or no change in time "
        "when the kernel is given half the data",
        source=traffic(kernel),
        advice=_AT_ROOF if at_roof else _below(kernel),
    )


_AT_ROOF = (
    "Move fewer bytes: fuse with the kernel before or after it, so that intermediates stay in registers.",
    "Use a narrower type (FP16, BF16, FP8, INT8) for what is read and written.",
    "If data is read more than once, tile it so that the second read hits L2 or shared memory.",
)
_WIDER = "load 128 bits per thread (float4), or several elements per thread before using the first."
_MORE = "several loads per thread before using the first: they are 128 bits wide already."
_THEN = (
    "Then the advice for kernels at the roof applies: fewer bytes (fusion, narrower types, reuse)."
)


def _below(kernel: Kernel) -> tuple[str, ...]:
    how = _MORE if accesses.loads_are_wide(kernel.opcodes_full) else _WIDER
    return f"Keep more bytes in flight: {how}", _THEN


def _detail(pct: float) -> str:
    if pct >= FULL_PCT:
        return (
            "The kernel runs at the speed of the memory: only moving fewer bytes makes it faster."
        )
    if pct >= AT_ROOF_PCT:
        return (
            "The kernel runs near the speed of the memory: moving fewer bytes is what makes it "
            "clearly faster."
        )
    return (
        "No other unit is busier, but the memory is not saturated either: each SM has too few "
        "bytes in flight to cover its latency all the time."
    )


def _rate(kernel: Kernel) -> str:
    traffic, peak = m.DRAM_BYTES.read(kernel.metrics), ceilings(kernel).get("dram")
    if traffic is None or peak is None or not kernel.duration_s:
        return ""
    return f" ({si(traffic / kernel.duration_s, 'B/s')} of {si(peak, 'B/s')})"


def _turnarounds(kernel: Kernel, busy_pct: float) -> str:
    """Explain a memory that is busier than its bytes: it also spends time on other things."""
    traffic, peak = m.DRAM_BYTES.read(kernel.metrics), ceilings(kernel).get("dram")
    if traffic is None or not peak or not kernel.duration_s:
        return ""
    moved_pct = 100.0 * traffic / kernel.duration_s / peak
    if moved_pct >= BYTES_EXPLAIN * busy_pct:
        return ""
    return (
        f" The bytes themselves are {moved_pct:.0f} % of the peak rate: the rest of the busy time goes "
        "to switching between reads and writes and to opening rows, which scattered or mixed traffic "
        "causes."
    )


def _bytes(kernel: Kernel) -> tuple[Evidence, ...]:
    traffic = m.DRAM_BYTES.read(kernel.metrics)
    return () if traffic is None else (derived("DRAM bytes", traffic, "byte"),)
