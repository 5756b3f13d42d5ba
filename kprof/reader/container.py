r"""The container of a ``.ncu-rep`` file, checked without NVIDIA's library.

The library loads almost anything without complaint and finds nothing in a file whose end is
missing, so the file is walked first. Layout: ``NVR\0``, a length-prefixed file header, then
blocks of {u32 length, protobuf header, payload}. Of a block header's fields only three matter:
2 and 7 count the results it announces and 5 is the size of the payload after it.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kprof.protobuf import DamagedError, numbers

MAGIC = b"NVR\0"

_MODULES, _RESULTS, _PAYLOAD_SIZE, _RANGE_RESULTS = 1, 2, 5, 7
_FILE_VERSION = 1
_MAX_HEADER = 64 << 20  # real block headers are below 1 MiB (they hold string tables)
_WRITER = re.compile(rb"(20\d\d\.\d{1,2}\.\d{1,2}\.\d{1,2}) \(build \d+\)")


class _BrokenBlockError(Exception):
    """The bytes at this place are not a block."""


@dataclass(frozen=True, slots=True)
class Container:
    """What the walk found.

    Attributes:
        version: file format version, None when the file header is damaged.
        results: results announced by the whole blocks, i.e. how many kernels must be readable.
        result_bytes: payload of the blocks that announce results.
        module_bytes: payload of the blocks that hold device code.
        modules: how many of those there are.
        whole: offset after the last whole block.
        size: bytes of the file.
        doubled: True when a second report follows the first one in the same file.
        writer: version of the Nsight Compute that wrote it, None when not recorded.
    """

    version: int | None
    results: int
    result_bytes: int
    module_bytes: int
    modules: int
    whole: int
    size: int
    doubled: bool = False
    writer: str | None = None

    @property
    def complete(self) -> bool:
        """True when the blocks end exactly where the file does."""
        return self.whole == self.size


def walk(path: Path) -> Container:
    """Walk the blocks of a file that starts with :data:`MAGIC`.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _walk(data)


def _walk(data: mmap.mmap) -> Container:
    totals = dict.fromkeys((_MODULES, _RESULTS, _RANGE_RESULTS), 0)
    payloads = {_MODULES: 0, _RESULTS: 0}
    try:
        version, position = _file_header(data)
    except _BrokenBlockError:
        return Container(None, 0, 0, 0, 0, 0, len(data))
    try:
        for header, end in _blocks(data, position):
            position = end
            for key in totals:
                totals[key] += header.get(key, 0)
            kind = _MODULES if header.get(_MODULES) else _RESULTS
            payloads[kind] += header.get(_PAYLOAD_SIZE, 0)
    except _BrokenBlockError:
        pass
    return Container(
        version=version,
        results=totals[_RESULTS] + totals[_RANGE_RESULTS],
        result_bytes=payloads[_RESULTS],
        module_bytes=payloads[_MODULES],
        modules=totals[_MODULES],
        whole=position,
        size=len(data),
        doubled=data[position : position + len(MAGIC)] == MAGIC,
        writer=_writer(data),
    )


def _writer(data: mmap.mmap) -> str | None:
    found = _WRITER.search(data)
    return found.group(1).decode() if found else None


def _file_header(data: mmap.mmap) -> tuple[int | None, int]:
    fields, end = _header(data, len(MAGIC))
    return fields.get(_FILE_VERSION), end


def _blocks(data: mmap.mmap, position: int) -> Iterator[tuple[dict[int, int], int]]:
    """Yield each whole block's numeric header fields and the offset after its payload."""
    while position < len(data):
        fields, end = _header(data, position)
        end += fields.get(_PAYLOAD_SIZE, 0)
        if end > len(data):
            raise _BrokenBlockError
        yield fields, end
        position = end


def _header(data: mmap.mmap, position: int) -> tuple[dict[int, int], int]:
    start = position + 4
    if start > len(data):
        raise _BrokenBlockError
    (length,) = struct.unpack_from("<I", data, position)
    end = start + length
    if length > _MAX_HEADER or end > len(data):
        raise _BrokenBlockError
    try:
        return numbers(data[start:end]), end
    except DamagedError as error:
        raise _BrokenBlockError from error
