from __future__ import annotations

import pytest

from kprof import metrics as m
from kprof.metrics import opcodes
from kprof.roofline import flops, halves_are_constants
from tests.kernels import counted, kernel

COUNTED = (*m.FP32_INSTRUCTIONS, *m.FP64_INSTRUCTIONS, *m.FP16_INSTRUCTIONS)


@pytest.mark.parametrize(
    ("opcode", "kind", "at_once"),
    [
        ("FADD", "fadd", 1.0),
        ("FADD.FTZ", "fadd", 1.0),
        ("FMUL.RZ", "fmul", 1.0),
        ("FFMA", "ffma", 1.0),
        ("FFMA.SAT", "ffma", 1.0),
        ("FFMA32I", "ffma", 1.0),
        ("FADD2", "fadd", 2.0),
        ("FMUL2.FTZ", "fmul", 2.0),
        ("FFMA2", "ffma", 2.0),
        ("DADD", "dadd", 1.0),
        ("DMUL.RP", "dmul", 1.0),
        ("DFMA", "dfma", 1.0),
        ("HADD2", "hadd", 1.0),
        ("HADD2.SAT", "hadd", 1.0),
        ("HMUL2.BF16_V2", "hmul", 1.0),
        ("HFMA2", "hfma", 1.0),
        ("HFMA2.MMA", "hfma", 1.0),
        ("HFMA2.MMA.BF16_V2", "hfma", 1.0),
        ("HFMA2_32I", "hfma", 1.0),
    ],
)
def test_what_an_opcode_counts_as(opcode: str, kind: str, at_once: float) -> None:
    totals = opcodes.totals({opcode: 32.0, "IMAD": 64.0})
    assert totals.pop(opcodes.by_opcode(kind)) == at_once * 32.0
    assert set(totals.values()) == {0.0}


@pytest.mark.parametrize(
    "opcode",
    ["HADD2.F32", "FSETP.GEU.AND", "FMNMX", "FSEL", "FCHK", "MUFU.RCP", "F2F.F64.F32", "I2FP.F32.U32",
     "F2FP.F16.F32.PACK_AB", "HMNMX2.BF16_V2", "HSETP2.GT.AND", "DSETP.GT.AND", "HMMA.16816.F32",
     "DMMA.884", "IMAD", "FENCE.VIEW.ASYNC.S", "FLO.U32", "DEPBAR.LE"],
)  # fmt: skip
def test_what_is_no_add_multiply_or_fma(opcode: str) -> None:
    totals = opcodes.totals({opcode: 32.0})
    assert len(totals) == len(opcodes.KINDS) == 9
    assert set(totals.values()) == {0.0}


def test_spellings_of_one_kind_are_added_up() -> None:
    totals = opcodes.totals({"FFMA": 1.0, "FFMA.FTZ": 2.0, "FFMA2": 4.0, "FADD": 8.0})
    assert totals[opcodes.by_opcode("ffma")] == 11.0
    assert totals[opcodes.by_opcode("fadd")] == 8.0


def test_an_unknown_mix_counts_nothing_rather_than_zero() -> None:
    assert opcodes.totals({}) == {}


def test_operations_of_the_mix() -> None:
    mix = {"FADD": 1.0, "FFMA2": 2.0, "DFMA": 4.0, "HMUL2": 8.0, "HFMA2.BF16_V2": 16.0}
    work = flops(kernel(metrics=opcodes.totals(mix)))
    assert (work.fp32, work.fp64, work.fp16) == (9.0, 8.0, 80.0)


def test_the_mix_comes_before_counters_and_those_before_nothing() -> None:
    counters = counted(fp32=(0.0, 0.0, 5.0))
    assert m.FFMA.read(counters) == 5.0
    assert m.FFMA.read(counters | opcodes.totals({"FFMA": 7.0})) == 7.0
    assert m.FFMA.read(counters | opcodes.totals({"IMAD": 7.0})) == 0.0
    assert m.FFMA.read({}) is None


def test_conversions_do_not_make_constants_look_like_arithmetic() -> None:
    """The counters take ``HADD2.F32`` for an addition of halves."""
    mix = {"HADD2.F32": 64.0, "HFMA2.MMA": 32.0, "FFMA": 640.0}
    executed = {"HADD2": 2.0, "HFMA2": 1.0, "FFMA": 20.0, "LDG": 1.0}
    by_mix = kernel(metrics=opcodes.totals(mix), opcodes=executed)
    by_counter = kernel(metrics=counted(fp16=(64.0, 0.0, 32.0)), opcodes=executed)
    assert halves_are_constants(by_mix)
    assert not halves_are_constants(by_counter)


def test_every_kind_is_a_quantity_that_asks_for_the_mix() -> None:
    assert {quantity.ways[0].metrics[0] for quantity in COUNTED} == set(
        map(opcodes.by_opcode, opcodes.KINDS)
    )
    assert {quantity.ways[0].collects for quantity in COUNTED} == {(opcodes.THREAD_OPCODES,)}
    assert all(m.is_wanted(name) for quantity in COUNTED for name in quantity.names)
