"""The program to profile: what to start, checked before ncu is."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kprof import presence, process
from kprof.errors import TargetNotFound
from kprof.names import one_line

_IMPORT_TIMEOUT_S = 20.0
_ANSWER_TIMEOUT_S = 4.0  # an interpreter that answers later is left to those who wait for it
# Looks for the module's outermost package only: finding a submodule would import the package,
# and importing torch to see that it exists takes seconds.
_FIND_MODULE = (
    "import importlib.util, sys; "
    "sys.exit(importlib.util.find_spec(sys.argv[1].partition('.')[0]) is None)"
)
# Said only by a program that computes it: echo gives back the text.
_SAY_VERSION = "import sys; print('kprof', sys.version_info[0], sep='-python-')"
_VERSION = re.compile(rb"^kprof-python-\d+\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Target:
    """A program that can be started.

    Attributes:
        argv: its command line.
        name: short name for folders and messages.
        python: the interpreter and why it was chosen, None for a program that is not Python.
    """

    argv: tuple[str, ...]
    name: str
    python: str | None = None


def resolve(
    command: Sequence[str],
    *,
    module: str | None = None,
    python: str | None = None,
    environ: Mapping[str, str] | None = None,
    check_module: bool = True,
) -> Target:
    """Turn what the user typed into a program that can be started.

    Args:
        command: TARGET and its arguments, or only arguments with ``module``.
        module: module to run as ``python -m`` does.
        python: interpreter the user asked for.
        environ: environment to read, None for kprof's own.
        check_module: ask the interpreter whether it finds the module.

    Raises:
        TargetNotFound: it does not exist or cannot be executed.
    """
    environ = os.environ if environ is None else environ
    if module is not None:
        interpreter, why = choose_python(python, environ)
        if check_module:
            _check_module(module, interpreter)
        argv = (interpreter, "-m", module, *command)
        return Target(argv, short_name(module), f"{interpreter} ({why})")
    first, *rest = command
    if first.endswith(".py"):
        script = _existing_file(first)
        interpreter, why = choose_python(python, environ)
        argv = (interpreter, script, *rest)
        return Target(argv, short_name(Path(first).stem), f"{interpreter} ({why})")
    program = _program(first, environ)
    return Target((program, *rest), short_name(Path(first).stem))


def choose_python(explicit: str | None, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the interpreter for a Python target, and why it was chosen.

    Raises:
        TargetNotFound: the explicit one does not exist.
    """
    path = environ.get("PATH")
    if explicit is not None:
        found = shutil.which(explicit, path=path)
        if found is None:
            raise TargetNotFound(
                f"--python {explicit} is not an executable file", hint="name a python program"
            )
        return found, "--python"
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if environ.get(variable):
            found = shutil.which(str(Path(environ[variable], "bin", "python")))
            if found is not None:
                return found, f"the active environment, {variable}"
    found = shutil.which("python3", path=path)
    if found is not None:
        return found, "python3 on PATH"
    return sys.executable, "kprof's own"


def check_python(name: str) -> None:
    """Refuse a program that does not answer as a Python; one too slow to answer passes.

    Raises:
        TargetNotFound: it is none, or cannot be started.
    """
    hint = "name a python program, such as .venv/bin/python"
    try:
        done = process.run(
            [name, "-c", _SAY_VERSION],
            timeout_s=_ANSWER_TIMEOUT_S,
            max_output_bytes=process.SHORT_OUTPUT_BYTES,
        )
    except OSError as error:
        raise TargetNotFound(
            f"--python {name} cannot be started: {error.strerror or error}", hint=hint
        ) from error
    if done.timed_out or _VERSION.search(done.stdout):
        return
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    said = f": it says {one_line(lines[-1])[:100]}" if lines else ""
    raise TargetNotFound(f"--python {name} is not a Python{said}", hint=hint)


def short_name(text: str) -> str:
    """Return ``text`` as a folder name: letters of any script, digits, ``.``, ``_`` and ``-``."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")[:60] or "target"


def _existing_file(name: str) -> str:
    path = Path(name)
    if presence.is_dir(path):
        raise TargetNotFound(f"{name} is a directory", hint="name the program to profile")
    reason = presence.refusal(path)
    if reason is not None:
        raise TargetNotFound(
            f"{name} cannot be used: {reason}",
            hint="check the name, and that you may search the folders above it",
        )
    if not presence.exists(path):
        raise TargetNotFound(f"{name} does not exist", hint=_nearby(path))
    if not os.access(path, os.R_OK):
        raise TargetNotFound(f"{name} is not readable", hint=f"chmod u+r {name}")
    return name


def _program(name: str, environ: Mapping[str, str]) -> str:
    on_path = None if os.sep in name else shutil.which(name, path=environ.get("PATH"))
    if on_path is not None:
        return on_path
    _existing_file(name)
    # A bare name in the current folder is taken as it is meant; ncu would look on PATH only.
    path = name if os.sep in name else os.path.join(os.curdir, name)  # noqa: PTH118 - keeps ./
    if not os.access(path, os.X_OK):
        raise TargetNotFound(f"{name} is not executable", hint=_how_to_execute(name))
    _check_format(name)
    return path


def _check_format(name: str) -> None:
    with Path(name).open("rb") as file:
        line = file.readline(512)
    if line.startswith(b"#!"):
        interpreter = line[2:].split(maxsplit=1)
        if interpreter and not presence.exists(os.fsdecode(interpreter[0])):
            raise TargetNotFound(
                f"{name} asks for {os.fsdecode(interpreter[0])}, which does not exist",
                hint="correct the script's first line",
            )
    elif sys.platform == "linux" and not line.startswith(b"\x7fELF"):
        raise TargetNotFound(
            f"{name} is neither a program nor a script with a #! line", hint=_how_to_execute(name)
        )


def _how_to_execute(name: str) -> str:
    return f"if it is a script, name its interpreter: kprof profile bash {name}; else chmod +x it"


def _nearby(path: Path) -> str:
    with contextlib.suppress(OSError):  # the folder may not be listed
        below = path.parent.iterdir()
        same = [p.name for p in below if p.stem == path.stem and presence.is_file(p)]
        if same:
            return f"did you mean {path.parent / sorted(same)[0]}?"
    return "check the path; options of kprof go before it, the target's own after it"


def _check_module(module: str, interpreter: str) -> None:
    try:
        done = process.run(
            [interpreter, "-c", _FIND_MODULE, module],
            timeout_s=_IMPORT_TIMEOUT_S,
            max_output_bytes=process.SHORT_OUTPUT_BYTES,
        )
    except OSError as error:
        raise TargetNotFound(
            f"{interpreter} cannot be started ({error.strerror})", hint="choose one with --python"
        ) from error
    if done.returncode == 1 and not done.stderr:
        raise TargetNotFound(
            f"{interpreter} finds no module named {module}",
            hint="install it there, or choose another interpreter with --python",
        )
