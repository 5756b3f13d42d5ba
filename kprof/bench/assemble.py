"""From what the processes told to the document: medians, roofs, comparisons."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from kprof.bench import compare, roofs
from kprof.bench.engine import Found, Request
from kprof.bench.result import (
    Bench,
    BenchDevice,
    Check,
    Comparison,
    Conditions,
    ShapeResult,
    Status,
    Timing,
    UnitChecks,
    UnitResult,
    Why,
)
from kprof.bench.units import COPY, TWIN
from kprof.names import one_line

Diagnoses = Mapping[tuple[str, str], Why]


def bench(
    target: str, request: Request, found: Found, diagnoses: Diagnoses, notes: Sequence[str] = ()
) -> Bench:
    """Return the document.

    Args:
        target: the bench file, as the user named it.
        request: what was asked for.
        found: what came of it.
        diagnoses: by unit and shape.
        notes: further ones.
    """
    baseline = next(iter(found.units), None)
    return Bench(
        target=target,
        python=found.suite["python"],
        torch=found.suite["torch"],
        device=_device(found),
        conditions=Conditions(
            request.warmup,
            request.runs,
            "cold" if request.cold else "warm",
            request.seed,
            request.tolerance,
            baseline,
        ),
        checks=tuple(_checks(found, label) for label in found.units),
        shapes=tuple(_shape(request, found, shape, diagnoses) for shape in found.shapes),
        notes=(*notes, *_notes(found)),
        interrupted=found.signum is not None,
    )


def _checks(found: Found, label: str) -> UnitChecks:
    checks = [_check(shape, event) for shape, event in found.checks.get(label, {}).items()]
    if label in found.blamed:
        status, event = found.blamed[label]
        shape = event.get("shape", "")
        checks = [check for check in checks if check.shape != shape]
        checks.append(_check(shape, {"status": status, "message": event["message"]}))
    return UnitChecks(label, tuple(checks))


def _check(shape: str, event: Mapping[str, Any]) -> Check:
    message = event.get("message")
    return Check(
        shape=shape,
        status=event["status"],
        message=None if message is None else one_line(message),
        tolerance=event.get("tolerance"),
        max_abs_error=event.get("max_abs_error"),
        max_rel_error=event.get("max_rel_error"),
    )


def _shape(request: Request, found: Found, shape: str, diagnoses: Diagnoses) -> ShapeResult:
    timings = {label: event["rounds"] for label, event in found.timings.get(shape, {}).items()}
    against = next(iter(found.right(shape)), None)
    cost = found.costs.get(shape, {})
    floor = None
    if TWIN in timings and against in timings:
        floor = compare.noise(timings[TWIN], timings[against])
    copy = timings.get(COPY)
    context = _Context(found, request.timed, shape, cost, timings, against, floor)
    return ShapeResult(
        shape=shape,
        units=tuple(_unit(context, label, diagnoses) for label in found.units),
        bytes=cost.get("bytes"),
        flops=cost.get("flops"),
        precision=cost.get("precision"),
        copy_s=statistics.median(_flat(copy)) if copy else None,
        noise=floor,
        problem=None if shape not in found.untimed else one_line(found.untimed[shape]),
    )


@dataclass(frozen=True, slots=True)
class _Context:
    """What the rows of one shape share."""

    found: Found
    timed: bool
    shape: str
    cost: Mapping[str, Any]
    timings: Mapping[str, compare.Rounds]
    against: str | None
    floor: float | None


def _unit(context: _Context, label: str, diagnoses: Diagnoses) -> UnitResult:
    unit = context.found.units[label]
    status, message = _status(context, label)
    return UnitResult(
        unit=label,
        variant=unit["variant"],
        parameters=unit["parameters"],
        status=status,
        message=None if message is None else one_line(message),
        timing=_timing(context, label) if status == "ok" else None,
        why=diagnoses.get((label, context.shape)) if status == "ok" else None,
    )


def _status(context: _Context, label: str) -> tuple[Status, str | None]:
    found, shape = context.found, context.shape
    if label in found.blamed:
        status, event = found.blamed[label]
        where = f" (at {event['shape']})" if event.get("shape", shape) != shape else ""
        return status, f"{event['message']}{where}"  # type: ignore[return-value]
    checks = found.checks.get(label, {})
    here = checks.get(shape)
    if here is not None and here["status"] != "ok":
        return here["status"], here.get("message")
    wrong = next((at for at, check in checks.items() if check["status"] == "wrong"), None)
    if wrong is not None:
        return "wrong", f"at {wrong}: {checks[wrong]['message']}"
    return ("skipped", "not run: interrupted") if here is None else _right(context)


def _right(context: _Context) -> tuple[Status, str | None]:
    """Return ``ok``, unless what is right should have a timing and has none."""
    found, shape = context.found, context.shape
    if shape in found.untimed:
        return "skipped", "the shape could not be timed"
    if context.timed and shape not in found.timings:
        return "skipped", "not timed: interrupted"
    return "ok", None


def _timing(context: _Context, label: str) -> Timing | None:
    rounds = context.timings.get(label)
    if not rounds:
        return None
    event, values = context.found.timings[context.shape][label], _flat(rounds)
    middle = compare.quantile(values, 0.5)
    moved, flops = context.cost.get("bytes"), context.cost.get("flops")
    ceilings = roofs.ceilings(_device(context.found))
    roof = roofs.binding(ceilings, moved, flops, context.cost.get("precision"))
    return Timing(
        method=event["method"],
        cold=event["cold"],
        runs=len(values),
        min_s=min(values),
        p50_s=middle,
        p95_s=compare.quantile(values, 0.95),
        spread=(compare.quantile(values, 0.75) - compare.quantile(values, 0.25)) / (2 * middle),
        bytes_per_s=moved / middle if moved else None,
        flops_per_s=flops / middle if flops else None,
        roof=roof[0] if roof else None,
        roof_pct=100 * roof[1] / middle if roof else None,
        copy_pct=_of_copy(context, rounds),
        comparison=_compared(context, label, rounds),
    )


def _of_copy(context: _Context, rounds: compare.Rounds) -> float | None:
    copy = context.timings.get(COPY)
    found = compare.ratios(rounds, copy) if copy else []
    return 100 * statistics.median(found) if found else None


def _compared(context: _Context, label: str, rounds: compare.Rounds) -> Comparison | None:
    against = context.against
    if against is None or label == against or against not in context.timings:
        return None
    return compare.comparison(rounds, context.timings[against], against, context.floor)


def _device(found: Found) -> BenchDevice:
    known = {field.name for field in fields(BenchDevice)}
    return BenchDevice(**{k: v for k, v in found.suite["device"].items() if k in known})


def _flat(rounds: compare.Rounds) -> list[float]:
    return [value for values in rounds for value in values]


def _notes(found: Found) -> list[str]:
    said = [f"{shape} could not be timed: {one_line(why)}" for shape, why in found.untimed.items()]
    if found.signum is not None:
        said.insert(0, "Interrupted: what was not run by then is skipped.")
    if not found.suite["has_cost"]:
        said.append("The bench file has no cost: no rates and no roof.")
    problems = {each.problem for each in found.libraries if each.problem}
    return [*said, *sorted(problems)]
