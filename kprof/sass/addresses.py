"""Where the address of a memory access comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kprof.model import Code, Instruction
from kprof.sass.flow import Flow
from kprof.sass.operands import opcodes
from kprof.sass.registers import effect

# What fetches data; parameters come from constant memory (LDC, ULDC, c[0x0][...]).
_LOADS = opcodes("LD LDG LDS LDL ATOM ATOMG ATOMS")
# [R2.64+0x10], [R2.64+UR4], but not the descriptor in desc[UR4][R2.64].
_ADDRESS = re.compile(r"(?<!desc)\[([^\]]*)\]")
_REGISTER = re.compile(r"(U?R)(\d+)((?:\.\w+)*)")
# Writes that one question follows back: an address is made of few.
_MOST = 64


def with_loaded_addresses(
    code: Sequence[Code], rows: Iterable[Instruction]
) -> tuple[Instruction, ...]:
    """Return the accesses whose address is data that the kernel loads.

    Args:
        code: of all functions; what it does not hold is not judged.
        rows: memory accesses.
    """
    found: list[Instruction] = []
    functions: dict[int, tuple[Flow, dict[int, int]]] = {}
    for row in rows:
        if row.function not in functions:
            functions[row.function] = _function(code, row.function)
        flow, at = functions[row.function]
        if row.pc in at and is_loaded(flow, at[row.pc]):
            found.append(row)
    return tuple(found)


def _function(code: Iterable[Code], function: int) -> tuple[Flow, dict[int, int]]:
    own = [(item.pc, item.sass) for item in code if item.function == function]
    return Flow(own), {pc: position for position, (pc, _) in enumerate(own)}


def is_loaded(flow: Flow, at: int) -> bool:
    """Say whether data that the kernel loads decides the address of an access.

    So it is in a gather, a scatter and a chain of pointers; not where threads, blocks and loop counters
    make the address. A load that only decides whether the access happens does not count.

    Args:
        flow: of the function.
        at: position of the access in it.
    """
    parsed = flow.parsed[at]
    found = _ADDRESS.search(" ".join(parsed.operands)) if parsed else None
    waiting = [(at, register) for register in _registers(found[1])] if found else []
    seen = set(waiting)
    while waiting and len(seen) <= _MOST:
        position, register = waiting.pop(0)
        for written in flow.definitions(position, register).found:
            source = flow.parsed[written.at]
            if source is not None and source.opcode in _LOADS:
                return True
            reads = [name for name in effect(flow.texts[written.at]).reads if "P" not in name]
            new = [step for name in reads if (step := (written.at, name)) not in seen]
            seen.update(new)
            waiting += new
    return False


def _registers(address: str) -> list[str]:
    """Return the registers of an address as written: ``R2.64`` is ``R2`` and ``R3``."""
    return [
        f"{kind}{int(number) + half}"
        for kind, number, suffix in _REGISTER.findall(address)
        for half in range(2 if "64" in suffix.split(".") else 1)
    ]
