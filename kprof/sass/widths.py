"""How many registers an operand is wide."""

from __future__ import annotations

import re

from kprof.sass.operands import Parsed, opcodes

_BITS = {"64": 2, "128": 4, "256": 4}  # 256 bits are two operands of four
_LOADS = opcodes(
    "LD LDG LDS LDL LDC LDCU ULDC ATOM ATOMG ATOMS SUATOM IADD UIADD IADD3 UIADD3 MOV "
    "UMOV SEL USEL LOP3 ULOP3 LDT SYNCS"
)
_STORES = opcodes("ST STG STS STL RED REDG ATOM ATOMG ATOMS STAS")
_GLOBAL = opcodes("LD LDG ST STG RED REDG ATOM ATOMG")
_DOUBLE = opcodes("DADD DMUL DFMA DSETP DMNMX")
_CONVERSIONS = opcodes("F2F F2I I2F FRND")
_WIDE = frozenset({"F64", "S64", "U64"})
_MATRIX = re.compile(r"^(H|I|B|D|Q|O)MMA$")
_WARPGROUP = re.compile(r"^[A-Z]GMMA$")
# Registers of A, B and of the result (of 32-bit elements) by opcode and shape: elements of the
# tile over 32 threads (PTX ISA, "Matrix fragments for mma").
_TILES: dict[tuple[str, str], tuple[int, int, int]] = {
    ("HMMA", "884"): (2, 2, 4),
    ("HMMA", "1684"): (2, 1, 4),
    ("HMMA", "1688"): (2, 1, 4),
    ("HMMA", "16816"): (4, 2, 4),
    ("IMMA", "8816"): (1, 1, 2),
    ("IMMA", "8832"): (1, 1, 2),
    ("IMMA", "16816"): (2, 1, 4),
    ("IMMA", "16832"): (4, 2, 4),
    ("IMMA", "16864"): (4, 2, 4),
    ("BMMA", "88128"): (1, 1, 2),
    ("DMMA", "884"): (2, 2, 4),
    ("DMMA", "1684"): (4, 2, 8),
    ("DMMA", "1688"): (8, 4, 8),
    ("DMMA", "16816"): (16, 8, 8),
    ("QMMA", "16816"): (2, 1, 4),
    ("QMMA", "16832"): (4, 2, 4),
}
_LARGEST = (4, 2, 4)


def target_width(parsed: Parsed) -> int:
    """Return how many registers each register operand that is written spans."""
    opcode = parsed.opcode
    if _MATRIX.match(opcode):
        return _tile(parsed)[2]
    if _WARPGROUP.match(opcode):
        return _group_width(parsed)
    return _bits(parsed) if opcode in _LOADS else _result(parsed)


def _result(parsed: Parsed) -> int:
    opcode = parsed.opcode
    if opcode == "LDSM":
        return _matrices(parsed)
    if opcode in _DOUBLE or (opcode.endswith("MAD") and parsed.has("WIDE")):
        return 2
    if opcode == "CS2R":
        return 1 if parsed.has("32") else 2
    return 2 if opcode in _CONVERSIONS and _converted(parsed)[0] in _WIDE else 1


def _matrices(parsed: Parsed) -> int:
    """Return the 8x8 matrices that a matrix load or store moves, a register each."""
    return int(parsed.modifiers[-1]) if parsed.modifiers[-1:] in (("2",), ("4",)) else 1


def source_width(
    parsed: Parsed, kind: str, suffix: str, before: str, place: tuple[int, int]
) -> int:
    """Return how many registers a register that is read spans.

    Args:
        parsed: the instruction.
        kind: ``R`` or ``UR``.
        suffix: what follows the register, e.g. ``.64``.
        before: what precedes it in its operand.
        place: its operand's position among the sources, and how many there are.
    """
    if "[" in before:
        return _address(parsed, kind, suffix, before)
    position, count = place
    opcode = parsed.opcode
    if opcode in _STORES and position == count - 1:
        return _bits(parsed)
    if opcode == "STSM":
        return _matrices(parsed)
    if _MATRIX.match(opcode):
        return _tile(parsed)[min(position, 2)]
    if _WARPGROUP.match(opcode):
        return 4 if position == 0 else _group_width(parsed)
    return _arithmetic(parsed, position, count)


def _arithmetic(parsed: Parsed, position: int, count: int) -> int:
    opcode = parsed.opcode
    if opcode in _DOUBLE or (opcode.startswith(("IADD", "UIADD", "MOV")) and parsed.has("64")):
        return 2
    if opcode in _CONVERSIONS:
        return 2 if _converted(parsed)[1] in _WIDE else 1
    addend = opcode.endswith("MAD") and position == 2 and count >= 3
    return 2 if addend and parsed.has("WIDE", "HI") else 1


def _address(parsed: Parsed, kind: str, suffix: str, before: str) -> int:
    if "gdesc[" in before:
        return 4
    if suffix.startswith(".64") or before.endswith("desc["):
        return 2
    if suffix.startswith((".U32", ".X", ".S32")):
        return 1
    # Until Turing the text says of a 64-bit address no more than the E of the opcode.
    alone = "desc[" not in before and "+" not in before
    if kind == "R":
        return 2 if parsed.opcode in _GLOBAL and parsed.has("E") and alone else 1
    return 2 if parsed.opcode in _GLOBAL else 1


def _bits(parsed: Parsed) -> int:
    return max((_BITS[bits] for bits in parsed.modifiers if bits in _BITS), default=1)


def _converted(parsed: Parsed) -> tuple[str, str]:
    """Return the types a conversion goes to and comes from, empty for 32 bits and less.

    ``F2F.F64.F32``; the others name the one type that is not usual, and both where both are.
    """
    types = [word for word in parsed.modifiers if re.fullmatch(r"[FSU](8|16|32|64)|BF16", word)]
    if len(types) >= 2:
        return types[0], types[1]
    if not types or parsed.opcode == "FRND":
        return (types * 2)[0] if types else "", (types * 2)[1] if types else ""
    floating = types[0].startswith(("F", "B"))
    to_integer = parsed.opcode == "F2I"
    return ("", types[0]) if floating == to_integer else (types[0], "")


def _tile(parsed: Parsed) -> tuple[int, int, int]:
    shape = next((word for word in parsed.modifiers if word.isdigit()), "")
    a, b, c = _TILES.get((parsed.opcode, shape), _LARGEST)
    if parsed.has("TF32") and shape == "1688":
        a, b = 4, 2
    halves = parsed.opcode in {"HMMA", "QMMA"} and not parsed.has("F32")
    return a, b, c // 2 if halves else c


def _group_width(parsed: Parsed) -> int:
    """Return the registers of a warp group's result, 64 rows by N columns over 128 threads."""
    shape = next((word for word in parsed.modifiers if word.startswith("64x")), "64x8x16")
    elements = int(shape.split("x")[1]) // 2
    return elements if parsed.has("F32") or parsed.opcode == "IGMMA" else max(elements // 2, 1)
