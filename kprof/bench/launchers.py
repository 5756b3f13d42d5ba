"""CUDA launchers of a shared library, called with torch's tensors on torch's stream.

A launcher is plain C, takes its arguments in the order of the call and the stream last, and
returns a ``cudaError_t``::

    extern "C" int add_simple(const float* a, const float* b, float* out,
                              long long count, long long block, cudaStream_t stream) {
      if (count <= 0 || block <= 0) return cudaErrorInvalidValue;
      add<<<...>>>(a, b, out, count);
      return cudaGetLastError();
    }

Standard library alone: this runs in the target's interpreter.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


class LaunchError(RuntimeError):
    """A launcher that refused its arguments or whose launch failed."""


class Unsupported(LaunchError, NotImplementedError):
    """A launcher that returned ``cudaErrorNotSupported``: right to refuse, and no fault."""


_NOT_SUPPORTED = 801  # cudaErrorNotSupported, driver_types.h


class Library:
    """A CUDA source whose ``extern "C"`` launchers are this object's attributes.

    Tensors are passed as ``T*``, ``int`` as ``long long``, ``float`` as ``double``, ``bool`` as
    ``int`` and None as a null pointer; torch's current stream follows as ``cudaStream_t``. The
    launcher returns a ``cudaError_t``: ``cudaErrorNotSupported`` says that it does not do this shape,
    anything else but 0 raises :class:`LaunchError`.

    Attributes:
        source: the ``.cu`` file, as the bench file names it.
        flags: further ones for nvcc.
        place: the compiled library; None until kprof has compiled it.
        problem: why there is none.
    """

    def __init__(self, source: Path, flags: tuple[str, ...] = ()) -> None:
        self.source = source
        self.flags = flags
        self.place: Path | None = None
        self.problem: str | None = None
        self._loaded: ctypes.CDLL | None = None

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        entry: Callable[..., int] | None = None
        stream = _streams()

        def launch(*arguments: Any) -> None:
            nonlocal entry
            if entry is None:
                entry = self._entry(name)
            status = entry(*map(_passed, arguments), ctypes.c_void_p(stream()))
            if status:
                kind = Unsupported if status == _NOT_SUPPORTED else LaunchError
                raise kind(f"{name} returned {status}: {meaning(status)}")

        # Kept: the next use finds it as an ordinary attribute.
        setattr(self, name, launch)
        return launch

    def _entry(self, name: str) -> Callable[..., int]:
        if self._loaded is None:
            self._loaded = ctypes.CDLL(str(self._place()))
        try:
            entry = getattr(self._loaded, name)
        except AttributeError:
            raise LaunchError(f'{self.source.name} has no extern "C" function {name}') from None
        entry.restype = ctypes.c_int
        return entry  # type: ignore[no-any-return]

    def _place(self) -> Path:
        if self.place is None:
            raise LaunchError(self.problem or f"{self.source.name} is not compiled")
        return self.place


def meaning(status: int) -> str:
    """Return CUDA's words for an error number, as the running process's library has them."""
    try:
        return str(
            _torch().cuda.cudart().cudaGetErrorString(_torch().cuda.cudart().cudaError(status))
        )
    except (AssertionError, AttributeError, RuntimeError, TypeError, ValueError):
        return "see cudaError_t in the CUDA runtime's manual"


def _passed(value: Any) -> Any:
    if value is None:
        return ctypes.c_void_p()
    if hasattr(value, "data_ptr"):
        return ctypes.c_void_p(value.data_ptr())
    if isinstance(value, bool):
        return ctypes.c_int(value)
    if isinstance(value, int):
        return ctypes.c_longlong(value)
    if isinstance(value, float):
        return ctypes.c_double(value)
    raise LaunchError(f"a launcher takes tensors and numbers, not {type(value).__name__}")


def _streams() -> Callable[[], int]:
    """Return what tells torch's current stream, which may differ from call to call."""
    cuda = _torch().cuda
    if not cuda.is_available():
        return lambda: 0
    return lambda: int(cuda.current_stream().cuda_stream)


def _torch() -> Any:
    # The bench file has imported it, or there is no tensor to pass.
    return sys.modules.get("torch") or __import__("torch")
