"""The line tables of a cubin (``.debug_line``), with the calls that inlined code came through.

DWARF 2 to 4 (<https://dwarfstd.org>) with two opcodes of NVIDIA's, as elfutils reads them
(``libdw/dwarf_getsrclines.c``): ``inlined_call`` (0x90) names the row that called, counted from 1 in
its sequence, which is what one function has of a table (in tables of several functions all 10,836 calls
seen lead to an earlier row of the same one, and counted from the table's start only 1,699), and ``set_function_name`` (0x91) the function.
"""

from __future__ import annotations

import contextlib
import posixpath
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kprof.embedded.elf import Elf, relocations
from kprof.protobuf import varint

_END, _ADDRESS, _INLINED = 1, 2, 0x90
_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE, _ADD_PC, _FIXED_PC = 1, 2, 3, 4, 8, 9
_VERSIONS = range(2, 5)
_DEEPEST = 64  # calls; a table that leads in circles ends here

Spot = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Row:
    """From this address on code is of this line.

    Attributes:
        section: ``.text`` and the function's mangled name; empty where not known.
        address: offset in it.
        file: as the compiler wrote it.
        line: 1-based.
        caller: number in its sequence, from 1, of the row of the call that was inlined; 0 for none.
        end: no code any more.
    """

    section: str = ""
    address: int = 0
    file: str = ""
    line: int = 1
    caller: int = 0
    end: bool = False


def sequences(elf: Elf) -> Iterator[tuple[Row, ...]]:
    """Yield what the line tables of a cubin have of each function, those that can be read."""
    data = elf.sections.get(".debug_line", b"")
    targets = {at: (section, offset) for at, section, offset in relocations(elf, ".debug_line")}
    start = 0
    while start + 4 <= len(data):
        (length,) = struct.unpack_from("<I", data, start)
        end = start + 4 + length
        # One of a version that is not known, or damaged, is left out: the next may be fine.
        with contextlib.suppress(ValueError, IndexError, struct.error):
            yield from _split(_Program(data[start:end], start, targets).rows())
        start = end


def _split(rows: Iterator[Row]) -> Iterator[tuple[Row, ...]]:
    found: list[Row] = []
    for row in rows:
        found.append(row)
        if row.end:
            yield tuple(found)
            found = []
    if found:
        yield tuple(found)


def chain(rows: Sequence[Row], row: Row) -> tuple[Spot, ...]:
    """Return the places of the calls through which a row's code was inlined, innermost first.

    Args:
        rows: the row's sequence.
        row: one of them.
    """
    found: list[Spot] = []
    while 0 < row.caller <= len(rows) and len(found) < _DEEPEST:
        row = rows[row.caller - 1]
        found.append((row.file, row.line))
    return tuple(found)


class _Program:
    """One table: a header, and a program that writes its rows."""

    def __init__(self, data: bytes, place: int, targets: Mapping[int, tuple[str, int]]) -> None:
        """Read the header of the table that lies at ``place`` of its section."""
        (version, header) = struct.unpack_from("<HI", data, 4)
        if version not in _VERSIONS:
            raise ValueError
        self._data, self._place, self._targets = data, place, targets
        at = 10
        self._step = data[at]
        at += 1 if version < 4 else 2
        self._base, self._range, self._first = struct.unpack_from("<bBB", data, at + 1)
        if not self._range:  # what special opcodes are divided by
            raise ValueError
        self._operands = data[at + 4 : at + 3 + self._first]
        self._files = _files(data, at + 3 + self._first)
        self._at = 10 + header
        self._row = Row(file=self._file(1))

    def _file(self, number: int) -> str:
        return self._files[number - 1] if 0 < number <= len(self._files) else ""

    def rows(self) -> Iterator[Row]:
        while self._at < len(self._data):
            opcode = self._data[self._at]
            self._at += 1
            if opcode >= self._first:
                self._special(opcode - self._first)
            elif opcode == 0:
                if not self._extended():
                    continue
            elif opcode != _COPY:
                self._standard(opcode)
                continue
            yield self._row
            if self._row.end:
                self._row = Row(file=self._file(1))

    def _number(self) -> int:
        value, self._at = varint(self._data, self._at)
        return value

    def _signed(self) -> int:
        before = self._at
        value = self._number()
        bits = 7 * (self._at - before)
        return value - (1 << bits) if value >> (bits - 1) else value

    def _advance(self, steps: int, lines: int = 0) -> None:
        row = self._row
        self._row = replace(row, address=row.address + steps * self._step, line=row.line + lines)

    def _special(self, adjusted: int) -> None:
        self._advance(adjusted // self._range, self._base + adjusted % self._range)

    def _standard(self, opcode: int) -> None:
        if opcode == _ADVANCE_PC:
            self._advance(self._number())
        elif opcode == _ADVANCE_LINE:
            self._advance(0, self._signed())
        elif opcode == _SET_FILE:
            self._row = replace(self._row, file=self._file(self._number()))
        elif opcode == _ADD_PC:
            self._advance((255 - self._first) // self._range)
        elif opcode == _FIXED_PC:
            (bytes_,) = struct.unpack_from("<H", self._data, self._at)
            self._row = replace(self._row, address=self._row.address + bytes_)
            self._at += 2
        else:
            for _ in range(self._operands[opcode - 1]):
                self._number()

    def _extended(self) -> bool:
        """Obey an extended opcode and say whether it makes a row."""
        length = self._number()
        end, code = self._at + length, self._data[self._at]
        self._at += 1
        if code == _END:
            self._row = replace(self._row, end=True)
        elif code == _ADDRESS:
            (address,) = struct.unpack_from("<Q", self._data, self._at)
            section, offset = self._targets.get(self._place + self._at, ("", address))
            self._row = replace(self._row, section=section, address=offset)
        elif code == _INLINED:
            self._row = replace(self._row, caller=self._number())
        self._at = end
        return self._row.end


def _files(data: bytes, at: int) -> list[str]:
    folders = [""]
    while data[at]:
        text, at = _text(data, at)
        folders.append(text)
    at += 1
    files = []
    while data[at]:
        name, at = _text(data, at)
        folder, at = varint(data, at)
        _, at = varint(data, at)
        _, at = varint(data, at)
        files.append(posixpath.normpath(posixpath.join(folders[folder], name)))
    return files


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(b"\0", at)
    return data[at:end].decode("utf-8", "replace"), end + 1
