"""Naming a part of a program, so that a profile can be narrowed to it.

::

    with kprof.region("step"):          # kprof profile --nvtx step train.py
        loss = model(batch)
        loss.backward()

    @kprof.region("attention")
    def attention(q, k, v): ...

Standard library alone, and next to nothing at import: this runs in the profiled program.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from kprof import injection

_Function = TypeVar("_Function", bound=Callable[..., Any])

# With NVTX in a shared library: CUDA 12 and older, and the wheels of 12.9.
_LIBRARIES = ("libnvToolsExt.so.1", "libnvtx3interop.so.1")
# A coroutine, generator or asynchronous generator: calling it runs nothing of it (inspect.CO_*).
_RUNS_LATER = 0x80 | 0x20 | 0x200
# What importing somebody else's package, or asking it for a function, may raise.
_UNUSABLE = (ImportError, AttributeError, OSError, RuntimeError, TypeError, ValueError)


class _Backend(NamedTuple):
    """Four functions that speak NVTX; ``start`` returns what ``end`` takes."""

    push: Callable[[Any], Any]
    pop: Callable[[], Any]
    start: Callable[[Any], Any]
    end: Callable[[Any], Any]
    encoded: bool = False  # names as bytes


_lock = threading.Lock()
_found: list[_Backend | None] = []  # empty until the first region opens


class region:  # noqa: N801 - used like a function
    """A named part of a program, as context manager or decorator.

    ``kprof profile --nvtx NAME`` measures only the kernels launched inside. The region is an NVTX
    range, twice: a push/pop range of the thread, which shows in the report, and a start/end range
    of the process, so that kernels count that other threads launch meanwhile, as PyTorch's do in
    the backward pass.

    It speaks through the ``nvtx`` package where that is installed, else through torch where the
    program has imported it, else through CUDA's NVTX library, else to the profiler directly. Without
    a profiler it does nothing, which takes about two microseconds. Regions may nest, and be open in
    several threads at once; an exception closes them and passes on.

    Attributes:
        name: what ``--nvtx`` takes. Without ``/ @ [ ] , * + :``, which have a meaning there.
    """

    __slots__ = ("_open", "name")

    def __init__(self, name: str) -> None:
        """Name the region.

        Raises:
            TypeError: the name is not a string.
        """
        if not isinstance(name, str):
            raise TypeError(f"a region's name is a string, not {type(name).__name__}")
        self.name = name
        self._open: list[tuple[_Backend, Any]] = []

    def __enter__(self) -> region:
        """Open the region."""
        backend = _found[0] if _found else _resolve()
        if backend is not None:
            name = _encoded(self.name) if backend.encoded else _clean(self.name)
            self._open.append((backend, backend.start(name)))
            backend.push(name)
        return self

    def __exit__(self, *_: object) -> None:
        """Close it; an exception passes on."""
        if self._open:
            backend, number = self._open.pop()
            backend.pop()
            backend.end(number)

    def __call__(self, function: _Function) -> _Function:
        """Return the function as one that runs inside the region.

        Raises:
            TypeError: calling it would run nothing yet: a coroutine or a generator.
        """
        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & _RUNS_LATER:
            raise TypeError(
                f"{function.__qualname__} runs after it has been called: use "
                f"`with kprof.region({self.name!r})` inside it"
            )
        name = self.name

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with region(name):
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]


def _clean(name: str) -> str:
    # Lone surrogates and zeros are no text to a C library.
    return _encoded(name).decode("utf-8")


@functools.lru_cache(maxsize=256)
def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "replace").partition(b"\0")[0]


def _resolve() -> _Backend | None:
    with _lock:
        if not _found:
            _found.append(_first())
    return _found[0]


def _first() -> _Backend | None:
    for way in (_nvtx_package, _torch, _library, _directly):
        with contextlib.suppress(*_UNUSABLE):
            backend = way()
            if backend is not None:
                return backend
    return None


def _nvtx_package() -> _Backend | None:
    nvtx = importlib.import_module("nvtx")
    return _Backend(nvtx.push_range, nvtx.pop_range, nvtx.start_range, nvtx.end_range)


def _torch() -> _Backend | None:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch._C, "_nvtx"):  # not there in a build without CUDA
        return None
    nvtx = torch.cuda.nvtx
    return _Backend(nvtx.range_push, nvtx.range_pop, nvtx.range_start, nvtx.range_end)


def _library() -> _Backend | None:
    for name in _LIBRARIES:
        with contextlib.suppress(OSError):
            return _of(ctypes.CDLL(name))
    return None


def _of(library: ctypes.CDLL) -> _Backend:
    push, pop = library.nvtxRangePushA, library.nvtxRangePop
    start, end = library.nvtxRangeStartA, library.nvtxRangeEnd
    push.argtypes = start.argtypes = (ctypes.c_char_p,)
    start.restype = ctypes.c_uint64
    end.argtypes, end.restype = (ctypes.c_uint64,), None
    return _Backend(push, pop, start, end, encoded=True)


def _directly() -> _Backend | None:
    tool = injection.connect()
    return None if tool is None else _Backend(tool.push, tool.pop, tool.start, tool.end, True)
