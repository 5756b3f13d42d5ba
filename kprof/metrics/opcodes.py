"""Floating-point and atomic thread instructions out of the opcode mix.

``sass__thread_inst_executed_true_per_opcode_with_modifier_all`` counts for every opcode, spelled
as in SASS, the threads that executed it and were not predicated off: what the counters
``smsp__sass_thread_inst_executed_op_*_pred_on`` count by kind, without a pass of its own.
docs/decisions/0011 compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping

THREAD_OPCODES = "sass__thread_inst_executed_true_per_opcode_with_modifier_all"
GLOBAL_ATOMICS = "kprof__thread_inst_executed_op_global_atomic"
KINDS = ("fadd", "fmul", "ffma", "dadd", "dmul", "dfma", "hadd", "hmul", "hfma")

# How many instructions of its kind one thread executes at once: a Blackwell FFMA2 is two FFMA.
# Half instructions are packed too but count once, as the counters have it: that each works on two
# values is known where operations are made of them.
_OPCODES = {
    "FADD": ("fadd", 1.0),
    "FADD32I": ("fadd", 1.0),
    "FADD2": ("fadd", 2.0),
    "FMUL": ("fmul", 1.0),
    "FMUL32I": ("fmul", 1.0),
    "FMUL2": ("fmul", 2.0),
    "FFMA": ("ffma", 1.0),
    "FFMA32I": ("ffma", 1.0),
    "FFMA2": ("ffma", 2.0),
    "DADD": ("dadd", 1.0),
    "DMUL": ("dmul", 1.0),
    "DFMA": ("dfma", 1.0),
    "HADD2": ("hadd", 1.0),
    "HADD2_32I": ("hadd", 1.0),
    "HMUL2": ("hmul", 1.0),
    "HMUL2_32I": ("hmul", 1.0),
    "HFMA2": ("hfma", 1.0),
    "HFMA2_32I": ("hfma", 1.0),
}
# Updates in L2. ATOM may be generic, then it is global most of the time; ATOMS is shared memory's
# and REDUX stays within the warp.
_GLOBAL_ATOMICS = frozenset({"ATOM", "ATOMG", "RED", "REDG"})


def by_opcode(kind: str) -> str:
    """Return the name under which kprof keeps a kind's total beside the metrics of the report."""
    return f"kprof__thread_inst_executed_op_{kind}"


def totals(opcodes: Mapping[str, float]) -> dict[str, float]:
    """Return thread instructions by kind, each under its name from :func:`by_opcode`.

    Args:
        opcodes: predicated-on thread executions by SASS opcode with modifiers.

    Returns:
        All nine kinds, 0 for those that never ran; nothing at all where the mix is unknown.
    """
    if not opcodes:
        return {}
    counts = dict.fromkeys(KINDS, 0.0)
    for opcode, executed in opcodes.items():
        mnemonic, *modifiers = opcode.split(".")
        if mnemonic in _OPCODES and not _converts(mnemonic, modifiers):
            kind, at_once = _OPCODES[mnemonic]
            counts[kind] += at_once * executed
    return {by_opcode(kind): count for kind, count in counts.items()}


def atomics(opcodes: Mapping[str, float]) -> dict[str, float]:
    """Return how many threads updated global memory atomically, under ``GLOBAL_ATOMICS``.

    Args:
        opcodes: as for :func:`totals`.

    Returns:
        The count, 0 where there were none; nothing at all where the mix is unknown.
    """
    if not opcodes:
        return {}
    found = (n for opcode, n in opcodes.items() if is_global_atomic(opcode))
    return {GLOBAL_ATOMICS: sum(found)}


def is_global_atomic(opcode: str) -> bool:
    """Say whether a SASS opcode, modifiers or not, updates global memory atomically."""
    return opcode.partition(".")[0] in _GLOBAL_ATOMICS


def _converts(mnemonic: str, modifiers: list[str]) -> bool:
    """Say whether it turns a half into a float: ``HADD2.F32 R, -RZ, R.H0_H0`` adds nothing."""
    return mnemonic == "HADD2" and "F32" in modifiers
