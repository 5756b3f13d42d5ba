"""The CUDA libraries that the target's torch loads: which files, of which version."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from kprof.audit.probes import target
from kprof.audit.probes.loader import Loader
from kprof.audit.probes.machine import Machine

VERSION_S = 5.0

# "libcudart-d0da41ae.so.11.0" is how torch's older wheels bundle a library, "libcudnn_ops.so.9" a
# part of one. libcublasLt is none of these: it comes with libcublas.
_FAMILY = re.compile(r"(libcudart|libcudnn|libnccl|libcublas)(?:_\w+)?(?:-[0-9a-f]+)?\.so\b")
FAMILIES = ("libcudart", "libcudnn", "libnccl", "libcublas")

# In the order in which `import torch` loads them.
_ASKING = ("libtorch_global_deps.so", "libtorch_cuda.so", "libc10_cuda.so", "libtorch_python.so")

_WHEELS = {
    "libcudart": re.compile(r"nvidia-cuda-runtime(?:-cu\d+)?"),
    "libcudnn": re.compile(r"nvidia-cudnn(?:-cu\d+)?"),
    "libnccl": re.compile(r"nvidia-nccl(?:-cu\d+)?"),
    "libcublas": re.compile(r"nvidia-cublas(?:-cu\d+)?"),
}
# How many numbers of a version are told: CUDA's own libraries carry CUDA's two.
_PARTS = {"libcudart": 2, "libcudnn": 3, "libnccl": 3, "libcublas": 2}


def loaded_libraries(machine: Machine) -> dict[str, Any]:
    """Return the CUDA libraries that ``import torch`` would load, by the loader's own rules."""
    seen = target.look(machine)
    if seen.torch is None:
        return {"loaded_libraries": None}
    found = described(machine, _would_load(Loader(machine), seen.torch), seen)
    return {"loaded_libraries": {family: found.get(family, []) for family in FAMILIES}}


def cuda_runtime(machine: Machine, seen: target.Look) -> str | None:
    """Return the CUDA runtime library that torch would load."""
    if seen.torch is None:
        return None
    paths = _would_load(Loader(machine), seen.torch)
    return next((path for path in paths if family_of(path) == "libcudart"), None)


def described(
    machine: Machine, paths: Iterable[str], seen: target.Look | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Return the libraries by family, each with its path and version."""
    seen = target.look(machine) if seen is None else seen
    found: dict[str, list[dict[str, Any]]] = {}
    for path in paths:
        family = family_of(path)
        if family is not None:
            entry = {"path": path, "version": _version(machine, seen, family, path)}
            found.setdefault(family, []).append(entry)
    return found


def family_of(path: str) -> str | None:
    """Return ``libcudnn`` for ``/x/libcudnn_ops.so.9``; None for other libraries."""
    found = _FAMILY.match(name_of(path))
    return found[1] if found else None


def name_of(path: str) -> str:
    """Return a path's last part."""
    return path.rpartition("/")[2]


def number_to_version(family: str, number: int) -> str:
    """Return the version that a library's own number stands for, ``9.19.0`` for cuDNN's 91900.

    Source: the macros CUDART_VERSION, CUDNN_VERSION and NCCL_VERSION of NVIDIA's headers.
    """
    if family == "libcudart":
        return f"{number // 1000}.{number % 1000 // 10}"
    # cuDNN counts in thousands before 9, NCCL before 2.9.
    big = 10_000 if number >= 10_000 else 1000
    return f"{number // big}.{number % big // 100}.{number % 100}"


def _would_load(loader: Loader, torch: str) -> Iterator[str]:
    taken: dict[str, str] = {}
    for asking in (f"{torch}/lib/{name}" for name in _ASKING):
        seen = loader.dynamic(asking)
        for name in () if seen is None else seen.needed:
            if family_of(name) is not None and name not in taken:
                path = loader.find(name, [asking])
                if path is not None:
                    taken[name] = path
                    yield path
                    if family_of(name) == "libcudnn":
                        yield from _shadowed_parts(loader, path, asking)


def _shadowed_parts(loader: Loader, cudnn: str, asking: str) -> Iterator[str]:
    # libcudnn opens its parts by name later: they can come from another place than itself.
    folder, _, name = cudnn.rpartition("/")
    suffix = name.partition(".so")[2]
    for part in loader.names(folder):
        if re.fullmatch(rf"libcudnn_\w+\.so{re.escape(suffix)}", part):
            path = loader.find(part, [cudnn, asking])
            if path is not None and path.rpartition("/")[0] != folder:
                yield path


def _version(machine: Machine, seen: target.Look, family: str, path: str) -> str | None:
    return (
        _of_wheel(machine, seen, family, path)
        or _of_file_name(machine, family, path)
        or _of_header(machine, family, path)
        or _of_itself(machine, family, path)
    )


def _of_wheel(machine: Machine, seen: target.Look, family: str, path: str) -> str | None:
    site = path.partition("/nvidia/")[0]
    if site == path or site not in seen.path:
        return None
    major = name_of(path).partition(".so.")[2].partition(".")[0]
    versions = [
        one.version
        for name, one in target.installed(machine, (site,)).items()
        if _WHEELS[family].fullmatch(name) and one.version.split(".")[0] == major
    ]
    # Two wheels that own the same file overwrite each other: which one is there, only it can say.
    return _short(family, versions[0]) if len(versions) == 1 else None


def _of_file_name(machine: Machine, family: str, path: str) -> str | None:
    # libcudart.so.11.0 is the name others ask for up to CUDA 11.8: only a longer one tells.
    name = name_of(os.path.realpath(machine.path(path)))
    asked = Loader(machine).dynamic(path)
    if asked is None or name == asked.soname:
        return None
    numbers = re.search(r"\.so\.(\d+(?:\.\d+)+)$", name)
    return _short(family, numbers[1]) if numbers and numbers[1].count(".") >= 2 else None


def _of_header(machine: Machine, family: str, path: str) -> str | None:
    if family != "libcudnn":
        return None
    text = machine.read(f"{path.rpartition('/')[0]}/../include/cudnn_version.h") or ""
    numbers = [
        found[1]
        for name in ("MAJOR", "MINOR", "PATCHLEVEL")
        if (found := re.search(rf"#define CUDNN_{name} (\d+)", text))
    ]
    return ".".join(numbers) if len(numbers) == 3 else None


def _of_itself(machine: Machine, family: str, path: str) -> str | None:
    if family == "libcublas":
        return None
    # A part of cuDNN cannot tell; the whole beside it can.
    whole = re.sub(r"/libcudnn_\w+\.so", "/libcudnn.so", path)
    if not machine.exists(whole):
        return None
    answer = target.ask(machine, VERSION_S, "version", family, whole)
    number = (answer.facts or {}).get("number")
    return number_to_version(family, number) if isinstance(number, int) else None


def _short(family: str, version: str) -> str:
    return ".".join(version.split(".")[: _PARTS[family]])
