r"""The container of a ``.ncu-rep`` file, checked without NVIDIA's library.

The library loads almost anything without complaint and finds nothing in a file whose end is
missing, so the file is walked first. Layout: ``NVR\0``, a length-prefixed file header, then
blocks of {u32 length, protobuf header, payload}. Of a block header's fields five matter: 1 counts
the modules it announces, 2 and 7 the results, 4 holds names that results of all blocks are written
with, and 5 is the size of the payload after it.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kprof.protobuf import DamagedError, fields

MAGIC = b"NVR\0"

_MODULES, _RESULTS, _STRINGS, _PAYLOAD_SIZE, _RANGE_RESULTS = 1, 2, 4, 5, 7
_FILE_VERSION = 1
_MAX_HEADER = 64 << 20  # real block headers are below 1 MiB (they hold string tables)
_WRITER = re.compile(rb"(20\d\d\.\d{1,2}\.\d{1,2}\.\d{1,2}) \(build \d+\)")


class _BrokenBlockError(Exception):
    """The bytes at this place are not a block."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block.

    Attributes:
        start: where its header begins.
        body: where its payload begins.
        end: offset after it.
        results: how many it announces.
        modules: the same for device code.
        strings: whether it holds names that other blocks refer to.
    """

    start: int
    body: int
    end: int
    results: int
    modules: int
    strings: bool


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
    try:
        version, whole = _file_header(data)
    except _BrokenBlockError:
        return Container(None, 0, 0, 0, 0, 0, len(data))
    results = modules = result_bytes = module_bytes = 0
    for block in blocks(data):
        whole = block.end
        results += block.results
        modules += block.modules
        if block.modules:
            module_bytes += block.end - block.body
        else:
            result_bytes += block.end - block.body
    return Container(
        version=version,
        results=results,
        result_bytes=result_bytes,
        module_bytes=module_bytes,
        modules=modules,
        whole=whole,
        size=len(data),
        doubled=data[whole : whole + len(MAGIC)] == MAGIC,
        writer=_writer(data),
    )


def _writer(data: mmap.mmap) -> str | None:
    found = _WRITER.search(data)
    return found.group(1).decode() if found else None


def _file_header(data: mmap.mmap) -> tuple[int | None, int]:
    header, end = _header(data, len(MAGIC))
    version = dict(header).get(_FILE_VERSION)
    return version if isinstance(version, int) else None, end


def blocks(data: mmap.mmap) -> Iterator[Block]:
    """Yield the whole blocks of a file that starts with :data:`MAGIC`, up to the first damage."""
    try:
        _, position = _file_header(data)
        while position < len(data):
            block = _block(data, position)
            yield block
            position = block.end
    except _BrokenBlockError:
        return


def _block(data: mmap.mmap, start: int) -> Block:
    header, body = _header(data, start)
    numbers = {number: value for number, value in header if isinstance(value, int)}
    end = body + numbers.get(_PAYLOAD_SIZE, 0)
    if end > len(data):
        raise _BrokenBlockError
    return Block(
        start=start,
        body=body,
        end=end,
        results=numbers.get(_RESULTS, 0) + numbers.get(_RANGE_RESULTS, 0),
        modules=numbers.get(_MODULES, 0),
        strings=any(number == _STRINGS and value for number, value in header),
    )


def _header(data: mmap.mmap, position: int) -> tuple[list[tuple[int, int | bytes]], int]:
    """Return the fields of the header at a position, and where it ends."""
    start = position + 4
    if start > len(data):
        raise _BrokenBlockError
    (length,) = struct.unpack_from("<I", data, position)
    end = start + length
    if length > _MAX_HEADER or end > len(data):
        raise _BrokenBlockError
    try:
        return list(fields(data[start:end])), end
    except DamagedError as error:
        raise _BrokenBlockError from error
