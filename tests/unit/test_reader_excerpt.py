from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kprof.reader.container import walk
from kprof.reader.excerpt import Excerpts
from tests.blocks import START, block, field

SESSION = block((3, b"Nsight Compute"))


def payload(*fields: tuple[int, int | bytes]) -> bytes:
    message = b"".join(field(*pair) for pair in fields)
    return struct.pack("<I", len(message)) + message


def module(number: int, code: bytes = b"code") -> bytes:
    return block((1, 1), payload=payload((1, number), (4, code)))


def result(module: int, name: bytes = b"", strings: bytes = b"") -> bytes:
    return block(
        (2, 1), (4, strings), payload=payload((5, name), (13, b"m"), (15, field(1, module)))
    )


def written(tmp_path: Path, report: bytes, index: int) -> tuple[int | None, bytes]:
    """Return what writing an excerpt returns, and what it wrote."""
    source, target = tmp_path / "x.ncu-rep", tmp_path / "excerpt"
    source.write_bytes(report)
    position = Excerpts(source).write(index, target)
    return position, target.read_bytes() if target.exists() else b""


FIRST = result(7, b"first", strings=b"names of metrics")
SECOND, THIRD = result(9, b"second"), result(7, b"third")
REPORT = START + module(7) + FIRST + SESSION + module(9) + SECOND + module(7, b"more") + THIRD


def test_a_kernel_has_all_of_its_module_and_nothing_of_others(tmp_path: Path) -> None:
    assert written(tmp_path, REPORT, 2) == (
        1,
        START + module(7) + FIRST + SESSION + module(7, b"more") + THIRD,
    )


def test_names_that_others_refer_to_stay(tmp_path: Path) -> None:
    position, excerpt = written(tmp_path, REPORT, 1)
    assert (position, excerpt) == (1, START + FIRST + SESSION + module(9) + SECOND)
    assert walk(tmp_path / "excerpt").complete


def test_the_kernel_with_the_names_is_alone(tmp_path: Path) -> None:
    position, excerpt = written(tmp_path, REPORT, 0)
    assert (position, excerpt) == (
        0,
        START + module(7) + FIRST + SESSION + module(7, b"more"),
    )


def test_names_that_come_later_do_not_move_the_kernel(tmp_path: Path) -> None:
    report = START + module(7) + module(9) + SECOND + FIRST
    assert written(tmp_path, report, 0) == (0, START + module(9) + SECOND + FIRST)


def test_code_of_no_known_module_is_everybodys(tmp_path: Path) -> None:
    unknown = block((1, 1), payload=payload((4, b"code")))
    report = START + unknown + module(7) + module(9) + SECOND
    assert written(tmp_path, report, 0)[1] == START + unknown + module(9) + SECOND


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(START + module(7) + result(7), id="it would be no smaller"),
        pytest.param(START + module(7) + module(9) + result(8), id="its module is missing"),
        pytest.param(
            START + module(7) + module(9) + block((2, 1), payload=payload((5, b"f"))),
            id="it says nothing of a module",
        ),
        pytest.param(
            START + module(7) + module(9) + result(7) + block((2, 2)), id="several in one block"
        ),
        pytest.param(START + module(7) + module(9), id="no kernel"),
        pytest.param(
            START + module(7) + module(9) + block((2, 1), payload=b"\x02"), id="a damaged result"
        ),
        pytest.param(b"something else", id="no report"),
    ],
)
def test_where_there_is_no_excerpt(tmp_path: Path, report: bytes) -> None:
    assert written(tmp_path, report, 0) == (None, b"")


def test_a_report_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="gone"):
        Excerpts(tmp_path / "gone")


@pytest.mark.parametrize(
    ("report", "lightest"),
    [
        pytest.param(
            START + module(7, b"c" * 99) + result(7) + result(7) + module(9) + result(9),
            2,
            id="small",
        ),
        pytest.param(
            START + module(7) + result(7) + module(9) + result(9) + module(9, b"c" * 99),
            0,
            id="sum",
        ),
        pytest.param(START + module(7, b"c" * 99) + result(7) + module(9), 0, id="of no kernel"),
        pytest.param(START + result(7), 0, id="no code"),
        pytest.param(b"something else", 0, id="no report"),
    ],
)
def test_the_kernel_with_least_code(tmp_path: Path, report: bytes, lightest: int) -> None:
    source = tmp_path / "x.ncu-rep"
    source.write_bytes(report)
    assert Excerpts(source).lightest() == lightest
