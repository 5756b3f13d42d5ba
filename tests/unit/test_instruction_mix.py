from __future__ import annotations

import pytest

from kprof import instruction_mix as mix
from tests.kernels import kernel


def test_a_share_is_of_all_executed_instructions() -> None:
    item = kernel(opcodes={"IMAD": 30.0, "IADD3": 20.0, "FFMA": 50.0})
    assert mix.share(item, ("IMAD", "IADD")) == 0.5
    assert mix.share(item, ("MUFU",)) == 0.0


def test_a_share_of_an_unknown_mix_is_unknown() -> None:
    assert mix.share(kernel(), ("IMAD",)) is None


def test_parts_add_up_to_all_of_the_groups_largest_first() -> None:
    item = kernel(opcodes_full={"IMAD.WIDE": 10.0, "IMAD": 30.0, "FFMA": 900.0})
    parts = mix.parts(item, {"wide": ("IMAD.WIDE",), "products": ("IMAD",), "none": ("MUFU",)})
    assert parts == {"products": 0.75, "wide": 0.25}
    assert list(parts) == ["products", "wide"]
    assert mix.parts(kernel(), {"products": ("IMAD",)}) == {}


@pytest.mark.parametrize(
    ("sass", "opcode"),
    [
        ("IMAD.WIDE R2, R5, 0x4, R2", "IMAD.WIDE"),
        ("@!P0 IMAD R2, R5, 0x4, R2", "IMAD"),
        ("EXIT", "EXIT"),
        ("@P0", ""),
        ("", ""),
    ],
)
def test_the_opcode_of_an_instruction(sass: str, opcode: str) -> None:
    assert mix.mnemonic(sass) == opcode
