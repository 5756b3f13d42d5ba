from __future__ import annotations

from dataclasses import replace

import pytest

from kprof.model import Code
from kprof.sass.addresses import is_loaded, with_loaded_addresses
from kprof.sass.flow import Flow
from tests.kernels import row


def last_is_loaded(*lines: str) -> bool:
    flow = Flow([(16 * position, line) for position, line in enumerate(lines)])
    return is_loaded(flow, len(lines) - 1)


LOAD = "LDG.E R7, desc[UR4][R2.64]"
ACCESS = "LDG.E R8, desc[UR4][R6.64+0x10]"


@pytest.mark.parametrize(
    "lines",
    [
        (LOAD, "IMAD.WIDE.U32 R6, R7, 0x4, R4", ACCESS),
        (LOAD, "IADD3 R0, R7, 0x1, RZ", "LEA R6, P0, R0, R4, 0x2", ACCESS),
        ("LDS R7, [R2]", "IMAD.WIDE.U32 R6, R7, 0x4, R4", "STG.E desc[UR4][R6.64], R9"),
        # The upper half alone.
        (LOAD, "MOV R6, R4", "MOV R7, R7", ACCESS),
    ],
)
def test_data_that_the_kernel_loads_is_the_address(lines: tuple[str, ...]) -> None:
    assert last_is_loaded(*lines)


@pytest.mark.parametrize(
    "lines",
    [
        # Threads, parameters and their descriptor.
        ("S2R R0, SR_TID.X", "LDC.64 R4, c[0x0][0x210]", "IMAD.WIDE.U32 R6, R0, 0x4, R4", ACCESS),
        # Data decides whether, not where.
        (LOAD, "ISETP.GE.AND P0, PT, R7, R0, PT", "MOV R6, R4", "MOV R7, R5", f"@P0 {ACCESS}"),
        # It is stored, not an address.
        (LOAD, "STG.E desc[UR4][R4.64], R7"),
        # Overwritten before.
        (LOAD, "IMAD.WIDE.U32 R6, R0, 0x4, R4", ACCESS),
        ("", ""),
    ],
)
def test_what_threads_and_parameters_make_is_not(lines: tuple[str, ...]) -> None:
    assert not last_is_loaded(*lines)


def test_a_loop_follows_its_own_loads() -> None:
    flow = Flow(
        [
            (0x00, "MOV R7, RZ"),
            (0x10, "IMAD.WIDE.U32 R6, R7, 0x4, R4"),
            (0x20, "LDG.E R7, desc[UR4][R6.64]"),
            (0x30, "@P0 BRA 0x10"),
        ]
    )
    assert is_loaded(flow, 2)


def test_rows_are_judged_in_their_own_function() -> None:
    texts = (LOAD, "IMAD.WIDE.U32 R6, R7, 0x4, R4", ACCESS)
    code = (*(Code(16 * n, text) for n, text in enumerate(texts)), Code(32, ACCESS, function=1))
    first, unknown = row(ACCESS, 32), row(ACCESS, 4096)
    other = replace(first, function=1)
    assert with_loaded_addresses(code, (first, other, unknown)) == (first,)
