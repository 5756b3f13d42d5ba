"""Why a variant takes the time it takes: one call of each under ncu, and kprof's diagnosis of it."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kprof.bench import interrupts
from kprof.bench.engine import Found, Request
from kprof.bench.once import range_name
from kprof.bench.result import Why
from kprof.bench.worker_process import command, last_line, write_orders
from kprof.collect.command import Options, ncu_argv
from kprof.collect.plan import plan_for
from kprof.collect.run import Collected, collect
from kprof.diagnosis import diagnose
from kprof.errors import KprofError
from kprof.model import KernelReport, Report
from kprof.reader import load
from kprof.rule import registry
from kprof.units import si

# NVIDIA's two Speed Of Light numbers are no part of kprof's own plan; a bench shows them.
_SPEED_OF_LIGHT = "SpeedOfLight"
# A library that tries its algorithms may choose another one in the profiled process. One kernel takes
# as long under ncu as it was timed, but for its start and end: on an H200 within 1.12 times from 10 us
# on, and 1.31 where cuDNN had chosen otherwise. kprof's own, from those runs.
_LONG_S, _OTHERWISE = 1e-5, 1.2


@dataclass(frozen=True, slots=True)
class Profiler:
    """What to profile with.

    Attributes:
        ncu: the program.
        version: its version.
        capability: of the GPU, None when not known.
        timeout_s: for all of it, None for no limit.
    """

    ncu: str
    version: str | None
    capability: str | None
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Explained:
    """What profiling gave.

    Attributes:
        told: what limits each unit, by unit and shape.
        notes: what is missing, and why.
        signum: the signal that ended it early, None without one.
    """

    told: Mapping[tuple[str, str], Why] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    signum: int | None = None


def explain(profiler: Profiler, request: Request, found: Found) -> Explained:
    """Profile every unit that was timed and return what limits it.

    A failure costs the timings nothing: it is a note.
    """
    ordered = [(shape, found.right(shape)) for shape in found.shapes if found.right(shape)]
    if not ordered:
        return Explained()
    signum = None
    try:
        with tempfile.TemporaryDirectory(prefix="kprof-bench-") as name:
            folder = Path(name)
            collected = _collected(profiler, request, found, ordered, folder)
            signum = collected.signum
            report = _read(collected, folder)
    except KprofError as error:
        return Explained(notes=(f"No diagnosis: {error.message}",), signum=signum)
    except interrupts.INTERRUPTS as error:  # while the report is read: the timings are there
        return Explained(notes=("No diagnosis: interrupted",), signum=interrupts.signum(error))
    notes = tuple(_endings(collected))
    pairs = [(unit, shape) for shape, units in ordered for unit in units]
    told = dict(_told(report, pairs))
    missing = [f"{unit} at {shape}" for unit, shape in pairs if (unit, shape) not in told]
    if missing:
        notes += (f"No kernel was measured for {', '.join(missing)}.",)
    notes += tuple(_otherwise(told, found)) if request.cold else ()
    return Explained(told, notes, signum)


def _collected(
    profiler: Profiler,
    request: Request,
    found: Found,
    ordered: Sequence[tuple[str, Sequence[str]]],
    folder: Path,
) -> Collected:
    _give_orders(folder, request, found, ordered)
    report, log = folder / "report.ncu-rep", folder / "ncu.log"
    target = command(request.python, folder)
    return collect(
        ncu_argv(profiler.ncu, _options(profiler), target, report=report, log=log),
        report=report,
        log=log,
        timeout_s=profiler.timeout_s,
        output=folder / "output.txt",
    )


def _read(collected: Collected, folder: Path) -> Report:
    if collected.report is None:
        raise KprofError(_why_nothing(collected, folder))
    rules = registry()
    needed = [name for rule in rules for quantity in rule.requires for name in quantity.names]
    return diagnose(load(collected.report, extra_metrics=needed), rules=rules)


def _give_orders(
    folder: Path, request: Request, found: Found, ordered: Sequence[tuple[str, Sequence[str]]]
) -> None:
    (folder / "job.json").write_text(json.dumps(request.job()), encoding="utf-8")
    built = [{"place": each.place, "problem": each.problem} for each in found.libraries]
    write_orders(folder, 0, "prepare", libraries=built)
    write_orders(folder, 1, "once", timings=ordered, seed=request.seed)
    write_orders(folder, 2, "quit")


def _options(profiler: Profiler) -> Options:
    plan = plan_for("standard", None, profiler.capability, profiler.version)
    sections = tuple(dict.fromkeys([*plan.sections, _SPEED_OF_LIGHT]))
    wanted = Options(depth="standard", from_start=False)
    return replace(wanted, metrics=plan.metrics, sections=sections)


def _why_nothing(collected: Collected, folder: Path) -> str:
    if collected.timed_out:
        return "ncu took too long"
    said = last_line(folder / "ncu.log") or last_line(folder / "output.txt")
    return f"ncu measured nothing: {said}" if said else "ncu measured nothing"


def _endings(collected: Collected) -> Iterator[str]:
    if collected.signum is not None:
        yield "Profiling was interrupted; what followed was not measured."
    elif collected.timed_out:
        yield "The time for profiling was up before all variants were measured."
    elif collected.hung is not None:
        yield f"ncu got no further with {collected.hung}; what followed was not measured."
    elif collected.target_exit:
        yield f"The profiled run ended with status {collected.target_exit}."


def _told(
    report: Report, pairs: Sequence[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], Why]]:
    ranges: Mapping[str, tuple[str, str]] = {range_name(*pair): pair for pair in pairs}
    kernels: dict[tuple[str, str], list[KernelReport]] = {}
    for kernel in report.kernels:
        for name in kernel.nvtx:
            if name in ranges:
                kernels.setdefault(ranges[name], []).append(kernel)
    yield from ((pair, why(found)) for pair, found in kernels.items())


def _otherwise(told: Mapping[tuple[str, str], Why], found: Found) -> Iterator[str]:
    """Say which diagnoses may be of another kernel than the one that was timed."""
    for (unit, shape), said in told.items():
        event = found.timings.get(shape, {}).get(unit)
        if event is None or said.duration_s is None or len(said.kernels) > 1:
            continue
        timed_s = statistics.median(value for values in event["rounds"] for value in values)
        ratio = said.duration_s / timed_s if timed_s >= _LONG_S else 1.0
        if max(ratio, 1.0 / ratio) > _OTHERWISE:
            took = f"{si(said.duration_s, 's')} under ncu, {si(timed_s, 's')} when it was timed"
            yield f"{unit} at {shape} took {took}: it may have run another kernel."


def why(kernels: Sequence[KernelReport]) -> Why:
    """Return what limits the longest of the kernels that a call ran."""
    longest = max(kernels, key=lambda kernel: kernel.duration_s or 0.0)
    first = next(iter(longest.findings), None)
    shared = longest.shared_memory
    return Why(
        kernels=tuple(dict.fromkeys(kernel.demangled or kernel.name for kernel in kernels)),
        kernel=longest.demangled or longest.name,
        duration_s=longest.duration_s,
        memory_pct=longest.throughput.memory_pct,
        compute_pct=longest.throughput.compute_pct,
        occupancy_pct=longest.occupancy.achieved_pct,
        wavefront_excess_pct=shared.excess_pct if shared else None,
        intensity=longest.roofline.intensity.dram if longest.roofline else None,
        bound=longest.bound,
        finding=first.rule if first else None,
        headline=first.headline if first else None,
    )
