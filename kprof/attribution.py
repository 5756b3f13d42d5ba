"""Where a kernel does what a unit is busy with: moves data, or issues instructions of a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise

from kprof.evidence import places, samples_of
from kprof.instruction_mix import mnemonic
from kprof.model import Code, Instruction, Kernel, Place
from kprof.sharedmem import WAVEFRONTS
from kprof.source_view import EXECUTED, LOCAL, SECTORS, every_instruction

# Opcodes by what executes them ("CUDA Binary Utilities", instruction set reference).
ARITHMETIC: dict[str, tuple[str, ...]] = {
    "fp64": ("DADD", "DFMA", "DMUL", "DSETP"),
    "fp32": ("FADD", "FFMA", "FMUL"),
    "fp16": ("HADD2", "HFMA2", "HMUL2"),
    "int": ("IADD", "IMAD", "LEA", "LOP3", "SHF", "ISETP", "VIADD", "IMNMX"),
    "xu": ("MUFU", "F2I", "I2F", "F2F", "POPC", "FLO"),
    "tensor": ("HMMA", "HGMMA", "IMMA", "IGMMA", "QMMA", "QGMMA", "OMMA", "DMMA", "BMMA", "UTC"),
}

# Share of the executions from which an instruction without a line says where they are. kprof's own.
_TELLING = 0.02
GLOBAL = "the global sectors touched"


def traffic(kernel: Kernel) -> tuple[Place, ...]:
    """Return where device memory is accessed, by 32-byte sectors: local memory is a part of it."""
    local = any(row.values.get(LOCAL) for row in kernel.instructions)
    return places(
        kernel,
        lambda row: row.values.get(SECTORS, 0.0) + row.values.get(LOCAL, 0.0),
        of="the global and local sectors touched" if local else GLOBAL,
    )


def shared_traffic(kernel: Kernel) -> tuple[Place, ...]:
    """Return where shared memory is accessed, by wavefronts."""
    return places(
        kernel, lambda row: row.values.get(WAVEFRONTS, 0.0), of="the shared-memory wavefronts"
    )


def executed(
    kernel: Kernel, beginnings: Iterable[str] = ("",), what: str | None = None
) -> tuple[Place, ...]:
    """Return where instructions are executed whose opcodes begin like these, all by default.

    Not by samples: those pile up on whoever waits, which says nothing of the mix.

    Args:
        kernel: whose instructions are counted.
        beginnings: of opcodes with modifiers.
        what: those instructions in words: ``FP64 instructions``.
    """
    begins = tuple(beginnings)

    def weight(row: Instruction) -> float:
        return row.values.get(EXECUTED, 0.0) if mnemonic(row.sass).startswith(begins) else 0.0

    named = what or ("instructions" if begins == ("",) else "instructions of this kind")
    found = places(kernel, weight, rows=every_instruction(kernel), of=f"the executed {named}")
    # Of a long loop every instruction runs as often: without lines any five of them say nothing.
    telling = any(place.line is not None or place.share >= _TELLING for place in found)
    return found if telling else ()


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
    return places(kernel, weight, rows=_moved(kernel, behind), of=samples_of("barrier"))


def not_at_padding(
    kernel: Kernel, weight: Callable[[Instruction], float], of: str
) -> tuple[Place, ...]:
    """Return where the weight is, that of a NOP at the instruction before it.

    The compiler fills the time that a matrix instruction takes with them: nobody wrote a NOP.
    """
    behind: dict[tuple[int, int], Code] = {}
    last: Code | None = None
    for item in kernel.code:
        if mnemonic(item.sass) != "NOP":
            last = item
        elif last is not None and last.function == item.function:
            behind[item.function, item.pc] = last
    return places(kernel, weight, rows=_moved(kernel, behind), of=of)


def _moved(kernel: Kernel, behind: Mapping[tuple[int, int], Code]) -> Iterator[Instruction]:
    """Yield the instructions with counters, some of them at the place of another."""
    for row in kernel.instructions:
        at = behind.get((row.function, row.pc))
        if at is None:
            yield row
        else:
            yield Instruction(at.pc, at.sass, at.file, at.line, row.values, at.function, at.chain)
