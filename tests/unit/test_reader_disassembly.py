from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from kprof.model import Kernel
from kprof.reader.disassembly import (
    BUDGET_BYTES,
    Described,
    Function,
    Listing,
    Order,
    affordable,
    budget_for,
    describe,
    finished,
    functions,
    is_ordered,
    order,
    waste,
)
from kprof.reader.instructions import Executions
from tests.kernels import kernel

SHARED, IDEAL = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"


def listing(
    index: int,
    function: str = "f",
    *,
    time: float = 1.0,
    starts: tuple[int, ...] = (0x100,),
    rows: dict[int, dict[str, float]] | None = None,
    executed: Executions | None = None,
) -> Listing:
    rows = rows or {0x110: {SHARED: 1, IDEAL: 1}}
    return Listing(index, (function,), time, starts, rows, executed)


def ran(*pcs: int) -> Executions:
    """Every instruction ran as often as its address says, with 32 threads."""
    return Executions(pcs, [float(pc) for pc in pcs], [32.0 * pc for pc in pcs])


def only(function: Function) -> Order:
    return order((function, frozenset(function.counted)))


def test_launches_of_one_function_are_described_together() -> None:
    # Two launches of one function, loaded at different addresses.
    launches = [
        listing(0, rows={0x110: {SHARED: 1}}),
        listing(3, starts=(0x900,), rows={0x910: {SHARED: 1}, 0x920: {SHARED: 1}}),
    ]
    (function,) = functions([*launches, listing(4, rows={})][:2])
    assert function.leader.index == 0
    assert sorted(function.counted) == [0x10, 0x20]


def test_the_longest_come_first_and_waste_counts_twice() -> None:
    conflicts = {0x110: {SHARED: 32.0, IDEAL: 1.0}}
    ranked = functions(
        [
            listing(0, "twice", time=1),
            listing(1, "once", time=8),
            listing(2, "wasteful", time=6, rows=conflicts),
            listing(3, "twice", time=9),
            listing(4, "tiny", time=0.1, rows=conflicts),
        ]
    )
    assert [function.leader.function for function in ranked] == [
        ("wasteful",),
        ("twice",),
        ("once",),
        ("tiny",),
    ]


def test_waste() -> None:
    assert waste([{SHARED: 32.0, IDEAL: 1.0}, {SHARED: 0.0}]) == 1 - 1 / 32
    assert waste([{"memory_l2_theoretical_sectors_local": 4.0}]) == 1
    assert waste([{"inst_executed": 4.0}]) == 0
    assert waste([]) == 0


def cost(instructions: int, module: int = 1000) -> int:
    return module + instructions * (3 << 10)


def chosen(ranked: Sequence[Function], budget: int) -> list[tuple[int, int]]:
    """Return (launch, instructions) of what a budget buys."""
    found = affordable(ranked, budget=budget, module_bytes=1000)
    return [(function.leader.index, len(keys)) for function, keys in found]


def test_the_budget_is_spent_in_order() -> None:
    ranked = [Function((listing(index, str(index)),)) for index in range(5)]
    assert chosen(ranked, 4 * cost(1)) == [(0, 1), (1, 1), (2, 1), (3, 1)]
    assert chosen(ranked, cost(1) - 1) == []


def test_a_function_that_is_too_dear_leaves_the_others_theirs() -> None:
    dear = listing(0, executed=ran(*range(0x100, 0x4000, 16)))
    rows = {pc: next(iter(dear.rows.values())) for pc in range(0x100, 0x140, 16)}
    ranked = [Function((replace(dear, rows=rows),)), Function((listing(1, "1"),))]
    assert chosen(ranked, cost(4)) == [(0, 4)]
    assert chosen(ranked, cost(1)) == [(1, 1)]


def test_some_functions_are_described_whatever_their_modules_weigh() -> None:
    heavy = 90 << 20
    ranked = [Function((listing(index, str(index)),)) for index in range(9)]
    found = affordable(ranked, budget=budget_for(9, heavy), module_bytes=heavy)
    assert [function.leader.index for function, _ in found] == [0, 1, 2, 3]
    assert budget_for(9, 1000) == BUDGET_BYTES
    assert budget_for(8, 1000) == 3 * BUDGET_BYTES


def test_what_is_left_buys_whole_functions_in_order() -> None:
    ranked = [Function((listing(at, executed=ran(*range(0x100, 0x200, 16))),)) for at in range(2)]
    assert chosen(ranked, 2 * cost(16)) == [(0, 16), (1, 16)]
    assert chosen(ranked, cost(16) + cost(1)) == [(0, 16), (1, 1)]
    assert chosen(ranked, 2 * cost(1)) == [(0, 1), (1, 1)]


def test_instructions_that_did_not_run_belong_to_the_function() -> None:
    function = Function((listing(0, executed=ran(0x100, 0x110, 0x140, 0x9000)),))
    assert sorted(function.whole) == [0, 0x10, 0x20, 0x30, 0x40, 0x8F00]


@dataclass
class Info:
    file: str
    number: int

    def file_name(self) -> str:
        return self.file

    def line(self) -> int:
        return self.number


class Action:
    text: ClassVar = {0x110: "   LDS R1, [R2] ", 0x120: "???"}
    source: ClassVar = {0x110: Info("a.cu", 7), 0x130: Info("", 0)}

    def sass_by_pc(self, pc: int) -> str | None:
        return self.text.get(pc)

    def source_info(self, pc: int) -> Info | None:
        return self.source.get(pc)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} is not needed here")


def test_text_and_line() -> None:
    rows = {pc: {SHARED: float(pc)} for pc in (0x130, 0x120, 0x110)}
    one = listing(0, rows=rows)
    found = finished(kernel(), one, describe(Action(), only(Function((one,)))))
    assert [(row.pc, row.sass, row.file, row.line) for row in found.instructions] == [
        (0x10, "LDS R1, [R2]", "a.cu", 7),
        (0x20, "", None, None),
        (0x30, "", None, None),
    ]
    assert found.instructions[0].values == {SHARED: 0x110}
    assert (found.code, found.executed) == ((), ())


def test_the_whole_function_has_its_executions_beside_it() -> None:
    one = listing(0, executed=ran(0x100, 0x110, 0x130))
    function = Function((one,))
    found = finished(
        kernel(), one, describe(Action(), order((function, frozenset(function.whole))))
    )
    assert [(code.pc, code.sass, code.line) for code in found.code] == [
        (0x00, "", None),
        (0x10, "LDS R1, [R2]", 7),
        (0x20, "", None),
        (0x30, "", None),
    ]
    assert list(found.executed) == [0x100, 0x110, 0.0, 0x130]
    assert list(found.threads) == [32 * 0x100, 32 * 0x110, 0.0, 32 * 0x130]


def text_of(sass: str) -> str:
    class Branch(Action):
        text: ClassVar = {0x110: sass}

    return describe(Branch(), only(Function((listing(0),)))).places[0x10].sass


def handed_over(described: Described) -> Described:
    found: Described = pickle.loads(pickle.dumps(described))  # noqa: S301 - our own
    return found


def test_a_description_comes_out_of_a_pickle_as_it_went_in() -> None:
    one = listing(0, rows={pc: {SHARED: 1.0} for pc in (0x110, 0x120)}, executed=ran(0x110, 0x130))
    (function,) = functions([one])
    whole = describe(Action(), order((function, frozenset(function.whole))))
    assert handed_over(whole) == whole
    assert len(whole.code) == 3
    counted = Described(whole.places)
    assert handed_over(counted) == counted


@dataclass
class Launched:
    """A kernel of the library that starts at one address."""

    start: int
    mangled: str | None

    def metric_by_name(self, name: str) -> Launched | None:
        return self if name == "launch__function_pcs" else None

    def num_instances(self) -> int:
        return 1

    def as_uint64(self, _: int) -> int:
        return self.start

    def name(self, _: int) -> str | None:
        return self.mangled


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (Launched(0x100, "f"), True),
        (Launched(0x100, "g"), False),
        (Launched(0x200, "f"), False),
        (Launched(0x100, None), False),
    ],
)
def test_the_kernel_to_describe_is_told_by_name_and_address(action: Any, expected: bool) -> None:
    ordered = only(Function((replace(listing(0), name="f"),)))
    assert is_ordered(action, ordered) is expected


def test_a_kernel_without_a_name_is_told_by_its_address() -> None:
    ordered = only(Function((listing(0),)))
    nameless: Any = Launched(0x100, None)
    assert is_ordered(nameless, ordered)


def test_targets_of_branches_are_offsets() -> None:
    assert text_of("@!P0 BRA 0x150") == "@!P0 BRA 0x50"
    assert text_of("BSSY.RECONVERGENT B0, 0x7f0") == "BSSY.RECONVERGENT B0, 0x6f0"
    assert text_of("CALL.ABS.NOINC 0x0") == "CALL.ABS.NOINC 0x0", "somewhere else"
    assert text_of("IADD3 R1, R2, 0x150, RZ") == "IADD3 R1, R2, 0x150, RZ"


def test_instructions_nobody_described_keep_their_counters() -> None:
    (found,) = finished(kernel(), listing(0)).instructions
    assert (found.pc, found.sass, found.values) == (0x10, "", {SHARED: 1, IDEAL: 1})


def graph() -> tuple[Listing, Kernel]:
    rows = {0x110: {SHARED: 1.0}, 0x810: {SHARED: 2.0}}
    found = listing(0, starts=(0x100, 0x800), rows=rows)
    return found, finished(kernel(), found, Described({}))


def test_every_function_of_a_graph_has_its_own_offsets() -> None:
    found, item = graph()
    assert [(row.pc, row.function) for row in item.instructions] == [(0x10, 0), (0x10, 1)]
    assert sorted(Function((found,)).counted) == [0x10, 0x710]


def test_code_called_before_the_kernel_has_a_negative_offset() -> None:
    (found,) = finished(kernel(), listing(0, rows={0xF0: {SHARED: 1}})).instructions
    assert found.pc == -0x10
