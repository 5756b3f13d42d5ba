from __future__ import annotations

import errno
import gzip
import io
import lzma
import os
import zipfile
from pathlib import Path

import pytest

from kprof.errors import UnreadableReport
from kprof.reader import unpack
from kprof.reader.container import MAGIC

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 154\n"


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x.ncu-rep", MAGIC)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (LFS, "git-LFS pointer"),
        (b"<!DOCTYPE html>\n<html></html>", "HTML page"),
        (b"\xef\xbb\xbf \n<html lang=en>", "HTML page"),
        (b'"ID","Process ID","Kernel Name"\n"0","1","k"\n', "CSV"),
        (b"Well, this, then\nis prose, not a table\n", "text file"),
        (b"==PROF== Connected to process 12\n", "ncu's text output"),
        (b'{"schema": "kprof.report/1"}', "JSON"),
        (b"hello\n", "text file"),
        ("Grüße, ".encode() * 100, "text file"),
        (zipped(), "zip archive"),
        (b"BZh91AY", "bzip2"),
        (b"\x28\xb5\x2f\xfd\x00", "zstd"),
        (b"SQLite format 3\0", "SQLite"),
        (b"\x7fELF\x02", "executable"),
        (b"NV", "cut off after its first bytes"),
        (bytes(range(256)), "unknown binary data"),
        (b"\x00" * 64, "unknown binary data"),
        (gzip.compress(gzip.compress(b"x"))[:2], "compressed twice"),
        (b"", "empty file"),
    ],
)
def test_what_it_is_instead(content: bytes, what: str) -> None:
    with pytest.raises(UnreadableReport, match=what) as raised:
        unpack.identify(Path("x.ncu-rep"), content)
    assert raised.value.hint
    assert "\n" not in raised.value.message


def test_a_report_is_accepted() -> None:
    unpack.identify(Path("x.ncu-rep"), MAGIC + b"\2\0\0\0")


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(UnreadableReport, match="no such file"):
        unpack.head(tmp_path / "x.ncu-rep")


def test_directory(tmp_path: Path) -> None:
    with pytest.raises(UnreadableReport, match="is a directory"):
        unpack.head(tmp_path)


def test_empty(tmp_path: Path) -> None:
    (tmp_path / "x.ncu-rep").touch()
    with pytest.raises(UnreadableReport, match="is empty"):
        unpack.head(tmp_path / "x.ncu-rep")


def test_device_file() -> None:
    with pytest.raises(UnreadableReport, match="not a regular file"):
        unpack.head(Path("/dev/zero"))


def test_a_fifo_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.ncu-rep")
    with pytest.raises(UnreadableReport, match="not a regular file"):
        unpack.head(tmp_path / "pipe.ncu-rep")


def test_impossible_names() -> None:
    with pytest.raises(UnreadableReport):
        unpack.head(Path("x\0y.ncu-rep"))
    with pytest.raises(UnreadableReport):
        unpack.head(Path("x" * 5000))


def test_a_full_disk_is_not_called_a_permission() -> None:
    error = unpack.unreadable(Path("x.xz"), OSError(errno.ENOSPC, "No space left on device"))
    assert "no space left" in error.message
    assert error.hint is not None
    assert "TMPDIR" in error.hint


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "ulimit"),
        (FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/']"), "TMPDIR"),
        (OSError(errno.ENOSPC, "No space left on device"), "TMPDIR"),
    ],
)
def test_what_the_machine_lacks_is_no_fault_of_the_file(error: OSError, hint: str) -> None:
    found = unpack.unreadable(Path("x.xz"), error)
    assert hint in (found.hint or "")
    assert "check that the file" not in (found.hint or "")


def test_names_are_shown_on_one_line() -> None:
    assert unpack.shown(Path(os.fsdecode(b"a\xff\nb"))) == "a\\udcff\\nb"
    assert unpack.shown(Path("größe.ncu-rep")) == "größe.ncu-rep"


@pytest.mark.parametrize("compress", [lzma.compress, gzip.compress])
class TestArchives:
    def test_unpacks(self, tmp_path: Path, compress) -> None:  # type: ignore[no-untyped-def]
        packed, plain = tmp_path / "any.name", tmp_path / "plain"
        content = MAGIC + os.urandom(3_000_000)
        packed.write_bytes(compress(content))
        start = unpack.head(packed)
        assert unpack.is_packed(start)
        assert unpack.unpack(packed, start, plain) == content[:512]
        assert plain.read_bytes() == content

    def test_cut_off(self, tmp_path: Path, compress) -> None:  # type: ignore[no-untyped-def]
        packed = tmp_path / "x"
        packed.write_bytes(compress(MAGIC + os.urandom(100_000))[:50_000])
        with pytest.raises(UnreadableReport, match="cut off"):
            unpack.unpack(packed, unpack.head(packed), tmp_path / "plain")

    def test_damaged(self, tmp_path: Path, compress) -> None:  # type: ignore[no-untyped-def]
        packed = tmp_path / "x"
        content = bytearray(compress(MAGIC + b"some text " * 100_000))
        content[len(content) // 2 :][:20] = b""
        content[60:100] = b"\xff" * 40
        packed.write_bytes(content)
        with pytest.raises(UnreadableReport, match=r"damaged|cut off"):
            unpack.unpack(packed, unpack.head(packed), tmp_path / "plain")

    def test_a_bomb_is_bounded(self, tmp_path: Path, compress) -> None:  # type: ignore[no-untyped-def]
        packed, plain = tmp_path / "x", tmp_path / "plain"
        packed.write_bytes(compress(MAGIC + bytes(30 << 20)))
        with pytest.raises(UnreadableReport, match="more than 4 MiB"):
            unpack.unpack(packed, unpack.head(packed), plain, limit=4 << 20)
        assert plain.stat().st_size <= 4 << 20

    def test_something_else_is_not_unpacked(self, tmp_path: Path, compress) -> None:  # type: ignore[no-untyped-def]
        packed, plain = tmp_path / "x", tmp_path / "plain"
        packed.write_bytes(compress(bytes(30 << 20)))
        with pytest.raises(UnreadableReport, match="not an Nsight Compute report"):
            unpack.unpack(packed, unpack.head(packed), plain)
        assert plain.stat().st_size == 0
