from __future__ import annotations

import pytest

from kprof.model import Instruction
from kprof.sharedmem import access_bytes, accesses, excess, shared_memory, ways
from tests.kernels import WAVEFRONTS, WAVEFRONTS_IDEAL, kernel, row


def access(
    sass: str, pc: int, wavefronts: float, ideal: float | None, line: int | None = None
) -> Instruction:
    values = {WAVEFRONTS: wavefronts} | ({} if ideal is None else {WAVEFRONTS_IDEAL: ideal})
    return row(sass, pc, line=line, file="tile.cu" if line else None, **values)


ROWS = (
    row("LDG.E R2, [R4]", 0, inst_executed=8.0),
    access("STS [R1], R2", 16, 10.0, 10.0, 20),
    access("LDS R3, [R1]", 32, 320.0, 10.0, 25),
    access("LDS.128 R4, [R1]", 48, 40.0, 40.0),
)


def test_excess_is_what_the_addresses_need_beyond_the_ideal() -> None:
    metrics = {WAVEFRONTS: 370.0, WAVEFRONTS_IDEAL: 60.0}
    found = shared_memory(kernel(metrics=metrics, instructions=ROWS))
    assert found is not None
    assert (found.wavefronts, found.ideal) == (370.0, 60.0)
    assert found.excess_pct == 100.0 * 310.0 / 370.0
    assert [(line.pc, line.line, line.wavefronts, line.ideal) for line in found.by_source] == [
        (32, 25, 320.0, 10.0),
        (48, None, 40.0, 40.0),
        (16, 20, 10.0, 10.0),
    ]


def test_half_measured_is_not_measured() -> None:
    assert shared_memory(kernel()) is None
    assert shared_memory(kernel(metrics={WAVEFRONTS: 1.0})) is None
    assert shared_memory(kernel(metrics={WAVEFRONTS_IDEAL: 1.0})) is None


def test_no_shared_memory_is_no_excess() -> None:
    found = shared_memory(kernel(metrics={WAVEFRONTS: 0.0, WAVEFRONTS_IDEAL: 0.0}))
    assert found is not None
    assert (found.wavefronts, found.excess_pct, found.by_source) == (0.0, 0.0, ())


def test_a_wide_access_is_no_conflict() -> None:
    """A 128-bit load of a warp needs four wavefronts; its ideal says so."""
    conflict, wide, store = accesses(kernel(instructions=ROWS))
    assert [ways(item) for item in (conflict, wide, store)] == [32.0, 1.0, 1.0]
    assert [excess(item) for item in (conflict, wide, store)] == [310.0, 0.0, 0.0]


def test_ways_are_unknown_without_an_ideal() -> None:
    (only,) = accesses(kernel(instructions=(access("ATOMS R1", 0, 5.0, None),)))
    assert ways(only) is None
    assert excess(only) == 5.0


@pytest.mark.parametrize(
    ("sass", "size"),
    [
        ("@P0 LDS.U.128 R4, [R1];", 16),
        ("LDGSTS.E.BYPASS.LTC128B.64 [R1], desc[UR4][R2.64]", 8),
        ("LDGSTS.E.LTC128B [R1], desc[UR4][R2.64]", 4),
        ("LDSM.16.M88.4 R4, [R1]", 16),
        ("LDS.U16 R4, [R1]", 4),
        ("", 4),
    ],
)
def test_a_thread_moves_what_the_text_says(sass: str, size: int) -> None:
    assert access_bytes(kernel(instructions=(access(sass, 0, 40.0, 10.0),))) == size


def test_the_width_is_that_of_most_of_the_excess() -> None:
    rows = (
        access("LDS R4, [R1]", 0, 300.0, 280.0),
        access("LDS.128 R4, [R1]", 16, 45.0, 30.0),
        access("LDS.128 R4, [R1]", 32, 45.0, 30.0),
        access("STS.64 [R1], R4", 48, 25.0, 0.0),
    )
    assert access_bytes(kernel(instructions=rows)) == 16
    assert access_bytes(kernel()) == 4
