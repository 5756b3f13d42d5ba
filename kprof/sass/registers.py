"""Which registers an instruction reads and writes.

A register is named as in the text: ``R4``, ``UR4``, ``P0``, ``UP0``. The registers that are
constants (``RZ``, ``PT``, ...) are none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from kprof.sass.operands import Parsed, opcodes, parse
from kprof.sass.widths import source_width, target_width

_REGISTER = re.compile(r"(?<![\w.])(U?[RP])([0-9]+)(?![0-9A-Za-z_])((?:\.\w+)*)")
_PREDICATE = re.compile(r"^U?P([0-9]+|T)$")
_PREDICATES = tuple(f"P{number}" for number in range(7))

# These write no register.
_NO_TARGET = opcodes(
        "ST STG STS STL STSM STAS SUST SURED RED REDG REDAS LDGSTS LDGDEPBAR DEPBAR BRA "
        "BRX BRXU JMP JMX JMXU CALL RET EXIT KILL BAR BSSY BSYNC BREAK WARPSYNC MEMBAR "
        "FENCE ERRBAR CGAERRBAR CCTL CCTLL CCTLT NOP NANOSLEEP YIELD WARPGROUP PREEXIT "
        "ACQBULK UCGABAR_ARV UCGABAR_WAIT PMTRIG ENDCOLLECTIVE ARRIVES UTMASTG UTMALDG "
        "UTMAREDG UTMAPF UTMACCTL UTMACMDFLUSH UBLKCP UBLKRED UBLKPF USETSHMSZ BPT RPCMOV "
        "STT STTM UTCBAR UTCATOMSWS UTCCP UTCHMMA UTCIMMA UTCQMMA UTCOMMA"
    )  # fmt: skip
_TWO_TARGETS = re.compile(r"^(U?[A-Z]*SETP2?|U?PLOP3|TEX|TLD4?|TXD|TMML)$")
# These write a predicate and then a register.
_PREDICATE_FIRST = opcodes("LOP3 ULOP3 SHFL ATOM ATOMG ATOMS MATCH R2UR ELECT SUATOM CREDUX")


@dataclass(frozen=True, slots=True)
class Effect:
    """What an instruction does to registers.

    Attributes:
        reads: in the order of the text, the guard first.
        writes: the same.
        certain: whether it always writes, i.e. has no guard.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    certain: bool


@lru_cache(maxsize=1 << 16)
def effect(sass: str) -> Effect:
    """Return the registers an instruction reads and writes; none for what cannot be parsed."""
    parsed = parse(sass)
    if parsed is None:
        return Effect((), (), certain=True)
    count = _targets(parsed)
    writes: list[str] = []
    for operand in parsed.operands[:count]:
        writes += _target(parsed, operand)
    reads = [parsed.guard] if parsed.guard else []
    sources = parsed.operands[count:]
    for position, operand in enumerate(sources):
        reads += _source(parsed, operand, position, len(sources))
    return Effect(tuple(dict.fromkeys(reads)), tuple(writes), certain=parsed.guard is None)


def _targets(parsed: Parsed) -> int:
    """Return how many operands, from the first, are written."""
    operands = parsed.operands
    if parsed.opcode in _NO_TARGET or not operands:
        return 0
    if _TWO_TARGETS.match(parsed.opcode) or parsed.has("ENL2"):
        return 2
    if _PREDICATE.match(operands[0]):
        return 2 if parsed.opcode in _PREDICATE_FIRST else 1
    # Carries and overflows follow the register they belong to; the last operand is a source.
    count = 1
    while count < len(operands) - 1 and _PREDICATE.match(operands[count]):
        count += 1
    return count


def _target(parsed: Parsed, operand: str) -> list[str]:
    if operand == "PR":
        return list(_PREDICATES)
    found = _REGISTER.match(operand)
    if found is None:
        return []
    kind, number, _ = found.groups()
    return _span(kind, int(number), 1 if kind.endswith("P") else target_width(parsed))


def _source(parsed: Parsed, operand: str, position: int, count: int) -> list[str]:
    """Return the registers of a source operand, addresses included."""
    if operand == "PR":
        return list(_PREDICATES)
    found: list[str] = []
    for match in _REGISTER.finditer(operand):
        kind, number, suffix = match.groups()
        width = 1
        if not kind.endswith("P"):
            before = operand[: match.start()]
            width = source_width(parsed, kind, suffix, before, (position, count))
        found += _span(kind, int(number), width)
    return found


def _span(kind: str, first: int, width: int) -> list[str]:
    return [f"{kind}{number}" for number in range(first, first + width)]
