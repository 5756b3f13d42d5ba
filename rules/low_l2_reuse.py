"""L2 has to fetch again what it held before."""

from __future__ import annotations

from kprof import estimate
from kprof import metrics as m
from kprof.evidence import OWN, busy, derived, measured, places
from kprof.limiter import BUSY_PCT, limiter
from kprof.metrics import accesses
from kprof.model import Confidence, Evidence, Finding, Instruction, Kernel
from kprof.rule import rule

# kprof's own, all unsourced.
FETCHED_SHARE = 0.5  # of what L2 delivers; below it L2 spares device memory most of the reads
REREAD_SHARE = 0.1  # hits of reads: a stream that is read once shows 0 to 7 % (H200, H100)
MOSTLY_READS = 8.0  # where about as much is written, reads once each explain the traffic
L2_SIZES = 2.0  # less traffic than this is the first fill of a cold cache
GOOD_HITS = 0.8  # what a fitting order of the work reaches
SECTOR_BYTES = 32.0
SECTORS = m.GLOBAL_SECTORS.ways[0].metrics[0]
STORES = frozenset({"STG", "ST", "RED", "REDG", "ATOM", "ATOMG"})


@rule(requires=[m.DRAM_BYTES, m.L2_BYTES, m.L2_HIT, m.L2_SIZE, m.GLOBAL_SECTORS, *m.COVERAGE])
def low_l2_reuse(kernel: Kernel) -> Finding | None:
    """## What it detects

    Device memory is the limit, the kernel reads far more than it writes, at least a tenth of its
    reads find in L2 what somebody read before, and yet at least half of the bytes that L2 delivers
    come from device memory: data is evicted before it is wanted again.

    ## Why it matters

    Data that is read several times has to be fetched once. When blocks that run at the same time
    work on more than L2 holds, each of them fetches it again.

    ## How to fix it

    Let blocks that run together work on neighbouring data: rasterise tiles in groups instead of
    whole rows of the grid, sort or renumber what is gathered, process a slice of the data
    completely before the next.

    ```cuda
    // 8 block rows at a time: 8 panels of A and a few of B stay in L2
    int group = blockIdx.x / (8 * columns), inside = blockIdx.x % (8 * columns);
    int row = 8 * group + inside % 8, column = inside / 8;
    ```

    An access-policy window (`cudaAccessPropertyPersisting`) keeps a small, hot operand in L2.

    ## Known problems

    No counter says how many distinct bytes a kernel reads. A stream that is read once has nothing
    to gain however low its hit rate, so kernels whose reads hit less than 10 % are never named, and
    neither are those that thrash so completely that nothing hits. A matrix-vector product whose
    vector L2 delivers looks like a candidate: compare the traffic with the size of the data, as the
    finding says. Kernels that write about as much as they read (stencils, copies, transposes) are
    left out, and so is traffic below twice the size of L2: ncu starts with a cold cache. Where more
    is read from device memory than the SMs asked for, L2 also fetched what nobody wanted, and
    only part of the traffic is eviction: low confidence there.

    ## References

    60 %: NVIDIA rule SOLBottleneck (ncu 2025.3). The other limits are kprof's own, unsourced.
    """
    top = limiter(kernel)
    if top is None or top.resource != "dram" or top.pct < BUSY_PCT:
        return None
    traffic, delivered, size = (
        quantity.read(kernel.metrics) or 0.0 for quantity in (m.DRAM_BYTES, m.L2_BYTES, m.L2_SIZE)
    )
    stored = _stored_bytes(kernel, delivered)
    fetched = traffic - stored
    if not delivered or not size:
        return None
    if traffic < L2_SIZES * size or delivered < MOSTLY_READS * stored:
        return None
    reread = _read_hits(kernel, delivered, stored)
    if reread < REREAD_SHARE or fetched < FETCHED_SHARE * delivered:
        return None
    speedup = estimate.gain(kernel, 1.0 - (1.0 - GOOD_HITS) * delivered / fetched, {"dram"})
    if not estimate.is_worth_it(speedup):
        return None
    share = fetched / delivered
    return Finding(
        rule="low-l2-reuse",
        severity=estimate.severity(speedup),
        confidence=_confidence(share),
        headline=f"Data is evicted from L2 before it is wanted again: device memory delivers "
        f"{_of_reads(share)}",
        detail=f"{100 * reread:.0f} % of the reads find what was read before, so data is re-read; "
        f"the {traffic / 1e9:.2f} GB moved are {traffic / size:.0f} times what L2 holds."
        f"{_beyond(share)}",
        estimated_speedup=speedup,
        resource="dram",
        evidence=(
            busy(top),
            _fetched(share),
            derived("reads that hit in L2", 100.0 * reread, "%", 100.0 * REREAD_SHARE, OWN,
                    side="at least"),
            *measured(kernel, m.L2_HIT),
            *measured(kernel, m.DRAM_BYTES),
            *measured(kernel, m.L2_BYTES),
            *measured(kernel, m.L2_SIZE),
            derived("device memory traffic over the size of L2", traffic / size, "time", L2_SIZES, OWN,
                    side="at least"),
        ),
        refuted_by="input and output that together are about as large as the bytes moved: then each "
        "was fetched once, and only fewer bytes help",
        source=places(kernel, _loads, of="the global sectors loaded"),
        advice=(
            "Let blocks that run at the same time share data: group the tiles (swizzled rasterisation), or sort and renumber what is gathered.",
            "Finish one slice of the data that fits in L2 before starting the next.",
            "Use the data again before it leaves the SM: larger tiles in shared memory or registers.",
            "Keep a small operand that everybody reads in L2 with an access-policy window, and load streams with an evict-first hint (`__ldcs`).",
        ),
    )  # fmt: skip


def _of_reads(share: float) -> str:
    if share > 1.0:
        return f"{share:.1f} times what the SMs read"
    return f"{100 * share:.0f} % of what the SMs read"


def _fetched(share: float) -> Evidence:
    # What exceeds the whole is no share of it.
    if share > 1.0:
        name = "device memory reads over reads of the SMs"
        return derived(name, share, "time", FETCHED_SHARE, OWN, side="at least")
    name = "device memory's share of reads"
    return derived(name, 100.0 * share, "%", 100.0 * FETCHED_SHARE, OWN, side="at least")


def _confidence(share: float) -> Confidence:
    """Lower where L2 fetches what nobody asked for: eviction does not explain that part."""
    return "low" if share > 1.0 else "medium"


def _beyond(share: float) -> str:
    if share <= 1.0:
        return ""
    return " L2 fetches more than the SMs ask for, so eviction is not all that makes this traffic."


def _stored_bytes(kernel: Kernel, delivered: float) -> float:
    """Return the bytes stored; where instructions have no text, the most they can be."""
    listed = [row for row in kernel.instructions if row.values.get(SECTORS)]
    if listed and all(row.sass for row in listed):
        return SECTOR_BYTES * sum(row.values[SECTORS] for row in listed if _stores(row))
    return max(SECTOR_BYTES * (m.GLOBAL_SECTORS.read(kernel.metrics) or 0.0) - delivered, 0.0)


def _read_hits(kernel: Kernel, delivered: float, stored: float) -> float:
    """Return the share (0..1) of reads that hit in L2. Stores always do, and count in the rate."""
    rate = min(m.L2_HIT.read(kernel.metrics) or 0.0, 100.0) / 100.0
    return (rate * (delivered + stored) - stored) / delivered


def _stores(row: Instruction) -> bool:
    return accesses.operation(accesses.mnemonic(row.sass)) in STORES


def _loads(row: Instruction) -> float:
    return 0.0 if _stores(row) else row.values.get(SECTORS, 0.0)
