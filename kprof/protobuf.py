"""Protobuf's wire format, as much of it as the blocks of a report need.

The encoding is from protobuf.dev/programming-guides/encoding. Google's library would want the
message definitions, which NVIDIA publishes for the payloads alone, and is slower at skipping.
"""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIDTHS = {_FIXED64: 8, _FIXED32: 4}


class DamagedError(ValueError):
    """The bytes at this place are not what they should be."""


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field of a message.

    Raises:
        DamagedError: it is none.
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
            raise DamagedError
        yield number, message[position : position + size]
        position += size


def numbers(message: bytes) -> dict[int, int]:
    """Return the fields of a message that are numbers.

    Raises:
        DamagedError: it is no message.
    """
    return {number: value for number, value in fields(message) if isinstance(value, int)}


def varint(message: bytes, position: int) -> tuple[int, int]:
    """Return the LEB128 number at a position, which DWARF has too, and where it ends.

    Raises:
        DamagedError: it does not end.
    """
    value = shift = 0
    while position < len(message) and shift < 64:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise DamagedError
