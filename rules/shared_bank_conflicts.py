"""Shared-memory accesses collide in the same bank."""

from __future__ import annotations

from kprof import estimate, sharedmem
from kprof import metrics as m
from kprof.evidence import OWN, derived, measured, places, where
from kprof.model import Confidence, Finding, Instruction, Kernel, Speedup
from kprof.rule import rule
from kprof.stalls import stalls

EXCESS_SHARE = 0.10  # NVIDIA rule SharedMemoryConflicts uses 10 % on its own counters
# kprof's own gates, after NVIDIA's advice that conflicts cost nothing while the data stage idles
# (forums.developer.nvidia.com/t/115731). Unsourced values.
DATA_STAGE_PCT = 40.0
STALL_SHARE = 0.20
STAGE = frozenset({"l1_data"})
ASYNCHRONOUS = frozenset({"LDGSTS"})
ADVICE = {
    "LDSM": "ldmatrix rows collide: XOR-swizzle the row's 16-byte chunks.",
    "STSM": "stmatrix rows collide: XOR-swizzle the row's 16-byte chunks.",
    "LDGSTS": "Asynchronous copies write colliding rows: swizzle the shared-memory layout they fill.",
    "ATOMS": "Atomics of one warp hit one bank: aggregate in the warp first, or keep several copies.",
}
PADDING = "Pad the tile's leading dimension by one element, e.g. `__shared__ float tile[32][33]`, so that a column falls into 32 different banks."
SWIZZLE = "Or XOR the column index with the row: `tile[r][c ^ r]` needs no extra memory."
# A vector by its bytes: its type, and how many of them lie side by side in the 32 banks.
VECTORS = {8: ("float2", 16), 16: ("float4", 8)}


@rule(requires=[m.SHARED_WAVEFRONTS, m.SHARED_WAVEFRONTS_IDEAL, m.L1_DATA_PCT])
def shared_bank_conflicts(kernel: Kernel) -> Finding | None:
    """## What it detects

    Shared-memory instructions need more wavefronts than the same accesses would without bank
    conflicts: threads of a warp address different words of the same bank.

    ## Why it matters

    Shared memory has 32 banks of 4 bytes and serves one wavefront per cycle and SM. An N-way
    conflict takes N wavefronts where one would do; a 32-way conflict runs at 1/32 of the speed.

    ## How to fix it

    Pad the tile (`float tile[32][33]` instead of `[32][32]`) for 32-bit column access. Accesses of
    64 and 128 bits (`LDS.128`, ldmatrix) have to stay aligned: pad rows by one whole element of the
    access (`float4 tile[32][33]`), or swizzle by whole vectors (XOR the vector's index with the
    row). Aggregate atomics in the warp before they reach shared memory.

    ## Known problems

    The raw counters (`l1tex__data_bank_conflicts_*`) are not used: they count arbitration that
    costs nothing (a padded transpose shows thousands) and miss ldmatrix, asynchronous copies and
    atomics. A 128-bit load needs 4 wavefronts without any conflict; the ideal knows that.
    For asynchronous copies (LDGSTS) the two views may disagree: low confidence there.
    Conflicts while the data stage is idle are reported as information only.

    ## References

    Wavefronts and ideals: `memory_l1_wavefronts_shared[_ideal]`, ncu SourceCounters section.
    10 %: NVIDIA rule SharedMemoryConflicts (ncu 2025.3). 40 % and 20 % gates: kprof's own.
    """
    wavefronts = m.SHARED_WAVEFRONTS.read(kernel.metrics)
    ideal = m.SHARED_WAVEFRONTS_IDEAL.read(kernel.metrics)
    if not wavefronts or ideal is None or wavefronts - ideal < EXCESS_SHARE * wavefronts:
        return None
    excess = (wavefronts - ideal) / wavefronts
    data_stage = m.L1_DATA_PCT.read(kernel.metrics) or 0.0
    waiting = _waiting(kernel)
    matters = data_stage >= DATA_STAGE_PCT or waiting >= STALL_SHARE
    rows = sharedmem.accesses(kernel)
    found = places(kernel, sharedmem.excess, wavefronts - ideal, of="the excess wavefronts")
    speedup = estimate.gain(
        kernel, excess * _share_of_stage(kernel) * estimate.pressure(kernel, STAGE), STAGE
    )
    return Finding(
        rule="shared-bank-conflicts",
        severity=estimate.severity(speedup) if matters else "info",
        confidence=_confidence(kernel),
        headline=_headline(rows, wavefronts / ideal if ideal else None)
        + where(found)
        + _but(kernel, speedup, matters=matters),
        detail=f"{100 * excess:.0f} % of the {wavefronts:,.0f} wavefronts through shared memory are conflicts; "
        f"the data stage is {data_stage:.0f} % busy.",
        estimated_speedup=speedup if matters else None,
        resource="shared",
        evidence=(
            derived("excess wavefronts", 100.0 * excess, "%", 100.0 * EXCESS_SHARE,
                    "NVIDIA rule SharedMemoryConflicts, ncu 2025.3", side="at least"),
            *measured(kernel, m.SHARED_WAVEFRONTS),
            *measured(kernel, m.SHARED_WAVEFRONTS_IDEAL),
            *measured(kernel, m.L1_DATA_PCT, DATA_STAGE_PCT, OWN, side="at least"),
            derived("short-scoreboard and MIO stalls", 100.0 * waiting, "%", 100.0 * STALL_SHARE, OWN, side="at least"),
        ),
        refuted_by="an idle data stage and no short-scoreboard or MIO-throttle stalls, or no change in "
        "time with a padded tile",
        source=found,
        advice=_advice(kernel),
    )  # fmt: skip


def _but(kernel: Kernel, speedup: Speedup, *, matters: bool) -> str:
    if not matters:
        return ", but they do not limit this kernel"
    if estimate.is_worth_it(speedup):
        return ""
    return f"; removing them alone gains nothing: {estimate.next_in_line(kernel, STAGE)}"


def _waiting(kernel: Kernel) -> float:
    shares = stalls(kernel)
    return shares.get("short_scoreboard", 0.0) + shares.get("mio_throttle", 0.0)


def _share_of_stage(kernel: Kernel) -> float:
    """Return how much of the data stage's work is shared memory (1 when not measured)."""
    hardware = m.SHARED_WAVEFRONTS_HARDWARE.read(kernel.metrics)
    total = m.L1_WAVEFRONTS.read(kernel.metrics)
    return min(hardware / total, 1.0) if hardware is not None and total else 1.0


def _worst(rows: list[Instruction]) -> Instruction | None:
    return next((row for row in rows if sharedmem.excess(row) > 0.0), None)


def _headline(rows: list[Instruction], overall: float | None) -> str:
    worst = _worst(rows)
    ways = sharedmem.ways(worst) if worst else overall
    if ways is None:
        return "Shared-memory accesses collide in the same bank"
    kind = _kind(worst)
    return f"{ways:.0f}-way shared-memory bank conflicts" + (f" on {kind}" if kind else "")


def _kind(row: Instruction | None) -> str:
    if row is None:
        return ""
    words = [word for word in row.sass.split() if not word.startswith("@")]
    return words[0].rstrip(";") if words else ""


def _class(kernel: Kernel) -> str:
    """Return the kind of access with most excess wavefronts."""
    return next((one.opcode for one in sharedmem.classes(kernel)), "")


def _confidence(kernel: Kernel) -> Confidence:
    return "low" if _class(kernel) in ASYNCHRONOUS else "high"


def _advice(kernel: Kernel) -> tuple[str, ...]:
    special = ADVICE.get(_class(kernel))
    size = sharedmem.access_bytes(kernel)
    padding, swizzle = _of_vectors(size) if size in VECTORS else (PADDING, SWIZZLE)
    return (special, padding) if special else (padding, swizzle)


def _of_vectors(size: int) -> tuple[str, str]:
    """Return the advice that leaves wide accesses aligned (``size`` in bytes)."""
    kind, across = VECTORS[size]
    return (
        f"Pad each row by one whole element of the access ({size} bytes), so that {8 * size}-bit accesses "
        f"stay aligned, e.g. `__shared__ {kind} tile[32][33]`.",
        f"Or swizzle by whole vectors: XOR the vector's index with the row, "
        f"`{kind} v = tile[r][i ^ (r % {across})]`, which needs no extra memory.",
    )
