"""Finding a working Nsight Compute command line.

The CUDA toolkit installs a launcher script named ``ncu`` that looks for the real tool; it stays
behind when the tool is not installed. So a file of that name proves nothing: only one that answers
``--version`` is taken.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kprof import presence, process
from kprof.errors import NcuNotFound

VERSION_TIMEOUT_S = 10.0
_VERSION = re.compile(rb"Version (\d+(?:\.\d+)+)")
_NUMBERS = re.compile(r"\d+")
_LOOKED_IN = (
    "PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda*/bin, /opt/nvidia/nsight-compute/* "
    "and the conda environment"
)
INSTALL_HINT = (
    "install Nsight Compute (apt-get install cuda-nsight-compute-<CUDA version> from NVIDIA's "
    "repository, or conda install -c nvidia nsight-compute), or name it with --ncu PATH"
)


@dataclass(frozen=True, slots=True)
class Ncu:
    """A command line that answered ``--version``.

    Attributes:
        path: the program.
        version: as it prints it, e.g. ``2025.3.1.0``.
    """

    path: Path
    version: str


def find(
    explicit: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    root: Path = Path("/"),
) -> Ncu:
    """Return the first working ncu: the explicit one, else PATH, else known places, newest first.

    Args:
        explicit: what the user named; nothing else is tried then.
        environ: environment to read, None for kprof's own.
        root: where ``/usr/local`` and ``/opt`` are looked for.

    Raises:
        NcuNotFound: none works; the message says what was tried.
    """
    environ = os.environ if environ is None else environ
    if explicit is not None:
        return _explicit(explicit, environ)
    rejected: list[str] = []
    for path in candidates(environ, root):
        answer = _probe(path)
        if isinstance(answer, Ncu):
            return answer
        rejected.append(f"{path} {answer}")
    if rejected:
        raise NcuNotFound(f"no working ncu: {'; '.join(rejected)}", hint=INSTALL_HINT)
    raise NcuNotFound(f"no ncu in {_LOOKED_IN}", hint=INSTALL_HINT)


def candidates(environ: Mapping[str, str], root: Path = Path("/")) -> list[Path]:
    """Return the executable files named ncu in the order they are tried, each place once."""
    unique = {presence.real(path): path for path in reversed(list(_places(environ, root)))}
    return [path for path in reversed(unique.values()) if os.access(path, os.X_OK)]


def first_name(environ: Mapping[str, str], root: Path = Path("/")) -> str:
    """Return the ncu that a dry run prints, without starting anything: ``ncu`` if there is none."""
    found = candidates(environ, root)
    return str(found[0]) if found else "ncu"


def understood(path: Path, done: process.Completed) -> Ncu | str:
    """Return what an ``ncu --version`` that has ended proves: a working ncu, or why it is none.

    The reason completes a sentence that begins with the path.
    """
    if done.timed_out:
        return f"did not answer --version within {VERSION_TIMEOUT_S:.0f} s"
    if done.cut:
        return "answered --version with text without end"
    found = _VERSION.search(done.stdout)
    if done.returncode == 0 and found:
        return Ncu(path.absolute(), found.group(1).decode())
    said = _first_line(done.stderr) or _first_line(done.stdout) or "nothing"
    return f"is a launcher without the tool behind it (exit status {done.returncode}, said: {said})"


def _places(environ: Mapping[str, str], root: Path) -> Iterator[Path]:
    for folder in environ.get("PATH", "").split(os.pathsep):
        if folder:
            yield from _files(Path(folder), "ncu")
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if environ.get(variable):
            yield from _files(Path(environ[variable]), "bin/ncu")
    yield from _files(root, "opt/nvidia/nsight-compute/*/ncu")
    yield from _files(root, "usr/local/cuda*/bin/ncu")
    yield from _files(root, "usr/local/cuda*/nsight-compute-*/ncu")
    yield from _files(root, "opt/nvidia/hpc_sdk/*/*/profilers/Nsight_Compute/ncu")
    if environ.get("CONDA_PREFIX"):
        conda = Path(environ["CONDA_PREFIX"])
        yield from _files(conda, "bin/ncu")
        yield from _files(conda, "nsight-compute/*/ncu")


def _files(folder: Path, pattern: str) -> list[Path]:
    # Which errors of the system glob itself passes over differs between versions of Python.
    with contextlib.suppress(OSError):
        found = [path for path in folder.glob(pattern) if presence.is_file(path)]
        return sorted(found, key=_version_in_path, reverse=True)
    return []


def _version_in_path(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in _NUMBERS.findall(str(path)))


def _explicit(name: str, environ: Mapping[str, str]) -> Ncu:
    path = Path(name)
    if presence.is_dir(path):
        path /= "ncu"
    if not presence.is_file(path):
        reason = presence.refusal(path)
        if reason is not None:
            raise NcuNotFound(
                f"--ncu {name} cannot be used: {reason}", hint="name an ncu that you may execute"
            )
        on_path = shutil.which(name, path=environ.get("PATH"))
        if on_path is None:
            raise NcuNotFound(_nowhere(name), hint="name the ncu program itself")
        path = Path(on_path)
    answer = _probe(path)
    if isinstance(answer, Ncu):
        return answer
    raise NcuNotFound(f"--ncu {name} {answer}", hint=INSTALL_HINT)


def _nowhere(name: str) -> str:
    if not name:
        return "--ncu names nothing"
    inside = "is a folder without ncu" if presence.is_dir(Path(name)) else "does not exist"
    return f"--ncu {name} {inside}"


def _probe(path: Path) -> Ncu | str:
    # A string is the reason why not, and completes "PATH ...".
    try:
        done = process.run(
            [path.absolute(), "--version"],
            timeout_s=VERSION_TIMEOUT_S,
            max_output_bytes=process.SHORT_OUTPUT_BYTES,
        )
    except OSError as error:
        return f"cannot be started ({error.strerror})"
    return understood(path, done)


def _first_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[0][:200] if lines else ""
