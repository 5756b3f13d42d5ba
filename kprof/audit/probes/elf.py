"""What a shared library asks the loader for: its dynamic section, a few kilobytes of any file.

Layout: the System V ABI, chapters 4 and 5 ("ELF header", "Dynamic Section"). Only 64-bit
little-endian files, which is what x86-64 and Arm machines with NVIDIA GPUs load.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_IDENT = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_ENTRY = struct.Struct("<qQ")
_PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NULL, _DT_NEEDED, _DT_STRTAB, _DT_SONAME, _DT_RPATH, _DT_RUNPATH = 0, 1, 5, 14, 15, 29
_MAX_SEGMENTS = 512
_MAX_DYNAMIC_BYTES = 2**16
_MAX_NAME_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Dynamic:
    """What the loader reads of a library.

    Attributes:
        needed: names of the libraries it needs.
        soname: the name others need it by.
        rpath: folders searched before ``LD_LIBRARY_PATH``; not in force where there is a runpath.
        runpath: folders searched after ``LD_LIBRARY_PATH``.
    """

    needed: tuple[str, ...] = ()
    soname: str | None = None
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()


def dynamic(path: Path) -> Dynamic | None:
    """Return a file's dynamic section; None for what cannot be read or is no such library."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        descriptor = os.open(path, os.O_RDONLY)
    except (OSError, ValueError):
        return None
    try:
        return _read(descriptor)
    except (OSError, ValueError, struct.error, OverflowError):
        return None
    finally:
        os.close(descriptor)


def _read(file: int) -> Dynamic | None:
    header = _at(file, 0, _HEADER.size)
    if len(header) < _HEADER.size or not header.startswith(_IDENT):
        return None
    segments = list(_segments(file, _HEADER.unpack(header)))
    table = next((one for one in segments if one[0] == _PT_DYNAMIC), None)
    if table is None:
        return Dynamic()
    entries = list(_entries(_at(file, table[2], min(table[5], _MAX_DYNAMIC_BYTES))))
    address = next((value for tag, value in entries if tag == _DT_STRTAB), None)
    strings = None if address is None else _offset(segments, address)
    if strings is None:
        return Dynamic()
    texts = [(tag, _text(file, strings + value)) for tag, value in entries if tag in _TEXTS]
    return _assembled(texts)


_TEXTS = frozenset({_DT_NEEDED, _DT_SONAME, _DT_RPATH, _DT_RUNPATH})


def _segments(file: int, header: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    start, size, number = header[5], header[9], min(header[10], _MAX_SEGMENTS)
    for index in range(number):
        yield _SEGMENT.unpack(_at(file, start + index * size, _SEGMENT.size))


def _entries(table: bytes) -> Iterator[tuple[int, int]]:
    for tag, value in _ENTRY.iter_unpack(table[: len(table) // _ENTRY.size * _ENTRY.size]):
        if tag == _DT_NULL:
            return
        yield tag, value


def _offset(segments: list[tuple[int, ...]], address: int) -> int | None:
    # A segment: type, flags, offset in the file, virtual address, physical one, size in the file.
    for kind, _, offset, virtual, _, size, *_ in segments:
        if kind == _PT_LOAD and virtual <= address < virtual + size:
            return offset + address - virtual
    return None


def _text(file: int, offset: int) -> str:
    return _at(file, offset, _MAX_NAME_BYTES).split(b"\0", 1)[0].decode(errors="replace")


def _assembled(texts: list[tuple[int, str]]) -> Dynamic:
    def folders(tag: int) -> tuple[str, ...]:
        return tuple(
            part for kind, text in texts if kind == tag for part in text.split(":") if part
        )

    return Dynamic(
        needed=tuple(text for kind, text in texts if kind == _DT_NEEDED),
        soname=next((text for kind, text in texts if kind == _DT_SONAME), None),
        rpath=folders(_DT_RPATH),
        runpath=folders(_DT_RUNPATH),
    )


def _at(file: int, offset: int, size: int) -> bytes:
    return os.pread(file, size, offset)
