"""An excerpt of a report: one kernel with its own device code.

To describe an instruction the library reads all device code in the file, once for every kernel:
90 MB and 50 ms for 75 kernels of torch, where taking apart the one module that matters takes 2 ms
(measured).

A result says in its field 15 of which module it is, and a module in field 1 which one it is; both
hold for all reports that kprof is tested with, of ncu 2021.1 to 2025.3. A report where they do not
has no excerpt.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from kprof.protobuf import DamagedError, fields
from kprof.reader.container import Block, blocks

_MODULE_OF_RESULT, _ID = 15, 1
_BUFFER = 1 << 18
# A tag and a number: the first field of a module.
_ID_BYTES = 16


@dataclass(frozen=True, slots=True)
class _Part:
    """A block of the report, and whose it is; one of nobody is in every excerpt.

    Attributes:
        block: where it is.
        result: which of the results it is, None for no result.
        module: of which module it is, None for no module.
    """

    block: Block
    result: int | None = None
    module: int | None = None


class Excerpts:
    """Writes excerpts of one report."""

    def __init__(self, report: Path) -> None:
        """Find out where everything is.

        Raises:
            OSError: the file cannot be read.
        """
        self._report = report
        with self._mapped() as data:
            parts = list(_parts(data))
        # No block of several results has been seen: which of them is meant is not known.
        self._parts = parts if all(part.block.results <= 1 for part in parts) else []

    def lightest(self) -> int:
        """Return the position of a kernel with little device code, as far as can be told at once.

        A module is written before the first kernel that is of it.
        """
        sizes: dict[int, int] = {}
        users: dict[int, int] = {}
        results = 0
        for part in self._parts:
            results += part.result is not None
            if part.module is not None:
                users.setdefault(part.module, results)
                sizes[part.module] = sizes.get(part.module, 0) + part.block.end - part.block.start
        used = [module for module, user in users.items() if user < results]
        return users[min(used, key=lambda module: sizes[module])] if used else 0

    def write(self, index: int, target: Path) -> int | None:
        """Write an excerpt that holds one kernel.

        Args:
            index: the kernel's position among the results of the file.
            target: what to write.

        Returns:
            Its position among the results of the excerpt, None where no excerpt can be made or
            it would be no smaller.

        Raises:
            OSError: one of the files.
        """
        with self._mapped() as data:
            chosen = self._chosen(index, data)
            if chosen is None:
                return None
        spans = [(0, self._parts[0].block.start)]
        spans += [(part.block.start, part.block.end) for part in chosen]
        _copy(self._report, target, spans)
        return sum(part.result is not None and part.result < index for part in chosen)

    def _mapped(self) -> mmap.mmap:
        with self._report.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def _chosen(self, index: int, data: mmap.mmap) -> list[_Part] | None:
        result = next((part for part in self._parts if part.result == index), None)
        module = None if result is None else _module_of(data, result.block)
        modules = {part.module for part in self._parts} - {None}
        if module not in modules or len(modules) == 1:
            return None
        return [
            part
            for part in self._parts
            if part.module in {None, module}
            and (part.result in {None, index} or part.block.strings)
        ]


def _copy(source: Path, target: Path, spans: Iterable[tuple[int, int]]) -> None:
    """Copy parts of a file by a small buffer: touching as much mapped memory takes three times."""
    buffer = memoryview(bytearray(_BUFFER))
    with source.open("rb", buffering=0) as whole, target.open("wb", buffering=0) as file:
        for start, end in spans:
            whole.seek(start)
            while start < end and (read := whole.readinto(buffer[: end - start])):
                start += _written(file, buffer[:read])


def _written(file: FileIO, data: memoryview) -> int:
    done = 0
    while done < len(data):
        done += file.write(data[done:])
    return done


def _parts(data: mmap.mmap) -> Iterator[_Part]:
    results = 0
    for block in blocks(data):
        yield _Part(
            block,
            result=results if block.results else None,
            module=_number(data[block.body + 4 : block.body + 4 + _ID_BYTES], _ID)
            if block.modules
            else None,
        )
        results += block.results


def _module_of(data: mmap.mmap, result: Block) -> int | None:
    found = _field(data[result.body + 4 : result.end], _MODULE_OF_RESULT)
    return _number(found, _ID) if isinstance(found, bytes) else None


def _number(message: bytes, wanted: int) -> int | None:
    found = _field(message, wanted)
    return found if isinstance(found, int) else None


def _field(message: bytes, wanted: int) -> int | bytes | None:
    """Return the first field of a number, None where damage comes before it."""
    with contextlib.suppress(DamagedError):
        return next((value for number, value in fields(message) if number == wanted), None)
    return None
