"""CUDA toolkits, the nvcc that a shell would start, and the compiler that it would hand C++ to."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from kprof.audit.probes import target
from kprof.audit.probes.extensions import release
from kprof.audit.probes.machine import Machine

NVCC_S = 3.0
COMPILER_S = 3.0

# Folders of the system itself: a toolkit there belongs to the distribution, and so does nvcc.
_SYSTEM = ("/usr", "/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit")
_PARTS = ("bin/nvcc", "include/cuda.h", "version.json", "version.txt", "lib64/libcudart.so")
_GCC = re.compile(r"^\S*(?:gcc|g\+\+|cc|c\+\+)\S* \(.*\) (\d+(?:\.\d+)+)", re.MULTILINE)
_CLANG = re.compile(r"clang version (\d+(?:\.\d+)+)")


def toolkits(machine: Machine) -> dict[str, Any]:
    """Return the toolkits, the one that wins first; and whether what CUDA_HOME names is there.

    ``PATH`` decides which nvcc a shell starts, ``CUDA_HOME`` which one torch's extensions take. A
    toolkit that several ways lead to is listed once, under the first of them.
    """
    found: dict[str, dict[str, Any]] = {}
    for source, root in _places(machine):
        # The distribution has one toolkit, whose parts lie in several of its folders.
        key = "distro" if source == "distro" else os.path.realpath(machine.path(root))
        if key not in found and _is_toolkit(machine, root):
            version = _version(machine, root)
            found[key] = {"root": root, "version": version, "source": source}
    facts: dict[str, Any] = {"toolkits": list(found.values())}
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        value = machine.environ.get(variable)
        if value:
            facts.setdefault("files", {})[variable] = {"exists": machine.exists(value)}
    return facts


def nvcc(machine: Machine) -> dict[str, Any]:
    """Return the nvcc on PATH, or else the first of a toolkit; its version is its own word."""
    on_path = machine.which("nvcc")
    path = on_path or next(_nvccs(machine), None)
    if path is None:
        return {"nvcc": {"path": None}}
    facts: dict[str, Any] = {"path": path, "on_path": on_path is not None}
    version = release(machine, path, NVCC_S)
    return {"nvcc": facts if version is None else {**facts, "version": version}}


def host_compiler(machine: Machine) -> dict[str, Any]:
    """Return the C++ compiler that nvcc would use.

    nvcc takes what ``NVCC_CCBIN`` names, else gcc from PATH; CMake hands it ``CUDAHOSTCXX``.
    Source: NVIDIA CUDA Compiler Driver, "--compiler-bindir"; CMake's page on CUDAHOSTCXX.
    """
    for source in ("NVCC_CCBIN", "CUDAHOSTCXX"):
        named = machine.environ.get(source)
        if named:
            path = _compiler(machine, named)
            return {"host_compiler": {"source": source, **_compiler_facts(machine, path or named)}}
    for name in ("gcc", "g++", "clang"):
        path = machine.which(name)
        if path is not None:
            return {"host_compiler": {"source": "PATH", **_compiler_facts(machine, path)}}
    return {"host_compiler": {"path": None}}


def _places(machine: Machine) -> Iterator[tuple[str, str]]:
    first = machine.which("nvcc")
    if first is not None:
        root = _root_of(machine, first)
        yield _kind(machine, root), root
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if machine.environ.get(variable, "").startswith("/"):
            yield "CUDA_HOME", machine.environ[variable].rstrip("/")
    if machine.environ.get("CUDACXX", "").startswith("/"):
        yield "CUDACXX", _root_of(machine, machine.environ["CUDACXX"])
    yield from _usual_places(machine)
    if machine.environ.get("CONDA_PREFIX"):
        yield from _conda(machine, machine.environ["CONDA_PREFIX"])
    yield from _wheels(machine)
    yield from (("distro", root) for root in reversed(_SYSTEM))


def _kind(machine: Machine, root: str) -> str:
    if root in _SYSTEM:
        return "distro"
    return "conda" if machine.exists(f"{root}/conda-meta") else "PATH"


def _usual_places(machine: Machine) -> Iterator[tuple[str, str]]:
    names = [name for name in machine.names("/usr/local") if re.fullmatch(r"cuda(-[\d.]+)?", name)]
    for name in sorted(names, key=lambda name: (name != "cuda", _descending(name))):
        yield "/usr/local/cuda", f"/usr/local/{name}"
    yield "/usr/local/cuda", "/opt/cuda"


def _conda(machine: Machine, prefix: str) -> Iterator[tuple[str, str]]:
    if machine.exists(f"{prefix}/bin/nvcc"):
        yield "conda", prefix.rstrip("/")


def _wheels(machine: Machine) -> Iterator[tuple[str, str]]:
    try:
        path = target.look(machine).path
    except target.NoAnswer:  # named by the probes that need the interpreter
        return
    for folder in path:
        for name in machine.names(f"{folder}/nvidia"):
            if machine.exists(f"{folder}/nvidia/{name}/bin/nvcc"):
                yield "wheel", f"{folder}/nvidia/{name}"


def _nvccs(machine: Machine) -> Iterator[str]:
    named = machine.environ.get("CUDACXX")
    if named and named.startswith("/") and machine.exists(named):
        yield named
    for _, root in _places(machine):
        if machine.exists(f"{root}/bin/nvcc"):
            yield f"{root}/bin/nvcc"


def _root_of(machine: Machine, nvcc: str) -> str:
    """Return the toolkit an nvcc belongs to, also when the name on PATH is a link or a script."""
    parent = nvcc.rpartition("/bin/")[0] or "/usr"
    if any(machine.exists(f"{parent}/{part}") for part in _PARTS[1:]):
        return parent
    script = machine.read_bytes(nvcc, 2) == b"#!"
    told = machine.read(nvcc, 4096) if script else _real(machine, nvcc)
    behind = re.search(r"(/[^\s\"']*)/bin/nvcc\b", told or "")
    return behind[1] if behind and machine.exists(behind[1]) else parent


def _real(machine: Machine, path: str) -> str:
    real = os.path.realpath(machine.path(path))
    return real.removeprefix(str(machine.root).rstrip("/"))


def _is_toolkit(machine: Machine, root: str) -> bool:
    if root in _SYSTEM:
        return machine.exists(f"{root}/bin/nvcc")
    return any(machine.exists(f"{root}/{part}") for part in _PARTS)


def _version(machine: Machine, root: str) -> str | None:
    return (
        _of_json(machine.read(f"{root}/version.json"))
        or _matched(r"CUDA Version (\d+\.\d+)", machine.read(f"{root}/version.txt"))
        or _of_header(machine.read(f"{root}/include/cuda.h"))
        or _of_compiler(machine, f"{root}/bin/nvcc")
    )


def _of_json(text: str | None) -> str | None:
    try:
        parts = json.loads(text or "null")
        return _matched(r"^(\d+\.\d+)", parts["cuda"]["version"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _of_header(text: str | None) -> str | None:
    number = _matched(r"#define CUDA_VERSION\s+(\d{4,6})\b", text)
    return f"{int(number) // 1000}.{int(number) % 1000 // 10}" if number else None


def _of_compiler(machine: Machine, nvcc: str) -> str | None:
    return release(machine, nvcc, NVCC_S) if machine.exists(nvcc) else None


def _matched(pattern: str, text: str | None) -> str | None:
    found = re.search(pattern, text or "")
    return found[1] if found else None


def _descending(name: str) -> tuple[int, ...]:
    return tuple(-int(number) for number in re.findall(r"\d+", name))


def _compiler(machine: Machine, named: str) -> str | None:
    # NVCC_CCBIN may also name the folder of the compiler.
    if not named.startswith("/"):
        return machine.which(named)
    inner = (f"{named.rstrip('/')}/{name}" for name in ("gcc", "g++", "clang"))
    return next((path for path in inner if machine.exists(path)), named)


def _compiler_facts(machine: Machine, path: str) -> dict[str, str | None]:
    done = machine.run([path, "--version"], COMPILER_S)
    if done is None or done.timed_out or done.returncode != 0:
        return {"path": path}
    text = done.stdout.decode(errors="replace")
    for name, pattern in (("clang", _CLANG), ("gcc", _GCC)):
        found = pattern.search(text)
        if found:
            return {"path": path, "name": name, "version": found[1]}
    return {"path": path}
