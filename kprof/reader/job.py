"""What the reading process is asked and what it answers."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
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
        parent: the process that asks; the worker ends with it.
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
    parent: int
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
    """A part whose kernels are a pickle, which passes through the worker at no cost.

    Attributes:
        part: everything about it but its kernels.
        pickled: its kernels without instructions, and their listings.
        listings: the same listings, for the worker to choose from.
    """

    part: Part
    pickled: bytes
    listings: tuple[Listing, ...] = ()

    @classmethod
    def of(cls, part: Part, listings: tuple[Listing, ...]) -> Packed:
        """Pack a part whose kernels have no instructions yet."""
        pickled = pickle.dumps((part.kernels, listings), pickle.HIGHEST_PROTOCOL)
        return cls(replace(part, kernels=()), pickled, listings)

    def part_with(self, described: Mapping[int, Described]) -> Part:
        """Return the part, its kernels with their instructions.

        Args:
            described: what is known about the functions of some kernels, by the kernels' indices.
        """
        bare, found = pickle.loads(self.pickled)  # noqa: S301 - our own child's
        listings = {listing.index: listing for listing in found}
        kernels = (
            finished(kernel, listings[kernel.index], described.get(kernel.index, NOTHING))
            if kernel.index in listings
            else kernel
            for kernel in bare
        )
        return replace(self.part, kernels=tuple(kernels))


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
class Answer:
    """What the worker hands over.

    Attributes:
        found: everything but the parts.
        parts: these, packed.
        described: pickles of what is known about the functions of some kernels, by the kernels'
            indices.
    """

    found: Outcome
    parts: tuple[Packed, ...]
    described: tuple[bytes, ...]

    def outcome(self) -> Outcome:
        """Return the whole of it."""
        described: dict[int, Described] = {}
        for pickled in self.described:
            described.update(pickle.loads(pickled))  # noqa: S301 - our own child's
        parts = tuple(part.part_with(described) for part in self.parts)
        return replace(self.found, parts=parts)
