"""Reading what the tracer wrote: one file for each process of the program (``tracer.c``)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kprof.collect.command import communicates
from kprof.errors import UnreadableReport
from kprof.model import Collection, Device, Kernel, Launch, Profile, Source
from kprof.names import function

HEADER = "kprof-trace"
FORMAT = "1"
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
    trouble: str | None = None
    ended: bool = False


def gather(trace: Path, merged: Path) -> int:
    """Put the files of all processes into one, oldest first, and remove them.

    Args:
        trace: the beginning of their names.
        merged: the file to write; where there are none it is not.

    Returns:
        How many there were.
    """
    parts = sorted(trace.parent.glob(f"{trace.name}.*"), key=lambda part: part.stat().st_mtime_ns)
    if parts:
        with merged.open("wb") as target:
            for part in parts:
                data = part.read_bytes()
                target.write(data[: data.rfind(b"\n") + 1])  # one that was killed stops anywhere
    for part in parts:
        part.unlink()
    return len(parts)


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
                count += line.startswith("K\t")
                if count <= MOST or not line.startswith("K\t"):
                    _take(processes, line.rstrip("\n").split("\t"))
        launches = [(process, launch) for process in processes for launch in _ordered(process)]
        kernels = tuple(_kernels(launches, with_communication=with_communication))
    except (OSError, ValueError, IndexError) as error:
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
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Profile(
        source=Source(path=str(path), sha256=digest),
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
        _, dropped, outstanding = map(int, rest)
        process.ended = True
        if dropped or outstanding:
            process.trouble = "CUPTI lost records, or the program itself traces with it"


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
