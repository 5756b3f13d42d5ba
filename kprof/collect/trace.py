"""Reading what the tracer wrote: one file for each process of the program (``tracer.c``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kprof.collect.command import communicates
from kprof.errors import OutputNotWritable, UnreadableReport
from kprof.inputs import sha256
from kprof.model import Collection, Device, Kernel, Launch, Profile, Source
from kprof.names import function

HEADER = "kprof-trace"
FORMAT = "1"
_NO_HEADER = f"{HEADER}\t{FORMAT}\t0\t0\t\n".encode()  # then nothing says that it ended, either
_LOST = (
    "CUPTI lost records, or the program itself traces with it and has missed launches in this run"
)
MOST = 200_000  # launches that are read: some 150 MB of memory


@dataclass(frozen=True, slots=True)
class Trace:
    """Every launch of a program.

    Attributes:
        kernels: in the order of their launches, process by process.
        devices: how many GPUs they ran on.
        trouble: why something is missing, None when nothing is known to be.
        ended: whether every process that used a GPU came to its end in order.
        complete: False when there were more launches than are read.
    """

    kernels: tuple[Kernel, ...] = ()
    devices: int = 0
    trouble: str | None = None
    ended: bool = True
    complete: bool = True


@dataclass(slots=True)
class _Process:
    """One process's file as far as it is read."""

    names: dict[int, tuple[str, str]] = field(default_factory=dict)
    launches: list[tuple[int, ...]] = field(default_factory=list)
    count: int = 0
    trouble: str | None = None
    ended: bool = False


def gather(trace: Path, merged: Path) -> int:
    """Put the files of all processes into one, oldest first, and remove them.

    Args:
        trace: the beginning of their names.
        merged: the file to write; where there are none it is not.

    Returns:
        How many there were.

    Raises:
        OutputNotWritable: the disk is full, say.
    """
    parts = sorted(trace.parent.glob(f"{trace.name}.*"), key=_written_at)
    if parts:
        try:
            with merged.open("wb") as target:
                for part in parts:
                    target.writelines(_whole_lines(part))
                    part.unlink(missing_ok=True)  # a disk need not hold everything twice
        except OSError as error:
            raise OutputNotWritable(
                f"{merged} cannot be written: {error.strerror or error}",
                hint="free space, or choose another place with -o",
            ) from error
    return len(parts)


def _whole_lines(part: Path) -> Iterator[bytes]:
    """Return a process's lines: it was killed in the middle of one, or could not write its first."""
    lines = _lines(part)
    first = next(lines, b"")
    yield first if first.startswith(HEADER.encode() + b"\t") else _NO_HEADER
    yield from lines


def _lines(part: Path) -> Iterator[bytes]:
    try:
        with part.open("rb") as file:
            yield from (line for line in file if line.endswith(b"\n"))
    except OSError:  # another user's: like one without an end
        return


def _written_at(part: Path) -> int:
    try:
        return part.stat().st_mtime_ns
    except OSError:  # it has gone
        return 0


def read(merged: Path, *, with_communication: bool = False) -> Trace:
    """Read a file that :func:`gather` wrote.

    Args:
        merged: the file.
        with_communication: keep the kernels of NCCL and NVSHMEM, too.

    Raises:
        UnreadableReport: it is not such a file.
    """
    processes: list[_Process] = []
    count = 0
    try:
        with merged.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("K\t"):
                    processes[-1].count += 1
                    count += 1
                    if count > MOST:
                        continue
                _take(processes, line.rstrip("\n").split("\t"))
        launches = [(process, launch) for process in processes for launch in _ordered(process)]
        kernels = tuple(_kernels(launches, with_communication=with_communication))
    except (OSError, ValueError, IndexError, OverflowError) as error:
        raise UnreadableReport(f"{merged} is not a trace of launches: {error}") from error
    troubles = [process.trouble for process in processes if process.trouble]
    return Trace(
        kernels=kernels,
        devices=len({kernel.device for kernel in kernels}),
        trouble=troubles[0] if troubles else None,
        ended=all(process.ended for process in processes),
        complete=count <= MOST,
    )


def profile(trace: Trace, path: Path) -> Profile:
    """Return a trace as the profile of a survey."""
    return Profile(
        source=Source(path=str(path), sha256=sha256(path)),
        collection=Collection(depth="survey", cache_control="none"),
        devices=tuple(Device("unknown GPU", None, None) for _ in range(trace.devices)),
        kernels=trace.kernels,
    )


def _take(processes: list[_Process], fields: list[str]) -> None:
    kind, *rest = fields
    if kind == HEADER:
        if rest[0] != FORMAT:
            raise ValueError(f"format {rest[0]}")
        processes.append(_Process())
        return
    process = processes[-1]
    if kind == "K":
        process.launches.append(tuple(map(int, rest)))
    elif kind == "N":
        process.names[int(rest[0])] = (rest[1], rest[2])
    elif kind == "F":
        process.trouble = rest[0]
    elif kind == "E":
        told, dropped, outstanding = map(int, rest)
        process.ended = True
        if dropped or outstanding or told != process.count:
            process.trouble = _LOST


def _ordered(process: _Process) -> list[tuple[int, ...]]:
    """Return the launches in the order of the calls; a graph's kernels share one call."""
    return sorted(process.launches, key=lambda launch: (launch[4], launch[0]))


def _kernels(
    launches: Iterable[tuple[_Process, tuple[int, ...]]], *, with_communication: bool
) -> Iterator[Kernel]:
    shapes: dict[tuple[int, ...], Launch] = {}
    devices: dict[int, int] = {}
    functions: dict[str, str] = {}
    index = 0
    for process, (start, end, device, stream, _, number, *shape) in launches:
        mangled, demangled = process.names.get(number, ("", ""))
        if mangled not in functions:
            functions[mangled] = function(demangled)
        if not with_communication and communicates(functions[mangled]):
            continue
        key = (stream, *shape)
        if key not in shapes:
            shapes[key] = _launch(*key)
        yield Kernel(
            index=index,
            name=functions[mangled],
            demangled=demangled,
            mangled=mangled,
            device=devices.setdefault(device, len(devices)),
            launch=shapes[key],
            duration_s=(end - start) / 1e9 if 0 < start <= end else None,
        )
        index += 1


def _launch(stream: int, registers: int, static: int, dynamic: int, *shape: int) -> Launch:
    grid_x, grid_y, grid_z, block_x, block_y, block_z = shape
    return Launch(
        grid=(grid_x, grid_y, grid_z),
        block=(block_x, block_y, block_z),
        registers_per_thread=registers,
        shared_static_bytes=static,
        shared_dynamic_bytes=dynamic,
        stream=stream,
    )
