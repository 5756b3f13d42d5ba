"""As much of a cubin as line tables need: sections, their names, and relocations."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little-endian: all cubins are
_SECTION, _SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")
_ADDRESS, _WITHOUT, _WITH_ADDEND = struct.Struct("<Q"), struct.Struct("<QQ"), struct.Struct("<QQq")
_NO_BITS = 8


@dataclass(frozen=True, slots=True)
class Elf:
    """An ELF file.

    Attributes:
        names: of the sections, in their order.
        sections: content by name; those without bytes in the file are left out.
    """

    names: tuple[str, ...]
    sections: Mapping[str, bytes]


def parse(data: bytes) -> Elf | None:
    """Return the sections of an ELF file, None when it is none or damaged."""
    if not data.startswith(_MAGIC):
        return None
    try:
        return _parsed(data)
    except (struct.error, IndexError, OverflowError):  # the last: an offset beyond 2^63
        return None


def _parsed(data: bytes) -> Elf:
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    count, strings_at = struct.unpack_from("<HH", data, 0x3C)
    headers = [_SECTION.unpack_from(data, offset + _SECTION.size * at) for at in range(count)]
    strings = _content(data, headers[strings_at])
    names = tuple(text_at(strings, header[0]) for header in headers)
    contents = {
        name: _content(data, header)
        for name, header in zip(names, headers, strict=True)
        if header[1] != _NO_BITS
    }
    return Elf(names, contents)


def _content(data: bytes, header: tuple[int, ...]) -> bytes:
    return data[header[4] : header[4] + header[5]]


def text_at(strings: bytes, offset: int) -> str:
    """Return the zero-terminated text at an offset of a string table."""
    end = strings.find(b"\0", offset)
    return strings[offset : end if end >= 0 else len(strings)].decode("utf-8", "replace")


def relocations(elf: Elf, section: str) -> Iterator[tuple[int, str, int]]:
    """Yield what a section refers to: offset in it, the other section's name, offset there.

    CUDA 12 and later give the offset in the entry, earlier ones in the section itself. Code that was
    loaded before it was copied has addresses of the GPU in their place: those are taken for the
    start of the other section, which holds one function.
    """
    symbols, content = elf.sections.get(".symtab", b""), elf.sections.get(section, b"")
    for offset, info, addend in _entries(elf, section):
        at = (info >> 32) * _SYMBOL.size
        if at + _SYMBOL.size > len(symbols) or offset + _ADDRESS.size > len(content):
            continue
        _, _, _, index, value, _ = _SYMBOL.unpack_from(symbols, at)
        (inside,) = _ADDRESS.unpack_from(content, offset)
        if index >= len(elf.names):
            continue
        name = elf.names[index]
        size = len(elf.sections.get(name, b""))
        parts = (value, inside if addend is None else addend)
        yield offset, name, sum(part for part in parts if part <= size)


def _entries(elf: Elf, section: str) -> Iterator[tuple[int, int, int | None]]:
    for name, form in ((f".rela{section}", _WITH_ADDEND), (f".rel{section}", _WITHOUT)):
        entries = elf.sections.get(name, b"")
        whole = len(entries) - len(entries) % form.size
        for entry in form.iter_unpack(entries[:whole]):
            yield entry[0], entry[1], entry[2] if len(entry) > 2 else None
