"""The machine that the probes look at; tests replace every part of it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kprof import process
from kprof.process import Completed

# Bytes of one file or of one program's output that are kept. /proc and /sys files are far smaller.
MAX_READ_BYTES = 2**20

# Where administrators' tools lie on systems whose users do not have these on PATH, and where WSL
# puts nvidia-smi.
_MORE_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin", "/usr/lib/wsl/lib")

# (argv, environment, seconds) -> what came of it; None when the program cannot be started.
Runner = Callable[[Sequence[str], Mapping[str, str], float], "Completed | None"]


def start_and_wait(
    argv: Sequence[str], environ: Mapping[str, str], timeout_s: float
) -> Completed | None:
    """Run a program on this machine; see :meth:`Machine.run`."""
    try:
        return process.run(argv, timeout_s=timeout_s, env=environ, max_output_bytes=MAX_READ_BYTES)
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class Machine:
    """A file tree, an environment, a target interpreter and a way to run programs.

    Attributes:
        root: the file tree; "/" but in tests.
        environ: the environment that the target would get.
        python: path of the target's interpreter.
        runner: starts programs; :meth:`run` is what probes call.
    """

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    python: str = sys.executable
    runner: Runner = start_and_wait

    def run(
        self, argv: Sequence[str], timeout_s: float, *, env: Mapping[str, str] | None = None
    ) -> Completed | None:
        """Run a program in the machine's environment, with an empty standard input.

        Args:
            argv: the program and its arguments.
            timeout_s: seconds until its whole process group is killed.
            env: another environment than :attr:`environ`.

        Returns:
            None when there is no such program or it cannot be started. One that took too long is
            a result with ``timed_out`` and a status that is not 0, with what it wrote until then;
            one that wrote more than :data:`MAX_READ_BYTES` is one with ``cut``.
        """
        return self.runner(argv, self.environ if env is None else env, timeout_s)

    def path(self, name: str | os.PathLike[str]) -> Path:
        """Return where an absolute path of the machine lies for this process."""
        return self.root / os.fspath(name).lstrip("/")

    def read(self, name: str | os.PathLike[str], limit: int = MAX_READ_BYTES) -> str | None:
        """Return a regular file's text, at most ``limit`` bytes; None when it cannot be read.

        Devices and pipes are never opened: opening one can block or start hardware.
        """
        data = self.read_bytes(name, limit)
        return None if data is None else data.decode(errors="replace")

    def read_bytes(self, name: str | os.PathLike[str], limit: int = MAX_READ_BYTES) -> bytes | None:
        """Return a regular file's first bytes; None when it cannot be read."""
        path = self.path(name)
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                return None
            # Not blocking: the name may have become a pipe since.
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            with os.fdopen(descriptor, "rb") as file:
                return file.read(limit)
        except (OSError, ValueError):
            return None

    def exists(self, name: str | os.PathLike[str]) -> bool:
        """Say whether a path exists, whatever it is."""
        try:
            return self.path(name).exists()
        except (OSError, ValueError):
            return False

    def names(self, folder: str | os.PathLike[str]) -> list[str]:
        """Return the sorted names in a folder, none when it cannot be listed."""
        try:
            return sorted(os.listdir(self.path(folder)))  # noqa: PTH208 - names, not paths
        except (OSError, ValueError):
            return []

    def which(self, name: str) -> str | None:
        """Return the path of the program that PATH finds first; relative entries do not count."""
        return self._first(name, self.environ.get("PATH", os.defpath).split(os.pathsep))

    def tool(self, name: str) -> str:
        """Return a system tool's path, looked for outside PATH too; its bare name if not found."""
        return self.which(name) or self._first(name, _MORE_FOLDERS) or name

    def _first(self, name: str, folders: Sequence[str]) -> str | None:
        for folder in folders:
            place = f"{folder.rstrip('/')}/{name}"
            if place.startswith("/") and self._is_program(place):
                return place
        return None

    def _is_program(self, place: str) -> bool:
        try:
            path = self.path(place)
            return path.is_file() and os.access(path, os.X_OK)
        except (OSError, ValueError):
            return False


# A probe looks at one thing and returns the facts it found, as a part of the snapshot's tree
# (docs/doctor.md). It judges nothing. What it raises is reported as its error and costs nothing
# else.
Probe = Callable[[Machine], "dict[str, Any]"]


def output(done: Completed | None) -> str | None:
    """Return what a program that succeeded wrote to standard output; None otherwise.

    Of one that wrote too much (a kernel log can be long) it is the part that was read.
    """
    if done is None or done.timed_out or (done.returncode != 0 and not done.cut):
        return None
    return done.stdout[:MAX_READ_BYTES].decode(errors="replace")
