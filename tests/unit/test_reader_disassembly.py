from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kprof.reader.disassembly import (
    Function,
    Listing,
    affordable,
    describe,
    functions,
    instructions,
    waste,
)

SHARED, IDEAL = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"


def listing(
    index: int,
    function: str = "f",
    *,
    time: float = 1.0,
    starts: tuple[int, ...] = (0x100,),
    rows: dict[int, dict[str, float]] | None = None,
) -> Listing:
    return Listing(index, (function,), time, starts, rows or {0x110: {SHARED: 1, IDEAL: 1}})


def test_launches_of_one_function_are_described_together() -> None:
    # Two launches of one function, loaded at different addresses.
    launches = [
        listing(0, rows={0x110: {SHARED: 1}}),
        listing(3, starts=(0x900,), rows={0x910: {SHARED: 1}, 0x920: {SHARED: 1}}),
    ]
    (function,) = functions([*launches, listing(4, rows={})][:2])
    assert function.leader.index == 0
    assert function.keys == [0x10, 0x20]


def test_wasteful_functions_come_first_then_the_longest() -> None:
    conflicts = {0x110: {SHARED: 32.0, IDEAL: 1.0}}
    ranked = functions(
        [
            listing(0, "short", time=1),
            listing(1, "long", time=9),
            listing(2, "wasteful", time=0.5, rows=conflicts),
            listing(3, "short", time=9),
        ]
    )
    assert [function.leader.function for function in ranked] == [
        ("wasteful",),
        ("short",),
        ("long",),
    ]


def test_waste() -> None:
    assert waste([{SHARED: 32.0, IDEAL: 1.0}, {SHARED: 0.0}]) == 1 - 1 / 32
    assert waste([{"memory_l2_theoretical_sectors_local": 4.0}]) == 1
    assert waste([{"inst_executed": 4.0}]) == 0
    assert waste([]) == 0


def test_the_budget_is_spent_in_order() -> None:
    ranked = [Function((listing(index, str(index)),)) for index in range(5)]
    cost = 1000 + (10 << 10)
    assert affordable(ranked, budget=3 * cost, module_bytes=1000) == ranked[:3]
    assert affordable(ranked, budget=cost - 1, module_bytes=1000) == []


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
    found = instructions(one, describe(Action(), Function((one,))))
    assert [(row.pc, row.sass, row.file, row.line) for row in found] == [
        (0x10, "LDS R1, [R2]", "a.cu", 7),
        (0x20, "", None, None),
        (0x30, "", None, None),
    ]
    assert found[0].values == {SHARED: 0x110}


def test_instructions_nobody_described_keep_their_counters() -> None:
    (found,) = instructions(listing(0), {})
    assert (found.pc, found.sass, found.values) == (0x10, "", {SHARED: 1, IDEAL: 1})


def test_every_function_of_a_graph_has_its_own_offsets() -> None:
    graph = listing(0, starts=(0x100, 0x800), rows={0x110: {SHARED: 1}, 0x810: {SHARED: 2}})
    assert [row.pc for row in instructions(graph, {})] == [0x10, 0x10]
    assert Function((graph,)).keys == [0x10, 0x710]


def test_code_called_before_the_kernel_has_a_negative_offset() -> None:
    (found,) = instructions(listing(0, rows={0xF0: {SHARED: 1}}), {})
    assert found.pc == -0x10
