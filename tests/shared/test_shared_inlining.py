"""Inlined code in reports of other people, compilers and GPUs."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from kprof import reader
from kprof.embedded import elf, linetable, modules
from kprof.embedded.inlining import functions
from kprof.reader import unpack
from kprof.source_text import with_source

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "reports"
FILES = sorted(FOLDER.glob("public/*.xz"))
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not FILES, reason="the shared reports are not beside the repository"),
]
every_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.split(".")[0])


@every_file
def test_calls_lead_to_earlier_rows_of_the_same_function(file: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.ncu-rep"
    unpack.unpack(file, unpack.head(file), plain)
    for module in modules(plain):
        read = elf.parse(module.cubin)
        for rows in () if read is None else linetable.sequences(read):
            for number, row in enumerate(rows, 1):
                assert row.caller < number
                assert not row.caller or rows[row.caller - 1].section == row.section


@every_file
def test_chains_begin_or_pass_where_the_report_counts(file: Path) -> None:
    profile = with_source(reader.load(file), file)
    for kernel in profile.kernels:
        for item in kernel.code or kernel.instructions:
            lines = [spot.line for spot in item.chain]
            assert not lines or item.line in lines
            assert len(lines) != 1


@every_file
def test_every_function_with_lines_has_a_table_that_agrees(file: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.ncu-rep"
    unpack.unpack(file, unpack.head(file), plain)
    tables = [table for module in modules(plain) for table in functions(module.cubin)]
    for kernel in reader.load(file).kernels:
        rows = [row for row in kernel.code or kernel.instructions if row.line]
        for _, code in groupby(rows, key=lambda row: row.function):
            listed = list(code)
            assert any(table.agrees(listed) for table in tables), kernel.name


def test_chains_are_whole() -> None:
    (file,) = [file for file in FILES if file.name.startswith("a100-pcie")]
    profile = with_source(reader.load(file), file)
    chains = {
        tuple((Path(spot.file).name, spot.line) for spot in row.chain)
        for kernel in profile.kernels
        for row in kernel.instructions
    }
    assert (("ptxMma.cuh", 185), ("warpMma.cuh", 187), ("findPairs.cuh", 282), ("findPairs.cuh", 503)) in chains  # fmt: skip
    assert len(profile.files) > 10
