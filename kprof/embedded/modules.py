r"""The modules of device code in a report, with the source files that ncu imported beside them.

A module is a block of the container (:mod:`kprof.reader.container` has the layout) whose payload
is a u32 length and a protobuf message: field 4 is the cubin, field 8 the imported sources, each a
message of name (1) and text (2). Seen in reports of ncu 2022.4 to 2025.3.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_MAGIC = b"NVR\0"
_HEADER_MODULES, _HEADER_PAYLOAD = 1, 5
_CUBIN, _SOURCES, _SOURCE, _NAME, _TEXT = 4, 8, 1, 1, 2
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIDTHS = {_FIXED64: 8, _FIXED32: 4}


class _DamagedError(ValueError):
    """The bytes at this place are not what they should be."""


@dataclass(frozen=True, slots=True)
class Module:
    """Device code as it was loaded.

    Attributes:
        cubin: an ELF file, empty where the report does not hold it.
        texts: imported source files, name as the compiler wrote it to text.
    """

    cubin: bytes
    texts: Mapping[str, str] = field(default_factory=dict)


def modules(path: Path) -> Iterator[Module]:
    """Yield the modules of a plain report, those before the first damage.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            for payload in _payloads(data):
                yield _module(payload)
        except (_DamagedError, struct.error, IndexError):
            return


def _payloads(data: mmap.mmap) -> Iterator[bytes]:
    if data[: len(_MAGIC)] != _MAGIC:
        return
    position = _message(data, len(_MAGIC))[1]
    while position < len(data):
        header, start = _message(data, position)
        numbers = {number: value for number, value in fields(header) if isinstance(value, int)}
        position = start + numbers.get(_HEADER_PAYLOAD, 0)
        if position > len(data):
            raise _DamagedError
        if numbers.get(_HEADER_MODULES):
            yield data[start:position]


def _message(data: mmap.mmap | bytes, position: int) -> tuple[bytes, int]:
    """Return the message whose length stands at a position, and where it ends."""
    (length,) = struct.unpack_from("<I", data, position)
    end = position + 4 + length
    if end > len(data):
        raise _DamagedError
    return data[position + 4 : end], end


def _module(payload: bytes) -> Module:
    cubin = b""
    texts: dict[str, str] = {}
    for number, value in fields(_message(payload, 0)[0]):
        if number == _CUBIN and isinstance(value, bytes):
            cubin = value
        elif number == _SOURCES and isinstance(value, bytes):
            texts.update(_texts(value))
    return Module(cubin, texts)


def _texts(message: bytes) -> Iterator[tuple[str, str]]:
    for number, entry in fields(message):
        if number == _SOURCE and isinstance(entry, bytes):
            parts = {key: part for key, part in fields(entry) if isinstance(part, bytes)}
            if parts.get(_TEXT):
                name = parts.get(_NAME, b"").decode("utf-8", "replace")
                yield name, parts[_TEXT].decode("utf-8", "replace")


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field of a protobuf message.

    Raises:
        ValueError: it is none.
    """
    position = 0
    while position < len(message):
        tag, position = varint(message, position)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, position = varint(message, position)
            yield number, value
            continue
        size = _WIDTHS.get(wire)
        if wire == _BYTES:
            size, position = varint(message, position)
        if size is None or position + size > len(message):
            raise _DamagedError
        yield number, message[position : position + size]
        position += size


def varint(message: bytes, position: int) -> tuple[int, int]:
    """Return the LEB128 number at a position, which DWARF has too, and where it ends.

    Raises:
        ValueError: it does not end.
    """
    value = shift = 0
    while position < len(message) and shift < 64:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise _DamagedError
