from __future__ import annotations

import pytest

from kprof.attribution import executed, not_at_padding, traffic
from kprof.model import Code, Kernel
from kprof.rule import registry, select
from kprof.source_view import LOCAL, SECTORS
from tests.kernels import FMA, XU, at, counted, kernel

SASS = ("LDG.E R0, [R2.64]", "LDL R7, [R10]", "HMMA.16816.F32 R4, R8, R2, R4", "NOP", "NOP")


def _kernel(values: dict[int, dict[str, float]], executed: tuple[float, ...] = ()) -> Kernel:
    code = tuple(Code(16 * n, sass, "k.cu", n + 1) for n, sass in enumerate(SASS))
    rows = tuple(at(SASS[n], 16 * n, found, file="k.cu", line=n + 1) for n, found in values.items())
    return kernel(instructions=rows, code=code, executed=executed)


def test_local_sectors_are_traffic_too() -> None:
    found = traffic(_kernel({0: {SECTORS: 10.0}, 1: {LOCAL: 30.0}}))
    assert [(place.line, place.share) for place in found] == [(2, 0.75), (1, 0.25)]
    assert {place.share_of for place in found} == {"the global and local sectors touched"}


def test_without_local_memory_none_is_spoken_of() -> None:
    (found,) = traffic(_kernel({0: {SECTORS: 10.0}, 1: {LOCAL: 0.0}}))
    assert (found.share, found.share_of) == (1.0, "the global sectors touched")


@pytest.mark.parametrize(
    ("beginnings", "what", "said"),
    [
        (("",), None, "the executed instructions"),
        (("LDG",), None, "the executed instructions of this kind"),
        (("LDG",), "loads", "the executed loads"),
    ],
)
def test_executions_say_of_what_they_are(
    beginnings: tuple[str, ...], what: str | None, said: str
) -> None:
    item = _kernel({0: {}}, executed=(6.0, 1.0, 1.0, 1.0, 1.0))
    assert executed(item, beginnings, what)[0].share_of == said


def test_waiting_at_padding_is_the_matrix_instructions() -> None:
    item = _kernel({0: {"n": 1.0}, 2: {"n": 1.0}, 3: {"n": 5.0}, 4: {"n": 3.0}})
    found = not_at_padding(item, lambda row: row.values["n"], "the wait samples")
    assert [(place.line, place.share) for place in found] == [(3, 0.9), (1, 0.1)]
    assert (found[0].sass, found[0].share_of) == (SASS[2], "the wait samples")


@pytest.mark.parametrize(
    ("rule", "units", "sass", "of"),
    [
        (
            "special-function-bound",
            {XU: 95.0},
            "MUFU.EX2 R6, R6",
            "the executed special functions",
        ),
        (
            "unpacked-half",
            {FMA: 90.0},
            "HFMA2 R4, R4.H0_H0, R5.H0_H0, R0.H0_H0",
            "the executed half instructions",
        ),
    ],
)
def test_a_mix_is_weighed_by_executions_and_not_by_who_waits(
    rule: str, units: dict[str, float], sass: str, of: str
) -> None:
    waits, runs = (Code(16 * n, sass, "k.cu", n + 1) for n in range(2))
    samples = {"smsp__pcsamp_warps_issue_stalled_wait": 90.0}
    item = kernel(
        units,
        counted(fp16=(0.0, 0.0, 1e9)),
        opcodes={"HFMA2": 90.0, "FFMA": 10.0},
        opcodes_full={"HFMA2": 90.0, "FFMA": 10.0, "MUFU.EX2": 1.0},
        thread_opcodes={"HFMA2": 1e9},
        instructions=(at(sass, 0, samples, "k.cu", 1),),
        code=(waits, runs),
        executed=(1.0, 99.0),
    )
    finding = select(registry(), [rule])[0].check(item)
    assert finding is not None
    assert [(place.line, place.share) for place in finding.source] == [(2, 0.99), (1, 0.01)]
    assert {place.share_of for place in finding.source} == {of}


def _long_loop(length: int, line: int | None) -> Kernel:
    texts = [f"FFMA R{n}, R1, R2, R3" for n in range(length)]
    file = None if line is None else "k.cu"
    code = tuple(Code(16 * n, text, file, line and line + n) for n, text in enumerate(texts))
    return kernel(code=code, executed=(8.0,) * length, instructions=())


def test_of_a_long_loop_without_lines_no_instruction_stands_for_the_others() -> None:
    assert executed(_long_loop(51, None)) == ()
    assert len(executed(_long_loop(50, None))) == 5
    assert len(executed(_long_loop(51, 1))) == 5
