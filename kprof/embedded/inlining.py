"""Say of inlined code which lines it belongs to: its own, and those of the calls around it.

Of an address the report's library gives one line: the first that the line table has for it, which
is that of the inlined function or that of a call, as the compiler wrote them.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeVar

from kprof.embedded import elf
from kprof.embedded.linetable import Row, chain, sequences
from kprof.model import Code, Instruction, Kernel, Spot

_TEXT = ".text."
_Item = TypeVar("_Item", Code, Instruction)
_Chains = Mapping[tuple[int, int], tuple[Spot, ...]]


@dataclass(frozen=True, slots=True)
class Function:
    """A function's line table, by stretches of code.

    Attributes:
        section: ``.text.`` and its mangled name.
        starts: where each stretch begins.
        spots: its line as the report would say it, of the file the name alone.
        chains: the lines it belongs to, empty where it was not inlined.
    """

    section: str
    starts: Sequence[int]
    spots: Sequence[tuple[str, int]]
    chains: Sequence[tuple[Spot, ...]]

    def at(self, pc: int) -> int:
        """Return the number of the stretch that an instruction is in, -1 before the first."""
        return bisect.bisect_right(self.starts, pc) - 1

    def agrees(self, code: Iterable[Code | Instruction]) -> bool:
        """Say whether the report's own lines are those of this table."""
        for item in code:
            at = self.at(item.pc)
            if item.line is not None and (
                at < 0 or self.spots[at] != (_file(item.file), item.line)
            ):
                return False
        return True


def with_chains(kernels: Sequence[Kernel], cubins: Iterable[bytes]) -> tuple[Kernel, ...]:
    """Return the kernels, their inlined instructions with the lines they belong to.

    A line table is taken for a function's only where it gives every instruction the line that the
    report gives it. Kernels for which none does stay as they are.
    """
    known = [function for cubin in dict.fromkeys(cubins) for function in functions(cubin)]
    return tuple(_described(kernel, known) for kernel in kernels)


def _described(kernel: Kernel, known: Sequence[Function]) -> Kernel:
    near_first = sorted(known, key=lambda function: kernel.name not in function.section)
    chains: dict[tuple[int, int], tuple[Spot, ...]] = {}
    rows: Sequence[Code | Instruction] = kernel.code or kernel.instructions
    for number, group in groupby(rows, key=lambda item: item.function):
        code = [item for item in group if item.line is not None]
        table = next((table for table in near_first if table.agrees(code)), None)
        if code and table is not None:
            spell = _Spelling(item.file for item in code)
            chains |= {(number, item.pc): spell(table.chains[table.at(item.pc)]) for item in code}
    if not any(chains.values()):
        return kernel
    return replace(
        kernel,
        code=tuple(_with(item, chains) for item in kernel.code),
        instructions=tuple(_with(item, chains) for item in kernel.instructions),
    )


class _Spelling:
    """Spells files as the report does: of one file the line table may have another form."""

    def __init__(self, files: Iterable[str | None]) -> None:
        self._files = frozenset(file for file in files if file is not None)
        self._by_name: dict[str, set[str]] = {}
        for file in self._files:
            self._by_name.setdefault(_file(file), set()).add(file)

    def __call__(self, chain: tuple[Spot, ...]) -> tuple[Spot, ...]:
        return tuple(Spot(self._spelt(spot.file), spot.line) for spot in chain)

    def _spelt(self, file: str) -> str:
        forms = self._by_name.get(_file(file), set())
        return next(iter(forms)) if file not in self._files and len(forms) == 1 else file


def _with(item: _Item, chains: _Chains) -> _Item:
    found = chains.get((item.function, item.pc), ())
    return replace(item, chain=found) if found else item


def functions(cubin: bytes) -> list[Function]:
    """Return the line tables of the functions in a cubin, none where it has none."""
    found: list[Function] = []
    read = elf.parse(cubin)
    for table in () if read is None else sequences(read):
        sections = dict.fromkeys(row.section for row in table if row.section.startswith(_TEXT))
        found += [_function(section, table) for section in sections]
    return found


def _function(section: str, table: Sequence[Row]) -> Function:
    stretches: dict[int, list[Row]] = {}
    for row in table:
        if row.section == section:
            stretches.setdefault(row.address, []).append(row)
    starts = sorted(stretches)
    return Function(
        section,
        starts,
        [_spot(stretches[start][0]) for start in starts],
        # The last row of an address is the innermost; those before it are the calls.
        [_chain(table, stretches[start][-1]) for start in starts],
    )


def _spot(row: Row) -> tuple[str, int]:
    return ("", 0) if row.end else (_file(row.file), row.line)


def _chain(table: Sequence[Row], row: Row) -> tuple[Spot, ...]:
    calls = chain(table, row)
    return tuple(Spot(*spot) for spot in ((row.file, row.line), *calls)) if calls else ()


def _file(name: str | None) -> str:
    """Return what names of one file have in common: compilers write folders in several ways."""
    return (name or "").replace("\\", "/").rsplit("/", 1)[-1]
