"""Memory instructions out of the opcode mix.

``sass__inst_executed_per_opcode_with_modifier_all`` counts executions per warp by opcode as SASS
spells it, ``LDG.E.128.CONSTANT``, in the pass of the opcode mix that is collected anyway. The reader
adds up the kinds below and keeps them beside the metrics of the report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kprof.quantity import Quantity, Way

WARP_OPCODES = "sass__inst_executed_per_opcode_with_modifier_all"
WIDEST_BYTES = 16
_LOADS = frozenset({"LD", "LDG"})
_SHARED_LOADS = frozenset({"LDS"})
WORD_BYTES = 4  # what one lane accesses without a width modifier
_WIDTHS = {"U8": 1, "S8": 1, "8": 1, "U16": 2, "S16": 2, "16": 2, "64": 8, "128": 16, "256": 32}
_GLOBAL = frozenset({"LDG", "STG"})
_LSU = _GLOBAL | {
    "LD", "ST", "LDS", "STS", "LDL", "STL", "LDSM", "STSM", "LDGSTS", "ATOM", "ATOMG", "ATOMS",
    "RED", "REDG",
}  # fmt: skip
# Copies from global to shared memory that no register waits for: cp.async and TMA.
_ASYNC = frozenset({"LDGSTS", "UTMALDG", "UBLKCP"})
_PREFIX = "kprof__inst_executed_"


def mnemonic(sass: str) -> str:
    """Return the opcode of an instruction's text with its modifiers, without its predicate."""
    words = (word for word in sass.split() if not word.startswith("@"))
    return next(words, "").rstrip(";")


def operation(opcode: str) -> str:
    """Return an opcode without its modifiers: ``LDG`` of ``LDG.E.128``."""
    return opcode.partition(".")[0]


def width(opcode: str) -> int:
    """Return how many bytes one lane accesses: 16 for ``LDG.E.128``, 1 for ``LDG.E.U8``."""
    return next((_WIDTHS[part] for part in opcode.split(".")[1:] if part in _WIDTHS), WORD_BYTES)


def is_global(opcode: str) -> bool:
    """Say whether it loads from or stores to global memory through registers."""
    return operation(opcode) in _GLOBAL


def is_narrow(opcode: str) -> bool:
    """Say whether it is such an access of 32 bits per lane or less."""
    return is_global(opcode) and width(opcode) <= WORD_BYTES


def is_shared_atomic(opcode: str) -> bool:
    """Say whether it updates shared memory atomically."""
    return operation(opcode) == "ATOMS"


def retries(opcode: str) -> bool:
    """Say whether it is the compare-and-swap at the end of a loop that a lost race repeats."""
    return is_shared_atomic(opcode) and any(part.startswith("CAS") for part in opcode.split("."))


_KINDS: dict[str, Callable[[str], bool]] = {
    "global": is_global,
    "global_narrow": is_narrow,
    "lsu": lambda opcode: operation(opcode) in _LSU,
    "shared_atomic": is_shared_atomic,
    "shared_store": lambda opcode: operation(opcode) == "STS",
    "async_copy": lambda opcode: operation(opcode) in _ASYNC,
}


def totals(opcodes: Mapping[str, float]) -> dict[str, float]:
    """Return warp instructions by kind of access, each under the name its quantity reads.

    Args:
        opcodes: executions per warp by SASS opcode with modifiers.

    Returns:
        Every kind, 0 for those that never ran; nothing at all where the mix is unknown.
    """
    if not opcodes:
        return {}
    return {
        _PREFIX + kind: sum(n for opcode, n in opcodes.items() if belongs(opcode))
        for kind, belongs in _KINDS.items()
    }


def _executed(kind: str, meaning: str) -> Quantity:
    way = Way((_PREFIX + kind,), float, asked=(WARP_OPCODES,))
    return Quantity(f"{kind}_instructions", f"{meaning}, per warp", "inst", (way,))


GLOBAL_ACCESSES = _executed("global", "loads and stores of global memory")
NARROW_ACCESSES = _executed("global_narrow", "those of at most 32 bits per lane")
LSU_ACCESSES = _executed("lsu", "instructions of the load/store unit")
SHARED_ATOMICS = _executed("shared_atomic", "atomic updates of shared memory")
SHARED_STORES = _executed("shared_store", "stores to shared memory")
ASYNC_COPIES = _executed("async_copy", "asynchronous copies to shared memory")


def loads_are_wide(executed: Mapping[str, float], *, shared: bool = False) -> bool:
    """Say whether most loads are as wide as they can be: 128 bits per lane.

    Args:
        executed: warp instructions by opcode with modifiers.
        shared: of shared memory instead of global.
    """
    kinds = _SHARED_LOADS if shared else _LOADS
    loads = {name: times for name, times in executed.items() if operation(name) in kinds}
    wide = sum(times for name, times in loads.items() if width(name) >= WIDEST_BYTES)
    return 2.0 * wide > sum(loads.values())
