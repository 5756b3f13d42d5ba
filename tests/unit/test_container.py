from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kprof.reader.container import MAGIC, walk
from tests.blocks import BYTES, GROUP, START, block, field, varint


def kernel(payload: bytes = b"k" * 300) -> bytes:
    return block((2, 1), (4, b"strings"), payload=payload)


SESSION = block((3, b"NVIDIA Nsight Compute"), payload=b"2025.3.1.0 (build 36398880)")
REPORT = START + SESSION + block((1, 1), payload=b"c" * 500) + kernel() + kernel()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "x.ncu-rep"


def test_a_whole_report(file: Path) -> None:
    file.write_bytes(REPORT)
    found = walk(file)
    assert found.complete
    assert (found.version, found.results, found.writer) == (7, 2, "2025.3.1.0")
    assert (found.modules, found.module_bytes) == (1, 500)
    assert found.result_bytes == 600 + len("2025.3.1.0 (build 36398880)")


def test_range_results_count_too(file: Path) -> None:
    file.write_bytes(START + kernel() + block((7, 2), payload=b"r"))
    assert walk(file).results == 3


@pytest.mark.parametrize("cut", [1, 150, 299, 300, 301, 310])
def test_a_cut_in_the_last_block_leaves_the_blocks_before_it(file: Path, cut: int) -> None:
    file.write_bytes(REPORT[:-cut])
    found = walk(file)
    assert not found.complete
    assert found.whole == len(REPORT) - len(kernel())
    assert found.results == 1


def test_a_cut_between_blocks_cannot_be_seen(file: Path) -> None:
    file.write_bytes(REPORT[: -len(kernel())])
    assert walk(file).complete


@pytest.mark.parametrize("tail", [b"\n", b"\n\n\n\n", b"\xff" * 64])
def test_bytes_after_the_end(file: Path, tail: bytes) -> None:
    file.write_bytes(REPORT + tail)
    found = walk(file)
    assert (found.whole, found.results, found.doubled) == (len(REPORT), 2, False)
    assert not found.complete


def test_two_reports_in_one_file(file: Path) -> None:
    file.write_bytes(REPORT + REPORT)
    found = walk(file)
    assert found.doubled
    assert (found.whole, found.results) == (len(REPORT), 2)


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(varint(2 << 3 | GROUP), id="unknown wire type"),
        pytest.param(b"\x80" * 20, id="endless number"),
        pytest.param(varint(4 << 3 | BYTES) + varint(99), id="string beyond the header"),
    ],
)
def test_a_damaged_block_header_ends_the_walk(file: Path, header: bytes) -> None:
    broken = struct.pack("<I", len(header)) + header
    file.write_bytes(START + kernel() + broken + kernel())
    found = walk(file)
    assert found.whole == len(START + kernel())
    assert found.results == 1


@pytest.mark.parametrize(
    "damaged", [MAGIC, MAGIC + b"\x02", MAGIC + b"\xff\xff\xff\xff" + b"x" * 9]
)
def test_a_damaged_file_header(file: Path, damaged: bytes) -> None:
    file.write_bytes(damaged)
    found = walk(file)
    assert (found.version, found.whole, found.results) == (None, 0, 0)
    assert not found.complete


def test_no_writer(file: Path) -> None:
    file.write_bytes(START + kernel())
    assert walk(file).writer is None


def test_fixed_width_fields_are_skipped(file: Path) -> None:
    header = varint(8 << 3 | 5) + b"\0" * 4 + varint(9 << 3 | 1) + b"\0" * 8 + field(2, 1)
    file.write_bytes(START + struct.pack("<I", len(header)) + header)
    found = walk(file)
    assert found.complete
    assert found.results == 1
