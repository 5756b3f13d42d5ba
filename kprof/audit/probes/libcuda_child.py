"""Loads libcuda as a program would and asks it; runs as a program, since it can hang or crash.

``python libcuda_child.py`` runs in the target's interpreter (3.7 or newer, standard library alone),
whose own search path the loader respects. It prints the facts so far as a line of JSON, again and
again: what was learnt before a hang or a crash is not lost.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys


class _Place(ctypes.Structure):
    """``Dl_info`` of dladdr(3)."""

    _fields_ = [
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


def main() -> None:
    """Print what libcuda says."""
    _without_core_file()
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        _emit(_why_not(str(error)))
        return
    facts = _where(library)
    _emit(facts)
    facts["cuda_version"] = _cuda_version(library)
    _emit(facts)
    _initialise(library, facts)
    _emit(facts)


def _why_not(said: str) -> dict[str, object]:
    # Only "not there" is a path of null; a file that is there and cannot be loaded is another
    # matter, and so is one that lacks a library of its own.
    absent = "libcuda.so.1" in said and "No such file" in said and "needed by" not in said
    return {"path": None, "error": said} if absent else {"error": said}


def _where(library: ctypes.CDLL) -> dict[str, object]:
    place = _Place()
    address = ctypes.cast(library.cuInit, ctypes.c_void_p)
    if not _dladdr()(address, ctypes.byref(place)) or not place.file:
        return {}
    found = os.fsdecode(place.file)
    return {"path": os.path.realpath(found), "found_as": found}


def _dladdr() -> ctypes._NamedFuncPointer:
    try:
        return ctypes.CDLL(None).dladdr
    except AttributeError:  # the C library before glibc 2.34
        return ctypes.CDLL("libdl.so.2").dladdr


def _cuda_version(library: ctypes.CDLL) -> str | None:
    number = ctypes.c_int()
    if library.cuDriverGetVersion(ctypes.byref(number)) or number.value <= 0:
        return None
    return f"{number.value // 1000}.{number.value % 1000 // 10}"


def _initialise(library: ctypes.CDLL, facts: dict[str, object]) -> None:
    code = library.cuInit(0)
    facts["init_code"] = code
    facts["init_error"] = _name(library, code) if code else None
    count = ctypes.c_int()
    if code == 0 and library.cuDeviceGetCount(ctypes.byref(count)) == 0:
        facts["device_count"] = count.value
        facts["capabilities"] = _capabilities(library, count.value)


# CUdevice_attribute of cuda.h.
_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76
_MOST_DEVICES = 64


def _capabilities(library: ctypes.CDLL, count: int) -> list[str]:
    """Return the compute capability of every device that answers, in CUDA's order."""
    found = []
    for ordinal in range(min(count, _MOST_DEVICES)):
        device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        with contextlib.suppress(AttributeError):  # a stub has few functions
            wrong = (
                library.cuDeviceGet(ctypes.byref(device), ordinal)
                or library.cuDeviceGetAttribute(ctypes.byref(major), _CAPABILITY_MAJOR, device)
                or library.cuDeviceGetAttribute(ctypes.byref(minor), _CAPABILITY_MINOR, device)
            )
            if not wrong:
                found.append(f"{major.value}.{minor.value}")
    return found


def _name(library: ctypes.CDLL, code: int) -> str:
    text = ctypes.c_char_p()
    with contextlib.suppress(AttributeError):  # a stub has few functions
        library.cuGetErrorName(code, ctypes.byref(text))
    return os.fsdecode(text.value) if text.value else f"CUDA error {code}"


def _without_core_file() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _emit(facts: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
