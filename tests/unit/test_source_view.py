from __future__ import annotations

from dataclasses import replace

import pytest

from kprof import metrics as m
from kprof.model import Code, Kernel
from kprof.source_view import (
    EXECUTED,
    LOCAL,
    SAMPLES,
    SECTORS,
    SECTORS_IDEAL,
    THREADS,
    allowances,
    every_instruction,
    source_view,
)
from tests.kernels import at, kernel

WAIT = m.SAMPLED_STALL_NOT_ISSUED.format("wait")
SCOREBOARD = m.SAMPLED_STALL_NOT_ISSUED.format("long_scoreboard")


def two_files() -> Kernel:
    """Line 7 of two files, and one instruction without a line."""
    rows = (
        at("LDG R1, [R2.64]", 0, {SAMPLES: 5.0, WAIT: 3.0}, "a.cu", 7),
        at("LDG R3, [R2.64]", 16, {SAMPLES: 20.0, SCOREBOARD: 20.0}, "b.cu", 7),
        at("FADD R4, R1, R3", 32, {SAMPLES: 1.0, WAIT: 1.0}, "a.cu", 7),
        at("EXIT", 48, {SAMPLES: 4.0}),
    )
    return kernel(metrics={SAMPLES: 30.0}, instructions=rows)


def test_two_files_that_share_a_line_number_are_two_lines() -> None:
    view = source_view(two_files())
    assert view is not None
    assert [(line.file, line.line, line.heat.samples) for line in view.lines] == [
        ("b.cu", 7, 20.0),
        ("a.cu", 7, 6.0),
    ]
    assert view.lines[1].instructions == 2
    assert view.lines[1].heat.stalls == {"wait": 4.0}


def test_lines_and_the_rest_make_up_the_total() -> None:
    view = source_view(two_files())
    assert view is not None
    assert view.unplaced is not None
    assert view.unplaced.samples == 4.0
    assert view.total.samples == 30.0
    assert view.total.stalls == {"long_scoreboard": 20.0, "wait": 4.0}


def test_what_was_not_measured_is_unknown_and_what_was_not_seen_is_zero() -> None:
    rows = (at("NOP", 0, {SECTORS: 8.0, SECTORS_IDEAL: 2.0}), at("NOP", 16, {SAMPLES: 1.0}))
    view = source_view(kernel(metrics={LOCAL: 0.0}, instructions=rows))
    assert view is not None
    first, second = (line.heat for line in view.instructions)
    assert (first.excess_sectors, second.excess_sectors) == (6.0, 0.0)
    assert (first.samples, second.samples) == (0.0, 1.0)
    assert first.local_sectors == 0.0
    assert first.excess_wavefronts is None
    assert first.executed is None


def test_without_counters_there_is_no_view() -> None:
    assert source_view(kernel()) is None


def whole(*, executed: tuple[float, ...] = (4.0, 4.0, 0.0)) -> Kernel:
    code = tuple(Code(16 * at, text, "a.cu", 1 + at) for at, text in enumerate(("A", "B", "C")))
    return kernel(
        instructions=(at("B", 16, {SAMPLES: 9.0}, "a.cu", 2),),
        code=code,
        executed=executed,
        threads=tuple(32 * ran for ran in executed),
    )


def test_of_a_function_that_was_read_every_instruction_is_there() -> None:
    view = source_view(whole())
    assert view is not None
    assert view.complete
    assert [(line.sass, line.heat.executed, line.heat.samples) for line in view.instructions] == [
        ("A", 4.0, 0.0),
        ("B", 4.0, 9.0),
        ("C", 0.0, 0.0),
    ]
    assert view.instructions[0].heat.active_threads == 32.0
    assert view.instructions[2].heat.active_threads is None
    assert view.total.executed == 8.0
    assert [dict(item.values) for item in every_instruction(whole())] == [
        {EXECUTED: 4.0, THREADS: 128.0},
        {EXECUTED: 4.0, THREADS: 128.0, SAMPLES: 9.0},
        {EXECUTED: 0.0, THREADS: 0.0},
    ]


def test_what_matters_most_is_kept_in_the_order_of_the_code() -> None:
    rows = tuple(
        at(f"I{n}", 16 * n, {SAMPLES: samples}, "a.cu", n + 1)
        for n, samples in enumerate((1.0, 50.0, 2.0, 60.0))
    )
    view = source_view(kernel(metrics={SAMPLES: 113.0}, instructions=rows), (1, 2))
    assert view is not None
    assert [line.sass for line in view.instructions] == ["I1", "I3"]
    assert [line.line for line in view.lines] == [4]
    assert (view.lines_total, view.instructions_total, view.complete) == (4, 4, False)
    assert view.total.samples == 113.0, "what is left out counts"


def test_an_instruction_of_which_nothing_is_known_is_counted_but_not_listed() -> None:
    view = source_view(kernel(instructions=(at("", 16, {SAMPLES: 9.0}),)))
    assert view is not None
    assert (view.instructions, view.instructions_total, view.total.samples) == ((), 1, 9.0)


def test_a_gap_in_the_code_is_not_the_whole_function() -> None:
    code = (Code(0, "A"), Code(64, "B"))
    view = source_view(kernel(instructions=(at("A", 0, {SAMPLES: 1.0}),), code=code))
    assert view is not None
    assert not view.complete


def sized(instructions: int, seconds: float) -> Kernel:
    code = tuple(Code(16 * place, "NOP") for place in range(instructions))
    return replace(kernel(code=code), duration_s=seconds)


@pytest.mark.parametrize("kernels", [0, 1, 75, 10_000])
def test_many_kernels_share_the_page(kernels: int) -> None:
    one = sized(5_000, 1e-3)
    dealt = allowances([one] * kernels)
    assert all(lines >= 20 and instructions >= 32 for lines, instructions in dealt)
    assert sum(instructions for _, instructions in dealt) <= max(4_000, 32 * kernels)
    assert sum(lines for lines, _ in dealt) <= max(2_000, 20 * kernels)


def test_one_kernel_has_all_of_it() -> None:
    assert allowances([sized(9_000, 1e-3)]) == [(2_000, 4_000)]


def test_the_longest_kernel_shows_most_and_small_ones_are_whole() -> None:
    short, long, small = allowances([sized(3_000, 1e-5), sized(3_000, 1e-3), sized(60, 2e-5)])
    assert long[1] > short[1] > 1_000
    assert small[1] == 60
