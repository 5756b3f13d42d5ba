"""Global accesses touch more sectors than they need."""

from __future__ import annotations

from kprof import estimate
from kprof import metrics as m
from kprof.evidence import OWN, derived, measured, places, where
from kprof.limiter import limiter
from kprof.model import Confidence, Finding, Instruction, Kernel, Resource, Speedup
from kprof.rule import rule

# kprof's own: NVIDIA's rule has no threshold and fires on a single sector. Unsourced.
SECTOR_BYTES = 32.0
EXCESS_SHARE = 0.05
SECTORS = m.GLOBAL_SECTORS.ways[0].metrics[0]
IDEAL = m.GLOBAL_SECTORS_IDEAL.ways[0].metrics[0]
RELIEVES = frozenset({"l2", "dram", "l1_data", "l1_front"})
LEVELS: dict[str, Resource] = {"dram": "dram", "l2": "l2", "l1": "l1"}


@rule(requires=[m.GLOBAL_SECTORS, m.GLOBAL_SECTORS_IDEAL, m.L2_PCT])
def uncoalesced_global_access(kernel: Kernel) -> Finding | None:
    """## What it detects

    The threads of a warp touch more 32-byte sectors of global memory than the bytes they use
    would need: strided, scattered or misaligned accesses.

    ## Why it matters

    Memory moves whole sectors. A warp that reads 32 floats from 32 sectors moves eight times the
    bytes it uses, at every level below L1.

    ## How to fix it

    Let neighbouring threads access neighbouring addresses: swap the loop or thread index order,
    store arrays of fields instead of arrays of records, transpose through a shared-memory tile,
    align rows to 128 bytes.

    ```cuda
    int i = blockIdx.x * blockDim.x + threadIdx.x;   // x[i]: 4 sectors per warp
    // x[i * stride] with stride >= 8 floats: 32 sectors per warp
    ```

    ## Known problems

    The count is before any cache: excess that L1 serves costs little, so below L1 only the
    loaded sectors that miss it count (stores always pass), and the rule is silent when those are
    no more than needed: a loop that reads both halves of each sector one after the other. Kernels that load
    through TMA have no such accesses and are not judged. 128-bit loads need 16 sectors per
    request: the ideal knows the access width, "more than 4 is bad" would be wrong.

    ## References

    Sectors and ideals: `memory_l2_theoretical_sectors_global[_ideal]`, ncu SourceCounters
    section. 5 %: kprof's own, unsourced.
    """
    sectors = m.GLOBAL_SECTORS.read(kernel.metrics)
    ideal = m.GLOBAL_SECTORS_IDEAL.read(kernel.metrics)
    if not sectors or ideal is None or sectors - ideal < EXCESS_SHARE * sectors:
        return None
    excess = (sectors - ideal) / sectors
    resource = _resource(kernel)
    speedup = estimate.gain(kernel, _saved(kernel, sectors, ideal, resource), RELIEVES)
    if not estimate.is_worth_it(speedup):
        return None
    found = places(kernel, _excess, sectors - ideal)
    return Finding(
        rule="uncoalesced-global-access",
        severity=estimate.severity(speedup),
        confidence=_confidence(resource, speedup),
        headline=f"Global accesses move {sectors / ideal:.1f} times the sectors they need"
        f"{where(found)}"
        if ideal
        else "Global accesses move sectors nobody uses",
        detail=f"{100 * excess:.0f} % of the 32-byte sectors touched hold nothing the warp asked for.",
        estimated_speedup=speedup,
        resource=resource,
        evidence=(
            derived("excess sectors", 100.0 * excess, "%", 100.0 * EXCESS_SHARE, OWN),
            *measured(kernel, m.GLOBAL_SECTORS),
            *measured(kernel, m.GLOBAL_SECTORS_IDEAL),
            *measured(kernel, m.L1_HIT),
            *measured(kernel, m.L2_PCT),
            *measured(kernel, m.DRAM_PCT),
        ),
        refuted_by=_REFUTED_IN_L1 if resource == "l1" else _REFUTED_BELOW,
        source=found,
        advice=(
            "Make consecutive threads access consecutive addresses: swap the index order or the data layout (structure of arrays).",
            "Where the layout is fixed, load a tile with coalesced accesses into shared memory and read it from there in the other order.",
            "Align rows to 128 bytes (pad the leading dimension).",
        ),
    )


_REFUTED_BELOW = (
    "an L1 hit rate near 100 % with L2 and device memory idle: then the excess never leaves the SM"
)
_REFUTED_IN_L1 = (
    "no change in time when the same number of load instructions is coalesced: then their number "
    "fills L1, not their pattern"
)


def _confidence(resource: Resource, speedup: Speedup) -> Confidence:
    # Inside L1 the counters show sectors, the limit is wavefronts: they need not go together.
    if resource == "l1":
        return "low"
    return "high" if speedup.high >= 1.1 else "medium"


def _excess(row: Instruction) -> float:
    return row.values.get(SECTORS, 0.0) - row.values.get(IDEAL, 0.0)


def _resource(kernel: Kernel) -> Resource:
    top = limiter(kernel)
    return LEVELS.get(top.resource, "l2") if top else "l2"


def _saved(kernel: Kernel, sectors: float, ideal: float, resource: Resource) -> float:
    """Return the share of the time the unneeded sectors cost at the level that carries them.

    Below L1 only what leaves the SM counts: every stored sector, and with a hit rate h the
    (1 - h) of the loaded ones that miss.
    """
    level = {"dram": ("dram",), "l1": ("l1_data", "l1_front")}.get(resource, ("l2",))
    missing = 1.0 if resource == "l1" else 1.0 - _l1_hits(kernel)
    stored = sum(row.values.get(SECTORS, 0.0) for row in kernel.instructions if _stores(row))
    stored_ideal = sum(row.values.get(IDEAL, 0.0) for row in kernel.instructions if _stores(row))
    loaded = (sectors - stored) * missing
    moved = loaded + stored
    needed = min(ideal - stored_ideal, loaded) + stored_ideal
    excess = (moved - needed) / moved if moved else 0.0
    # Where L1 serves the excess, what device memory moves too much has another cause.
    if resource == "dram" and excess >= EXCESS_SHARE:
        excess = max(excess, _dram_excess(kernel, ideal))
    return excess * estimate.pressure(kernel, level)


def _dram_excess(kernel: Kernel, ideal: float) -> float:
    """Return the share of device memory's bytes beyond those asked for.

    L2 fetches more than the one sector that is missing: scattered sectors cost more than they hold.
    """
    moved = m.DRAM_BYTES.read(kernel.metrics)
    return max(1.0 - SECTOR_BYTES * ideal / moved, 0.0) if moved else 0.0


def _stores(row: Instruction) -> bool:
    words = [word for word in row.sass.split() if not word.startswith("@")]
    return bool(words) and words[0].startswith(("ST", "RED", "ATOM"))


def _l1_hits(kernel: Kernel) -> float:
    return min(m.L1_HIT.read(kernel.metrics) or 0.0, 100.0) / 100.0
