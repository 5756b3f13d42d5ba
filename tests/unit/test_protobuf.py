from __future__ import annotations

import pytest

from kprof import protobuf

# Field 1 is 150, field 2 the text "abc", fields 3 and 4 are fixed: 32 and 64 bits.
MESSAGE = b"\x08\x96\x01" + b"\x12\x03abc" + b"\x1d\1\0\0\0" + b"\x21\2\0\0\0\0\0\0\0"


def test_fields_come_in_order() -> None:
    found = list(protobuf.fields(MESSAGE))
    assert found == [(1, 150), (2, b"abc"), (3, b"\1\0\0\0"), (4, b"\2" + b"\0" * 7)]
    assert protobuf.numbers(MESSAGE) == {1: 150}


@pytest.mark.parametrize("end", range(1, len(MESSAGE)))
def test_a_message_that_is_cut_off_is_damaged_or_ends_between_fields(end: int) -> None:
    whole = list(protobuf.fields(MESSAGE))
    if end in {3, 8, 13}:
        assert list(protobuf.fields(MESSAGE[:end])) == whole[: {3: 1, 8: 2, 13: 3}[end]]
    else:
        with pytest.raises(protobuf.DamagedError):
            list(protobuf.fields(MESSAGE[:end]))


@pytest.mark.parametrize("message", [b"\x0b", b"\x08" + b"\xff" * 11])
def test_what_is_no_message_is_damaged(message: bytes) -> None:
    with pytest.raises(protobuf.DamagedError):
        list(protobuf.fields(message))
