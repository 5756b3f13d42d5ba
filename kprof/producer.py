"""Who waits for which load: from the instruction that stalls back to those that fetch its data.

A warp that waits for a load is sampled at the instruction that needs the value. Which load that is
does not stand in the report, and the scoreboards are not in the disassembly; the registers are. So
the registers that the waiting instruction reads are followed against the control flow to whatever
may have written them. Several candidates share the waiter's samples by how often each ran and how
near it is, as GPA does (Zhou et al., "GPA: A GPU Performance Advisor Based on Instruction
Sampling", CGO 2021): a load far ahead has had time to arrive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from kprof.evidence import samples_of
from kprof.model import Code, Instruction, Kernel, Place, Wait
from kprof.model.finding import Trail
from kprof.own_code import named
from kprof.sass import effect, opcodes, parse
from kprof.sass.flow import Definition, Flow, Walk
from kprof.stalls import samples_at

LONG, SHORT = "long_scoreboard", "short_scoreboard"
# What each kind of wait is for (Nsight Compute Profiling Guide, "Warp scheduler states"): L1TEX
# operations (global, local, surface, texture), and those of the MIO (shared memory, special
# functions, conversions, exchange between threads). SYNCS looks at an mbarrier, which is how a
# warp waits for a TMA copy; reports of Hopper kernels book that under long scoreboard.
_LOADS = {
    LONG: opcodes("LDG LD LDL ATOM ATOMG SUATOM SULD TEX TLD TLD4 TXD TMML TXQ LDT LDTM SYNCS"),
    SHORT: opcodes(
        "LDS LDSM LDAS ATOMS ATOMS_CAS MUFU SHFL S2R S2UR F2I I2F F2F FRND POPC FLO BREV "
        "MATCH LDC LDCU MOVM REDUX CREDUX R2UR B2R SYNCS UI2F UF2I VOTE FCHK"
    ),
}
_STORES = {
    LONG: frozenset({"STG", "ST", "STL", "RED", "REDG", "SUST", "LDGSTS"}),
    SHORT: frozenset({"STS", "STSM"}),
}
_ATOMICS = frozenset({"ATOM", "ATOMG", "SUATOM", "RED", "REDG"})
_EVERY = _LOADS[LONG] | _LOADS[SHORT]
# Copies that go on without a register: what waits for them names none.
_COPIES = frozenset({"LDGSTS"})
_WAITS_FOR_COPIES = frozenset({"DEPBAR", "LDGDEPBAR", "BAR", "ARRIVES"})
# Of the samples: what is left then is noise. kprof's own.
_COVERED = 0.99
_MOST_WAITERS = 64
_MOST_TOLD = 6
_MOST_PRODUCERS = 4
_LEAST_SHARE = 0.02
_ARITHMETIC_STEPS = 6
# Instructions to go back where no register leads the way. kprof's own.
_BACK = 32
_BACK_TO_COPIES = 256


@dataclass(frozen=True, slots=True)
class _Trace:
    loads: tuple[Definition, ...]
    trail: Trail | None
    complete: bool


def waits(kernel: Kernel, reason: str) -> tuple[Wait, ...]:
    """Return the instructions that wait longest for data, each with the loads it waits for.

    Args:
        kernel: with samples per instruction.
        reason: :data:`LONG` or :data:`SHORT`.

    Returns:
        Strongest first, no waiter below 2 % of the samples; without producers where the code was
        not read or does not tell.
    """
    weight = samples_at(kernel, reason)
    rows = sorted(
        ((weight(row), row) for row in kernel.instructions if weight(row) > 0.0),
        key=lambda item: (-item[0], item[1].function, item[1].pc),
    )
    total = sum(samples for samples, _ in rows)
    found: list[Wait] = []
    functions: dict[int, _Function] = {}
    covered = 0.0
    for samples, row in rows[:_MOST_WAITERS]:
        if covered >= _COVERED * total:
            break
        covered += samples
        if row.function not in functions:
            functions[row.function] = _Function(kernel, row.function)
        found.append(functions[row.function].wait(row, reason, samples / total))
    told = [wait for wait in _by_line(found) if wait.waiter.share >= _LEAST_SHARE]
    return tuple(told[:_MOST_TOLD])


def _by_line(found: Iterable[Wait]) -> list[Wait]:
    """Join the waits of one source line: an unrolled loop waits at one place, not at eight."""
    groups: dict[tuple[object, ...], list[Wait]] = {}
    for wait in found:
        at = wait.waiter
        key = (at.file, at.line) if at.line is not None else (None, at.pc, at.sass)
        groups.setdefault(key, []).append(wait)
    joined = [_joined(group) for group in groups.values()]
    return sorted(joined, key=lambda wait: (-wait.waiter.share, wait.waiter.pc or 0))


def _joined(group: Sequence[Wait]) -> Wait:
    if len(group) == 1:
        return group[0]
    share = min(sum(wait.waiter.share for wait in group), 1.0)
    return replace(
        group[0],  # the one with most samples
        waiter=replace(group[0].waiter, share=share),
        producers=loads(group)[:_MOST_PRODUCERS],
        trail=next((wait.trail for wait in group if wait.trail), None),
        complete=all(wait.complete for wait in group),
    )


def loads(found: Iterable[Wait]) -> tuple[Place, ...]:
    """Return what is waited for, by source line where known, with the share of all samples."""
    groups: dict[tuple[object, ...], list[Place]] = {}
    for place in (place for wait in found for place in wait.producers):
        key = (place.file, place.line) if place.line is not None else (None, place.pc, place.sass)
        groups.setdefault(key, []).append(place)
    merged = [_merged(places) for places in groups.values()]
    return tuple(sorted(merged, key=lambda place: (-place.share, place.pc or 0)))


def at_mbarriers(found: Iterable[Wait]) -> float:
    """Return the share 0..1 of the samples whose warps look at an mbarrier, as far as code tells.

    An asynchronous copy arrives there, but so do other warps: a producer waits for a free stage.
    """
    places = (place for wait in found for place in wait.producers)
    return min(sum(place.share for place in places if _name(place) == "SYNCS"), 1.0)


def told(found: Sequence[Wait]) -> str:
    """Say in a headline who waits where for what: ``; most wait at a.cu:9 for the load at a.cu:7``.

    Named is the load that is waited for most, and where most of that happens; one place where both
    are the same, and nothing without line information. It is a clause of its own: what stands
    before it in a headline is of the whole kernel, not of that line.
    """
    wait, load = _foremost(found)
    if wait is None or _position(wait.waiter) is None:
        return ""
    waiter, producer = _position(wait.waiter), _position(load) if load else None
    if load is None or producer is None or producer == waiter:
        return f"; most wait at {waiter}"
    return f"; most wait at {waiter} for the {_what(load)} at {producer}"


def _what(place: Place) -> str:
    """Name an access: a store is waited for where the register it reads is written again."""
    opcode = _name(place)
    if opcode in _ATOMICS:
        return "atomic operation"
    return "store" if opcode in _STORES[LONG] else "load"


def _foremost(found: Sequence[Wait]) -> tuple[Wait | None, Place | None]:
    load = next(iter(loads(found)), None)
    if load is None:
        return next(iter(found), None), None
    line = (load.file, load.line)
    shares = {
        sum(place.share for place in wait.producers if (place.file, place.line) == line): wait
        for wait in reversed(found)
    }
    return shares[max(shares)], load


def _position(place: Place) -> str | None:
    return named(place) or None


def _merged(places: Sequence[Place]) -> Place:
    """Return the places of one line as one, named by the instruction that is most of it."""
    by_opcode: dict[str, float] = {}
    for place in places:
        opcode = _name(place)
        by_opcode[opcode] = by_opcode.get(opcode, 0.0) + place.share
    most = max(by_opcode, key=lambda opcode: (by_opcode[opcode], opcode))
    heaviest = max((place for place in places if _name(place) == most), key=lambda p: p.share)
    return replace(heaviest, share=min(sum(place.share for place in places), 1.0))


def _name(place: Place) -> str:
    parsed = parse(place.sass or "")
    return parsed.opcode if parsed else ""


class _Function:
    """One function of a kernel: its code, control flow and executions."""

    def __init__(self, kernel: Kernel, function: int) -> None:
        self._code = _of_function(kernel.code, function)
        self._flow = _flow(self._code)
        self._at = {item.pc: position for position, item in enumerate(self._code)}
        columns = zip(kernel.executed, kernel.code, strict=False)
        self._ran = [ran for ran, item in columns if item.function == function]

    def wait(self, row: Instruction, reason: str, share: float) -> Wait:
        """Return what an instruction with this share of the samples waits for."""
        waiter = _place(row, reason, share)
        start = self._at.get(row.pc)
        if start is None or not self._code[start].sass:
            return Wait(reason, waiter, complete=False)
        trace = _trace(self._flow, start, reason)
        weights = [(self._likelihood(load), self._code[load.at]) for load in trace.loads]
        producers = _producers(weights, reason, share)
        return Wait(
            reason=reason,
            waiter=waiter,
            producers=producers,
            trail=trace.trail if producers else None,  # a load that never ran is not waited for
            complete=trace.complete,
        )

    def _likelihood(self, load: Definition) -> float:
        return (self._ran[load.at] if self._ran else 1.0) / load.distance


@lru_cache(maxsize=64)
def _of_function(code: tuple[Code, ...], function: int) -> tuple[Code, ...]:
    return tuple(item for item in code if item.function == function)


@lru_cache(maxsize=64)
def _flow(code: tuple[Code, ...]) -> Flow:
    return Flow([(item.pc, item.sass) for item in code])


def _place(row: Instruction | Code, reason: str, share: float) -> Place:
    """Return an instruction's place with its share of the samples with the reason."""
    return Place(
        row.file, row.line, row.sass or None, row.pc, share, row.chain, share_of=samples_of(reason)
    )


def _producers(
    weights: Sequence[tuple[float, Code]], reason: str, share: float
) -> tuple[Place, ...]:
    ranked = sorted(weights, key=lambda item: (-item[0], item[1].pc))[:_MOST_PRODUCERS]
    total = sum(weight for weight, _ in ranked)
    return tuple(
        _place(item, reason, share * weight / total) for weight, item in ranked if weight > 0.0
    )


def _trace(flow: Flow, start: int, reason: str) -> _Trace:
    """Find the loads an instruction waits for: by register, through arithmetic, by order."""
    wanted = _LOADS[reason]
    done = effect(flow.texts[start])
    walks = _definitions(flow, start, done.reads)
    complete = all(walk.complete for walk in walks)
    direct = _of(flow, walks, wanted)
    if direct:
        return _Trace(direct, "register", complete)
    overwritten = _overwritten(flow, start, reason)
    if overwritten:
        return _Trace(overwritten, "register", complete)
    further = _through_arithmetic(flow, walks, wanted)
    if further:
        return _Trace(further, "arithmetic", complete)
    return _by_order(flow, start, reason)


def _overwritten(flow: Flow, start: int, reason: str) -> tuple[Definition, ...]:
    """Return the accesses that have yet to write or to read a register that is overwritten."""
    writes = effect(flow.texts[start]).writes
    found = _of(flow, _definitions(flow, start, writes), _LOADS[reason])
    if found:
        return found
    users = _LOADS[reason] | _STORES[reason]
    return _of(flow, [flow.readers(start, name, users) for name in writes], users)


def _definitions(flow: Flow, start: int, registers: Iterable[str]) -> list[Walk]:
    return [flow.definitions(start, register) for register in registers]


def _of(flow: Flow, walks: Iterable[Walk], wanted: frozenset[str]) -> tuple[Definition, ...]:
    """Return those definitions that are of a kind, each once with its shortest distance."""
    found: dict[int, int] = {}
    for item in (item for walk in walks for item in walk.found):
        if _opcode(flow, item.at) in wanted:
            found[item.at] = min(item.distance, found.get(item.at, item.distance))
    return tuple(Definition(at, distance) for at, distance in found.items())


def _opcode(flow: Flow, at: int) -> str:
    parsed = flow.parsed[at]
    return parsed.opcode if parsed else ""


def _through_arithmetic(
    flow: Flow, walks: Sequence[Walk], wanted: frozenset[str]
) -> tuple[Definition, ...]:
    """Follow moves and address arithmetic back to the first loads.

    Whatever waits for a load itself is no way on: its wait is another one.
    """
    edge = {item.at: item.distance for walk in walks for item in walk.found}
    seen = set(edge)
    for _ in range(_ARITHMETIC_STEPS):
        after: dict[int, int] = {}
        for at, distance in edge.items():
            if _opcode(flow, at) in _EVERY:
                continue
            for walk in _definitions(flow, at, effect(flow.texts[at]).reads):
                for item in walk.found:
                    after.setdefault(item.at, distance + item.distance)
        found = {at: distance for at, distance in after.items() if _opcode(flow, at) in wanted}
        if found:
            return tuple(Definition(at, distance) for at, distance in found.items())
        edge = {at: distance for at, distance in after.items() if at not in seen}
        seen |= set(edge)
    return ()


def _by_order(flow: Flow, start: int, reason: str) -> _Trace:
    if _opcode(flow, start) in _WAITS_FOR_COPIES and reason == LONG:
        copies = _run(flow, flow.nearest(start, _COPIES, _BACK_TO_COPIES))
        if copies:
            return _Trace(copies, "order", complete=True)
    walk = flow.nearest(start, _LOADS[reason], _BACK)
    return _Trace(walk.found, "order" if walk.found else None, complete=False)


def _run(flow: Flow, last: Walk) -> tuple[Definition, ...]:
    """Add to each copy those right before it: they are waited for together."""
    found: Mapping[int, int] = {item.at: item.distance for item in last.found}
    every = dict(found)
    for at, distance in found.items():
        for back in range(1, min(_BACK_TO_COPIES, at + 1)):
            if _opcode(flow, at - back) in _WAITS_FOR_COPIES:
                break
            if _opcode(flow, at - back) in _COPIES:
                every.setdefault(at - back, distance + back)
    return tuple(Definition(at, distance) for at, distance in every.items())
