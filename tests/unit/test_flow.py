from __future__ import annotations

from kprof.sass.flow import Flow, Walk


def flow(*lines: str) -> Flow:
    return Flow([(16 * position, line) for position, line in enumerate(lines)])


def writers(found: Flow, start: int, register: str) -> dict[int, int]:
    """Return position to distance."""
    return {item.at: item.distance for item in found.definitions(start, register).found}


def test_the_last_write_hides_those_before_it() -> None:
    found = flow("MOV R1, 0x1", "MOV R1, 0x2", "NOP", "IADD3 R2, R1, R1, RZ")
    assert writers(found, 3, "R1") == {1: 2}


def test_a_write_under_a_guard_hides_nothing() -> None:
    found = flow("MOV R1, 0x1", "@P0 MOV R1, 0x2", "IADD3 R2, R1, R1, RZ")
    assert writers(found, 2, "R1") == {1: 1, 0: 2}


def test_both_arms_of_a_branch_may_have_written() -> None:
    found = flow(
        "ISETP.NE.AND P0, PT, R0, RZ, PT",
        "@P0 BRA 0x40",
        "MOV R1, 0x1",
        "BRA 0x50",
        "MOV R1, 0x2",
        "IADD3 R2, R1, R1, RZ",
    )
    assert writers(found, 5, "R1") == {4: 1, 2: 2}


def test_what_a_loop_wrote_comes_round() -> None:
    found = flow("MOV R1, 0x0", "IADD3 R2, R1, 0x1, RZ", "MOV R1, R2", "@P0 BRA 0x10", "EXIT")
    assert writers(found, 1, "R1") == {0: 1, 2: 2}


def test_nothing_falls_through_an_exit_or_an_unconditional_branch() -> None:
    for leaves in ("EXIT", "BRA 0x0", "RET.REL.NODEC R2, 0x0"):
        found = flow("MOV R1, 0x1", leaves, "IADD3 R2, R1, R1, RZ")
        walk = found.definitions(2, "R1")
        assert (walk.found, walk.complete) == ((), False)


def test_a_branch_whose_condition_is_an_operand_falls_through() -> None:
    found = flow("MOV R1, 0x1", "BRA.U UP0, 0x0", "IADD3 R2, R1, R1, RZ")
    assert writers(found, 2, "R1") == {0: 2}


def test_threads_that_met_at_a_barrier_go_on_behind_it() -> None:
    found = flow("BSSY B0, 0x50", "MOV R1, 0x1", "BSYNC B0", "EXIT", "EXIT", "IADD3 R2, R1, R1, RZ")
    assert writers(found, 5, "R1") == {1: 2}


def test_a_walk_that_comes_to_the_start_or_to_a_gap_is_not_complete() -> None:
    assert flow("MOV R1, 0x1", "MOV R2, R1").definitions(1, "R1").complete
    assert not flow("NOP", "MOV R2, R1").definitions(1, "R1").complete
    gap = Flow([(0x00, "MOV R1, 0x1"), (0x40, "NOP"), (0x50, "MOV R2, R1")])
    assert gap.definitions(2, "R1") == Walk((), complete=False)


def test_what_is_called_may_have_written_too() -> None:
    found = flow("MOV R1, 0x1", "CALL.ABS.NOINC 0x7f0000", "MOV R2, R1").definitions(2, "R1")
    assert [item.at for item in found.found] == [0]
    assert not found.complete


def test_a_called_function_is_followed_to_where_it_was_called() -> None:
    found = flow("MOV R1, 0x1", "CALL.REL.NOINC 0x40", "EXIT", "NOP", "MOV R2, R1")
    assert writers(found, 4, "R1") == {0: 2}


def test_readers_before_a_register_is_overwritten() -> None:
    found = flow("LDG.E R5, [R2.64]", "MOV R9, R2", "MOV R2, RZ")
    walk = found.readers(2, "R2", frozenset({"LDG"}))
    assert [(item.at, item.distance) for item in walk.found] == [(0, 2)]
    assert (
        not flow("LDG.E R5, [R2.64]", "MOV R2, R7", "MOV R2, RZ")
        .readers(2, "R2", frozenset({"LDG"}))
        .found
    )


def test_nobody_knows_what_a_line_without_text_writes() -> None:
    found = flow("MOV R1, 0x1", "", "MOV R2, R1")
    assert found.definitions(2, "R1") == Walk((), complete=False)
