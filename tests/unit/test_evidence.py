from __future__ import annotations

import pytest

from kprof import metrics as m
from kprof.evidence import busy, derived, measured, mostly, places, where
from kprof.model import Evidence, Instruction, Limiter, Place
from kprof.quantity import Quantity
from tests.kernels import DRAM, L1_HIT, kernel, row

ROWS = (
    row("LDG R0", 16, line=5, file="/src/a.cu", hits=30.0),
    row("STG R0", 32, hits=10.0),
    row("MOV R1", 48),
    row("LDG R2", 0, line=4, file="/src/a.cu", hits=30.0),
)


def test_a_measured_value_names_its_metric() -> None:
    item = kernel(metrics={L1_HIT: 12.5})
    assert measured(item, m.L1_HIT, 50.0, "kprof") == (Evidence(L1_HIT, 12.5, "%", 50.0, "kprof"),)


def test_zero_is_evidence_and_absence_is_none() -> None:
    (found,) = measured(kernel(metrics={L1_HIT: 0.0}), m.L1_HIT)
    assert (found.value, found.threshold) == (0.0, None)
    assert measured(kernel(), m.L1_HIT) == ()


def test_a_value_with_many_ways_goes_by_its_own_name() -> None:
    (found,) = measured(kernel({DRAM: 70.0}), m.DRAM_PCT)
    assert (found.metric, found.value) == ("dram_pct", 70.0)
    (found,) = measured(
        kernel(metrics={"thread_inst_executed": 64.0, "inst_executed": 4.0}),
        m.THREADS_PER_INSTRUCTION,
    )
    assert (found.metric, found.value) == ("threads_per_instruction", 16.0)


@pytest.mark.parametrize(
    ("counter", "quantity", "shown"),
    [
        ("lts__lts2xbar_cycles_active.sum", m.L2_BYTES, ("l2_bytes", 320.0)),
        ("l1tex__lsu_writeback_active_mem_lgds.sum", m.L1_BYTES, ("l1_bytes", 1280.0)),
        # Nanoseconds and seconds are both a time.
        ("gpu__time_duration.sum", m.DURATION, ("gpu__time_duration.sum", 1e-8)),
    ],
)
def test_bytes_out_of_cycles_do_not_go_by_the_name_of_the_cycles(
    counter: str, quantity: Quantity, shown: tuple[str, float]
) -> None:
    (found,) = measured(kernel(metrics={counter: 10.0}, duration_s=None), quantity)
    assert found.metric == shown[0]
    assert found.value == pytest.approx(shown[1])


def test_a_derived_value_keeps_its_threshold() -> None:
    assert derived("x", 1.0, "%") == Evidence("x", 1.0, "%", None, None)
    found = busy(Limiter("dram__throughput", "dram", 71.0))
    assert (found.value, found.unit, found.threshold) == (71.0, "%", 60.0)
    assert "SOLBottleneck" in (found.threshold_source or "")


def test_places_are_ranked_by_weight_then_address() -> None:
    found = places(kernel(instructions=ROWS), lambda item: item.values.get("hits", 0.0))
    assert [place.pc for place in found] == [0, 16, 32]
    assert [place.share for place in found] == pytest.approx([3 / 7, 3 / 7, 1 / 7])


def test_shares_are_of_the_total_given_and_never_above_one() -> None:
    found = places(kernel(instructions=ROWS), lambda item: item.values.get("hits", 0.0), 20.0)
    assert [place.share for place in found] == [1.0, 1.0, 0.5]


def test_a_line_of_several_instructions_says_which_part_is_whose() -> None:
    rows = (
        row("LDS R0", 0, line=5, file="/src/a.cu", hits=10.0),
        row("LDS R1", 16, line=5, file="/src/a.cu", hits=20.0),
        ROWS[1],
    )
    (both, alone) = places(kernel(instructions=rows), lambda item: item.values["hits"])
    assert (both.sass, both.share, both.instructions) == ("LDS R1", 0.75, 2)
    assert both.instruction_share == 0.5
    assert (alone.share, alone.instructions, alone.instruction_share) == (0.25, 1, 0.25)


def test_at_most_five_places() -> None:
    many = tuple(row("LDG", pc, hits=1.0) for pc in range(9))
    assert len(places(kernel(instructions=many), lambda item: item.values["hits"])) == 5


def test_no_weight_is_no_place() -> None:
    assert places(kernel(instructions=ROWS), lambda _: 0.0) == ()
    assert places(kernel(), lambda _: 1.0) == ()
    assert places(kernel(instructions=ROWS), lambda _: 1.0, 0.0) == ()


def test_a_headline_names_the_first_place_with_a_line() -> None:
    unknown = Place(None, None, "LDG", 0, 1.0)
    assert where((unknown, Place("/src/dir/a.cu", 7, "LDG", 16, 0.5))) == " at a.cu:7"
    assert where((unknown,)) == ""
    assert where(()) == ""


def test_a_headline_says_where_most_wait() -> None:
    assert mostly((Place("/src/a.cu", 7, "LDG", 16, 0.5),)) == "; most wait at a.cu:7"
    assert mostly(()) == ""


def test_instructions_of_one_line_are_one_place() -> None:
    rows = (
        Instruction(0, "LDS R1", "a.cu", 7, {"n": 10.0}),
        Instruction(16, "LDS R2", "a.cu", 7, {"n": 30.0}),
        Instruction(32, "LDS R3", "a.cu", 9, {"n": 35.0}),
        Instruction(48, "LDS R4", None, None, {"n": 25.0}),
    )
    found = places(kernel(instructions=rows), lambda row: row.values["n"])
    assert [(place.line, place.sass, place.share) for place in found] == [
        (7, "LDS R2", 0.4),
        (9, "LDS R3", 0.35),
        (None, "LDS R4", 0.25),
    ]


def test_places_say_what_their_shares_are_of() -> None:
    found = places(kernel(instructions=ROWS), lambda row: row.values.get("hits", 0.0), of="hits")
    assert {place.share_of for place in found} == {"hits"}


@pytest.mark.parametrize(("pct", "side"), [(60.0, "at least"), (59.9, "below")])
def test_a_unit_that_is_not_the_limit_speaks_by_being_idle(pct: float, side: str) -> None:
    assert busy(Limiter("dram__throughput", "dram", pct)).side == side


def test_the_side_of_a_threshold_is_kept() -> None:
    assert derived("x", 1.0, "%", 2.0, "kprof", side="below").side == "below"
    (found,) = measured(kernel(metrics={L1_HIT: 1.0}), m.L1_HIT, 2.0, "kprof", side="below")
    assert found.side == "below"
