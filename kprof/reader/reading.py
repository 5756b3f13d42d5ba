"""Check a file, have a fresh process read it, and make one profile of the answers."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import pickle
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

from kprof.errors import UnreadableReport
from kprof.inputs import sha256
from kprof.model.profile import Profile, Source
from kprof.process import Completed
from kprof.reader import assemble, unpack
from kprof.reader.container import Container, walk
from kprof.reader.disassembly import budget_for
from kprof.reader.job import NO_LIBRARY, NO_SPACE, Answer, Bare, Job, Outcome, Unpacked
from kprof.reader.standby import Standby, worker
from kprof.reader.unpack import shown

# What one kernel costs the library, by size of its results in the file (measured).
_KERNEL_BYTES, _KERNEL_FACTOR = 700_000, 11
_SLICE_BYTES = 70 << 20
_PROCESSES = 2
# How a process ends that the system or kprof itself has killed, not the library.
_KILLED = -9
# How often to look whether the worker has read everything.
_LOOK_S = 0.01
_CORRUPT = "the file is probably damaged; copy it again or record it again"


def load(
    path: Path | str,
    *,
    timeout_s: float = 600,
    extra_metrics: Iterable[str] = (),
    instructions: bool = True,
    timing: bool = False,
    standby: Standby | None = None,
) -> Profile:
    """Read a report.

    Args:
        path: a report, plain or compressed with xz or gzip.
        timeout_s: seconds the reading process may take.
        extra_metrics: names to read besides those kprof's own quantities need.
        instructions: whether to read counters per instruction, and code.
        timing: read only what launch each kernel is and how long it took, as of a survey.
        standby: has a worker ready, None to start one.

    Raises:
        UnreadableReport: it is missing, is something else, or nothing in it can be read.
    """
    path = Path(path)
    try:
        return _load(path, timeout_s, tuple(extra_metrics), instructions, timing, standby=standby)
    except OSError as error:  # no temporary folder, no file descriptors, a full disk, ...
        raise unpack.unreadable(path, error) from error


def _load(
    path: Path,
    timeout_s: float,
    extra_metrics: tuple[str, ...],
    instructions: bool,
    timing: bool,
    *,
    standby: Standby | None,
) -> Profile:
    start = unpack.head(path)
    with (
        tempfile.TemporaryDirectory(prefix="kprof-") as folder,
        ThreadPoolExecutor(max_workers=1) as pool,
    ):
        digest = pool.submit(sha256, path)
        plain, container, notes = _prepared(path, start, Path(folder))
        job = _job(plain, container, Path(folder), extra_metrics)
        if timing or not instructions:
            job = replace(job, instructions=False, timing=timing, disassemble_bytes=0)
        outcome = _read(path, job, timeout_s, standby)
        missing = _missing(container, outcome)
        source = Source(
            path=shown(path),
            sha256=digest.result(),
            ncu_version=container.writer,
            truncated=bool(missing) or not (container.complete or container.doubled),
        )
    notes += missing
    return assemble.assemble(source, outcome, notes)


def _prepared(path: Path, start: bytes, folder: Path) -> tuple[Path, Container, list[str]]:
    """Return a plain, whole file that holds the report, and what had to be done for that."""
    plain = path.absolute()
    if unpack.is_packed(start):
        plain = folder / "unpacked.ncu-rep"
        start = unpack.unpack(path, start, plain)
    unpack.identify(path, start)
    try:
        container = walk(plain)
    except (OSError, ValueError) as error:  # ValueError: emptied since it was looked at
        raise unpack.unreadable(path, error) from None
    if container.complete:
        return _plain_name(plain, folder), container, []
    if not container.results:
        raise UnreadableReport(
            f"{shown(path)}: is cut off or damaged before its first kernel ends", hint=_CORRUPT
        )
    rescued = folder / "rescued.ncu-rep"
    try:
        _copy_start(plain, rescued, container.whole)
    except OSError as error:
        raise unpack.unreadable(path, error) from None
    return rescued, container, [_truncation(container)]


def _plain_name(plain: Path, folder: Path) -> Path:
    """Return a name of the file that the library takes.

    It refuses names that are not UTF-8, and takes ``.ncu-repz`` for compressed.
    """
    try:
        str(plain).encode()
    except UnicodeEncodeError:
        pass
    else:
        if plain.suffix != ".ncu-repz":
            return plain
    link = folder / "report.ncu-rep"
    link.symlink_to(plain)
    return link


def _truncation(container: Container) -> str:
    rest = container.size - container.whole
    if container.doubled:
        return (
            f"A second report follows the first in the same file and was left out ({rest} bytes)."
        )
    return (
        f"The file is cut off or damaged after its first {container.whole} bytes; "
        f"only the kernels before that ({container.results}) were read."
    )


def _copy_start(source: Path, target: Path, size: int) -> None:
    with source.open("rb") as whole, target.open("wb") as part:
        while size > 0 and (block := whole.read(min(size, 1 << 20))):
            part.write(block)
            size -= len(block)


def _job(plain: Path, container: Container, folder: Path, extra: tuple[str, ...]) -> Job:
    kernels = max(container.results, 1)
    per_kernel = _KERNEL_BYTES + _KERNEL_FACTOR * container.result_bytes // kernels
    module_bytes = container.module_bytes // max(container.modules, 1)
    return Job(
        report=str(plain),
        output=str(folder / "outcome"),
        parts=str(folder / "parts"),
        extra=extra,
        slice_kernels=max(1, _SLICE_BYTES // per_kernel),
        processes=min(_PROCESSES, os.cpu_count() or 1),
        disassemble_bytes=budget_for(kernels, module_bytes),
        module_bytes=module_bytes,
    )


def _read(path: Path, job: Job, timeout_s: float, standby: Standby | None) -> Outcome:
    completed, parts = _both(job, timeout_s, standby)
    if completed.returncode < 0 and completed.returncode != _KILLED:
        # Perhaps by its first kernel.
        Path(job.parts).unlink(missing_ok=True)
        completed, parts = _both(replace(job, shared=False), timeout_s)
    _check(path, completed, timeout_s)
    outcome = _outcome(Path(job.output), parts)
    if not outcome.ranges or not outcome.actions:
        raise UnreadableReport(f"{shown(path)}: holds no kernels that can be read", hint=_CORRUPT)
    if not any(part.kernels for part in outcome.parts):
        cause = assemble.death(outcome.lost[0].status) if outcome.lost else "no kernel is complete"
        raise UnreadableReport(f"{shown(path)}: cannot be read: {cause}", hint=_CORRUPT)
    return outcome


def _both(
    job: Job, timeout_s: float, standby: Standby | None = None
) -> tuple[Completed, list[Unpacked]]:
    """Have a worker do the job, and unpack what it has read while it still describes."""
    ended = Event()
    with ThreadPoolExecutor(max_workers=1) as pool:
        parts = pool.submit(_unpacked, Path(job.parts), ended)
        try:
            completed = _worked(job, timeout_s, standby)
        finally:
            ended.set()
        return completed, parts.result()


def _unpacked(file: Path, ended: Event) -> list[Unpacked]:
    """Return the parts once the worker has written them, none when it ends without."""
    while not file.exists() and not ended.wait(_LOOK_S):
        pass
    if not file.exists():
        return []
    with _no_collection():
        bare: Bare = pickle.loads(file.read_bytes())  # noqa: S301 - our own child's
        return bare.unpacked()


def _worked(job: Job, timeout_s: float, standby: Standby | None) -> Completed:
    """Have a worker do the job."""
    waiting = standby.take() if standby is not None else None
    started = waiting or worker(Path(job.output).parent)
    return started.run(job.to_json(), timeout_s=timeout_s)


def _outcome(file: Path, parts: Iterable[Unpacked]) -> Outcome:
    with _no_collection():
        answer: Answer = pickle.loads(file.read_bytes())  # noqa: S301 - our own child's
        return answer.outcome(parts)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Look for no cycles: a reading has a hundred thousand objects and none."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _check(path: Path, completed: Completed, timeout_s: float) -> None:
    if completed.timed_out:
        raise UnreadableReport(
            f"{shown(path)}: not read within {timeout_s:g} s",
            hint="the file may be damaged or very large",
        )
    if completed.returncode == NO_SPACE:
        raise unpack.unreadable(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    if completed.returncode == NO_LIBRARY:
        raise UnreadableReport(
            f"{shown(path)}: NVIDIA's ncu_report module cannot be imported",
            hint="install it with: pip install ncu-report",
        )
    if completed.returncode:
        cause = assemble.death(completed.returncode)
        last = completed.stderr.decode(errors="replace").strip().splitlines()[-1:]
        if completed.returncode > 0 and last:  # a Python error, not the library's noise
            cause += f": {last[0]}"
        raise UnreadableReport(f"{shown(path)}: cannot be read: {cause}", hint=_CORRUPT)


def _missing(container: Container, outcome: Outcome) -> list[str]:
    if outcome.actions >= container.results:
        return []
    return [f"The library found {outcome.actions} of the {container.results} kernels in the file."]
