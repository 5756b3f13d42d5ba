"""The target's torch: read from disk within milliseconds, since an import takes seconds.

The reading finds what an import would say (verified against the CUDA 13.0 wheel of 2.11.0 and the
CPU wheel of 2.13.0): the version and CUDA version stand in ``torch/version.py``, the architectures
as one string in ``libtorch_python.so``, and ``torch.cuda.is_available()`` is ``cudaGetDeviceCount``
of the CUDA runtime that torch's libraries need. Beside it an import is begun: only that shows that
the libraries can be loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from kprof.audit.probes import target
from kprof.audit.probes.libraries import cuda_runtime, described, loaded_libraries, name_of
from kprof.audit.probes.machine import Machine

# An import that is waited for ends by itself, in a minute also on a network drive.
IMPORT_S = 60.0
NOT_WAITED: dict[str, Any] = {"torch": {"import": "not waited for"}}
NOT_ENDED: dict[str, Any] = {"torch": {"import": "not ended"}}
COUNT_S = 10.0

# What torch's build leaves of its CUDA_ARCH_FLAGS: "sm_75 sm_80 compute_80" between zero bytes.
# Source: torch/csrc/cuda/Module.cpp, THCPModule_getArchFlags.
_ARCHITECTURES = re.compile(rb"\0((?:sm|compute)_\d+[af]?(?: (?:sm|compute)_\d+[af]?)*)(?=\0)")
_PIECE_BYTES = 2**20
_OVERLAP_BYTES = 1024  # longer than any list
_MAX_SEARCHED_BYTES = 512 * 2**20


def torch(machine: Machine) -> dict[str, Any]:
    """Return what can be read of the target's torch without importing it."""
    seen = target.look(machine)
    if seen.torch is None:
        return {"torch": {"path": None, "version": None}}
    text = machine.read(f"{seen.torch}/version.py") or ""
    facts: dict[str, Any] = {"path": seen.torch, "version": target.version_in(text)}
    for name in ("cuda", "hip"):
        assigned = _assigned(text, name)
        if assigned is not None:
            facts[name] = assigned[0]
    built_for = architectures(machine.path(f"{seen.torch}/lib/libtorch_python.so"))
    if built_for or (built_for is not None and _cpu_only(facts)):
        facts["arch_list"] = built_for
    cudnn = _required_cudnn(machine, seen)
    if cudnn is not None or _cpu_only(facts):
        facts["cudnn"] = cudnn
    return {"torch": facts | _devices(machine, seen, facts)}


def torch_load(machine: Machine) -> dict[str, Any]:
    """Begin to import the target's torch, until its libraries are loaded or that fails.

    Nothing shows sooner that it cannot be imported, or which libraries it gets: what follows is
    Python, and most of the time.
    """
    return _of_import(machine, "load-torch", NOT_WAITED)


def torch_import(machine: Machine) -> dict[str, Any]:
    """Import the target's torch to the end, in a process of its own, and let it start CUDA."""
    return _of_import(machine, "import-torch", NOT_ENDED)


def architectures(library: Path) -> list[str] | None:
    """Return the architectures a ``libtorch_python.so`` was built for; None when it is not there.

    Read a piece at a time, so that other threads go on meanwhile.
    """
    longest = b""
    try:
        with library.open("rb") as file:
            for piece in _pieces(file):
                longest = max([longest, *_ARCHITECTURES.findall(piece)], key=len)
    except OSError:
        return None
    return longest.decode().split()


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    tail = b""
    for _ in range(_MAX_SEARCHED_BYTES // _PIECE_BYTES):
        read = file.read(_PIECE_BYTES)
        if not read:
            return
        piece = tail + read
        if b"\0sm_" in piece or b"\0compute_" in piece:
            yield piece
        tail = piece[-_OVERLAP_BYTES:]


def _assigned(text: str, name: str) -> tuple[str | None] | None:
    # "cuda: Optional[str] = '13.0'", in older releases "cuda = '11.3'"; None for a CPU build.
    line = rf"^{name}\s*(?::[^=\n]*)?=\s*(?:None|['\"]([^'\"\n]*)['\"])\s*$"
    found = re.search(line, text, re.MULTILINE)
    return None if found is None else (found[1],)


def _cpu_only(facts: dict[str, Any]) -> bool:
    return "cuda" in facts and facts["cuda"] is None and facts.get("hip") is None


def _required_cudnn(machine: Machine, seen: target.Look) -> str | None:
    # The wheel asks for the very version it was compiled with.
    found = target.installed(machine, seen.path).get("torch")
    metadata = "" if found is None else machine.read(f"{found.info}/METADATA") or ""
    required = re.search(
        r"^Requires-Dist: nvidia-cudnn-cu\d+ ?\(?==(\d+\.\d+\.\d+)", metadata, re.M
    )
    return required[1] if required else None


def _devices(machine: Machine, seen: target.Look, facts: dict[str, Any]) -> dict[str, Any]:
    if _cpu_only(facts):
        return {"cuda_available": False}
    runtime = cuda_runtime(machine, seen) if facts.get("cuda") else None
    if runtime is None:
        return {}
    answer = target.ask(machine, COUNT_S, "count", runtime)
    if answer.facts is None or answer.ending is not None:
        return {"cuda_error": {"text": answer.ending}}
    code = answer.facts.get("code")
    said = {"cuda_available": code == 0 and bool(answer.facts.get("count"))}
    if code == 0:
        return said
    return {**said, "cuda_error": {key: answer.facts.get(key) for key in ("code", "name", "text")}}


def _of_import(machine: Machine, mode: str, late: dict[str, Any]) -> dict[str, Any]:
    answer = target.ask(machine, IMPORT_S, mode)
    facts = dict(answer.facts or {})
    paths = facts.pop("libraries", None)
    if answer.timed_out:
        facts |= late["torch"]
    elif answer.ending is not None:
        facts |= {"import": "failed", "import_error": f"import torch: {answer.ending}"}
    return {"torch": facts, **_loaded(machine, paths)}


def _loaded(machine: Machine, paths: object) -> dict[str, Any]:
    # What this very import loaded, and what cuDNN would load later.
    if not isinstance(paths, list) or not paths:
        return {}
    now = described(machine, [path for path in paths if isinstance(path, str)])
    later = loaded_libraries(machine)["loaded_libraries"] or {}
    for family, entries in later.items():
        names = {name_of(entry["path"]) for entry in now.get(family, ())}
        now.setdefault(family, []).extend(e for e in entries if name_of(e["path"]) not in names)
    return {"loaded_libraries": now}
