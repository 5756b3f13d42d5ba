from __future__ import annotations

from collections.abc import Sequence

import pytest

from kprof import metrics as m
from kprof.model import Code, Instruction, Kernel, Place, Wait
from kprof.producer import LONG, SHORT, at_mbarriers, loads, told, waits
from tests.kernels import kernel

SAMPLES = {reason: m.SAMPLED_STALL_NOT_ISSUED.format(reason) for reason in (LONG, SHORT)}


def waiting(
    *lines: str,
    at: dict[int, float],
    reason: str = LONG,
    sources: Sequence[int | None] = (),
    executed: Sequence[float] = (),
) -> Kernel:
    """Make a kernel of these instructions, with samples of ``reason`` at some of them."""
    numbers = sources or [None] * len(lines)
    code = tuple(
        Code(16 * position, text, "k.cu" if number else None, number)
        for position, (text, number) in enumerate(zip(lines, numbers, strict=True))
    )
    rows = (
        Instruction(item.pc, item.sass, item.file, item.line, {SAMPLES[reason]: samples})
        for position, samples in at.items()
        for item in [code[position]]
    )
    totals = {SAMPLES[reason]: sum(at.values())}
    return kernel(metrics=totals, instructions=tuple(rows), code=code, executed=executed)


def one(item: Kernel, reason: str = LONG) -> Wait:
    (found,) = waits(item, reason)
    return found


def at(places: Sequence[Place]) -> list[int]:
    return [-1 if place.pc is None else place.pc // 16 for place in places]


def test_the_load_is_named_and_not_the_instruction_that_waits() -> None:
    found = one(waiting("LDG.E R4, [R2.64]", "NOP", "FADD R5, R4, R6", at={2: 50.0}))
    assert found.waiter == Place(
        None, None, "FADD R5, R4, R6", 32, 1.0, share_of="the long-scoreboard samples"
    )
    assert at(found.producers) == [0]
    assert (found.trail, found.producers[0].share) == ("register", 1.0)


def test_only_what_looks_at_an_mbarrier_counts_as_a_wait_there() -> None:
    look = "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], R2"
    item = waiting(look, "@P0 BRA 0x0", "LDG.E R4, [R2.64]", "FADD R5, R4, R6", at={1: 1.0, 3: 3.0})
    assert at_mbarriers(waits(item, LONG)) == 0.25
    assert at_mbarriers(()) == 0.0


def test_a_register_of_a_wide_load() -> None:
    found = one(waiting("LDG.E.128 R4, [R2.64]", "FADD R5, R7, R9", at={1: 1.0}))
    assert at(found.producers) == [0]


def test_candidates_share_by_executions_and_nearness() -> None:
    item = waiting(
        "LDG.E R4, [R2.64]",
        "NOP",
        "LDG.E R5, [R2.64]",
        "FADD R6, R4, R5",
        at={3: 8.0},
        executed=[30.0, 0.0, 10.0, 10.0],
    )
    # 30 executions at distance 3 against 10 at distance 1.
    assert [(place.pc, place.share) for place in one(item).producers] == [(0, 0.5), (32, 0.5)]


def test_a_load_of_another_kind_is_not_what_is_waited_for() -> None:
    lines = ("LDG.E R4, [R2.64]", "LDS R5, [R3]", "FADD R6, R4, R5")
    assert at(one(waiting(*lines, at={2: 1.0})).producers) == [0]
    assert at(one(waiting(*lines, at={2: 1.0}, reason=SHORT), SHORT).producers) == [1]


def test_through_moves_and_address_arithmetic() -> None:
    found = one(
        waiting(
            "LDG.E R4, [R2.64]",
            "MOV R5, R4",
            "IMAD.WIDE R8, R5, 0x4, R6",
            "STG.E [R8.64], R1",
            at={3: 1.0},
        )
    )
    assert (at(found.producers), found.trail) == ([0], "arithmetic")


def test_a_chain_of_loads_ends_at_the_first() -> None:
    found = one(waiting("LDG.E R4, [R2.64]", "LDG.E R6, [R4.64]", "FADD R7, R6, R1", at={2: 1.0}))
    assert at(found.producers) == [1]


def test_the_load_of_the_last_turn_of_a_loop() -> None:
    found = one(
        waiting(
            "MOV R4, RZ",
            "IMAD.WIDE R8, R4, 0x4, R2",
            "LDG.E R4, [R8.64]",
            "@P0 BRA 0x10",
            "EXIT",
            at={1: 1.0},
        )
    )
    assert (at(found.producers), found.trail) == ([2], "register")


def test_a_predicate_that_a_barrier_in_shared_memory_sets() -> None:
    found = one(waiting("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], R2", "@P0 BRA 0x0", at={1: 1.0}))
    assert at(found.producers) == [0]


def test_a_register_that_a_load_has_yet_to_read_or_to_write() -> None:
    reads = waiting("LDG.E R4, [R2.64]", "MOV R2, RZ", at={1: 1.0})
    writes = waiting("LDG.E R4, [R2.64]", "MOV R4, RZ", at={1: 1.0})
    assert at(one(reads).producers) == at(one(writes).producers) == [0]


def test_copies_are_waited_for_together_and_without_a_register() -> None:
    item = waiting(
        "LDGSTS.E [R1], [R2.64]",
        "LDGDEPBAR",
        "LDGSTS.E [R1], [R2.64]",
        "LDGSTS.E [R1+0x10], [R2.64+0x10]",
        "LDGDEPBAR",
        "DEPBAR.LE SB0, 0x0",
        at={5: 1.0},
    )
    found = one(item)
    assert (sorted(at(found.producers)), found.trail) == ([2, 3], "order")


def test_where_no_register_leads_to_a_load_the_last_one_is_named_as_such() -> None:
    found = one(waiting("LDG.E R4, [R2.64]", "IADD3 R9, R8, 0x1, RZ", at={1: 1.0}))
    assert (at(found.producers), found.trail, found.complete) == ([0], "order", False)
    far = ["NOP"] * 40
    found = one(waiting("LDG.E R4, [R2.64]", *far, "IADD3 R9, R8, 0x1, RZ", at={41: 1.0}))
    assert (found.producers, found.trail) == ((), None)


def test_without_code_there_is_a_waiter_and_no_producer() -> None:
    rows = (Instruction(16, "FADD R5, R4, R6", None, None, {SAMPLES[LONG]: 3.0}),)
    found = one(kernel(metrics={SAMPLES[LONG]: 3.0}, instructions=rows))
    assert (found.waiter.pc, found.producers, found.complete) == (16, (), False)
    assert waits(kernel(), LONG) == ()


def test_an_unrolled_loop_waits_at_one_place() -> None:
    item = waiting(
        "LDG.E R4, [R2.64]",
        "LDG.E R5, [R2.64+0x4]",
        "FADD R6, R4, R6",
        "FADD R6, R5, R6",
        "LDG.E R8, [R2.64+0x8]",
        "FADD R6, R8, R6",
        at={2: 60.0, 3: 20.0, 5: 20.0},
        sources=[7, 7, 8, 8, 9, 10],
    )
    first, second = waits(item, LONG)
    assert (first.waiter.line, first.waiter.share) == (8, 0.8)
    assert [(place.line, round(place.share, 9)) for place in first.producers] == [(7, 0.8)]
    assert (second.waiter.line, at(second.producers)) == (10, [4])
    assert [(place.line, round(place.share, 9)) for place in loads((first, second))] == [
        (7, 0.8),
        (9, 0.2),
    ]


def test_a_line_is_named_by_the_kind_of_access_that_is_most_of_it() -> None:
    places = [
        Place("k.cu", 1, "STL [R1], R2", 0, 0.3),
        Place("k.cu", 1, "LDL R2, [R1]", 16, 0.2),
        Place("k.cu", 1, "LDL R3, [R1]", 32, 0.25),
    ]
    waiter = Place("k.cu", 2, "FADD R1, R2, R3", 48, 0.75)
    (found,) = loads([Wait(LONG, waiter, tuple(places))])
    assert (found.pc, found.share) == (32, 0.75)


def test_lines_of_two_files_are_not_mixed() -> None:
    waiter = Place("k.cu", 2, "NOP", 48, 0.5)
    places = (Place("a.cu", 1, "LDG R1, [R2]", 0, 0.25), Place("b.cu", 1, "LDG R1, [R2]", 16, 0.25))
    assert len(loads([Wait(LONG, waiter, places)])) == 2


def test_few_samples_at_a_line_are_not_told() -> None:
    item = waiting("LDG.E R4, [R2.64]", "FADD R5, R4, R6", "MOV R9, R4", at={1: 99.0, 2: 1.0})
    assert [wait.waiter.pc for wait in waits(item, LONG)] == [16]


@pytest.mark.parametrize(
    ("access", "name"),
    [
        ("LDG.E R4, [R2.64]", "load"),
        ("REDG.E.ADD.STRONG.GPU [R2.64], R4", "atomic operation"),
        ("ATOMG.E.ADD.STRONG.GPU PT, R4, [R2.64], R5", "atomic operation"),
        ("STG.E [R2.64], R4", "store"),
    ],
)
def test_what_is_waited_for_is_named_as_what_it_is(access: str, name: str) -> None:
    item = waiting(access, "MOV R4, R9", at={1: 9.0}, sources=(7, 9))
    assert told(waits(item, LONG)) == f"; most wait at k.cu:9 for the {name} at k.cu:7"


def test_one_line_that_waits_for_itself_is_a_clause_of_its_own() -> None:
    item = waiting("LDG.E R4, [R2.64]", "FADD R5, R4, R6", at={1: 9.0}, sources=(7, 7))
    assert told(waits(item, LONG)) == "; most wait at k.cu:7"
