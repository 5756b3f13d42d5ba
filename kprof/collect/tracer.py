"""A library that times every launch from within the program: built here, loaded by the driver.

It is C (``tracer.c``), because CUPTI calls it in the middle of the program's own calls, where
Python could wait for ever for its lock. Whoever compiles kernels has a C compiler; where there is
none, or no CUPTI, ncu times the launches (docs/decisions/0017).
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kprof import presence, process
from kprof.collect.command import Options

SOURCE = Path(__file__).with_name("tracer.c")
LIBRARY = "libkprof-tracer.so"
TRACE = "KPROF_TRACE"
CUPTI = "KPROF_CUPTI"  # where the library finds CUPTI; set by the user: nowhere else
INJECTION = "CUDA_INJECTION64_PATH"
_BUILD_TIMEOUT_S = 30.0
_COMPILERS = ("cc", "gcc", "clang")
# CUPTI calls back for as long as the process lives, whoever unloads the library.
_FLAGS = ("-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,nodelete")
_LIBRARIES = ("-ldl", "-lpthread")
_VERSION = re.compile(r"libcupti\.so\.(\d{1,2})(?:\.(\d+))?$")  # .so.2025.3.1 is a .so.13, too
_PLACES = (
    "opt/nvidia/nsight-compute/*/host/target-linux-*",
    "usr/local/cuda*/targets/*-linux/lib",
    "usr/local/cuda*/extras/CUPTI/lib64",
    "usr/lib/*-linux-gnu",
)


@dataclass(frozen=True, slots=True)
class Tracer:
    """What it takes to trace a program.

    Attributes:
        build: the command line that builds the library, the library's path last.
        cupti: CUPTI libraries to try, newest first, where the program has none of its own.
    """

    build: tuple[str, ...]
    cupti: tuple[Path, ...]

    def environment(self, trace: Path) -> dict[str, str]:
        """Return the variables with which the driver loads the library into the program.

        Args:
            trace: the beginning of the files' names that it writes, one for each process.
        """
        libraries = os.pathsep.join(map(str, self.cupti))
        # Absolute: the program may go elsewhere before it uses a GPU.
        return {INJECTION: self.build[-1], TRACE: str(trace.absolute()), CUPTI: libraries}


def tracer(
    options: Options,
    *,
    ncu: str,
    folder: Path,
    python: str | None = None,
    environ: Mapping[str, str] | None = None,
    root: Path = Path("/"),
) -> Tracer | str:
    """Return how to trace, or why that cannot be. Nothing is started.

    Args:
        options: what the user wants to have surveyed.
        ncu: the program, which brings a CUPTI along.
        folder: where the library is to be built.
        python: the target's interpreter, whose packages may bring one.
        environ: environment to read, None for kprof's own.
        root: where ``/usr/local`` and ``/opt`` are looked for.
    """
    environ = os.environ if environ is None else environ
    if sys.platform != "linux":
        return "only Linux has the driver's hook"
    if environ.get(INJECTION):
        return f"{INJECTION} is taken by another tool"
    if _narrowed(options):
        return "only ncu knows the launches that were asked for"
    compiler = _compiler(environ)
    if compiler is None:
        return "there is no C compiler"
    libraries = _libraries(ncu, python, environ, root)
    if not libraries:
        return "there is no CUPTI"
    build = (*compiler, *_FLAGS, str(SOURCE), *_LIBRARIES, "-o", str((folder / LIBRARY).absolute()))
    return Tracer(build, tuple(libraries))


def built(tracer: Tracer, *, limit_s: float | None = None) -> str | None:
    """Build the library; return why that failed, None when it is there.

    Args:
        tracer: how to.
        limit_s: seconds that it may take, beside a limit of its own.
    """
    limit_s = _BUILD_TIMEOUT_S if limit_s is None else min(_BUILD_TIMEOUT_S, limit_s)
    try:
        done = process.run(tracer.build, timeout_s=limit_s)
    except OSError as error:
        return f"{tracer.build[0]} cannot be started ({error.strerror})"
    if done.returncode == 0 and presence.exists(tracer.build[-1]):
        return _unloadable(tracer.build[-1])
    said = done.stderr.decode(errors="replace").strip().splitlines()
    why = said[0][:200] if said else "it gave no reason"
    why = f"not within {limit_s:.0f} s" if done.timed_out else why
    return f"{tracer.build[0]} cannot build the tracer ({why})"


def _unloadable(library: str) -> str | None:
    """Return why no program here can load it: the program would run for nothing."""
    try:
        if os.statvfs(library).f_flag & os.ST_NOEXEC:
            return f"nothing in {Path(library).parent} may be run (it is mounted with noexec)"
        if _kind(library) != _kind("/proc/self/exe"):
            return "the C compiler builds for another kind of machine"
    except OSError as error:
        return f"the tracer cannot be read ({error.strerror})"
    return None


def _kind(program: str) -> tuple[bytes, bytes]:
    """Return the class (32 or 64 bits) and the machine of an ELF file."""
    with Path(program).open("rb") as file:
        header = file.read(20)
    return header[:6], header[18:]


def _narrowed(options: Options) -> bool:
    plain = Options()
    same = ("kernel", "nvtx", "launch_skip", "launch_count", "replay_mode", "graphs", "from_start")
    return bool(options.extra) or any(
        getattr(options, name) != getattr(plain, name) for name in same
    )


def _compiler(environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the first compiler that is there, the user's own with its arguments."""
    for name, *arguments in _compilers(environ):
        path = shutil.which(name, path=environ.get("PATH"))
        if path is not None:
            return (path, *arguments)
    return None


def _compilers(environ: Mapping[str, str]) -> Iterator[list[str]]:
    with contextlib.suppress(ValueError):  # a quote that nobody closes
        if own := shlex.split(environ.get("CC", "")):
            yield own  # "ccache gcc", say
    yield from ([name] for name in _COMPILERS)


def _libraries(ncu: str, python: str | None, environ: Mapping[str, str], root: Path) -> list[Path]:
    """Return CUPTI libraries by version, newest first, each once."""
    if CUPTI in environ:
        return [Path(part) for part in environ[CUPTI].split(os.pathsep) if part]
    places = [path for place in _folders(ncu, python, environ, root) for path in _in(place)]
    unique = {presence.real(path): path for path in reversed(places)}
    return sorted(unique.values(), key=_version, reverse=True)


def _folders(
    ncu: str, python: str | None, environ: Mapping[str, str], root: Path
) -> Iterator[Path]:
    beside = Path(presence.real(Path(ncu))).parent
    yield from _glob(beside, "host/target-linux-*")
    for variable in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"):
        if environ.get(variable):
            for below in ("lib64", "lib", "extras/CUPTI/lib64"):
                yield Path(environ[variable], below)
    if python is not None:
        yield from _glob(
            Path(python).absolute().parent.parent, "lib/python3*/site-packages/nvidia/*/lib"
        )
    for place in _PLACES:
        yield from _glob(root, place)


def _in(folder: Path) -> Sequence[Path]:
    return [path for path in _glob(folder, "libcupti.so.*") if _VERSION.search(path.name)]


def _glob(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(folder.glob(pattern), reverse=True)
    except OSError:  # which errors glob itself passes over differs between versions of Python
        return []


def _version(path: Path) -> tuple[int, int]:
    found = _VERSION.search(path.name)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)
