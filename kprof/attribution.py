"""Where a kernel does what a unit is busy with: moves data, or issues instructions of a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from kprof.evidence import places
from kprof.instruction_mix import mnemonic
from kprof.model import Instruction, Kernel, Place
from kprof.sharedmem import WAVEFRONTS
from kprof.source_view import EXECUTED, SECTORS, every_instruction

# Opcodes by what executes them ("CUDA Binary Utilities", instruction set reference).
ARITHMETIC: dict[str, tuple[str, ...]] = {
    "fp64": ("DADD", "DFMA", "DMUL", "DSETP"),
    "fp32": ("FADD", "FFMA", "FMUL"),
    "fp16": ("HADD2", "HFMA2", "HMUL2"),
    "int": ("IADD", "IMAD", "LEA", "LOP3", "SHF", "ISETP", "VIADD", "IMNMX"),
    "xu": ("MUFU", "F2I", "I2F", "F2F", "POPC", "FLO"),
    "tensor": ("HMMA", "HGMMA", "IMMA", "IGMMA", "QMMA", "QGMMA", "OMMA", "DMMA", "BMMA", "UTC"),
}


def traffic(kernel: Kernel) -> tuple[Place, ...]:
    """Return where global memory is accessed, by 32-byte sectors."""
    return places(kernel, lambda row: row.values.get(SECTORS, 0.0))


def shared_traffic(kernel: Kernel) -> tuple[Place, ...]:
    """Return where shared memory is accessed, by wavefronts."""
    return places(kernel, lambda row: row.values.get(WAVEFRONTS, 0.0))


def executed(kernel: Kernel, beginnings: Iterable[str] = ("",)) -> tuple[Place, ...]:
    """Return where instructions are executed whose opcodes begin like these, all by default."""
    begins = tuple(beginnings)

    def weight(row: Instruction) -> float:
        return row.values.get(EXECUTED, 0.0) if mnemonic(row.sass).startswith(begins) else 0.0

    return places(kernel, weight, rows=every_instruction(kernel))


def at_barriers(kernel: Kernel, weight: Callable[[Instruction], float]) -> tuple[Place, ...]:
    """Return where samples of warps at a barrier belong: at the barrier.

    A warp that waits there is sampled at the instruction after it (seen in recordings of compute
    capability 9.0), which may be of another line.
    """
    behind = {
        (after.function, after.pc): barrier
        for barrier, after in pairwise(kernel.code)
        if barrier.function == after.function and mnemonic(barrier.sass).startswith("BAR")
    }

    def moved(row: Instruction) -> Instruction:
        at = behind.get((row.function, row.pc))
        if at is None:
            return row
        return Instruction(at.pc, at.sass, at.file, at.line, row.values, at.function, at.chain)

    return places(kernel, weight, rows=map(moved, kernel.instructions))
