"""Compiled packages beside torch: which CUDA each was built for, and Triton's own assembler."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from kprof.audit.probes import elf, target
from kprof.audit.probes.machine import Machine, output

PTXAS_S = 3.0

# Bounds of what is looked at: some packages hold thousands of libraries.
_LIBRARIES_PER_PACKAGE = 40
_LIBRARIES = 600
_MAX_RECORD_BYTES = 8 * 2**20
_MAX_METADATA_BYTES = 2**16

_NEEDS_TORCH = re.compile(r"^Requires-Dist:\s*torch(?![\w.-])", re.MULTILINE | re.IGNORECASE)
# Libraries whose own major is CUDA's; others (cuFFT, cuSOLVER) count differently.
_CUDA_LIBRARY = re.compile(r"lib(?:cudart|cublas|cublasLt|nvrtc)\.so\.(\d+)")
_CUDA_IN_VERSION = re.compile(r"\+.*?\bcu(\d{2})(\d?)")
_TORCH_ITSELF = frozenset({"torch", "triton", "pytorch-triton"})

_PTXAS_FOLDERS = ("backends/nvidia/bin", "third_party/cuda/bin", "common/../third_party/cuda/bin")
_RELEASE = re.compile(r"release (\d+\.\d+)")


def extensions(machine: Machine) -> dict[str, Any]:
    """Return the packages compiled against torch, with the CUDA major their libraries ask for.

    A package without such a library and without a CUDA version in its own (``2.8.3+cu12``) is left
    out; one whose libraries ask for two majors is listed twice.
    """
    seen = target.look(machine)
    found: list[dict[str, str]] = []
    left = _LIBRARIES
    for name, one in sorted(target.installed(machine, seen.path).items()):
        if name in _TORCH_ITSELF or not _needs_torch(machine, one):
            continue
        libraries = list(_libraries(machine, one))[: min(left, _LIBRARIES_PER_PACKAGE)]
        left -= len(libraries)
        found += [{"package": name, "cuda": cuda} for cuda in _built_for(machine, one, libraries)]
    return {"extensions": found}


def triton(machine: Machine) -> dict[str, Any]:
    """Return the target's Triton, and the version of the ptxas that it would use."""
    seen = target.look(machine)
    packages = target.installed(machine, seen.path)
    one = packages.get("triton") or packages.get("pytorch-triton")
    if one is None:
        return {"triton": {"path": None, "version": None}}
    folder = f"{one.site}/triton"
    facts: dict[str, Any] = {"path": folder, "version": one.version}
    for key, program in (("ptxas", "ptxas"), ("ptxas_blackwell", "ptxas-blackwell")):
        facts |= {f"{key}_{name}": value for name, value in _assembler(machine, folder, program)}
    return {"triton": facts}


def release(machine: Machine, program: str, timeout_s: float) -> str | None:
    """Return the CUDA release that one of its programs says it is of, ``12.8``."""
    found = _RELEASE.search(output(machine.run([program, "--version"], timeout_s)) or "")
    return found[1] if found else None


def _assembler(machine: Machine, folder: str, program: str) -> Iterable[tuple[str, str]]:
    # As triton/knobs.py chooses: what the variable names, if that answers, else its own. Newer
    # Tritons bring a second one, for Blackwell alone.
    own = [f"{folder}/{place}/{program}" for place in _PTXAS_FOLDERS]
    own = [path for path in own if machine.exists(path)]
    variable = f"TRITON_{program.upper().replace('-', '_')}_PATH"
    named = machine.environ.get(variable)
    places = [(named, variable)] if named and own else []
    for path, source in [*places, *((path, "bundled") for path in own)]:
        version = release(machine, path, PTXAS_S)
        if version is not None:
            return (("path", path), ("source", source), ("version", version))
    return ()


def _needs_torch(machine: Machine, one: target.Installed) -> bool:
    for name in ("METADATA", "PKG-INFO"):
        text = machine.read(f"{one.info}/{name}", _MAX_METADATA_BYTES)
        if text is not None:
            return _NEEDS_TORCH.search(text) is not None
    return False


def _libraries(machine: Machine, one: target.Installed) -> Iterator[str]:
    for line in (machine.read(f"{one.info}/RECORD", _MAX_RECORD_BYTES) or "").splitlines():
        name = line.split(",", 1)[0]
        if re.search(r"\.so(\.\d+)*$", name) and ".." not in name:
            yield f"{one.site}/{name}"


def _built_for(machine: Machine, one: target.Installed, libraries: list[str]) -> list[str]:
    majors = set()
    for path in libraries:
        asks = elf.dynamic(machine.path(path))
        for needed in () if asks is None else asks.needed:
            found = _CUDA_LIBRARY.match(needed)
            if found:
                majors.add(found[1])
    if majors:
        return sorted(majors)
    # CUDA can be linked in, and the package still say what it was built with.
    told = _CUDA_IN_VERSION.search(one.version)
    return [f"{told[1]}.{told[2]}" if told[2] else told[1]] if told and libraries else []
