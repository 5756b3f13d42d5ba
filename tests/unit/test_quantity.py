from __future__ import annotations

import pytest

from kprof import metrics as m
from kprof.quantity import Quantity, Way, either, plain
from tests.kernels import DRAM, L2

RATIO = Quantity(
    "ratio", "one over another", "", (Way(("a", "b"), lambda a, b: a / b), Way(("c",), float))
)


def test_the_first_way_that_is_there_is_taken() -> None:
    assert RATIO.read({"a": 6.0, "b": 3.0, "c": 9.0}) == 2.0
    assert RATIO.read({"a": 6.0, "c": 9.0}) == 9.0


def test_what_is_absent_is_none_not_zero() -> None:
    assert RATIO.read({}) is None
    assert RATIO.read({"a": 6.0}) is None


def test_zero_is_a_value() -> None:
    assert RATIO.read({"c": 0.0}) == 0.0
    assert plain("n", "x", "", "").read({"x": 0.0}) == 0.0


def test_a_ratio_over_zero_has_no_value() -> None:
    assert RATIO.read({"a": 6.0, "b": 0.0}) is None
    assert RATIO.read({"a": 6.0, "b": 0.0, "c": 1.0}) == 1.0


def test_names_are_all_metrics_once() -> None:
    twice = Quantity("q", "", "", (Way(("a", "b"), max), Way(("b", "c"), max)))
    assert twice.names == ("a", "b", "c")


def test_plain_scales_to_si() -> None:
    assert m.DURATION.read({"gpu__time_duration.sum": 1500.0}) == pytest.approx(1.5e-6)


def test_either_prefers_the_first_name() -> None:
    clock = either("clock", ("new", "old"), "", "Hz")
    assert clock.read({"old": 1.0}) == 1.0
    assert clock.read({"old": 1.0, "new": 2.0}) == 2.0


def test_the_largest_of_what_is_there() -> None:
    assert m.L2_PCT.read({}) is None
    assert m.L2_PCT.read({m.elapsed(L2): 0.0}) == 0.0
    both = {m.elapsed(L2): 20.0, m.elapsed("lts__d_sectors"): 30.0, m.elapsed(DRAM): 90.0}
    assert m.L2_PCT.read(both) == 30.0


NS = {"gpu__time_duration.sum": 1e6}  # a millisecond


@pytest.mark.parametrize(
    ("quantity", "metrics", "expected"),
    [
        (m.DRAM_BYTES, {"dram__bytes.sum": 7.0, "dram__bytes_read.sum": 1.0}, 7.0),
        (m.DRAM_BYTES, {"dram__bytes_read.sum": 5.0, "dram__bytes_write.sum": 3.0}, 8.0),
        (m.DRAM_BYTES, {"dram__bytes_op_read.sum": 5.0, "dram__bytes_op_write.sum": 4.0}, 9.0),
        (m.DRAM_BYTES, {"dram__bytes_read.sum": 5.0}, None),
        (m.DRAM_BYTES, {"dram__bytes.sum.per_second": 4e12, **NS}, 4e9),
        (m.DRAM_BYTES, {"dram__bytes.sum.per_second": 4e12}, None),
        (m.L2_BYTES, {"lts__lts2xbar_cycles_active.sum": 10.0}, 320.0),
        (m.L2_BYTES, {"lts__lts2xbar_cycles_active.sum.per_second": 1e9, **NS}, 32e6),
        (m.L1_BYTES, {"l1tex__lsu_writeback_active_mem_lgds.sum": 10.0}, 1280.0),
        (m.L1_BYTES, {"l1tex__lsu_writeback_active_mem_lg.sum.per_second": 1e9, **NS}, 128e6),
        (
            m.FFMA,
            {
                "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed": 100.0,
                "smsp__cycles_elapsed.avg.per_second": 1e9,
                **NS,
            },
            1e8,
        ),
        (
            m.FFMA,
            {
                "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed": 100.0,
                "sm__cycles_elapsed.avg.per_second": 2e9,
                **NS,
            },
            2e8,
        ),
        (
            m.L1_WAVEFRONTS,
            {
                m.elapsed("l1tex__data_pipe_lsu_wavefronts"): 50.0,
                "l1tex__cycles_elapsed.sum": 1000.0,
            },
            500.0,
        ),
        (
            m.L1_WAVEFRONTS,
            {
                m.elapsed("l1tex__data_pipe_lsu_wavefronts"): 50.0,
                "sm__cycles_elapsed.avg.per_second": 1e9,
                "device__attribute_multiprocessor_count": 100.0,
                **NS,
            },
            5e7,
        ),
        (m.L1_WAVEFRONTS, {m.elapsed("l1tex__data_pipe_lsu_wavefronts"): 50.0}, None),
        (
            m.THREADS_PER_INSTRUCTION,
            {"thread_inst_executed": 64.0, "inst_executed": 4.0},
            16.0,
        ),
        (m.THREADS_PER_INSTRUCTION, {"thread_inst_executed": 0.0, "inst_executed": 0.0}, None),
    ],
)
def test_ways_of_the_catalogue(
    quantity: Quantity, metrics: dict[str, float], expected: float | None
) -> None:
    assert quantity.read(metrics) == (None if expected is None else pytest.approx(expected))


def test_every_quantity_explains_itself() -> None:
    known = m.quantities()
    assert len(known) > 50
    assert len({quantity.name for quantity in known}) == len(known)
    for quantity in known:
        assert quantity.meaning
        assert quantity.names


def test_the_reader_keeps_what_a_quantity_reads_and_nothing_else() -> None:
    for quantity in m.quantities():
        assert all(m.is_wanted(name) for name in quantity.names), quantity.name
    assert m.is_wanted("sm__ops_path_tensor_src_fp8_sparsity_off.sum")
    assert not m.is_wanted("sm__ops_path_tensor_src_fp8_sparsity_off.avg")
    assert not m.is_wanted("l1tex__data_bank_conflicts_pipe_lsu.sum")
