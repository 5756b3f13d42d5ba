"""What a rule says: a finding, its evidence and where in the source it points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["high", "medium", "low", "info"]
Confidence = Literal["high", "medium", "low"]
Side = Literal["at least", "below"]
Resource = Literal["dram", "l2", "l1", "shared", "issue", "math", "latency", "launch", "occupancy"]


@dataclass(frozen=True, slots=True)
class Speedup:
    """How many times faster the kernel could run, as a range (1.0 means no gain)."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number a finding rests on.

    Attributes:
        metric: ncu metric name, or the name of a quantity kprof derives.
        value: in ``unit``.
        unit: e.g. ``%``, ``byte``, ``wavefront``; empty for a plain count or ratio.
        threshold: the limit the rule compared with, None for context.
        threshold_source: where that limit comes from; ``kprof`` for our own choice.
        side: where the value has to lie to speak for the finding, ``at least`` or ``below`` the
            threshold; None where the rule does not say.
    """

    metric: str
    value: float
    unit: str
    threshold: float | None = None
    threshold_source: str | None = None
    side: Side | None = None


@dataclass(frozen=True, slots=True)
class Spot:
    """A line of a source file: the file as the compiler wrote it, the line 1-based."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Place:
    """A source line or SASS instruction and its share (0..1) of something in the kernel.

    Attributes:
        sass: the instruction, of several on the line the one with the largest part.
        pc: its offset in the function.
        share: of all instructions of the line together.
        instructions: how many of the line's instructions have a part in that.
        instruction_share: the part (0..1 of the same) of the one that is named.
        chain: of inlined code the lines it belongs to, from the innermost function to the kernel;
            ``file`` and ``line`` are one of them, the one the report counts it at. Empty for other
            code, and where the report does not hold the code's line table.
        share_of: what the shares are of, in words to follow "of": ``executed instructions``. None
            where the rule does not say.
    """

    file: str | None
    line: int | None
    sass: str | None
    pc: int | None
    share: float
    chain: tuple[Spot, ...] = ()
    instructions: int = 1
    instruction_share: float | None = None
    share_of: str | None = None


# How a load was found for the instruction that waits: ``register`` writes a register it needs;
# ``arithmetic`` does so through moves and address arithmetic; ``order`` is merely the last one
# before it, where no register leads to a load.
Trail = Literal["register", "arithmetic", "order"]


@dataclass(frozen=True, slots=True)
class Wait:
    """An instruction that waits for data, and the instructions that fetch it.

    Attributes:
        reason: ``long_scoreboard`` or ``short_scoreboard``.
        waiter: where the samples are; its share is of all samples of the reason.
        producers: what it waits for, likeliest first; their shares sum up to the waiter's. Empty
            where the code does not show it.
        trail: how they were found, None without any.
        complete: False where paths lead out of what is known (a call, the function's start): there
            may be more producers.
    """

    reason: str
    waiter: Place
    producers: tuple[Place, ...] = ()
    trail: Trail | None = None
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnosis.

    Attributes:
        rule: public rule name, e.g. ``shared-bank-conflicts``.
        severity: ``info`` for a statement that needs no action.
        confidence: how sure kprof is that the cause is right.
        headline: one sentence, the verdict in words with its key number.
        detail: what the numbers mean here.
        estimated_speedup: None where no honest estimate exists.
        resource: what the fix would relieve.
        evidence: the numbers.
        refuted_by: the observation that would prove the finding wrong.
        source: where, strongest first.
        waits: for findings about waiting: who waits there for which load, strongest first.
        advice: what to change, most effective first.
        kernels: indices for findings that span kernels, empty otherwise.
    """

    rule: str
    severity: Severity
    confidence: Confidence
    headline: str
    detail: str
    estimated_speedup: Speedup | None
    resource: Resource
    evidence: tuple[Evidence, ...]
    refuted_by: str
    source: tuple[Place, ...] = ()
    advice: tuple[str, ...] = ()
    kernels: tuple[int, ...] = ()
    waits: tuple[Wait, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that could not be evaluated, and the data it lacked (or the error it raised)."""

    rule: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QualityNote:
    """A doubt about the data itself, found before any rule ran."""

    check: str
    message: str
