"""Running a bench file from its first check to its last timing, whatever its variants do.

One process runs them all, because only variants that are timed in turn in one process can be told
apart by little. One that hangs or dies takes that process with it, and is left out of the next.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from kprof.bench import building, definitions
from kprof.bench.api import DefinitionError, Shape
from kprof.bench.choice import baseline_first, check_shapes, chosen, known_settings
from kprof.bench.interrupts import INTERRUPTS, signum
from kprof.bench.units import COPY, TWIN
from kprof.bench.worker_process import Ended, Event, Worker
from kprof.collect import tree
from kprof.errors import BadBench, BenchFailed

STEP_S = 120.0
_COMPANY = (TWIN, COPY)

_NO_MODULE = re.compile(r"No module named '([^']+)'")


@dataclass(frozen=True, slots=True)
class Request:
    """What to run and how.

    Attributes:
        file: the bench file.
        python: the target's interpreter.
        device: ``cuda`` or ``cpu``.
        shapes: to time, None for the bench file's own.
        variants: names of variants or units, None for all.
        overrides: values to try for a parameter, in place of the bench file's.
        baseline: the variant or unit to compare with, None for the first one.
        warmup: calls before timing.
        runs: timed runs of each unit and shape.
        cold: flush the caches before each run.
        seed: of the inputs.
        tolerance: relative and absolute error that counts as right, None for each type's own.
        step_s: seconds that one step of one variant may take.
        timed: whether to time what is right.
    """

    file: Path
    python: str
    device: Literal["cuda", "cpu"] = "cuda"
    shapes: tuple[str, ...] | None = None
    variants: tuple[str, ...] | None = None
    overrides: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    baseline: str | None = None
    warmup: int = 10
    runs: int = 100
    cold: bool = True
    seed: int = 0
    tolerance: float | None = None
    step_s: float = STEP_S
    timed: bool = True

    def job(self) -> dict[str, Any]:
        """Return what the process needs to know from the start."""
        return {
            "file": str(self.file),
            "device": self.device,
            "seed": self.seed,
            "overrides": {name: list(values) for name, values in self.overrides.items()},
        }


@dataclass(slots=True)
class Found:
    """What the processes told.

    Attributes:
        suite: what the bench file offers.
        units: descriptions of the chosen ones by label, the baseline first.
        shapes: to time.
        check_shapes: to check besides.
        libraries: compiled, or why not.
        checks: outcomes by unit, then shape.
        blamed: units that took their process with them: how, and what is known of why.
        costs: by shape.
        timings: by shape, then unit.
        untimed: shapes that could not be timed, with the reason.
        signum: the signal that ended it early, None without one.
    """

    suite: Event = field(default_factory=dict)
    units: dict[str, Any] = field(default_factory=dict)
    shapes: list[str] = field(default_factory=list)
    check_shapes: list[str] = field(default_factory=list)
    libraries: list[building.Built] = field(default_factory=list)
    checks: dict[str, dict[str, Event]] = field(default_factory=dict)
    blamed: dict[str, tuple[str, Event]] = field(default_factory=dict)
    costs: dict[str, Event] = field(default_factory=dict)
    timings: dict[str, dict[str, Event]] = field(default_factory=dict)
    untimed: dict[str, str] = field(default_factory=dict)
    signum: int | None = None

    def right(self, shape: str) -> list[str]:
        """Return the units to time on a shape: right everywhere, and able to do this one."""
        return [
            label
            for label in self.units
            if label not in self.blamed
            and self.checks.get(label, {}).get(shape, {}).get("status") == "ok"
            and not any(c["status"] == "wrong" for c in self.checks.get(label, {}).values())
        ]


def run(request: Request, tell: Callable[[str], None] = lambda _: None) -> Found:
    """Check and time what was asked for, until all is done or a signal ends it.

    Args:
        request: what.
        tell: called with a line about what happens next.

    Raises:
        BadBench: the bench file cannot be used, or lacks what was asked for.
        BenchFailed: the process ended without a variant being at fault.
        KeyboardInterrupt, SystemExit: a signal, before anything was found.
    """
    found = Found()
    try:
        with tree.adopting_orphans():
            while not _attempt(request, found, tell):
                pass
    except INTERRUPTS as error:
        found.signum = signum(error)
        if not found.checks and not found.blamed:
            raise
    return found


def _attempt(request: Request, found: Found, tell: Callable[[str], None]) -> bool:
    """Do in one process whatever is left to do; False when a unit took the process with it."""
    try:
        with tempfile.TemporaryDirectory(prefix="kprof-bench-") as folder:
            _once(request, found, Path(folder), tell)
    except Ended as end:
        unit = _blame(found, end)
        tell(f"{unit}: {end.message}; going on without it")
        return False
    return True


def _once(request: Request, found: Found, folder: Path, tell: Callable[[str], None]) -> None:
    worker = Worker(request.python, folder, request.job(), request.step_s)
    try:
        _learn(request, found, worker)
        _prepare(found, worker, tell)
        _check(request, found, worker, tell)
        if request.timed:
            _time(request, found, worker, tell)
        worker.close()
    finally:
        worker.kill()


def _learn(request: Request, found: Found, worker: Worker) -> None:
    for event in worker.events():
        if event["event"] == "refused":
            raise _refused(request, str(event["message"]))
        if event["event"] == "suite":
            break
    if found.suite:
        return
    found.suite = event
    units = chosen(event["units"], request.variants)
    known_settings(tuple(units.values()), request.overrides)
    found.units = baseline_first(units, request.baseline)
    found.shapes = _shapes(request, event)
    found.check_shapes = list(event["check_shapes"]) or check_shapes(found.shapes)


def _refused(request: Request, message: str) -> BadBench:
    operator = definitions.operator_of(request.file)
    said = f"{operator or request.file.name} cannot be used: {message}"
    hint = "docs/bench.md shows what a bench file says"
    lacks = _NO_MODULE.search(message)
    if lacks:
        if operator:  # nobody typed the name of its file, and its lines are no help
            said = f"{operator} needs {lacks[1]}, which {request.python} does not have"
        command = f" ({request.python} -m pip install torch)" if lacks[1] == "torch" else ""
        hint = f"install it there{command}, or choose another interpreter with --python"
    elif "sees no GPU" in message:
        hint = "kprof doctor says why; --device cpu checks the results without one"
    return BadBench(said, hint=hint)


def _shapes(request: Request, suite: Event) -> list[str]:
    given = request.shapes or tuple(suite["shapes"])
    if not given:
        raise BadBench(
            f"{request.file.name} names no shapes", hint="give one: --shape 1x64x128x128"
        )
    try:
        return list(dict.fromkeys(str(Shape.parse(text)) for text in given))
    except DefinitionError as error:
        raise BadBench(str(error), hint="sizes joined by x, then options as ,name=value") from error


def _prepare(found: Found, worker: Worker, tell: Callable[[str], None]) -> None:
    if found.suite["libraries"] and not found.libraries:
        capability = found.suite["device"].get("compute_capability")
        if capability is not None:
            tell("compiling CUDA sources")
        found.libraries = building.build_all(found.suite["libraries"], capability)
    built = [{"place": each.place, "problem": each.problem} for each in found.libraries]
    _drain(worker.order("prepare", libraries=built))


def _check(request: Request, found: Found, worker: Worker, tell: Callable[[str], None]) -> None:
    left = []
    for shape in dict.fromkeys([*found.check_shapes, *found.shapes]):
        todo = [u for u in _alive(found) if shape not in found.checks.get(u, {})]
        if todo:
            left.append((shape, todo))
    tell(f"checking {len(_alive(found))} variants on {len(left)} shapes")
    try:
        for event in worker.order("check", checks=left, **_orders(request)):
            _note_check(found, event)
    except INTERRUPTS:
        for event in worker.unread():  # it may be ahead by many results
            _note_check(found, event)
        raise


def _note_check(found: Found, event: Event) -> None:
    if event["event"] == "checked":
        found.checks.setdefault(event["unit"], {})[event["shape"]] = event
    elif event["event"] == "no-reference":
        said = {"status": "failed", "message": f"no reference to compare with: {event['message']}"}
        for label in _alive(found):
            found.checks.setdefault(label, {}).setdefault(event["shape"], said)


def _time(request: Request, found: Found, worker: Worker, tell: Callable[[str], None]) -> None:
    for shape in found.shapes:
        # Each time round without a timing one variant less is right.
        while found.right(shape) and shape not in found.timings and shape not in found.untimed:
            tell(f"timing {shape}")
            _time_shape(request, found, worker, shape)


def _time_shape(request: Request, found: Found, worker: Worker, shape: str) -> None:
    labels = found.right(shape)
    timings: dict[str, Event] = {}
    failed: Event | None = None
    for event in worker.order("time", timings=[(shape, labels)], **_orders(request)):
        if event["event"] == "timed":
            timings[event["unit"]] = event
        elif event["event"] == "cost":
            found.costs[shape] = event
        elif event["event"] == "not-timed":
            failed = event
    if failed is None:
        found.timings[shape] = timings
    else:
        _not_timed(found, labels[0] if failed["unit"] == TWIN else failed["unit"], failed)


def _not_timed(found: Found, unit: str | None, event: Event) -> None:
    """Leave out the unit that failed on a shape; without one, the shape."""
    if unit in found.units:
        found.checks[unit][event["shape"]] = {**event, "status": "failed"}
    else:
        found.untimed[event["shape"]] = event["message"]


def _orders(request: Request) -> dict[str, Any]:
    return {
        "seed": request.seed,
        "tolerance": request.tolerance,
        "warmup": request.warmup,
        "runs": request.runs,
        "cold": request.cold,
    }


def _alive(found: Found) -> list[str]:
    return [label for label in found.units if label not in found.blamed]


def _blame(found: Found, end: Ended) -> str:
    """Leave out the unit that was at work when the process ended, and return it.

    Raises:
        BenchFailed: none was.
    """
    unit = end.during.get("unit")
    if unit == TWIN:
        unit = found.right(end.during["shape"])[0]
    if unit not in found.units:
        during = end.during.get("step", "start")
        raise BenchFailed(
            f"the process that runs the variants failed at {during}: {end.message}",
            hint="run the bench file with its python to see more, or give more --timeout",
        )
    how = "timeout" if end.hung else "failed"
    found.blamed[unit] = (how, {**end.during, "message": end.message})
    return str(unit)


def _drain(events: Iterator[Event]) -> None:
    for _ in events:
        pass
