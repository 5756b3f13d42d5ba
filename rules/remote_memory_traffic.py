"""The kernel works on memory of the host or of another GPU."""

from __future__ import annotations

from kprof import estimate
from kprof import metrics as m
from kprof.attribution import GLOBAL
from kprof.evidence import OWN, derived, measured, places, where
from kprof.limiter import BUSY_PCT, limiter
from kprof.model import Finding, Instruction, Kernel
from kprof.producer import LONG, loads, waits
from kprof.rule import rule

REMOTE_SHARE = 0.4  # NVIDIA rule MemoryApertureUsage, ncu 2025.3
# kprof's own: flags, arguments and printf move less than this. Unsourced.
LEAST_BYTES_PER_S = 1e9
SECTOR_BYTES = 32.0


@rule(requires=[m.SYSMEM_MISSES, m.PEER_MISSES, m.L2_MISSES, *m.COVERAGE])
def remote_memory_traffic(kernel: Kernel) -> Finding | None:
    """## What it detects

    At least 40 % of the sectors that L2 does not have come from the host's memory or from another
    GPU, at more than 1 GB/s, while no unit of this GPU is busy.

    ## Why it matters

    PCI Express moves 25 to 50 GB/s and NVLink a few hundred, where device memory moves thousands,
    and each access takes microseconds. A kernel that reads pinned or managed memory in place runs
    at the speed of the link.

    ## How to fix it

    Copy what is read more than once, or in small pieces, to the device first, in parts that
    overlap with computing. For managed memory prefetch before the launch.

    ```cuda
    cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream);
    cudaMemPrefetchAsync(managed, bytes, location, 0, stream);
    ```

    ## Known problems

    Counters by aperture do not exist from compute capability 10.0 to 10.3. Data that is used once and moved in full lines may
    well stay where it is: then the link is the limit and the copy would only come first. The estimate
    is of the kernel alone, with its data already here: what the copy costs, and how many launches
    share it, is not in its counters.

    ## References

    40 %: NVIDIA rule MemoryApertureUsage; 60 %: NVIDIA rule SOLBottleneck (ncu 2025.3).
    1 GB/s: kprof's own, unsourced.
    """
    top = limiter(kernel)
    host, peer, misses = (
        q.read(kernel.metrics) or 0.0 for q in (m.SYSMEM_MISSES, m.PEER_MISSES, m.L2_MISSES)
    )
    remote = host + peer
    if (
        top is None
        or top.pct >= BUSY_PCT
        or not kernel.duration_s
        or remote < REMOTE_SHARE * misses
    ):
        return None
    rate = SECTOR_BYTES * remote / kernel.duration_s
    if not misses or rate < LEAST_BYTES_PER_S:
        return None
    share = min(remote / misses, 1.0)
    speedup = estimate.gain(kernel, share * (1.0 - top.pct / 100.0), ())
    found = loads(waits(kernel, LONG)) or places(kernel, _sectors, of=GLOBAL)
    return Finding(
        rule="remote-memory-traffic",
        severity=estimate.severity(speedup),
        confidence="high",
        headline=f"{100 * share:.0f} % of what L2 fetches comes from {_whose(host, peer)}, at "
        f"{rate / 1e9:.1f} GB/s{where(found)}",
        detail="The link to that memory is the limit: nothing on this GPU is busy. The estimate is of this kernel "
        "alone: the copy that brings the data here first is not counted.",
        estimated_speedup=speedup,
        resource="dram",
        evidence=(
            derived("remote share of L2 misses", 100.0 * share, "%", 100.0 * REMOTE_SHARE,
                    "NVIDIA rule MemoryApertureUsage, ncu 2025.3", side="at least"),
            derived("remote traffic", rate, "byte/s", LEAST_BYTES_PER_S, OWN, side="at least"),
            *measured(kernel, m.SYSMEM_MISSES),
            *measured(kernel, m.PEER_MISSES),
            *measured(kernel, m.DRAM_PCT),
        ),
        refuted_by="no change in time when the same data lies in device memory",
        source=found,
        advice=_advice(host, peer),
    )  # fmt: skip


def _whose(host: float, peer: float) -> str:
    return "the host's memory" if host >= peer else "another GPU's memory"


def _advice(host: float, peer: float) -> tuple[str, ...]:
    once = "Where every byte is used once, keep it remote but read whole 128-byte lines, with many loads in flight."
    if peer > host:
        return ("Copy what is used more than once to this GPU first (`cudaMemcpyPeerAsync`).", once)
    return (
        "Copy the data to device memory first (`cudaMemcpyAsync` from pinned memory, in parts that overlap with computing).",
        "For managed memory: `cudaMemPrefetchAsync` before the launch, and `cudaMemAdvise` for what is only read.",
        once,
    )


def _sectors(row: Instruction) -> float:
    return row.values.get(m.GLOBAL_SECTORS.ways[0].metrics[0], 0.0)
