from __future__ import annotations

import hashlib
import lzma
from dataclasses import replace
from pathlib import Path

import pytest

from kprof.cli.packing import Packing, described, pack, packed
from kprof.model import Collection, Report, Source


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "report.ncu-rep"
    path.write_bytes(b"kernel" * 1_000_000)  # several blocks
    return path


def test_the_compressed_file_takes_the_place_of_the_plain_one(file: Path) -> None:
    files = {file: Path("out/report.ncu-rep")}
    packing = Packing(files)
    packing.finish(files)
    assert files == {packed(file): Path("out/report.ncu-rep.xz")}
    assert lzma.decompress(packed(file).read_bytes()) == file.read_bytes()
    assert {path.name for path in file.parent.iterdir()} == {file.name, packed(file).name}


def test_what_is_compressed_stays(tmp_path: Path) -> None:
    survey = tmp_path / "survey.ncu-rep.xz"
    survey.write_bytes(lzma.compress(b"kernel"))
    files = {survey: Path("out/survey.ncu-rep.xz")}
    Packing(files).finish(files)
    assert files == {survey: Path("out/survey.ncu-rep.xz")}


def test_where_it_fails_the_plain_file_is_kept(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(lzma.LZMAFile, "write", full)
    files = {file: Path("out/report.ncu-rep")}
    Packing(files).finish(files)
    assert files == {file: Path("out/report.ncu-rep")}
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert capsys.readouterr().err == ""


def test_a_file_that_is_gone_is_no_trouble(tmp_path: Path) -> None:
    pack(tmp_path / "gone").join()
    assert list(tmp_path.iterdir()) == []


def test_the_diagnosis_names_the_file_that_is_kept(file: Path) -> None:
    plain = Report(Source("out/report.ncu-rep", "digest"), Collection(), (), ())
    assert described(plain, {file: Path("out/report.ncu-rep")}) is plain
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    named = replace(plain, source=Source("out/report.ncu-rep.xz", digest))
    assert described(plain, {file: Path("out/report.ncu-rep.xz")}) == named
