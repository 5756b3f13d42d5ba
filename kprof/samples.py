"""The sample kernels: CUDA programs that check their own result, with a known verdict each.

They ship in the package as sources. :func:`build` compiles one with the user's own nvcc; each
program ends with 0 when its result matched the CPU's, 1 when it did not, 2 when it could not run.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import platform
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from kprof import presence, process
from kprof.errors import BuildFailed, NvccNotFound, OutputExists, OutputNotWritable, UnknownSample

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable

PACKAGE = "kprof.sample_kernels"
NATIVE = "native"
# -lineinfo lets a report name source lines and costs no speed.
FLAGS = ("-O3", "-lineinfo", "-std=c++17")
_SUFFIXES = (".cu", ".cuh")
_BUILD_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample program.

    Attributes:
        name: topic and file, e.g. ``transpose/unpadded``.
        shows: one line.
        expect: the verdict kprof should reach.
        arguments: what the program takes, e.g. ``[elements = 67108864]``.
        source: the text of its ``.cu`` file.
    """

    name: str
    shows: str
    expect: str
    arguments: str
    source: str

    @property
    def slug(self) -> str:
        """The name as one word: ``transpose-unpadded``."""
        return self.name.replace("/", "-")


def samples() -> tuple[Sample, ...]:
    """Return every sample, ordered by name."""
    return tuple(
        _sample(path, text) for path, text in sorted(_sources().items()) if path.endswith(".cu")
    )


def select(name: str) -> tuple[Sample, ...]:
    """Return the sample of that name, or all of that topic.

    Raises:
        UnknownSample: there is neither.
    """
    known = samples()
    wanted = name.removesuffix(".cu").strip("/")
    found = tuple(s for s in known if wanted in (s.name, s.slug, s.name.partition("/")[0]))
    if not found:
        close = difflib.get_close_matches(wanted, [s.name for s in known], n=1, cutoff=0.5)
        meant = f"did you mean {close[0]}? " if close else ""
        raise UnknownSample(
            f"no sample is named {name!r}", hint=f"{meant}kprof samples list shows them"
        )
    return found


def find_nvcc(environ: Mapping[str, str] | None = None, root: Path = Path("/")) -> Path:
    """Return the nvcc to build with: from PATH, CUDA_HOME, CUDA_PATH or /usr/local/cuda*/bin.

    Raises:
        NvccNotFound: there is none.
    """
    for path in _nvcc_places(os.environ if environ is None else environ, root):
        if presence.is_file(path) and os.access(path, os.X_OK):
            return path
    raise NvccNotFound(
        "no nvcc in PATH, CUDA_HOME, CUDA_PATH or /usr/local/cuda*/bin",
        hint="install the CUDA toolkit, or set CUDA_HOME to where it is",
    )


def build(
    sample: Sample,
    *,
    out_dir: Path | None = None,
    arch: str = NATIVE,
    nvcc: Path | None = None,
    force: bool = False,
) -> Path:
    """Compile a sample and return the program's path.

    Without ``out_dir`` the program goes to the cache, where an up-to-date one is reused.

    Args:
        sample: what to build.
        out_dir: where to put the program and a folder ``sources``, which reports refer to.
        arch: nvcc's ``-arch``; ``native`` builds for this machine's GPU, and where nvcc finds
            none, for nvcc's default, which newer GPUs translate when the program starts.
        nvcc: the compiler, None to look for it.
        force: replace a program that is already in ``out_dir``.

    Raises:
        NvccNotFound: there is no compiler.
        BuildFailed: the compiler rejects the program or cannot work.
        OutputExists: ``out_dir`` holds the program and ``force`` is not given.
        OutputNotWritable: the folder cannot be written.
    """
    compiler = find_nvcc() if nvcc is None else nvcc
    folder = _cache(compiler, arch) if out_dir is None else out_dir
    program = folder.absolute() / sample.slug
    if presence.exists(program) and out_dir is None:
        return program
    if os.path.lexists(program) and not force:
        raise OutputExists(f"{program} already exists", hint="choose another -o or add --force")
    with _writable(folder):
        _write_sources(folder / "sources")
        with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as scratch:
            fresh = Path(scratch) / sample.slug
            _compile(compiler, arch, folder.absolute() / "sources" / f"{sample.name}.cu", fresh)
            fresh.replace(program)
    return program


def _sources() -> dict[str, str]:
    return dict(_walk(resources.files(PACKAGE), PurePosixPath()))


def _walk(folder: Traversable, path: PurePosixPath) -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, path / entry.name)
        elif entry.name.endswith(_SUFFIXES):
            yield str(path / entry.name), entry.read_text(encoding="utf-8")


def _sample(path: str, text: str) -> Sample:
    return Sample(
        name=path.removesuffix(".cu"),
        shows=_header(text, "Shows"),
        expect=_header(text, "Expect"),
        arguments=_header(text, "Arguments"),
        source=text,
    )


def _header(text: str, field: str) -> str:
    prefix = f"// {field}: "
    lines = (line for line in text.splitlines() if line.startswith(prefix))
    return next(lines, prefix).removeprefix(prefix).strip()


def _nvcc_places(environ: Mapping[str, str], root: Path) -> Iterator[Path]:
    for folder in environ.get("PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder) / "nvcc"
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if environ.get(variable):
            yield Path(environ[variable]) / "bin" / "nvcc"
    yield root / "usr/local/cuda/bin/nvcc"  # the toolkit the machine's owner chose
    yield from sorted(root.glob("usr/local/cuda-*/bin/nvcc"), reverse=True)


def _cache(compiler: Path, arch: str) -> Path:
    # A home folder may be shared by machines with different GPUs: native code is kept per machine.
    machine = platform.node() if arch == NATIVE else ""
    parts = [presence.real(compiler), arch, machine, *FLAGS]
    for path, text in sorted(_sources().items()):
        parts += [path, text]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    base = os.environ.get("XDG_CACHE_HOME")
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "kprof" / "samples" / key


@contextlib.contextmanager
def _writable(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise OutputNotWritable(
            f"{folder} cannot be written: {error.strerror or error}",
            hint="choose a folder with -o, or set XDG_CACHE_HOME",
        ) from error


def _write_sources(folder: Path) -> None:
    for path, text in _sources().items():
        target = folder / path
        if target.is_file() and target.read_text(encoding="utf-8") == text:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".write-") as scratch:
            fresh = Path(scratch) / target.name
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(target)


def _compile(compiler: Path, arch: str, source: Path, program: Path) -> None:
    argv = _argv(compiler, (f"-arch={arch}",), source, program)
    errors = _attempt(argv)
    if errors is not None and arch == NATIVE:
        # Compilers before CUDA 11.5 do not know "native".
        argv = _argv(compiler, (), source, program)
        errors = _attempt(argv)
    if errors is not None:
        again = shlex.join(os.devnull if word == str(program) else word for word in argv)
        raise BuildFailed(
            f"nvcc could not build {source.name}: {_first_error(errors)}",
            hint=f"see all of it: {again}",
        )


def _argv(compiler: Path, arch: tuple[str, ...], source: Path, program: Path) -> list[str]:
    return [str(compiler), *arch, *FLAGS, "-o", str(program), str(source)]


def _attempt(argv: list[str]) -> str | None:
    """Return None after a successful build, else what the compiler said."""
    try:
        done = process.run(argv, timeout_s=_BUILD_TIMEOUT_S)
    except OSError as error:
        return f"{argv[0]}: {error.strerror or error}"
    if done.timed_out:
        return f"not finished after {_BUILD_TIMEOUT_S:.0f} s"
    if done.returncode == 0:
        return None
    said = (done.stderr + done.stdout).decode(errors="replace")
    return said if said.strip() else f"exit status {done.returncode}"


def _first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = (line for line in lines if "error" in line.lower() or "fatal" in line.lower())
    return next(telling, lines[-1])
