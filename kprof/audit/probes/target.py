"""The target's interpreter and what is installed in it, read from disk: nothing is imported."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kprof.audit.probes import target_child
from kprof.audit.probes.machine import Machine
from kprof.process import Completed

LOOK_S = 10.0

# Libraries that these variables name would be loaded with CUDA, and could hang or write files.
_INJECTIONS = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")

_INFO = re.compile(r"(?P<name>.+?)-(?P<version>[^-]+)(?:-py\d[\d.]*)?\.(?:dist|egg)-info")

# Packages that decide whether a GPU program works, or that explain it when it does not.
_RELEVANT = re.compile(
    r"nvidia-.+|torch.*|pytorch.*|triton.*|cuda-.+|cupy.*|jax.*|tensorrt.*|tensorflow.*|flash-attn.*"
    r"|flashinfer.*|vllm.*|sglang.*|sgl-kernel|xformers|bitsandbytes|deepspeed|apex|numba.*|numpy"
    r"|transformer-engine.*|onnxruntime.*|mamba-ssm|causal-conv1d|auto-?gptq|llama-cpp-python"
    r"|faiss-gpu.*|warp-lang|ncu-report|nsight-python|nvtx|transformers"
)


class NoAnswer(Exception):
    """The target's interpreter gave no facts; the text says why."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the interpreter says about itself.

    Attributes:
        executable: its own path, behind any shim or link that was started.
        version: ``3.11.7``.
        prefix: the environment's folder.
        base_prefix: the installation's folder, another one in a virtual environment.
        path: the existing folders of ``sys.path``, in their order.
        torch: the folder torch would be imported from, None without one.
    """

    executable: str
    version: str | None
    prefix: str | None
    base_prefix: str | None
    path: tuple[str, ...]
    torch: str | None


@dataclass(frozen=True, slots=True)
class Installed:
    """A distribution as its metadata folder names it.

    Attributes:
        name: normalized, ``flash-attn``.
        version: as it was installed, with its local part.
        info: the metadata folder.
    """

    name: str
    version: str
    info: str

    @property
    def site(self) -> str:
        """The folder it is installed in."""
        return self.info.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the script :mod:`kprof.audit.probes.target_child` printed.

    Attributes:
        facts: the last facts it printed, None when it printed none.
        ending: what came of the process, as the rest of a sentence about it; None when it went
            well.
        timed_out: its time was up.
    """

    facts: dict[str, Any] | None
    ending: str | None = None
    timed_out: bool = False

    def need(self) -> dict[str, Any]:
        """Return the facts of a process that went well.

        Raises:
            NoAnswer: it did not.
        """
        if self.facts is None or self.ending is not None:
            raise NoAnswer(self.ending or "gave no answer")
        return self.facts


def ask(machine: Machine, timeout_s: float, *arguments: str) -> Answer:
    """Start the target's interpreter with the script and wait for it."""
    argv = [machine.python, "-B", str(Path(target_child.__file__)), *arguments]
    env = {name: value for name, value in machine.environ.items() if name not in _INJECTIONS}
    done = machine.run(argv, timeout_s, env=env)
    if done is None:
        return Answer(None, f"{machine.python} cannot be started")
    facts = _last_facts(done.stdout)
    if facts is not None and "failed" in facts:
        return Answer(None, f"{machine.python}: {facts['failed']}")
    ending = _ending(done, answered=facts is not None)
    told = None if ending is None else f"{machine.python} {ending}"
    return Answer(facts, told, done.timed_out)


def look(machine: Machine) -> Look:
    """Return what the target's interpreter says about itself.

    Raises:
        NoAnswer: it says nothing that can be used.
    """
    said = ask(machine, LOOK_S, "look").need()
    path = said.get("path")
    return Look(
        executable=_text(said, "executable") or machine.python,
        version=_text(said, "version"),
        prefix=_text(said, "prefix"),
        base_prefix=_text(said, "base_prefix"),
        path=tuple(str(entry) for entry in path) if isinstance(path, list) else (),
        torch=_text(said, "torch"),
    )


def installed(machine: Machine, folders: tuple[str, ...]) -> dict[str, Installed]:
    """Return the distributions in the folders by normalized name; the first of a name wins."""
    found: dict[str, Installed] = {}
    for one in _all_installed(machine, folders):
        found.setdefault(one.name, one)
    return found


def normalized(name: str) -> str:
    """Return a package's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def python(machine: Machine) -> dict[str, Any]:
    """Return the target's interpreter: its path, version and kind of environment."""
    seen = look(machine)
    facts = {
        "executable": seen.executable,
        "version": seen.version,
        "environment": _environment(machine, seen),
        "prefix": seen.prefix,
    }
    return {"python": {name: value for name, value in facts.items() if value is not None}}


def packages(machine: Machine) -> dict[str, Any]:
    """Return the versions of the installed packages that matter to a GPU program."""
    found = installed(machine, look(machine).path)
    return {
        "packages": {
            name: one.version for name, one in sorted(found.items()) if _RELEVANT.fullmatch(name)
        }
    }


def other_pythons(machine: Machine) -> dict[str, Any]:
    """Return the other interpreters nearby, and the torch each of them would import."""
    seen = look(machine)
    taken = {seen.prefix}
    others = []
    for executable in _nearby(machine):
        prefix = _prefix(machine, executable)
        if prefix is not None and prefix not in taken:
            taken.add(prefix)
            others.append({"executable": executable, "torch": _torch_below(machine, prefix)})
    return {"other_pythons": others}


def version_in(text: str) -> str | None:
    """Return the version that a ``torch/version.py`` assigns, ``2.11.0+cu130``."""
    line = r"^__version__\s*(?::[^=\n]*)?=\s*['\"]([^'\"\n]+)['\"]"
    found = re.search(line, text, re.MULTILINE)
    return found[1] if found else None


def _last_facts(written: bytes) -> dict[str, Any] | None:
    for line in reversed(written.decode(errors="replace").splitlines()):
        if line.startswith(target_child.MARK):
            with contextlib.suppress(ValueError, RecursionError):
                facts = json.loads(line[len(target_child.MARK) :])
                return facts if isinstance(facts, dict) else None
    return None


def _ending(done: Completed, *, answered: bool) -> str | None:
    if done.timed_out:
        return "did not answer in time"
    if done.cut:
        return "wrote without end"
    if done.returncode < 0:
        return f"was ended by {_signal(-done.returncode)}"
    if done.returncode == 0 and answered:
        return None
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    said = f": {lines[-1][:300]}" if lines else ""
    return f"ended with status {done.returncode} and no answer{said}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _text(said: Mapping[str, Any], name: str) -> str | None:
    value = said.get(name)
    return value if isinstance(value, str) else None


def _environment(machine: Machine, seen: Look) -> str | None:
    if seen.prefix is None:
        return None
    if seen.prefix != seen.base_prefix:
        return "venv"
    return "conda" if machine.exists(f"{seen.prefix}/conda-meta") else "system"


def _all_installed(machine: Machine, folders: tuple[str, ...]) -> Iterator[Installed]:
    for folder in folders:
        for name in machine.names(folder):
            found = _INFO.fullmatch(name)
            if found:
                yield Installed(normalized(found["name"]), found["version"], f"{folder}/{name}")


def _nearby(machine: Machine) -> Iterator[str]:
    # In the order in which somebody would meet them.
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if machine.environ.get(variable):
            yield f"{machine.environ[variable].rstrip('/')}/bin/python"
    for folder in machine.environ.get("PATH", "").split(os.pathsep):
        if folder.startswith("/"):
            yield from (f"{folder.rstrip('/')}/{name}" for name in ("python3", "python"))
    yield sys.executable


def _prefix(machine: Machine, executable: str) -> str | None:
    # A script of that name (a version manager's shim) leads to an interpreter that is not known.
    if (machine.read_bytes(executable, 4) or b"")[:2] in (b"", b"#!"):
        return None
    here = executable.rpartition("/bin/")[0]
    if here and machine.exists(f"{here}/pyvenv.cfg"):
        return here
    behind = str(machine.path(executable).resolve())
    root = str(machine.root).rstrip("/")
    return behind.removeprefix(root).rpartition("/bin/")[0] or None


def _torch_below(machine: Machine, prefix: str) -> str | None:
    for folder in _site_folders(machine, prefix):
        version = version_in(machine.read(f"{folder}/torch/version.py") or "")
        if version is not None:
            return version
    return None


def _site_folders(machine: Machine, prefix: str) -> Iterator[str]:
    # Debian's own interpreter looks below /usr/local too, and in dist-packages.
    prefixes = ("/usr/local", "/usr") if prefix == "/usr" else (prefix,)
    for place in prefixes:
        for library in ("lib", "lib64"):
            for name in machine.names(f"{place}/{library}"):
                if re.fullmatch(r"python3(\.\d+t?)?", name):
                    for site in ("site-packages", "dist-packages"):
                        yield f"{place}/{library}/{name}/{site}"
