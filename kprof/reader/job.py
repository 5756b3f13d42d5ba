"""What the reading process is asked and what it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from kprof.model.profile import Device, Kernel
from kprof.reader.disassembly import Listing

# The worker's exit status where it could not write an outcome.
NO_MEMORY, NO_LIBRARY, NO_SPACE = 71, 72, 73


@dataclass(frozen=True, slots=True)
class Job:
    """What to read.

    Attributes:
        report: absolute path of a plain report.
        output: where to write the :class:`Outcome` as a pickle.
        parent: the process that asks; the worker ends with it.
        extra: metrics to read besides those kprof wants.
        slice_kernels: kernels per process.
        processes: how many at a time.
        disassemble_bytes: device code to disassemble at most, over all functions.
        module_bytes: device code of one module.
        instructions: whether to read counters per instruction.
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
        listings: their instructions, not described yet.
        counters: True when anything besides the duration was measured.
        cut_off: actions without name and metrics, which a truncated file may end with.
    """

    kernels: tuple[Kernel, ...]
    devices: Mapping[tuple[object, ...], Device]
    listings: tuple[Listing, ...] = ()
    counters: bool = False
    cut_off: int = 0


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
