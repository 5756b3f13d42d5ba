"""The audit: every check over the facts, and the one primary cause."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Sequence
from dataclasses import dataclass

from kprof.audit import gpustate, shell
from kprof.audit.facts import Facts
from kprof.audit.verdict import Check, Purpose, Verdict, registered, skipped


@dataclass(frozen=True, slots=True)
class Judged:
    """A check with its verdict."""

    check: Check
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Audit:
    """What the audit found.

    Attributes:
        facts: what it was made from.
        purpose: what errors were counted for, None for everything.
        results: every check's verdict, in the order of causes.
        primary: the id of the error that explains the others, None without an error.
    """

    facts: Facts
    purpose: Purpose | None
    results: tuple[Judged, ...]
    primary: str | None

    @property
    def errors(self) -> tuple[Judged, ...]:
        """The results that are errors, the primary first."""
        found = [one for one in self.results if one.verdict.status == "error"]
        return tuple(sorted(found, key=lambda one: one.check.id != self.primary))


def audit(facts: Facts, purpose: Purpose | None = None) -> Audit:
    """Run every check.

    Args:
        facts: the snapshot.
        purpose: what the machine is for; errors that do not hurt it are skipped. None counts all.
    """
    importlib.import_module("kprof.audit.checks")
    results = tuple(
        Judged(check, _narrowed(check, _judged(check, facts), purpose)) for check in registered()
    )
    return Audit(facts, purpose, results, primary(results))


def primary(results: Sequence[Judged]) -> str | None:
    """Return the error that no other error explains; the earliest in the order of causes."""
    errors = [one.check for one in results if one.verdict.status == "error"]
    explained = {name for check in errors for name in check.explains}
    roots = [check for check in errors if check.id not in explained]
    chosen = roots or errors  # two that explain each other: the first of them
    return chosen[0].id if chosen else None


def _judged(check: Check, facts: Facts) -> Verdict:
    verdict = check.run(facts)
    if verdict.remedy is not None:
        remedy = shell.fitted(facts, verdict.remedy)
        verdict = dataclasses.replace(verdict, remedy=remedy)
    if check.live and verdict.status in ("ok", "unknown") and gpustate.driverless(facts):
        return skipped("no driver runs here")
    return verdict


def _narrowed(check: Check, verdict: Verdict, purpose: Purpose | None) -> Verdict:
    pending = verdict.status == "skipped" and verdict.remedy is not None  # of no matter elsewhere
    if purpose in check.vital and (pending or verdict.status == "warning"):
        return dataclasses.replace(verdict, status="error")
    if purpose is None or purpose in check.hurts or verdict.status not in ("error", "warning"):
        return verdict
    message = f"does not matter for {purpose}: {verdict.message}"
    return dataclasses.replace(verdict, status="skipped", message=message)
