"""Speaking NVTX to a tool without any NVTX library: the program's side of its injection protocol.

A tool names a library of its own in ``NVTX_INJECTION64_PATH``. Whoever speaks NVTX loads it and
calls its ``InitializeInjectionNvtx2`` with a function that hands out tables; the tool writes its
own functions into them, and leaves alone what it does not want. Layouts and numbers are those of
NVTX 3 (``nvtxTypes.h``, ``nvtxInit.h`` of https://github.com/NVIDIA/NVTX), which are frozen: tools
of any age meet programs of any age.

Standard library alone: this runs in the profiled program.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

VARIABLE = (
    "NVTX_INJECTION64_PATH" if ctypes.sizeof(ctypes.c_void_p) == 8 else "NVTX_INJECTION32_PATH"
)

_NVTX_VERSION = 3
_CALLBACKS, _VERSION_INFO = 1, 3  # tables that a tool asks for
_CORE = 1  # the module that holds the functions below
# How many functions each module has, the unused number 0 included.
_SIZES = {1: 16, 2: 9, 3: 15, 4: 7, 5: 16, 6: 7}
_RANGE_START, _RANGE_END, _RANGE_PUSH, _RANGE_POP = 5, 7, 9, 11  # taking char*

_GetTable = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
_GetModule = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_uint),
)
_SetVersion = ctypes.CFUNCTYPE(None, ctypes.c_uint32)


class _Callbacks(ctypes.Structure):
    _fields_ = (("size", ctypes.c_size_t), ("get_module", _GetModule))


class _VersionInfo(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("version", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("set_version", _SetVersion),
    )


# Tools keep pointers into what they were given: it stays until the process ends.
_kept: list[Client] = []


class Client:
    """A program as a tool sees it.

    Attributes:
        push: opens a range of this thread, by name.
        pop: closes it.
        start: opens a range of the process, by name, and returns its number.
        end: closes the range of that number.
    """

    def __init__(self) -> None:
        # One place per function, for the tool to fill, and a table of these places per module.
        self._places = {module: (ctypes.c_void_p * size)() for module, size in _SIZES.items()}
        self._tables = {module: _addresses(places) for module, places in self._places.items()}
        self._callbacks = _Callbacks(ctypes.sizeof(_Callbacks), _GetModule(self._module))
        self._info = _VersionInfo(
            ctypes.sizeof(_VersionInfo), _NVTX_VERSION, 0, _SetVersion(lambda _: None)
        )
        self._get_table = _GetTable(self._table)
        self.push: Any = None
        self.pop: Any = None
        self.start: Any = None
        self.end: Any = None

    def attach(self, library: ctypes.CDLL) -> bool:
        """Let the tool fill the tables; False when it does not want this program."""
        initialize = library.InitializeInjectionNvtx2
        _kept.append(self)
        initialize.argtypes, initialize.restype = (_GetTable,), ctypes.c_int
        if not initialize(self._get_table):
            return False
        self.push = self._function(_RANGE_PUSH, ctypes.c_int, ctypes.c_char_p)
        self.pop = self._function(_RANGE_POP, ctypes.c_int)
        self.start = self._function(_RANGE_START, ctypes.c_uint64, ctypes.c_char_p)
        self.end = self._function(_RANGE_END, None, ctypes.c_uint64)
        return True

    def _function(self, number: int, result: Any, *arguments: Any) -> Any:
        # What the tool left empty does nothing.
        address = self._places[_CORE][number]
        return ctypes.CFUNCTYPE(result, *arguments)(address) if address else _nothing

    def _table(self, number: int) -> int | None:
        if number == _CALLBACKS:
            return ctypes.addressof(self._callbacks)
        return ctypes.addressof(self._info) if number == _VERSION_INFO else None

    def _module(self, module: int, table: Any, size: Any) -> int:
        if module not in self._tables:
            return 0
        if table:
            table[0] = ctypes.addressof(self._tables[module])
        if size:
            size[0] = _SIZES[module]
        return 1


def connect() -> Client | None:
    """Attach to the tool that the environment names; None without one that works."""
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    client = Client()
    try:
        return client if client.attach(ctypes.CDLL(path)) else None
    except (OSError, AttributeError):  # no library, or none that speaks NVTX
        return None


def _addresses(places: Any) -> Any:
    # One more entry than there are functions, empty: as NVTX itself does it.
    first, width = ctypes.addressof(places), ctypes.sizeof(ctypes.c_void_p)
    size = len(places)
    table = (ctypes.c_void_p * (size + 1))()
    table[1:size] = [first + number * width for number in range(1, size)]
    return table


def _nothing(*_: object) -> int:
    return 0
