"""All probes side by side, each with its time limit, into one snapshot."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any

from kprof import process
from kprof.audit import moment
from kprof.audit.facts import SCHEMA
from kprof.audit.probes import extensions, libraries, profiler, pytorch, target, toolkits
from kprof.audit.probes.machine import Machine, Probe
from kprof.audit.probes.system import SYSTEM
from kprof.audit.probes.together import Shared, in_thread, until

# Longest time for all probes, and for one of the software. Nothing but a hang takes so long.
BUDGET_S = 12.0
LIMIT_S = 6.0
# How long torch may take to load its libraries, from the start. A whole import takes 3 s and more
# where there is a GPU, and the audit shall take less than half of that.
LOAD_S = 1.2
# A probe whose program was ended may still tell what it learned until then: for so long, and for
# no more than this part of the time for all, which a preflight has little of.
_GRACE_S, _GRACE_PART = 0.25, 0.15


@dataclass(frozen=True, slots=True)
class Task:
    """A probe with its limit.

    Attributes:
        name: of its errors, and for choosing.
        probe: what looks.
        limit_s: seconds from the start of the audit.
        late: facts that stand for an answer that came too late, None to report an error.
    """

    name: str
    probe: Probe
    limit_s: float = LIMIT_S
    late: Mapping[str, Any] | None = None


def tasks(*, import_torch: bool = False) -> tuple[Task, ...]:
    """Return the probes, the slowest last; where two tell the same fact, the later one wins.

    Args:
        import_torch: wait for torch's import to its end.
    """
    probes: tuple[Probe, ...] = (
        toolkits.toolkits,
        toolkits.nvcc,
        toolkits.host_compiler,
        target.python,
        target.packages,
        target.other_pythons,
        libraries.loaded_libraries,
        extensions.extensions,
        extensions.triton,
        profiler.ncu,
        profiler.ncu_report,
        profiler.job,
        pytorch.torch,
    )
    if import_torch:
        importing = Task("torch_import", pytorch.torch_import, pytorch.IMPORT_S, pytorch.NOT_ENDED)
    else:
        importing = Task("torch_load", pytorch.torch_load, LOAD_S, pytorch.NOT_WAITED)
    return (
        *(Task(probe.__name__, probe, limit_s) for probe, limit_s in SYSTEM.items()),
        *(Task(probe.__name__, probe) for probe in probes),
        importing,
    )


def probe(
    machine: Machine,
    only: Collection[str] | None = None,
    budget_s: float | None = None,
    *,
    import_torch: bool = False,
) -> dict[str, Any]:
    """Look at a machine; return a snapshot, whatever happens on the way.

    Args:
        machine: what to look at.
        only: names of the probes to run, None for all.
        budget_s: longest time for all of them; None for :data:`BUDGET_S`, and for as long as an
            import of torch takes with ``import_torch``.
        import_torch: wait for torch's import to its end, for up to a minute.

    Returns:
        A ``kprof.snapshot/1``. A probe that failed or took too long is a text in its ``errors``.
    """
    chosen = tasks(import_torch=import_torch)
    if budget_s is None:
        budget_s = pytorch.IMPORT_S if import_torch else BUDGET_S
    return run([task for task in chosen if only is None or task.name in only], machine, budget_s)


def run(chosen: Sequence[Task], machine: Machine, budget_s: float) -> dict[str, Any]:
    """Run probes side by side and merge what they tell; see :func:`probe`."""
    start = time.monotonic()
    grace_s = min(_GRACE_S, _GRACE_PART * budget_s)
    shared = Shared(machine.runner).run
    running: list[tuple[Task, float, Future[dict[str, Any]]]] = []
    facts: dict[str, Any] = {}
    try:
        for task in reversed(chosen):  # what takes longest starts first
            deadline = start + min(task.limit_s, budget_s)
            seen = dataclasses.replace(machine, runner=until(shared, deadline))
            patience_s = deadline - time.monotonic()
            running.append((task, deadline, in_thread(_call(task.probe, seen), patience_s)))
        for task, deadline, future in reversed(running):
            merge(facts, _outcome(task, future, deadline - start, deadline + grace_s))
    except BaseException:  # Ctrl-C: nothing may stay behind
        process.end_all()
        raise
    return {"schema": SCHEMA, "taken": moment.now(), "facts": facts}


def merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add facts to facts: objects grow, of everything else the later one stays."""
    for key, value in more.items():
        known = into.get(key)
        if isinstance(known, dict) and isinstance(value, Mapping):
            merge(known, value)
        elif isinstance(value, Mapping):
            into[key] = {}
            merge(into[key], value)
        else:
            into[key] = value


def dump(snapshot: Mapping[str, Any]) -> str:
    """Return a snapshot as the text of a file."""
    return json.dumps(snapshot, indent=1, ensure_ascii=False, default=str) + "\n"


def _call(probe: Probe, machine: Machine) -> Any:
    return lambda: probe(machine)


def _outcome(
    task: Task, future: Future[dict[str, Any]], limit_s: float, last: float
) -> Mapping[str, Any]:
    wait([future], timeout=max(0.0, last - time.monotonic()))
    if not future.done():
        if task.late is not None:
            return task.late
        return _error(task, f"no answer within {limit_s:.1f} s")
    error = future.exception()
    if error is not None:
        return _error(task, _told(error))
    found = future.result()
    if not isinstance(found, Mapping):
        return _error(task, f"returned {type(found).__name__}, no facts")
    return found


def _error(task: Task, text: str) -> dict[str, Any]:
    return {"errors": {task.name: text}}


def _told(error: BaseException) -> str:
    text = str(error).strip()[:500]
    if isinstance(error, target.NoAnswer) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
