"""Whether profiling can work here, decided by the doctor's checks before the target starts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from kprof.audit.preflight import after_refusal, found_ncu, preflight
from kprof.audit.probes.machine import Machine, Runner, start_and_wait
from kprof.collect import find
from kprof.doctor_result import CheckResult, DoctorReport, Fix, result
from kprof.doctor_words import WHO, fix_line
from kprof.errors import CountersForbidden, KprofError, NotReady
from kprof.names import one_line

# The checks that know why the counters are closed, the wider reason first.
COUNTERS = ("sandbox.gvisor", "container.no_sys_admin", "ncu.perm")
MORE = "kprof doctor shows more"
_COLLECTIVES = "ncu.multi_rank_hang"


@dataclass(frozen=True, slots=True)
class Ready:
    """What to profile with.

    Attributes:
        ncu: the program.
        capability: the GPU's compute capability, None when not known or GPUs differ.
    """

    ncu: find.Ncu
    capability: str | None = None


def ready(
    explicit: str | None = None,
    *,
    python: str | None = None,
    quiet: bool = False,
    collectives: bool = False,
    runner: Runner = start_and_wait,
) -> Ready:
    """Return the ncu to profile with, and on what.

    Args:
        explicit: the ncu that the user named.
        python: the target's interpreter, None for a program.
        quiet: do not tell warnings.
        collectives: whether kernels that wait for other GPUs are to be replayed one by one.
        runner: starts programs.

    Raises:
        KprofError: profiling cannot work; the message is the cause, the hint the fix.
    """
    named = find.find(explicit) if explicit is not None else None
    audited = preflight(Machine(python=python or sys.executable, runner=runner), named)
    report = result(audited)
    if report.cause is not None:
        raise refusal(report.cause)
    if collectives:
        _refuse_collectives(report)
    if not quiet:
        _warn(report)
    ncu = named or found_ncu(audited) or find.find()
    return Ready(ncu, _capability(audited.facts.texts("libcuda.capabilities") or ()))


def _refuse_collectives(report: DoctorReport) -> None:
    """Stop a run that would wait for ever; without its collectives it is a warning only."""
    for item in report.of("warning"):
        if item.check == _COLLECTIVES:
            raise refusal(item)


def _capability(found: Sequence[str]) -> str | None:
    return found[0] if len(set(found)) == 1 else None


def refusal(cause: CheckResult) -> KprofError:
    """Return a check's error as one of kprof's own: cause, fix, and where there is more."""
    kind = CountersForbidden if cause.check in COUNTERS else NotReady
    hint = _hint(cause.remedy) if cause.remedy else MORE
    return kind(f"{cause.message} ({cause.check})", hint=hint)


def _hint(fix: Fix) -> str:
    if fix.who != "host":
        return f"{fix_line(fix)}; {MORE}"
    commands = " && ".join(one_line(command) for command in fix.commands)
    return f"for {WHO[fix.who]}: {commands or one_line(fix.text)}; kprof doctor has a text to send"


def advised(error: KprofError) -> KprofError:
    """Return an error of ncu's with the fix for this machine, where the doctor has one."""
    if not isinstance(error, CountersForbidden):
        return error
    report = result(after_refusal(Machine(), error.message))
    errors = {item.check: item for item in report.of("error")}
    known = next((errors[name] for name in COUNTERS if name in errors), None)
    if known is None or known.remedy is None:
        return error
    return CountersForbidden(error.message, hint=_hint(known.remedy))


def _warn(report: DoctorReport) -> None:
    for item in report.of("warning"):
        click.echo(f"Warning: {item.message} ({item.check})", err=True)
