"""Reports made by hand whose kernels have source views: long code, several files, hostile text."""

from __future__ import annotations

from dataclasses import replace

from kprof.model import (
    Heat,
    Occupancy,
    OccupancyCurve,
    Place,
    Report,
    SassLine,
    SourceFile,
    SourceLine,
    SourceView,
    Spot,
    StallReason,
    StallTree,
    Wait,
)
from tests.report_fixture import LATENCY, REPORT, SCRIPT_END, TRANSPOSE

MAIN, HELPER, TWIN = "/home/dev/a/main.cu", "/home/dev/a/tile.cuh", "/home/dev/b/tile.cuh"
LONG_LINES, LONG_CODE = 6_000, 12_000


def heat(samples: float, *, excess: float | None = None) -> Heat:
    stalls = {"long_scoreboard": samples * 0.7, "wait": samples * 0.1} if samples else {}
    return Heat(samples, stalls, 1024.0, 31.5, None, excess, 0.0, None)


def instruction(at: int, file: str, line: int, samples: float, chain: tuple[Spot, ...]) -> SassLine:
    text = "@P0 LDG.E R2, desc[UR4][R2.64]" if at % 4 == 0 else f"IADD3 R{at % 200}, R4, R5, RZ"
    return SassLine(16 * at, 0, text, file, line, heat(samples, excess=2.0 * samples), chain)


# Line 3 of MAIN calls what HELPER has in line 2; TWIN shares name and line number with HELPER.
_INLINED = (Spot(HELPER, 2), Spot(MAIN, 3))
SMALL = SourceView(
    lines=(
        SourceLine(HELPER, 2, 2, heat(900.0, excess=1800.0)),
        SourceLine(MAIN, 5, 1, heat(60.0, excess=120.0)),
        SourceLine(TWIN, 2, 1, heat(40.0, excess=80.0)),
    ),
    instructions=(
        instruction(0, MAIN, 5, 60.0, ()),
        instruction(1, HELPER, 2, 500.0, _INLINED),
        instruction(2, HELPER, 2, 400.0, _INLINED),
        instruction(9, TWIN, 2, 40.0, ()),
    ),
    lines_total=4,
    instructions_total=6,
    total=heat(1000.0, excess=2000.0),
    unplaced=heat(0.0),
)
LONG = SourceView(
    lines=tuple(
        SourceLine(MAIN, line, 2, heat(float(line % 97))) for line in range(1, LONG_LINES + 1)
    ),
    instructions=tuple(
        instruction(at, MAIN, at // 2 + 1, float(at % 89), ()) for at in range(LONG_CODE)
    ),
    lines_total=LONG_LINES,
    instructions_total=LONG_CODE,
    total=heat(500_000.0, excess=1e6),
    complete=True,
)
BARE = SourceView(
    instructions=tuple(
        SassLine(16 * at, 0, f"FADD R{at}, R1, R2", None, None, heat(float(at))) for at in range(40)
    ),
    instructions_total=40,
    total=heat(780.0),
    unplaced=heat(780.0),
    complete=True,
)
TREE = StallTree(
    form="sampled",
    total=1000.0,
    issued=200.0,
    not_issued=800.0,
    selected=150.0,
    not_selected=50.0,
    reasons=(
        StallReason("long_scoreboard", 700.0, 0.875, (Place(HELPER, 2, "IADD3 R1", 16, 0.9, _INLINED),)),
        StallReason("wait", 100.0, 0.125),
    ),
)  # fmt: skip
CURVE = OccupancyCurve(
    "registers", "register/thread", ((0.0, 64.0), (32.0, 64.0), (33.0, 48.0), (255.0, 8.0)), (40.0, 48.0)
)  # fmt: skip
FILES = (
    SourceFile(MAIN, "report", f"// first\n\n  call(tile);\n{SCRIPT_END}\n  x = y;\n"),
    SourceFile(HELPER, "/home/dev/checkout/tile.cuh", "// tile\n\tsum += tile[i];\n"),
)
_PLACE = Place(HELPER, 2, "IADD3 R1, R4, R5, RZ", 16, 0.9, _INLINED)
_FINDING = replace(
    LATENCY.findings[0],
    source=(_PLACE, Place(MAIN, 5, "LDG.E R2, [R2]", 0, 0.06), Place(None, None, "FADD R3", 144, 0.04)),
    waits=(Wait("long_scoreboard", _PLACE, (Place(MAIN, 5, "LDG.E R2, [R2]", 0, 0.9),), "register"),),
)  # fmt: skip

SOURCES: Report = replace(
    REPORT,
    kernels=(
        replace(
            LATENCY, index=0, source=SMALL, stall_tree=TREE, findings=(_FINDING,),
            occupancy=Occupancy(75.0, 61.7, ("registers",), curves=(CURVE,)),
        ),
        replace(TRANSPOSE, index=1, source=BARE),
        replace(LATENCY, index=2, source=None),
    ),
    files=FILES,
)  # fmt: skip
LONG_REPORT: Report = replace(
    SOURCES,
    kernels=(replace(LATENCY, index=0, source=LONG),),
    files=(SourceFile(MAIN, "report", "\n".join(f"  step_{n}(a, b); // {n}" for n in range(1, LONG_LINES + 1))),),
)  # fmt: skip
