"""What kind of file it is, by its bytes, and the plain report inside a compressed one."""

from __future__ import annotations

import errno
import gzip
import lzma
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from kprof.errors import UnreadableReport
from kprof.reader.container import MAGIC

# A report compresses 20 to 80 times; the largest seen is 154 MB. Beyond this it is more likely
# a decompression bomb than a profile.
MAX_UNPACKED = 8 << 30
_CHUNK = 1 << 20
_HEAD = 512

_XZ, _GZIP = b"\xfd7zXZ\x00", b"\x1f\x8b"
_ARCHIVES = {
    b"PK\x03\x04": ("a zip archive", "unzip"),
    b"PK\x05\x06": ("an empty zip archive", "unzip"),
    b"BZh": ("compressed with bzip2", "bunzip2"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "unzstd"),
    b"7z\xbc\xaf\x27\x1c": ("a 7-zip archive", "7z x"),
}
_OTHERS = {
    b"SQLite format 3\0": "an SQLite database (an Nsight Systems export, perhaps)",
    b"\x7fELF": "an executable or a library, not a report",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a PNG image",
    b"\x89HDF": "an HDF5 file (an Nsight Systems export, perhaps)",
}
# How tempfile says that it found none; it raises FileNotFoundError like an absent file.
_NO_TEMPORARY = "No usable temporary directory"
_PROFILE = "make one with: kprof profile TARGET"


def head(path: Path) -> bytes:
    """Return the first bytes of a file.

    Raises:
        UnreadableReport: it is missing, a directory, empty, or may not be read.
    """
    try:
        if path.is_dir():
            raise UnreadableReport(
                f"{shown(path)}: is a directory",
                hint="give a report file, or use: kprof analyze DIRECTORY",
            )
        if path.exists() and not path.is_file():
            raise UnreadableReport(
                f"{shown(path)}: is not a regular file", hint="save it to a file first"
            )
        with path.open("rb") as file:
            start = file.read(_HEAD)
    except FileNotFoundError:
        raise UnreadableReport(f"{shown(path)}: no such file", hint="check the path") from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        raise unreadable(path, error) from None
    if not start:
        raise UnreadableReport(
            f"{shown(path)}: the file is empty",
            hint="ncu may have been killed before it wrote; " + _PROFILE,
        )
    return start


def shown(path: Path) -> str:
    """Return a path on one line that any terminal and JSON file can hold."""
    line = str(path).encode("utf-8", "backslashreplace").decode()
    return line.replace("\n", "\\n").replace("\r", "\\r")


def unreadable(path: Path, error: Exception) -> UnreadableReport:
    """Turn an operating system error into kprof's own."""
    if getattr(error, "errno", None) in {errno.ENOSPC, errno.EDQUOT}:
        return UnreadableReport(
            f"{shown(path)}: no space left in the temporary directory {tempfile.gettempdir()}",
            hint="free some space, or set TMPDIR to a folder that has more",
        )
    reason = getattr(error, "strerror", None) or str(error)
    if reason.startswith(_NO_TEMPORARY):
        return UnreadableReport(
            f"{shown(path)}: there is no temporary directory to work in",
            hint="set TMPDIR to a folder that can be written",
        )
    if getattr(error, "errno", None) in {errno.EMFILE, errno.ENFILE}:
        return UnreadableReport(
            f"{shown(path)}: cannot be read: {reason}", hint="raise the limit with: ulimit -n 1024"
        )
    loops = getattr(error, "errno", None) == errno.ELOOP
    return UnreadableReport(
        f"{shown(path)}: cannot be read: {reason}",
        hint="the link leads back to itself; name the file it was meant for"
        if loops
        else "check that the file exists and that you may read it",
    )


def is_packed(start: bytes) -> bool:
    """True for the compressions that :func:`unpack` undoes."""
    return start.startswith((_XZ, _GZIP))


def unpack(path: Path, start: bytes, target: Path, *, limit: int = MAX_UNPACKED) -> bytes:
    """Write the plain content of an ``.xz`` or ``.gz`` file and return its first bytes.

    Raises:
        UnreadableReport: the archive is cut off, damaged, holds something else than a report, or
            unpacks to more than ``limit`` bytes.
    """
    opener: Callable[[Path], BinaryIO]
    opener, kind = (lzma.open, "xz") if start.startswith(_XZ) else (gzip.open, "gzip")  # type: ignore[assignment]
    try:
        with opener(path) as source, target.open("wb") as plain:
            first = source.read(_HEAD)
            identify(path, first)  # before gigabytes of something else are unpacked
            plain.write(first)
            _copy(source, plain, limit, path)
    except EOFError:
        raise UnreadableReport(
            f"{shown(path)}: the {kind} archive is cut off", hint="download or copy the file again"
        ) from None
    except (lzma.LZMAError, gzip.BadGzipFile, zlib.error):
        raise UnreadableReport(
            f"{shown(path)}: the {kind} archive is damaged", hint="download or copy the file again"
        ) from None
    except OSError as error:
        raise unreadable(path, error) from None
    with target.open("rb") as plain:
        return plain.read(_HEAD)


def _copy(source: BinaryIO, plain: BinaryIO, limit: int, path: Path) -> None:
    written = plain.tell()
    while chunk := source.read(_CHUNK):
        written += len(chunk)
        if written > limit:
            raise UnreadableReport(
                f"{shown(path)}: unpacks to more than {limit >> 20} MiB",
                hint="unpack it by hand if it really is a report",
            )
        plain.write(chunk)


def identify(path: Path, start: bytes) -> None:
    """Accept the first bytes of a report.

    Raises:
        UnreadableReport: it is something else, and the message says what.
    """
    if start.startswith(MAGIC):
        return
    what, hint = describe(start)
    raise UnreadableReport(f"{shown(path)}: {what}", hint=hint)


def describe(start: bytes) -> tuple[str, str]:
    """Say what a file is that is not a report, and what to do about it."""
    if not start:
        return "the archive holds an empty file", _PROFILE
    if start.startswith(b"version https://git-lfs"):
        return "is a git-LFS pointer, not the report itself", "fetch the report with: git lfs pull"
    for magic, (what, tool) in _ARCHIVES.items():
        if start.startswith(magic):
            return f"is {what}", f"unpack it first with: {tool}"
    if start.startswith((_XZ, _GZIP)):
        return "is compressed twice", "unpack it once by hand"
    for magic, what in _OTHERS.items():
        if start.startswith(magic):
            return f"is {what}", _PROFILE
    return _describe_text(start)


def _describe_text(start: bytes) -> tuple[str, str]:
    if start.startswith(MAGIC[: len(start)]):
        return "is cut off after its first bytes", "copy the report again"
    # A multi-byte character may be cut at the end of the sample.
    text = start.decode("utf-8", errors="ignore")
    if b"\0" in start or len(text.encode()) < len(start) - 3:
        return "is not an Nsight Compute report (unknown binary data)", _PROFILE
    lowered = text.lstrip("\ufeff \t\r\n").lower()
    if lowered.startswith(("<!doctype html", "<html")):
        return "is an HTML page, not a report", "a download may have needed a login; fetch it again"
    if lowered.startswith(("{", "[")):
        return "is JSON text, not a report", _PROFILE
    if lowered.startswith("==prof==") or _is_csv(text):
        hint = "ncu's text output cannot be analysed; record with: ncu -o NAME"
        return "is CSV or ncu's text output, not a report", hint
    return "is a text file, not an Nsight Compute report", _PROFILE


def _is_csv(text: str) -> bool:
    commas = [line.count(",") for line in text.splitlines()[:2]]
    return len(commas) == 2 and min(commas) >= 2 and commas[0] == commas[1]
