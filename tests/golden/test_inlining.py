"""Which lines inlined code belongs to: the line tables of the recordings say it."""

from __future__ import annotations

import random
import struct
import time
from pathlib import Path

import pytest

from kprof.embedded import elf, linetable, modules, with_chains
from kprof.model import Code, Profile, Spot
from kprof.reader import unpack
from kprof.source_text import FROM_REPORT, with_source
from tests.golden.recordings import every, path, profile

ISSUE_BOUND = "/opt/kernels/issue-bound/bad.cu"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plain")


def plain(folder: Path, name: str, depth: str = "plan") -> Path:
    target = folder / f"{depth}-{name}.ncu-rep"
    packed = path(depth, name)
    if not target.exists():
        unpack.unpack(packed, unpack.head(packed), target)
    return target


def read(name: str, depth: str = "plan") -> Profile:
    return with_source(profile(depth, name), path(depth, name))


@pytest.mark.parametrize(("depth", "name"), every(), ids=lambda value: value)
def test_every_line_is_one_of_its_chain(depth: str, name: str) -> None:
    found = read(name, depth)
    (kernel,) = found.kernels
    inlined = [item for item in kernel.code if item.chain]
    for item in inlined:
        assert Spot(str(item.file), int(item.line or 0)) in item.chain
        assert len(item.chain) > 1
    chained = {item.pc: item.chain for item in kernel.code}
    assert all(row.chain == chained[row.pc] for row in kernel.instructions)
    texts = {item.file: item.text.splitlines() for item in found.files}
    for item in kernel.code:
        for spot in item.chain:
            assert spot.file not in texts or 0 < spot.line <= len(texts[spot.file])


def test_inlined_code_names_the_call() -> None:
    code = [item for item in read("issue-bound-bad").kernels[0].code if item.line == 22]
    assert code
    assert {item.chain for item in code} == {(Spot(ISSUE_BOUND, 22), Spot(ISSUE_BOUND, 43))}


def test_a_line_that_calls_names_the_inlined_one() -> None:
    called = [
        item for item in read("issue-bound-bad").kernels[0].code if item.sass.startswith("FADD")
        and item.line == 41
    ]  # fmt: skip
    assert called
    assert all(item.chain == (Spot(ISSUE_BOUND, 27), Spot(ISSUE_BOUND, 41)) for item in called)


def test_code_that_was_not_inlined_has_no_chain() -> None:
    (kernel,) = read("transpose-naive").kernels
    assert not any(item.chain for item in kernel.code)


def test_the_report_has_the_text_of_its_sources() -> None:
    (text,) = read("transpose-unpadded").files
    assert text.origin == FROM_REPORT
    sample = Path(__file__).resolve().parents[2] / "sample_kernels" / "transpose" / "unpadded.cu"
    assert text.text == sample.read_text(encoding="utf-8")


def test_damaged_files_and_tables_end_quietly(folder: Path) -> None:
    whole = plain(folder, "issue-bound-bad").read_bytes()
    (module,) = modules(plain(folder, "issue-bound-bad"))
    chance = random.Random(7)  # noqa: S311 - the same damage every time
    for _ in range(300):
        data = bytearray(module.cubin)
        for _ in range(6):
            data[chance.randrange(len(data))] = chance.randrange(256)
        read = elf.parse(bytes(data))
        if read is not None:
            rows = [row for table in linetable.sequences(read) for row in table]
            assert all(len(linetable.chain(rows, row)) <= 64 for row in rows)
    for cut in range(0, 14_000, 97):
        (folder / "cut").write_bytes(whole[:cut] or b"N")
        assert len(list(modules(folder / "cut"))) <= 1


@pytest.mark.parametrize("at", [1 << 40, (1 << 64) - 1])
def test_a_cubin_whose_sections_lie_beyond_its_end_is_none(folder: Path, at: int) -> None:
    (module,) = modules(plain(folder, "issue-bound-bad"))
    data = bytearray(module.cubin)
    data[0x28:0x30] = at.to_bytes(8, "little")  # e_shoff
    assert elf.parse(bytes(data)) is None


def test_a_table_that_divides_by_nothing_is_left_out(folder: Path) -> None:
    (module,) = modules(plain(folder, "issue-bound-bad"))
    read = elf.parse(module.cubin)
    assert read is not None
    lines = bytearray(read.sections[".debug_line"])
    lines[13] = 0  # line_range of DWARF 2: after lengths, version, step, default and base
    assert list(linetable.sequences(read))
    damaged = elf.Elf(read.names, {**read.sections, ".debug_line": bytes(lines)})
    assert not list(linetable.sequences(damaged))


def test_many_empty_tables_take_no_time() -> None:
    header = struct.pack("<IHIBBbBB", 16, 2, 10, 1, 1, 0, 1, 1) + b"\0" * 5
    content = header * 100_000
    started = time.monotonic()
    assert not list(linetable.sequences(elf.Elf((), {".debug_line": content})))
    assert time.monotonic() - started < 3


def test_a_table_of_another_function_is_not_taken(folder: Path) -> None:
    (other,) = modules(plain(folder, "thread-divergence-bad"))
    kernels = profile("plan", "issue-bound-bad").kernels
    assert with_chains(kernels, [other.cubin]) == kernels
    assert all(isinstance(item, Code) and not item.chain for item in kernels[0].code)
