"""Compiled packages beside torch: which CUDA each was built for, and Triton's own assembler."""

from __future__ import annotations

import re
from collections.abc import Iterator
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

_PTXAS = (
    "backends/nvidia/bin/ptxas",
    "third_party/cuda/bin/ptxas",
    "common/../third_party/cuda/bin/ptxas",
)
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
    facts = {"path": folder, "version": one.version}
    override = machine.environ.get("TRITON_PTXAS_PATH")
    if override:
        facts["ptxas_path"], facts["ptxas_source"] = override, "TRITON_PTXAS_PATH"
    else:
        found = [f"{folder}/{place}" for place in _PTXAS if machine.exists(f"{folder}/{place}")]
        if not found:
            return {"triton": facts}
        facts["ptxas_path"], facts["ptxas_source"] = found[0], "bundled"
    facts |= _versions(machine, facts["ptxas_path"])
    return {"triton": facts}


def release(machine: Machine, program: str, timeout_s: float) -> str | None:
    """Return the CUDA release that one of its programs says it is of, ``12.8``."""
    found = _RELEASE.search(output(machine.run([program, "--version"], timeout_s)) or "")
    return found[1] if found else None


def _versions(machine: Machine, ptxas: str) -> dict[str, str]:
    # Newer Tritons bring a second assembler, for Blackwell alone.
    versions = {"ptxas_version": release(machine, ptxas, PTXAS_S)}
    if machine.exists(f"{ptxas}-blackwell"):
        versions["ptxas_blackwell_version"] = release(machine, f"{ptxas}-blackwell", PTXAS_S)
    return {name: version for name, version in versions.items() if version is not None}


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
