"""Operands as NVIDIA's disassembler prints them, generation by generation."""

from __future__ import annotations

import pytest

from kprof.sass import effect, parse


def span(first: str, last: int) -> list[str]:
    kind = first.rstrip("0123456789")
    return [f"{kind}{number}" for number in range(int(first[len(kind) :]), last + 1)]


# (text, written, read)
EFFECTS: list[tuple[str, list[str], list[str]]] = [
    # Volta and Turing: a 64-bit address is a plain register behind an opcode with .E.
    ("LDG.E.SYS R0, [R2]", ["R0"], ["R2", "R3"]),
    ("@P0   LD.E.SYS R17, [R6+-0x4]", ["R17"], ["P0", "R6", "R7"]),
    ("ST.E.64.SYS [R22], R24", [], ["R22", "R23", "R24", "R25"]),
    ("LDS.U R4, [R7.X4+0x10]", ["R4"], ["R7"]),
    ("IMMA.8816.S8.S8.SAT R16, R60.ROW, R19.COL, R16", ["R16", "R17"], ["R60", "R19", "R16", "R17"]),
    ("HMMA.1688.F32 R20, R38, R51, R20", span("R20", 23), ["R38", "R39", "R51", *span("R20", 23)]),
    ("@!P0  ATOMG.E.ADD PT, R3, [R6], R3", ["R3"], ["P0", "R6", "R7", "R3"]),
    # Ampere: .64 in the address, asynchronous copies, pairs of matrices.
    ("LDG.E.128.CONSTANT R16, [R20.64+0x20]", span("R16", 19), ["R20", "R21"]),
    ("STG.E.64 [R4.64], R6", [], ["R4", "R5", "R6", "R7"]),
    ("LDGSTS.E.BYPASS.128 [R13+0x1480][R6.64]", [], ["R13", "R6", "R7"]),
    ("LDGSTS.E.BYPASS.LTC128B.128 [R5], desc[UR4][R2.64], P0", [], ["R5", "UR4", "UR5", "R2", "R3", "P0"]),
    ("LDSM.16.M88.4 R136, [R140+0x40]", span("R136", 139), ["R140"]),
    ("LDSM.16.M88.2 R138, [R139]", ["R138", "R139"], ["R139"]),
    ("HMMA.16816.F32 R36, R132, R148, RZ", span("R36", 39), [*span("R132", 135), "R148", "R149"]),
    ("HMMA.16816.F16 R36, R132, R148, R36", ["R36", "R37"], [*span("R132", 135), "R148", "R149", "R36", "R37"]),
    ("HMMA.1688.F32.TF32 R4, R36, R2, R4", span("R4", 7), [*span("R36", 39), "R2", "R3", *span("R4", 7)]),
    ("DMMA.884 R8, R2, R4, R8", span("R8", 11), ["R2", "R3", "R4", "R5", *span("R8", 11)]),
    # Hopper: descriptors, uniform registers, warp groups, barriers in shared memory.
    ("LDG.E.CONSTANT R19, desc[UR4][R2.64]", ["R19"], ["UR4", "UR5", "R2", "R3"]),
    ("STG.E desc[UR4][R2.64+0xc00], R19", [], ["UR4", "UR5", "R2", "R3", "R19"]),
    ("LDS R4, [R3+UR4+0x10]", ["R4"], ["R3", "UR4"]),
    ("HGMMA.64x64x16.F32 R24, gdesc[UR16].tnspA.tnspB, R24.gsb0", span("R24", 55), [*span("UR16", 19), *span("R24", 55)]),
    ("HGMMA.64x8x16.F16 R24, R8, gdesc[UR16], RZ, !UP0", ["R24", "R25"], [*span("R8", 11), *span("UR16", 19), "UP0"]),
    ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R23+URZ+0x28], R30", ["P0"], ["R23", "R30"]),
    ("SYNCS.ARRIVE.TRANS64.RED.A1T0 RZ, [R7+UR14], RZ", [], ["R7", "UR14"]),
    ("UTMALDG.4D.MULTICAST [UR16], [UR6], UR4, desc[UR48]", [], ["UR16", "UR6", "UR4", "UR48", "UR49"]),
    ("STSM.16.M88.4 [R23+UR32], R24", [], ["R23", "UR32", *span("R24", 27)]),
    ("REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR8][R6.64], R5", [], ["UR8", "UR9", "R6", "R7", "R5"]),
    ("USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xe8", ["UP0"], []),
    ("ELECT P2, URZ, PT", ["P2"], []),
    # Blackwell: wide integers and 256-bit loads.
    ("IADD.64 R4, R22, R4", ["R4", "R5"], ["R22", "R23", "R4", "R5"]),
    ("LDCU.64 UR8, c[0x0][0x358]", ["UR8", "UR9"], []),
    ("LDG.E.ENL2.256 R12, R8, desc[UR4][R2.64]", [*span("R12", 15), *span("R8", 11)], ["UR4", "UR5", "R2", "R3"]),
    ("UIADD3 UR7, UPT, UPT, UR6, -0x1000, URZ", ["UR7"], ["UR6"]),
    ("VIMNMX.U32 R3, PT, PT, R5, R6, !PT", ["R3"], ["R5", "R6"]),
    # Carries, predicates and what else has several targets.
    ("IADD3 R4, P0, R10, UR6, RZ", ["R4", "P0"], ["R10", "UR6"]),
    ("IADD3.X R5, R0, UR7, RZ, P0, !PT", ["R5"], ["R0", "UR7", "P0"]),
    ("LEA R2, P0, R0, UR6, 0x2", ["R2", "P0"], ["R0", "UR6"]),
    ("LEA.HI.X R3, R0, UR7, RZ, 0x2, P0", ["R3"], ["R0", "UR7", "P0"]),
    ("LOP3.LUT P0, RZ, R4, 0xff, RZ, 0xc0, !PT", ["P0"], ["R4"]),
    ("ISETP.GE.U32.AND.EX P0, P2, R3, R4, PT, P1", ["P0", "P2"], ["R3", "R4", "P1"]),
    ("PLOP3.LUT P0, PT, P1, P2, PT, 0x80, 0x0", ["P0"], ["P1", "P2"]),
    ("SHFL.DOWN P0, R3, R4, 0x1, R5", ["P0", "R3"], ["R4", "R5"]),
    ("VOTE.ALL P0, P1", ["P0"], ["P1"]),
    ("VOTEU.ANY UR5, UPT, PT", ["UR5"], []),
    ("SEL R3, R3, 0x1f, !P0", ["R3"], ["R3", "P0"]),
    ("P2R R0, PR, RZ, 0x1", ["R0"], span("P0", 6)),
    ("R2UR.OR P0, UR10, R0", ["P0", "UR10"], ["R0"]),
    # Widths that follow from types.
    ("IMAD.WIDE.U32 R2, R5, UR4, R8", ["R2", "R3"], ["R5", "UR4", "R8", "R9"]),
    ("IMAD.HI.U32 R3, R3, R5, R8", ["R3"], ["R3", "R5", "R8", "R9"]),
    ("SHF.L.U64.HI R0, R2, 0x4, R3", ["R0"], ["R2", "R3"]),
    ("CS2R R2, SRZ", ["R2", "R3"], []),
    ("CS2R.32 R2, SR_CLOCKLO", ["R2"], []),
    ("DFMA R6, R2, c[0x0][0x168], -R8", ["R6", "R7"], ["R2", "R3", "R8", "R9"]),
    ("DSETP.NEU.AND P0, PT, |R2|, R4, PT", ["P0"], ["R2", "R3", "R4", "R5"]),
    ("F2F.F64.F32 R18, R20", ["R18", "R19"], ["R20"]),
    ("F2F.F32.F64 R18, R4", ["R18"], ["R4", "R5"]),
    ("F2I.S64.TRUNC R18, R20", ["R18", "R19"], ["R20"]),
    ("F2I.F64.TRUNC R18, R20", ["R18"], ["R20", "R21"]),
    ("I2F.F64 R2, R4", ["R2", "R3"], ["R4"]),
    ("I2F.U64.RP R2, R4", ["R2"], ["R4", "R5"]),
    ("ATOMG.E.ADD.64.STRONG.GPU PT, R4, [R2.64], R8", ["R4", "R5"], ["R2", "R3", "R8", "R9"]),
    ("FSEL R3, -R3, |R36|, P0", ["R3"], ["R3", "R36", "P0"]),
    # Nothing of a register.
    ("BRA 0x650", [], []),
    ("@!P0  BRA 0x650", [], ["P0"]),
    ("@P0   EXIT P1", [], ["P0", "P1"]),
    ("BSSY B0, 0x210", [], []),
    ("DEPBAR.LE SB0, 0x1", [], []),
    ("MOV R1, c[0x0][0x28]", ["R1"], []),
    ("@!PT LDS RZ, [RZ]", [], []),
    ("", [], []),
    ("???", [], []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "writes", "reads"), EFFECTS, ids=[text for text, *_ in EFFECTS])
def test_registers(text: str, writes: list[str], reads: list[str]) -> None:
    found = effect(text)
    assert list(found.writes) == writes
    assert list(found.reads) == reads


def test_what_has_a_guard_may_not_write() -> None:
    assert not effect("@P0 MOV R1, R2").certain
    assert effect("@PT MOV R1, R2").certain
    assert effect("MOV R1, R2").certain


def test_parts_of_an_instruction() -> None:
    parsed = parse("@!UP1 LDG.E.64 R4, desc[UR4][R2.64+0x10] ;")
    assert parsed is not None
    assert (parsed.opcode, parsed.modifiers, parsed.guard) == ("LDG", ("E", "64"), "UP1")
    assert parsed.operands == ("R4", "desc[UR4][R2.64+0x10]")
    assert parse("???") is None
