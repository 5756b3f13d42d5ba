"""Blocks of a report, made by hand."""

from __future__ import annotations

import struct

from kprof.reader.container import MAGIC

VARINT, BYTES, GROUP = 0, 2, 3


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3 | VARINT) + varint(value)
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def block(*fields: tuple[int, int | bytes], payload: bytes = b"") -> bytes:
    header = b"".join(field(*pair) for pair in (*fields, (5, len(payload))))
    return struct.pack("<I", len(header)) + header + payload


# A file header, of the version that all reports have.
START = MAGIC + struct.pack("<I", 2) + field(1, 7)
