"""What the reading process is asked and what it answers."""

from __future__ import annotations

import json
import pickle
from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from kprof.model.profile import Device, Kernel
from kprof.reader.disassembly import NOTHING, Described, Listing, finished

# The worker's exit status where it could not write an outcome.
NO_MEMORY, NO_LIBRARY, NO_SPACE = 71, 72, 73


@dataclass(frozen=True, slots=True)
class Job:
    """What to read.

    Attributes:
        report: absolute path of a plain report.
        output: where to write the :class:`Answer` as a pickle.
        parts: where to write the :class:`Bare` before that, as soon as it is known.
        extra: metrics to read besides those kprof wants.
        slice_kernels: kernels per process.
        processes: how many at a time.
        disassemble_bytes: device code to disassemble at most, over all functions.
        module_bytes: device code of one module.
        instructions: whether to read counters per instruction.
        timing: read only what launch each kernel is and how long it took.
        shared: whether the worker itself may load a kernel, which its forks then share.
    """

    report: str
    output: str
    parts: str
    extra: tuple[str, ...] = ()
    slice_kernels: int = 1 << 30
    processes: int = 1
    disassemble_bytes: int = 0
    module_bytes: int = 0
    instructions: bool = True
    timing: bool = False
    shared: bool = True

    def to_json(self) -> bytes:
        """Return the job as the worker reads it from standard input."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Job:
        """Undo :meth:`to_json`."""
        fields = json.loads(data)
        return cls(**{**fields, "extra": tuple(fields["extra"])})


@dataclass(frozen=True, slots=True)
class Part:
    """The kernels of one slice.

    Attributes:
        kernels: their ``device`` is an index into ``devices``.
        devices: by what tells them apart.
        counters: True when anything besides the duration was measured.
        cut_off: actions without name and metrics, which a truncated file may end with.
    """

    kernels: tuple[Kernel, ...]
    devices: Mapping[tuple[object, ...], Device]
    counters: bool = False
    cut_off: int = 0


@dataclass(frozen=True, slots=True)
class Packed:
    """A part whose kernels are pickles, which pass through the worker at no cost.

    Attributes:
        part: everything about it but its kernels.
        kernels: a pickle of its kernels without instructions.
        listed: a pickle of their listings.
        listings: these, for the worker to choose from.
    """

    part: Part
    kernels: bytes
    listed: bytes
    listings: tuple[Listing, ...]

    @classmethod
    def of(cls, part: Part, listings: tuple[Listing, ...]) -> Packed:
        """Pack a part whose kernels have no instructions yet."""
        kernels = pickle.dumps(part.kernels, pickle.HIGHEST_PROTOCOL)
        listed = pickle.dumps(listings, pickle.HIGHEST_PROTOCOL)
        return cls(replace(part, kernels=()), kernels, listed, listings)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the listings once only."""
        return _packed, (self.part, self.kernels, self.listed)


def _packed(part: Part, kernels: bytes, listed: bytes) -> Packed:
    return Packed(part, kernels, listed, pickle.loads(listed))  # noqa: S301 - our own child's


class Unpacked:
    """A part whose kernels have their instructions, but for those that are still described."""

    def __init__(self, packed: Packed, awaited: Container[int]) -> None:
        """Unpack a part.

        Args:
            packed: the part.
            awaited: indices of the kernels that a description is awaited of.
        """
        bare: tuple[Kernel, ...] = pickle.loads(packed.kernels)  # noqa: S301 - our own child's
        self._part, self._awaited = packed.part, awaited
        self._listings = {listing.index: listing for listing in packed.listings}
        self._kernels = [
            kernel if kernel.index in awaited else self._finished(kernel, NOTHING)
            for kernel in bare
        ]

    def part(self, described: Mapping[int, Described]) -> Part:
        """Return the whole part.

        Args:
            described: what is known about the functions of kernels, by the kernels' indices.
        """
        kernels = (
            self._finished(kernel, described.get(kernel.index, NOTHING))
            if kernel.index in self._awaited
            else kernel
            for kernel in self._kernels
        )
        return replace(self._part, kernels=tuple(kernels))

    def _finished(self, kernel: Kernel, described: Described) -> Kernel:
        listing = self._listings.get(kernel.index)
        return kernel if listing is None else finished(kernel, listing, described)


@dataclass(frozen=True, slots=True)
class Lost:
    """A slice that broke the process reading it.

    Attributes:
        start: first kernel.
        stop: after the last kernel.
        status: the process' exit status, negative for a signal.
    """

    start: int
    stop: int
    status: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the worker found.

    Attributes:
        ranges: profiled ranges the library sees; 0 for anything it cannot read.
        actions: kernels the library sees.
        parts: what was read, in launch order.
        lost: what could not be.
        undescribed: functions whose instructions broke the library.
    """

    ranges: int
    actions: int
    parts: tuple[Part, ...] = ()
    lost: tuple[Lost, ...] = ()
    undescribed: int = 0


@dataclass(frozen=True, slots=True)
class Bare:
    """What the worker hands over while instructions are still described.

    Attributes:
        parts: every part.
        awaited: indices of the kernels whose functions are described.
    """

    parts: tuple[Packed, ...]
    awaited: frozenset[int] = frozenset()

    def unpacked(self) -> list[Unpacked]:
        """Return the parts, done as far as they can be."""
        return [Unpacked(part, self.awaited) for part in self.parts]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the worker hands over in the end.

    Attributes:
        found: everything but the parts.
        described: pickles of what is known about the functions of some kernels, by the kernels'
            indices.
    """

    found: Outcome
    described: tuple[bytes, ...]

    def outcome(self, parts: Iterable[Unpacked]) -> Outcome:
        """Return the whole of it."""
        described: dict[int, Described] = {}
        for pickled in self.described:
            described.update(pickle.loads(pickled))  # noqa: S301 - our own child's
        return replace(self.found, parts=tuple(part.part(described) for part in parts))
