"""Global accesses move few bytes each, too many of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from kprof import estimate
from kprof import metrics as m
from kprof.evidence import busy, derived, measured, places, where
from kprof.limiter import BUSY_PCT, limiter
from kprof.metrics import accesses
from kprof.model import Finding, Instruction, Kernel, Limiter, Resource
from kprof.rule import rule

# DrGPU's limit for narrow accesses, which it sets for shared memory (suggestions.py, 0.66).
NARROW_SHARE = 0.66
# kprof's own, unsourced: less of the limiting unit's work than this is not what limits.
MATTERS = 0.1
WIDEST_BYTES = 16.0  # the widest access of one lane up to compute capability 9.0
# kprof's own, unsourced: lanes that touch less of what 32 neighbours would are not neighbours.
NEIGHBOURS = 0.75
SPARE_SECTORS = 1.3  # an offset of one element crosses into a fifth sector: 5 of 4
SECTOR_BYTES = 32.0
SECTORS = m.GLOBAL_SECTORS.ways[0].metrics[0]
IDEAL = m.GLOBAL_SECTORS_IDEAL.ways[0].metrics[0]
EXECUTED, THREADS = "inst_executed", "thread_inst_executed"
# [R2.64+0x10], [R2.64+UR4+0x10], [UR4+0x10], but not the descriptor in desc[UR4][R2.64].
ADDRESS = re.compile(
    r"(?<!desc)\[(?P<base>U?R\d+)(?:\.\w+)*(?:\+UR\d+)?(?:\+(?P<offset>-?0x[0-9a-f]+))?\]"
)
RELIEVES = {
    "issue": frozenset({"issue", "l1_front"}),
    "l1_front": frozenset({"issue", "l1_front"}),
    "l1_data": frozenset({"issue", "l1_front", "l1_data"}),
}


@rule(
    requires=[
        m.GLOBAL_ACCESSES, m.NARROW_ACCESSES, m.LSU_ACCESSES, m.WARP_INSTRUCTIONS, *m.COVERAGE,
    ]
)  # fmt: skip
def narrow_global_access(kernel: Kernel) -> Finding | None:
    """## What it detects

    At least two thirds of the global loads and stores move 32 bits or less per thread, lanes or
    consecutive instructions access neighbouring addresses, and what limits the kernel is the
    number of instructions: the issue rate or the load/store unit. Wide accesses would have to
    spare that unit at least a tenth of its work.

    ## Why it matters

    The load/store unit takes one instruction of a warp at a time, whether it moves 32 bytes (one
    byte per lane) or 512 (`float4`). Accesses below 32 bits also waste the path back to the
    registers, which carries 128 bytes per cycle.

    ## How to fix it

    Let each thread process 4 to 16 neighbouring elements and move them at once. Addresses have to
    be multiples of the access width.

    ```cuda
    uchar4 p = reinterpret_cast<const uchar4*>(row)[i];   // 1 instruction, 4 pixels
    float4 v = reinterpret_cast<const float4*>(x)[i];     // 1 instruction, 4 floats
    ```

    `__restrict__`, `#pragma unroll` and `__align__(16)` structures let the compiler do it.

    ## Known problems

    Wider accesses take registers. Where device memory or L2 is the limit they bring little
    (a copy of floats reaches 80 % of the bandwidth with 32-bit accesses), and where latency is the
    limit memory-latency-bound says so: the rule is silent in both. 32-bit loads that are served by L1
    fill the way back to the registers just as wide ones do; then only issue slots are saved.
    Accesses that are not coalesced belong to uncoalesced-global-access.

    ## References

    0.66: DrGPU's limit for narrow accesses (`suggestions.py`, there for shared memory). 60 %:
    NVIDIA rule SOLBottleneck. Adjacent accesses in SASS: the idea is GPUscout's. What counts as
    neighbours: kprof's own, unsourced.
    """
    top = limiter(kernel)
    everything, narrow = (
        quantity.read(kernel.metrics) or 0.0 for quantity in (m.GLOBAL_ACCESSES, m.NARROW_ACCESSES)
    )
    if top is None or top.pct < BUSY_PCT or not everything or narrow < NARROW_SHARE * everything:
        return None
    found = _widenable(kernel)
    kind = _limited_by(top, found)
    if kind is None:
        return None
    saved = _saved(kernel, kind, narrow, found)
    speedup = estimate.gain(kernel, saved, RELIEVES[kind])
    if saved < MATTERS or not estimate.is_worth_it(speedup):
        return None
    shown = places(kernel, _weight(found), of="the executed narrow accesses")
    resource: Resource = "issue" if kind == "issue" else "l1"
    return Finding(
        rule="narrow-global-access",
        severity=estimate.severity(speedup),
        confidence="low" if found is None else "high" if _sub_word(found) else "medium",
        headline=f"{100 * narrow / everything:.0f} % of the global accesses move "
        f"{_bits(found)} bits per thread, and their number is the limit{where(shown)}",
        detail="Fewer, wider accesses move the same bytes; neighbouring elements are already read "
        "by neighbouring threads or instructions.",
        estimated_speedup=speedup,
        resource=resource,
        evidence=(
            busy(top),
            derived("narrow share of global accesses", 100.0 * narrow / everything, "%",
                    100.0 * NARROW_SHARE, "DrGPU, suggestions.py", side="at least"),
            *measured(kernel, m.GLOBAL_ACCESSES),
            *measured(kernel, m.LSU_ACCESSES),
            *measured(kernel, m.WARP_INSTRUCTIONS),
            *measured(kernel, m.DRAM_PCT),
        ),
        refuted_by="no change in time when each thread processes four neighbouring elements with "
        "one wide access, or device memory at its roof",
        source=shown,
        advice=(
            "Process 4 to 16 neighbouring elements per thread and move them with one access: "
            "`uchar4`, `half2`/`int4` for halves, `float4` (pointers aligned to the access width).",
            "Where elements are read one after the other by the same thread, read them as one vector before the loop over them.",
            "Copy odd ends separately, so that the bulk stays aligned.",
        ),
    )  # fmt: skip


def _limited_by(top: Limiter, found: list[Instruction] | None) -> str | None:
    """Return the class of unit that fewer instructions relieve, None where it is another one."""
    kind = m.UNIT_CLASS.get(top.metric)
    if kind == "l1_data" and top.resource == "l1" and found and _sub_word(found):
        return kind
    if kind == "l1_front":
        return "l1_data" if found and _sub_word(found) else kind
    return kind if kind == "issue" else None


def _widenable(kernel: Kernel) -> list[Instruction] | None:
    """Return the narrow accesses whose neighbours are accessed too, None where none is listed."""
    rows = [
        row for row in kernel.instructions if row.values.get(SECTORS) and row.values.get(EXECUTED)
    ]
    narrow = [row for row in rows if accesses.is_narrow(accesses.mnemonic(row.sass))]
    if not narrow:
        return None
    adjacent = _adjacent(narrow)
    return [row for row in narrow if row.pc in adjacent or _across_lanes(row)]


def _across_lanes(row: Instruction) -> bool:
    """Say whether neighbouring lanes access neighbouring elements."""
    sectors, ideal = row.values[SECTORS], row.values.get(IDEAL, 0.0)
    bytes_used = row.values.get(THREADS, 0.0) * accesses.width(accesses.mnemonic(row.sass))
    own_each = sectors >= NEIGHBOURS * bytes_used / SECTOR_BYTES
    return own_each and sectors <= SPARE_SECTORS * max(ideal, row.values[EXECUTED])


def _adjacent(rows: Iterable[Instruction]) -> set[int]:
    """Return where one thread accesses neighbours: same base register, offsets one element apart."""
    seen: dict[tuple[str, str, int], int] = {}
    found: set[int] = set()
    for row in rows:
        opcode, address = accesses.mnemonic(row.sass), ADDRESS.search(row.sass)
        if address is None:
            continue
        size, offset = accesses.width(opcode), int(address["offset"] or "0", 16)
        seen[opcode, address["base"], offset] = row.pc
        for other in (offset - size, offset + size):
            if (pc := seen.get((opcode, address["base"], other))) is not None:
                found |= {pc, row.pc}
    return found


def _sub_word(found: Iterable[Instruction]) -> bool:
    """Say whether most of them move less than 32 bits per lane."""
    sizes = [(row.values[EXECUTED], accesses.width(accesses.mnemonic(row.sass))) for row in found]
    return (
        2.0 * sum(n for n, size in sizes if size < accesses.WORD_BYTES)
        >= sum(n for n, _ in sizes)
        > 0
    )


def _saved(kernel: Kernel, kind: str, narrow: float, found: list[Instruction] | None) -> float:
    """Return the share of the limiting unit's work that wide accesses would not cause."""
    target = accesses.WORD_BYTES if kind == "l1_data" else WIDEST_BYTES
    work = (m.WARP_INSTRUCTIONS if kind == "issue" else m.LSU_ACCESSES).read(kernel.metrics)
    if not work:
        return 0.0
    if found is None:
        return min(narrow * (1.0 - accesses.WORD_BYTES / WIDEST_BYTES) / work, 1.0)
    saved = (
        row.values[EXECUTED] * (1.0 - accesses.width(accesses.mnemonic(row.sass)) / target)
        for row in found
    )
    return min(sum(saved) / work, 1.0)


def _weight(found: list[Instruction] | None) -> Callable[[Instruction], float]:
    kept = {row.pc for row in found or ()}
    return lambda row: row.values.get(EXECUTED, 0.0) if row.pc in kept else 0.0


def _bits(found: list[Instruction] | None) -> str:
    sizes = {8 * accesses.width(accesses.mnemonic(row.sass)) for row in found or ()} or {32}
    return str(max(sizes)) if len(sizes) == 1 else f"{min(sizes)} to {max(sizes)}"
