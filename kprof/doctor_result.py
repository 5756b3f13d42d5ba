"""What the doctor shows, ready for any output: an audit, cleaned of what could do harm.

Messages and commands quote a snapshot that anybody may have written. Here, once for every output,
control characters are replaced, lines are cut to a length that people read, and facts are reduced
to what JSON can hold.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kprof.audit import Audit, Facts, audit
from kprof.audit.judge import Judged
from kprof.audit.verdict import PURPOSES, Purpose, Remedy, Status, Verdict, Who
from kprof.names import one_line, printable

MESSAGE = 1_000  # characters of a message or a line of evidence
EVIDENCE = 40  # lines
DEPTH = 12  # of nested facts; a snapshot of kprof's own has 4

# Problems first, and what needs no attention last.
ORDER: tuple[Status, ...] = ("error", "warning", "unknown", "ok", "skipped")


@dataclass(frozen=True, slots=True)
class Fix:
    """What to change.

    Attributes:
        text: one or two sentences.
        commands: exact commands for this machine, in order.
        who: who can run them: ``you``, ``root`` on this machine, ``host`` (the admin of the host,
            from inside a container), ``windows`` (on the Windows side of WSL) or ``provider`` (of
            a rented machine).
        alternatives: other ways to the same end, each with its own commands; one of them is enough.
    """

    text: str
    commands: tuple[str, ...]
    who: Who
    alternatives: tuple[Fix, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check found.

    Attributes:
        check: its id, ``driver.too_old_for_torch``.
        status: ``ok``, ``warning``, ``error``, ``unknown`` (a fact is missing) or ``skipped`` (it
            does not apply here).
        message: the cause in one line, with the values that prove it.
        evidence: the facts and log lines it was judged by.
        remedy: what to change, null where nothing has to be.
        source: where the rule is written down, null where it speaks for itself.
        title: what the check is about, in a few words.
        follows: whether the primary cause explains it.
        hurts: the purposes for which its error counts.
    """

    check: str
    status: Status
    message: str
    evidence: tuple[str, ...]
    remedy: Fix | None
    source: str | None
    title: str = ""
    follows: bool = False
    hurts: tuple[Purpose, ...] = ()

    @property
    def root(self) -> bool:
        """Whether it is an error with a cause of its own."""
        return self.status == "error" and not self.follows


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """An audited environment.

    Attributes:
        facts: the snapshot's facts, as the probes saw them.
        primary: the check whose error explains the others, null without an error.
        checks: every check, in the order of causes.
        purpose: what errors were counted for, null for everything.
        faults: what could not be read in the snapshot.
        taken: when the machine was looked at, in UTC, ``2026-11-29T22:00:00Z``; null when the
            snapshot does not say.
    """

    facts: Mapping[str, Any]
    primary: str | None
    checks: tuple[CheckResult, ...]
    purpose: Purpose | None = None
    faults: tuple[str, ...] = ()
    taken: str | None = None

    @property
    def judged(self) -> bool:
        """Whether any check could judge; one that does not count for the purpose has, too."""
        return any(
            item.status not in ("unknown", "skipped") or item.remedy is not None
            for item in self.checks
        )

    @property
    def cause(self) -> CheckResult | None:
        """The primary cause."""
        return next((item for item in self.checks if item.check == self.primary), None)

    @property
    def roots(self) -> tuple[CheckResult, ...]:
        """The errors that follow from no other: the primary cause, then others of their own."""
        return tuple(item for item in self.of("error") if item.root)

    def of(self, status: Status) -> tuple[CheckResult, ...]:
        """Return the results of a status: the primary cause first, what follows from it last."""
        found = [item for item in self.checks if item.status == status]
        return tuple(sorted(found, key=lambda item: (item.check != self.primary, item.follows)))

    def tally(self) -> Counter[Status]:
        """Count the checks by status."""
        return Counter(item.status for item in self.checks)


def result(audit: Audit, shareable: Mapping[str, Any] | None = None) -> DoctorReport:
    """Return what an audit found, safe to show.

    Args:
        audit: what was found.
        shareable: the facts without what tells who and where, None for the audit's own.
    """
    explained = _explained(audit)
    return DoctorReport(
        facts=plain(audit.facts.raw() if shareable is None else shareable),
        primary=audit.primary,
        checks=tuple(_result(one, explained) for one in audit.results),
        purpose=audit.purpose,
        faults=tuple(_line(fault) for fault in audit.facts.faults),
        taken=audit.facts.taken,
    )


def document(
    found: Audit, shareable: Mapping[str, Any], conceal: Callable[[str], str] | None
) -> DoctorReport:
    """Return what an audit found as others may read it: nothing tells who and where.

    The checks judge the shareable facts once more, so that no word of what was left out can be in
    a message, a command or a letter. Where that changes a verdict, the first one's texts are
    redacted instead.

    Args:
        found: the audit of the facts as they are.
        shareable: the facts without what tells who and where.
        conceal: does the same to a text; None where the facts are shareable as they are.
    """
    if conceal is None:
        return result(found, shareable)
    again = audit(Facts(plain(shareable), taken=found.facts.taken), found.purpose)
    pairs = zip(found.results, again.results, strict=True)
    results = tuple(_concealed(one, other, conceal) for one, other in pairs)
    return result(dataclasses.replace(found, results=results), shareable)


def _concealed(one: Judged, other: Judged, conceal: Callable[[str], str]) -> Judged:
    if one.verdict.status == other.verdict.status:
        return other
    told = one.verdict
    verdict = Verdict(
        told.status,
        conceal(told.message),
        tuple(map(conceal, told.evidence)),
        _concealed_fix(told.remedy, conceal) if told.remedy else None,
        told.source,
    )
    return Judged(one.check, verdict)


def _concealed_fix(remedy: Remedy, conceal: Callable[[str], str]) -> Remedy:
    return Remedy(
        conceal(remedy.text),
        tuple(map(conceal, remedy.commands)),
        remedy.who,
        tuple(_concealed_fix(one, conceal) for one in remedy.alternatives),
    )


def _explained(audit: Audit) -> frozenset[str]:
    """Return the checks whose errors follow from the primary cause, over however many steps.

    A step is an error too, as in :func:`kprof.audit.judge.primary`: what was found sound explains
    nothing.
    """
    explains = {one.check.id: one.check.explains for one in audit.errors}
    found: set[str] = set()
    waiting = [audit.primary or ""]
    while waiting:
        for name in explains.get(waiting.pop(), ()):
            if name in explains and name not in found:
                found.add(name)
                waiting.append(name)
    return frozenset(found - {audit.primary})


def plain(value: Any, depth: int = DEPTH) -> Any:
    """Return a fact as JSON can hold it; what is nested too deep or no number becomes None."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping) and depth > 0:
        return {plain(str(key)): plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple) and depth > 0:
        return [plain(item, depth - 1) for item in value]
    return value if isinstance(value, bool | int) else None


def _result(one: Judged, explained: frozenset[str]) -> CheckResult:
    verdict = one.verdict
    return CheckResult(
        check=one.check.id,
        status=verdict.status,
        message=_line(verdict.message),
        evidence=tuple(_line(line) for line in verdict.evidence[:EVIDENCE]),
        remedy=_fix(verdict.remedy) if verdict.remedy else None,
        source=_line(verdict.source) if verdict.source else None,
        title=one.check.title,
        follows=one.check.id in explained,
        hurts=tuple(purpose for purpose in PURPOSES if purpose in one.check.hurts),
    )


def _fix(remedy: Remedy) -> Fix:
    # Never shortened: half a command may do something else.
    return Fix(
        _block(remedy.text),
        tuple(map(_block, remedy.commands)),
        remedy.who,
        tuple(map(_fix, remedy.alternatives)),
    )


def _line(text: str) -> str:
    text = one_line(text[: 2 * MESSAGE])
    return text if len(text) <= MESSAGE else f"{text[: MESSAGE - 1]}…"


def _block(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))
