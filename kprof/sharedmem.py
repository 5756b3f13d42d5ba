"""Shared-memory bank conflicts as excess wavefronts.

The raw conflict counters count arbitration that costs nothing and miss instructions outside
plain loads and stores; actual against ideal wavefronts, per instruction, does neither
(docs/decisions/0004).
"""

from __future__ import annotations

from kprof import metrics as m
from kprof.model import Instruction, Kernel, SharedClass, SharedLine, SharedMemory
from kprof.sass import parse

WAVEFRONTS = m.SHARED_WAVEFRONTS.ways[0].metrics[0]
IDEAL = m.SHARED_WAVEFRONTS_IDEAL.ways[0].metrics[0]
MATRICES = frozenset({"LDSM", "STSM"})


def shared_memory(kernel: Kernel) -> SharedMemory | None:
    """Return shared-memory access efficiency, None when it was not measured.

    A kernel that was measured and uses no shared memory has zero wavefronts and no excess.
    """
    wavefronts = m.SHARED_WAVEFRONTS.read(kernel.metrics)
    ideal = m.SHARED_WAVEFRONTS_IDEAL.read(kernel.metrics)
    if wavefronts is None or ideal is None:
        return None
    return SharedMemory(
        wavefronts=wavefronts,
        ideal=ideal,
        excess_pct=100.0 * (wavefronts - ideal) / wavefronts if wavefronts else 0.0,
        by_source=tuple(_line(row) for row in accesses(kernel)),
        by_class=classes(kernel),
    )


def accesses(kernel: Kernel) -> list[Instruction]:
    """Return the instructions that access shared memory, most excess wavefronts first."""
    rows = [row for row in kernel.instructions if row.values.get(WAVEFRONTS)]
    return sorted(rows, key=lambda row: (-excess(row), -row.values[WAVEFRONTS], row.pc))


def classes(kernel: Kernel) -> tuple[SharedClass, ...]:
    """Return wavefronts by kind of access, most excess first."""
    found: dict[str, tuple[float, float]] = {}
    for row in accesses(kernel):
        opcode = kind(row)
        wavefronts, ideal = found.get(opcode, (0.0, 0.0))
        found[opcode] = (wavefronts + row.values[WAVEFRONTS], ideal + row.values.get(IDEAL, 0.0))
    made = (SharedClass(opcode, *amounts) for opcode, amounts in found.items())
    return tuple(sorted(made, key=lambda one: (one.ideal - one.wavefronts, one.opcode)))


def kind(row: Instruction) -> str:
    """Return an instruction's opcode, e.g. ``LDSM``; empty where its text was not read."""
    parsed = parse(row.sass)
    return parsed.opcode if parsed else ""


def access_bytes(kernel: Kernel) -> int:
    """Return what one thread moves at once where most wavefronts are in excess, in bytes.

    That is among the kind of access with most of them; 4 for anything narrower, and where no
    instruction's text was read.
    """
    worst = next(iter(classes(kernel)), None)
    found: dict[int, float] = {}
    for row in accesses(kernel):
        if worst is not None and kind(row) == worst.opcode:
            size = _bytes(row)
            found[size] = found.get(size, 0.0) + excess(row)
    return max(found, key=lambda size: (found[size], size), default=4)


def _bytes(row: Instruction) -> int:
    parsed = parse(row.sass)
    if parsed is None:
        return 4
    # Each row of a matrix is 16 bytes whose address has to be aligned (PTX ISA, ldmatrix).
    if parsed.opcode in MATRICES or parsed.has("128"):
        return 16
    return 8 if parsed.has("64") else 4


def excess(row: Instruction) -> float:
    """Return the wavefronts of an instruction beyond its ideal."""
    return row.values.get(WAVEFRONTS, 0.0) - row.values.get(IDEAL, 0.0)


def ways(row: Instruction) -> float | None:
    """Return N of an N-way conflict: actual over ideal wavefronts (1 without conflict)."""
    ideal = row.values.get(IDEAL)
    return row.values[WAVEFRONTS] / ideal if ideal else None


def _line(row: Instruction) -> SharedLine:
    return SharedLine(
        file=row.file,
        line=row.line,
        sass=row.sass,
        pc=row.pc,
        wavefronts=row.values[WAVEFRONTS],
        ideal=row.values.get(IDEAL, 0.0),
    )
