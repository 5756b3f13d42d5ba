"""What a check is and what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from kprof.audit.facts import Facts, Unknown

Status = Literal["ok", "warning", "error", "unknown", "skipped"]
Purpose = Literal["profile", "run", "build", "analyze"]
Who = Literal["you", "root", "host", "windows", "provider"]

PURPOSES: tuple[Purpose, ...] = ("profile", "run", "build", "analyze")


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to change.

    Attributes:
        text: one or two sentences.
        commands: exact commands for this machine, in order.
        who: who can run them: ``you`` (this user), ``root`` on this machine, ``host`` (the admin of
            the host, from inside a container), ``windows`` (on the Windows side of WSL) or
            ``provider`` (of a rented machine).
        alternatives: other ways to the same end, each with its own commands; one of them is enough.
    """

    text: str
    commands: tuple[str, ...] = ()
    who: Who = "you"
    alternatives: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check found.

    Attributes:
        status: ``ok``, ``warning``, ``error``, ``unknown`` (a fact is missing, named in the
            message) or ``skipped`` (it does not apply here).
        message: one line: the cause, with the values that prove it.
        evidence: lines of proof: fact names with their values, log lines.
        remedy: what to change, for warnings and errors.
        source: where the rule is written down: a name and an address, with its confidence.
    """

    status: Status
    message: str
    evidence: tuple[str, ...] = ()
    remedy: Remedy | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A pure function over the facts.

    Attributes:
        id: its stable name, ``driver.too_old_for_torch``.
        title: what it is about, in a few words, for lists.
        hurts: the purposes for which its error counts.
        explains: checks whose errors follow from this one's.
        judge: the function.
        vital: the purposes for which already its warning is an error, and what it skips with a
            remedy: without nvcc a machine is sound, but nothing can be built on it.
        live: whether it judges a driver that runs: where none does, its "ok" would be untrue and
            its "unknown" idle, so both are skipped.
    """

    id: str
    title: str
    hurts: frozenset[Purpose]
    explains: tuple[str, ...]
    judge: Callable[[Facts], Verdict] = field(repr=False)
    vital: frozenset[Purpose] = frozenset()
    live: bool = False

    def run(self, facts: Facts) -> Verdict:
        """Judge; a missing fact is ``unknown`` and a broken check says so, never a traceback."""
        try:
            return self.judge(facts)
        except Unknown as missing:
            return Verdict("unknown", f"not known: {missing.fact}")
        except Exception as error:  # noqa: BLE001 - facts come from anywhere; the audit goes on
            return Verdict("unknown", f"the check itself failed: {type(error).__name__}: {error}")


_checks: dict[str, Check] = {}


def check(
    name: str,
    title: str,
    *,
    hurts: tuple[Purpose, ...],
    explains: tuple[str, ...] = (),
    vital: tuple[Purpose, ...] = (),
    live: bool = False,
) -> Callable[[Callable[[Facts], Verdict]], Callable[[Facts], Verdict]]:
    """Register a function as the check ``name``; see :class:`Check`."""

    def register(judge: Callable[[Facts], Verdict]) -> Callable[[Facts], Verdict]:
        if name in _checks:
            raise ValueError(f"two checks are called {name}")
        _checks[name] = Check(
            name, title, frozenset(hurts), explains, judge, frozenset(vital), live
        )
        return judge

    return register


def registered() -> tuple[Check, ...]:
    """Return the checks in the order they were registered; ``kprof.audit.checks`` loads them."""
    return tuple(_checks.values())


def ok(message: str, *evidence: str) -> Verdict:
    """Return a verdict that nothing is wrong, with what was seen."""
    return Verdict("ok", message, evidence)


def skipped(message: str) -> Verdict:
    """Return a verdict that the check does not apply, and why."""
    return Verdict("skipped", message)


def unknown(message: str) -> Verdict:
    """Return a verdict that it cannot be known, and why."""
    return Verdict("unknown", message)
