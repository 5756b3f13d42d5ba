"""CUDA sources of a bench file, compiled by nvcc into shared libraries that are kept by content."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kprof import presence, process
from kprof.errors import NvccNotFound
from kprof.samples import FLAGS, find_nvcc

_SHARED = ("-shared", "-Xcompiler", "-fPIC")
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
_TIMEOUT_S = 300.0
_TARGETS = ("-arch", "--gpu-architecture", "-gencode", "--generate-code")


@dataclass(frozen=True, slots=True)
class Built:
    """A source's library, or why there is none."""

    place: str | None
    problem: str | None = None


def build_all(libraries: Sequence[Mapping[str, Any]], capability: str | None) -> list[Built]:
    """Compile every source for a GPU; one that cannot be compiled costs the others nothing.

    Args:
        libraries: ``source`` and ``flags`` of each.
        capability: of the GPU, ``9.0``; None where there is none, and nothing is compiled.
    """
    if not libraries:
        return []
    if capability is None:
        return [Built(None, "CUDA launchers need a GPU") for _ in libraries]
    try:
        nvcc = find_nvcc()
    except NvccNotFound as error:
        return [Built(None, f"{error.message}; {error.hint}") for _ in libraries]
    arch = f"-arch=sm_{capability.replace('.', '')}"
    return [_built(nvcc, Path(each["source"]), tuple(each["flags"]), arch) for each in libraries]


def argv(nvcc: Path, source: Path, flags: Sequence[str], arch: str, library: Path) -> list[str]:
    """Return the compiler's command line; flags that name an architecture of their own win."""
    own = any(flag.split("=")[0] in _TARGETS for flag in flags)
    chosen = () if own else (arch,)
    return [str(nvcc), *chosen, *FLAGS, *_SHARED, *flags, "-o", str(library), str(source)]


def _built(nvcc: Path, source: Path, flags: tuple[str, ...], arch: str) -> Built:
    if not presence.is_file(source):
        return Built(None, f"{source} does not exist")
    try:
        library = _cache() / f"{source.stem}-{_key(nvcc, source, (arch, *flags))}.so"
        if presence.is_file(library):
            return Built(str(library))
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent, prefix=".build-") as scratch:
            fresh = Path(scratch) / library.name
            problem = _attempt(argv(nvcc, source, flags, arch, fresh), source)
            if problem is None:
                fresh.replace(library)
    except OSError as error:
        return Built(None, f"{source.name} cannot be compiled: {error}")
    return Built(None if problem else str(library), problem)


def _attempt(command: list[str], source: Path) -> str | None:
    done = process.run(command, timeout_s=_TIMEOUT_S)
    if done.timed_out:
        return f"nvcc has not compiled {source.name} after {_TIMEOUT_S:.0f} s"
    if done.returncode == 0:
        return None
    said = (done.stderr + done.stdout).decode(errors="replace")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = (line for line in lines if "error" in line.lower() or "fatal" in line.lower())
    return f"nvcc could not compile {source.name}: {next(telling, f'status {done.returncode}')}"


def _key(nvcc: Path, source: Path, flags: Sequence[str]) -> str:
    digest = hashlib.sha256("\0".join([presence.real(nvcc), *FLAGS, *flags]).encode())
    for path in sorted({source.resolve(), *_included(source.resolve(), set())}):
        digest.update(str(path).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _included(source: Path, seen: set[Path]) -> Iterator[Path]:
    """Yield the files that a source includes by name, and those that they include."""
    for name in _INCLUDE.findall(source.read_text(encoding="utf-8", errors="replace")):
        path = (source.parent / name).resolve()
        if path not in seen and presence.is_file(path):
            seen.add(path)
            yield path
            yield from _included(path, seen)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "kprof" / "bench"
