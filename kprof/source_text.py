"""The text of the source files that a profile's lines are in: from the report, else from disk.

Without being told where, kprof reads no source from disk: the names in a report are somebody
else's, and what they lead to would stand on a page that is passed on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from kprof.embedded import modules, with_chains
from kprof.errors import UnreadableReport
from kprof.model import Profile, SourceFile
from kprof.reader import unpack

# A page holds every text. Sources written by hand are far below; kprof's own.
MAX_FILE, MAX_ALL = 1 << 20, 8 << 20
FROM_REPORT = "report"
_MAX_PATH = 4096  # PATH_MAX, limits.h: no compiler has opened a file of a longer name


@dataclass(frozen=True, slots=True)
class Lookup:
    """Where sources are on this machine.

    Attributes:
        folders: each is searched for the longest end of a file's path that exists in it.
        renames: start of a path as the compiler wrote it, and the folder that stands for it here.
    """

    folders: tuple[Path, ...] = ()
    renames: tuple[tuple[str, Path], ...] = ()

    def find(self, file: str) -> Path | None:
        """Return where a file is here, None when it is nowhere or would lead out of the folders."""
        if len(file) > _MAX_PATH:
            return None
        parts = [part for part in file.replace("\\", "/").split("/") if part not in {"", "."}]
        candidates = chain(self._renamed(file), self._below(parts))
        return next((path for path in candidates if _is_inside(*path)), (None, None))[1]

    def _renamed(self, file: str) -> Iterator[tuple[Path, Path]]:
        plain = file.replace("\\", "/")
        for start, folder in self.renames:
            whole = start.replace("\\", "/").rstrip("/") + "/"
            if plain.startswith(whole):
                yield folder, folder / plain.removeprefix(whole)

    def _below(self, parts: Sequence[str]) -> Iterator[tuple[Path, Path]]:
        for cut in range(len(parts)):
            for folder in self.folders:
                yield folder, folder.joinpath(*parts[cut:])


def with_source(profile: Profile, path: Path | str, lookup: Lookup | None = None) -> Profile:
    """Return the profile with the text of its source files and the lines of inlined code.

    Args:
        profile: as read from ``path``.
        path: the report, plain or compressed.
        lookup: where to find what the report does not hold, None for nowhere.
    """
    if not any(row.line for kernel in profile.kernels for row in kernel.instructions):
        return profile
    cubins, texts = _embedded(Path(path))
    kernels = with_chains(profile.kernels, cubins)
    profile = replace(profile, kernels=kernels)
    return replace(profile, files=tuple(_files(named(profile), texts, lookup or Lookup())))


def named(profile: Profile) -> tuple[str, ...]:
    """Return the files that lines of a profile are in, those with most instructions first."""
    counted: dict[str, int] = {}
    for kernel in profile.kernels:
        for row in kernel.code or kernel.instructions:
            for file in {row.file, *(spot.file for spot in row.chain)} - {None}:
                counted[str(file)] = counted.get(str(file), 0) + 1
    return tuple(sorted(counted, key=lambda file: (-counted[file], file)))


def _embedded(path: Path) -> tuple[list[bytes], Mapping[str, str]]:
    """Return device code and imported sources; what cannot be read is not there."""
    try:
        start = unpack.head(path)
        with tempfile.TemporaryDirectory(prefix="kprof-") as folder:
            plain = path
            if unpack.is_packed(start):
                plain = Path(folder) / "unpacked.ncu-rep"
                unpack.unpack(path, start, plain)
            found = list(modules(plain))
    except (OSError, ValueError, UnreadableReport):
        return [], {}
    texts: dict[str, str] = {}
    for module in found:
        texts.update(module.texts)
    return [module.cubin for module in found], texts


def _files(files: Iterable[str], texts: Mapping[str, str], lookup: Lookup) -> Iterator[SourceFile]:
    room = MAX_ALL
    for file in files:
        found = _text(file, texts, lookup)
        if found is not None and len(found.text) <= min(room, MAX_FILE):
            room -= len(found.text)
            yield found


def _text(file: str, texts: Mapping[str, str], lookup: Lookup) -> SourceFile | None:
    if file in texts:
        return SourceFile(file, FROM_REPORT, _lines(texts[file]))
    place = lookup.find(file)
    try:
        if place is None or place.stat().st_size > MAX_FILE:
            return None
        text = place.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return SourceFile(file, str(place), _lines(text))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _is_inside(folder: Path, path: Path) -> bool:
    """Say whether a path is a file in a folder, and not one that ``..`` or a link leads to."""
    try:
        return path.is_file() and path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError):
        return False
