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

from kprof.protobuf import DamagedError, fields, numbers

_MAGIC = b"NVR\0"
_HEADER_MODULES, _HEADER_PAYLOAD = 1, 5
_CUBIN, _SOURCES, _SOURCE, _NAME, _TEXT = 4, 8, 1, 1, 2


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
        except (DamagedError, struct.error, IndexError):
            return


def _payloads(data: mmap.mmap) -> Iterator[bytes]:
    if data[: len(_MAGIC)] != _MAGIC:
        return
    position = _message(data, len(_MAGIC))[1]
    while position < len(data):
        header, start = _message(data, position)
        found = numbers(header)
        position = start + found.get(_HEADER_PAYLOAD, 0)
        if position > len(data):
            raise DamagedError
        if found.get(_HEADER_MODULES):
            yield data[start:position]


def _message(data: mmap.mmap | bytes, position: int) -> tuple[bytes, int]:
    """Return the message whose length stands at a position, and where it ends."""
    (length,) = struct.unpack_from("<I", data, position)
    end = position + 4 + length
    if end > len(data):
        raise DamagedError
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
