"""Global accesses touch more sectors than they need."""

from __future__ import annotations

from kprof import estimate
from kprof import metrics as m
from kprof.evidence import OWN, derived, measured, places, where
from kprof.limiter import limiter
from kprof.model import Confidence, Finding, Instruction, Kernel, Resource, Speedup
from kprof.rule import rule
from kprof.sass.addresses import with_loaded_addresses

# kprof's own: NVIDIA's rule has no threshold and fires on a single sector. Unsourced.
SECTOR_BYTES = 32.0
EXCESS_SHARE = 0.05
SECTORS = m.GLOBAL_SECTORS.ways[0].metrics[0]
IDEAL = m.GLOBAL_SECTORS_IDEAL.ways[0].metrics[0]
# kprof's own, unsourced: half of the excess is most of it; a copy reads about as much as it writes; a
# stride moves twice the sectors, an offset (misaligned rows) at most one of five too many.
MOSTLY, AS_MUCH, STRIDED = 0.5, 2.0, 2.0
WORST = 16  # accesses whose addresses are followed back
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

    In a transpose one side is strided in either order: only a tile in shared memory makes both
    coalesced. In a gather (`x[index[i]]`) the order is in the data: sort or bin the indices, stage
    what is read often, make records that fill their sector, or accept it.

    ## Known problems

    The count is before any cache: excess that L1 serves costs little, so below L1 only the
    loaded sectors that miss it count (stores always pass), and the rule is silent when those are
    no more than needed: a loop that reads both halves of each sector one after the other. Kernels that load
    through TMA have no such accesses and are not judged. 128-bit loads need 16 sectors per
    request: the ideal knows the access width, "more than 4 is bad" would be wrong. Whether the
    address is loaded data is read off the code; where that is not known, the advice is the general one.

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
    found = places(kernel, _excess, sectors - ideal, of="the excess sectors")
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
            derived(
                "excess sectors", 100.0 * excess, "%", 100.0 * EXCESS_SHARE, OWN, side="at least"
            ),
            *measured(kernel, m.GLOBAL_SECTORS),
            *measured(kernel, m.GLOBAL_SECTORS_IDEAL),
            *measured(kernel, m.L1_HIT),
            *measured(kernel, m.L2_PCT),
            *measured(kernel, m.DRAM_PCT),
        ),
        refuted_by=_REFUTED_IN_L1 if resource == "l1" else _REFUTED_BELOW,
        source=found,
        advice=_advice(kernel),
    )


_REFUTED_BELOW = (
    "an L1 hit rate near 100 % with L2 and device memory idle: then the excess never leaves the SM"
)
_REFUTED_IN_L1 = (
    "no change in time when the same number of load instructions is coalesced: then their number "
    "fills L1, not their pattern"
)


def _advice(kernel: Kernel) -> tuple[str, ...]:
    """Return what helps first where it is: with loaded addresses, or with one side of a copy."""
    if _loaded_share(kernel) >= MOSTLY:
        return _GATHER
    uneven = _uneven_side(kernel)
    if uneven is None:
        return (_SWAP, _TILE, _ALIGN)
    bad, good = uneven
    return (
        f"Take a tile through shared memory, with coalesced loads and coalesced stores: swapping the index order alone "
        f"moves the stride from the {bad} to the {good}, which are coalesced now.",
        "Or change the data layout where it is made (structure of arrays), so that nothing has to be rearranged.",
        _ALIGN,
    )


def _loaded_share(kernel: Kernel) -> float:
    """Return the share (0..1) of the excess that loaded data decides, of the worst accesses."""
    worst = sorted(kernel.instructions, key=_excess, reverse=True)[:WORST]
    whole = sum(max(_excess(row), 0.0) for row in worst)
    return sum(map(_excess, with_loaded_addresses(kernel.code, worst))) / whole if whole else 0.0


def _uneven_side(kernel: Kernel) -> tuple[str, str] | None:
    """Return (scattered, coalesced) where loads and stores move as much and one of them scatters.

    A transpose does: one of its sides follows the other order of the indices, whichever is chosen.
    """
    sides = []
    for name, rows in (
        ("loads", [row for row in kernel.instructions if not _stores(row)]),
        ("stores", [row for row in kernel.instructions if _stores(row)]),
    ):
        moved, needed = (sum(row.values.get(key, 0.0) for row in rows) for key in (SECTORS, IDEAL))
        sides.append((name, moved, needed))
    (good, moved, needed), (bad, scattered, asked) = sorted(
        sides, key=lambda side: side[1] - side[2]
    )
    as_much = min(needed, asked) * AS_MUCH >= max(needed, asked) > 0.0
    apart = moved - needed < EXCESS_SHARE * moved and scattered >= STRIDED * asked
    return (bad, good) if as_much and apart else None


_SWAP = "Make consecutive threads access consecutive addresses: swap the index order or the data layout (structure of arrays)."
_TILE = "Where the layout is fixed, load a tile with coalesced accesses into shared memory and read it from there in the other order."
_ALIGN = "Align rows to 128 bytes (pad the leading dimension)."
_GATHER = (
    "The addresses come from data that the kernel loads, so swapping the index order cannot help: sort or bin the "
    "indices, or renumber the data, so that neighbouring threads access neighbouring elements.",
    "Keep what is accessed often close: stage it in shared memory, or use a narrower type so that more of it fits L1 and L2.",
    "Use more of each sector: put the fields that one index needs side by side in one record of up to 32 bytes.",
    "Where the order is random by nature, accept the sectors and keep more independent accesses in flight.",
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
