"""The rules about memory accesses: sectors, local memory, bank conflicts."""

from __future__ import annotations

from dataclasses import replace

from kprof.model import Code, Instruction
from tests.kernels import (
    DRAM,
    ISSUE,
    L1,
    L1_HIT,
    L2,
    LOCAL_SECTORS,
    LSU,
    SECTORS,
    SECTORS_IDEAL,
    SPILLS,
    WAVEFRONTS,
    WAVEFRONTS_IDEAL,
    kernel,
    row,
    sampled,
)
from tests.rules.case import FIRES, SILENT, Case


# Sectors of global memory.
def sectors(total: float, ideal: float, **others: float) -> dict[str, float]:
    return {SECTORS: total, SECTORS_IDEAL: ideal, **others}


def access(sass: str, total: float, ideal: float, **place: int) -> Instruction:
    return replace(
        row(sass, place.get("pc", 0), file="a.cu", line=3),
        values={SECTORS: total, SECTORS_IDEAL: ideal},
    )


HALF_READ = sectors(800.0, 100.0) | {L1_HIT: 87.5}  # exactly the needed eighth misses L1
UNCOALESCED = (
    Case(
        "uncoalesced-global-access",
        "8 times the sectors",
        kernel({L2: 70.0}, sectors(800.0, 100.0), instructions=(access("LDG R0", 800.0, 100.0),)),
        "high",
        "8.0 times the sectors they need at a.cu:3",
    ),
    Case("uncoalesced-global-access", "5 % excess", kernel({L2: 70.0}, sectors(100.0, 95.0))),
    Case(
        "uncoalesced-global-access",
        "4.9 % excess",
        kernel({L2: 70.0}, sectors(100.0, 95.1)),
        SILENT,
    ),
    Case(
        "uncoalesced-global-access",
        "128-bit loads touch 16 sectors",
        kernel({L2: 90.0}, sectors(1600.0, 1600.0)),
        SILENT,
    ),
    Case("uncoalesced-global-access", "none", kernel({L2: 70.0}, sectors(0.0, 0.0)), SILENT),
    Case(
        "uncoalesced-global-access",
        "nothing of it is used",
        kernel({L2: 70.0}, sectors(100.0, 0.0)),
        FIRES,
        "nobody uses",
    ),
    Case(
        "uncoalesced-global-access",
        "L1 serves the excess",
        kernel({L2: 70.0}, HALF_READ),
        SILENT,
    ),
    Case(
        "uncoalesced-global-access",
        "L1 serves the excess, and device memory moves more for another reason",
        kernel({DRAM: 90.0}, HALF_READ | {"dram__bytes.sum": 8 * 32 * 100.0}),
        SILENT,
    ),
    Case(
        "uncoalesced-global-access",
        "L1 serves everything",
        kernel({L2: 70.0}, sectors(800.0, 100.0) | {L1_HIT: 100.0}),
        SILENT,
    ),
    Case(
        "uncoalesced-global-access",
        "L1 serves the excess but is the limit",
        kernel({L1: 70.0}, HALF_READ),
        confidence="low",
    ),
    Case(
        "uncoalesced-global-access",
        "stores pass L1",
        kernel({L2: 70.0}, HALF_READ, instructions=(access("@!P0 STG.E [R2], R0", 800.0, 100.0),)),
        "high",
    ),
    Case(
        "uncoalesced-global-access",
        "no level is pressed",
        kernel({L2: 1.0, L1: 1.0, DRAM: 1.0, ISSUE: 1.0}, sectors(800.0, 100.0)),
        SILENT,
    ),
)

STRIDE_MOVES = "moves the stride"


def copied(
    title: str, loads: tuple[float, float], stores: tuple[float, float], *, holds: str = ""
) -> Case:
    """Make a kernel from the (moved, needed) sectors of its loads and stores."""
    moved, needed = loads[0] + stores[0], loads[1] + stores[1]
    rows = (access("LDG.E R0, [R2.64]", *loads), access("STG.E [R4.64], R0", *stores, pc=16))
    item = kernel({L2: 70.0}, sectors(moved, needed), instructions=rows)
    lacks = "" if holds else STRIDE_MOVES
    return Case("uncoalesced-global-access", title, item, holds=holds, lacks=lacks)


COPIES = (
    copied("a transpose, its stores strided", (100.0, 100.0), (800.0, 100.0),
           holds=f"{STRIDE_MOVES} from the stores to the loads"),
    copied("a transpose, its loads strided", (800.0, 100.0), (100.0, 100.0),
           holds=f"{STRIDE_MOVES} from the loads to the stores"),
    copied("half as much is stored", (800.0, 100.0), (50.0, 50.0), holds=STRIDE_MOVES),
    copied("less than half is", (800.0, 100.0), (49.0, 49.0)),
    copied("nothing is stored", (800.0, 100.0), (0.0, 0.0)),
    copied("twice the sectors on one side", (200.0, 100.0), (100.0, 100.0), holds=STRIDE_MOVES),
    copied("less than twice, as where rows are misaligned", (199.0, 100.0), (100.0, 100.0)),
    copied("both sides are strided", (800.0, 100.0), (800.0, 100.0)),
)  # fmt: skip

# Whose address is data: i = next[i], as in a chain of pointers.
FOLLOWS = (
    "LDG.E R7, desc[UR4][R2.64]", "IMAD.WIDE.U32 R6, R7, 0x4, R4", "LDG.E R8, desc[UR4][R6.64]",
)  # fmt: skip


def gathered(title: str, index: float, data: float, *, holds: str = "", lacks: str = "") -> Case:
    """Make a kernel from the excess sectors of loading an index and what it points to."""
    rows = (
        access(FOLLOWS[0], 100.0 + index, 100.0),
        access(FOLLOWS[2], 100.0 + data, 100.0, pc=32),
    )
    code = tuple(Code(16 * position, text) for position, text in enumerate(FOLLOWS))
    item = kernel({L2: 70.0}, sectors(200.0 + index + data, 200.0), instructions=rows, code=code)
    return Case("uncoalesced-global-access", title, item, holds=holds, lacks=lacks)


GATHERS = (
    gathered("a gather", 0.0, 700.0, holds="sort or bin the indices", lacks="swap the index order or"),
    gathered("half of the excess is", 700.0, 700.0, holds="sort or bin"),
    gathered("less is", 700.0, 699.0, holds="swap the index order or", lacks="sort or bin"),
)  # fmt: skip


# Local memory.
def local(amount: float, others: float, **more: float) -> dict[str, float]:
    return {LOCAL_SECTORS: amount, SECTORS: others, **more}


LOCAL = (
    Case(
        "local-memory-traffic",
        "spills",
        kernel({LSU: 70.0}, local(50.0, 50.0) | {SPILLS: 9.0}),
        "high",
        "Registers spill to local memory: 50 %",
        "high",
    ),
    Case(
        "local-memory-traffic",
        "indexed arrays",
        kernel({LSU: 70.0}, local(50.0, 50.0) | {SPILLS: 0.0}),
        FIRES,
        "Arrays with run-time indices",
        "high",
    ),
    Case(
        "local-memory-traffic",
        "an older report cannot tell",
        kernel({LSU: 70.0}, local(50.0, 50.0)),
        FIRES,
        "Spilled registers or indexed arrays",
        "medium",
    ),
    Case("local-memory-traffic", "5 %", kernel({LSU: 70.0}, local(5.0, 95.0))),
    Case("local-memory-traffic", "4.99 %", kernel({LSU: 70.0}, local(4.99, 95.01)), SILENT),
    Case("local-memory-traffic", "none", kernel({LSU: 70.0}, local(0.0, 0.0)), SILENT),
    Case(
        "local-memory-traffic",
        "TMA brings the data",
        kernel({L2: 70.0}, local(10.0, 10.0) | {"lts__lts2xbar_cycles_active.sum": 1000.0}),
        SILENT,
    ),
    Case(
        "local-memory-traffic",
        "no level is pressed",
        kernel({LSU: 1.0, L1: 1.0, L2: 1.0, DRAM: 1.0}, local(90.0, 10.0)),
        SILENT,
    ),
    Case(
        "local-memory-traffic",
        "a little outside L1",
        kernel({LSU: 70.0}, local(15.0, 85.0) | {L1_HIT: 94.99}),
        "medium",
    ),
    Case(
        "local-memory-traffic",
        "a little within L1",
        kernel({LSU: 70.0}, local(15.0, 85.0) | {L1_HIT: 95.0}),
        "info",
    ),
    Case(
        "local-memory-traffic",
        "within L1 behind a full queue",
        kernel(
            {LSU: 70.0},
            local(15.0, 85.0) | {L1_HIT: 99.0} | sampled(lg_throttle=100.0, wait=900.0),
        ),
        "medium",
    ),
)


# Bank conflicts.
def wavefronts(actual: float, ideal: float) -> dict[str, float]:
    return {WAVEFRONTS: actual, WAVEFRONTS_IDEAL: ideal}


def shared_row(sass: str, actual: float, ideal: float) -> Instruction:
    return replace(row(sass, 16, file="/src/tile.cu", line=9), values=wavefronts(actual, ideal))


def wide(sass: str, holds: str, lacks: str) -> Case:
    rows = (shared_row(sass, 320.0, 80.0),)
    return Case(
        "shared-bank-conflicts",
        sass,
        kernel({L1: 90.0}, wavefronts(320.0, 80.0), instructions=rows),
        holds=holds,
        lacks=lacks,
    )


COLUMN = wavefronts(320.0, 10.0)
CONFLICTS = (
    Case(
        "shared-bank-conflicts",
        "a column",
        kernel({L1: 90.0}, COLUMN, instructions=(shared_row("LDS R0, [R1]", 320.0, 10.0),)),
        "high",
        "32-way shared-memory bank conflicts on LDS at tile.cu:9",
        "high",
    ),
    Case(
        "shared-bank-conflicts",
        "only one kind of access conflicts",
        kernel(
            {L1: 90.0},
            wavefronts(180.0, 120.0),
            instructions=(
                shared_row("STS [R1], R0", 100.0, 100.0),
                shared_row("LDS R0, [R1]", 80.0, 20.0),
            ),
        ),
        FIRES,
        "4-way shared-memory bank conflicts on LDS",
    ),
    Case("shared-bank-conflicts", "no rows", kernel({L1: 90.0}, COLUMN), FIRES, "32-way"),
    Case("shared-bank-conflicts", "10 %", kernel({L1: 90.0}, wavefronts(100.0, 90.0))),
    Case("shared-bank-conflicts", "9.9 %", kernel({L1: 90.0}, wavefronts(100.0, 90.1)), SILENT),
    Case("shared-bank-conflicts", "128-bit", kernel({L1: 90.0}, wavefronts(40.0, 40.0)), SILENT),
    Case("shared-bank-conflicts", "unused", kernel({L1: 90.0}, wavefronts(0.0, 0.0)), SILENT),
    Case("shared-bank-conflicts", "stage 40 % busy", kernel({L1: 40.0}, COLUMN), "high"),
    Case(
        "shared-bank-conflicts",
        "idle stage",
        kernel({L1: 39.99}, COLUMN),
        "info",
        "but they do not limit this kernel",
    ),
    Case(
        "shared-bank-conflicts",
        "idle stage but warps wait for it",
        kernel(
            {L1: 39.99},
            COLUMN | sampled(short_scoreboard=100.0, mio_throttle=100.0, long_scoreboard=800.0),
        ),
        "high",
    ),
    Case(
        "shared-bank-conflicts",
        "idle stage and few warps wait for it",
        kernel({L1: 39.99}, COLUMN | sampled(short_scoreboard=199.0, long_scoreboard=801.0)),
        "info",
    ),
    Case(
        "shared-bank-conflicts",
        "copies that bypass L1",
        kernel(
            {L1: 90.0},
            COLUMN,
            instructions=(shared_row("LDGSTS.E.BYPASS.128 [R1], [R2]", 320.0, 10.0),),
        ),
        confidence="low",
    ),
    wide("LDS R0, [R1]", "`__shared__ float tile[32][33]`", "float4"),
    wide("LDS R2, [R1]", "`tile[r][c ^ r]`", "whole"),
    wide("LDS.64 R0, [R1]", "(8 bytes), so that 64-bit", "float tile"),
    wide("LDS.64 R2, [R1]", "tile[r][i ^ (r % 16)]", "c ^ r"),
    wide("STS.128 [R1], R0", "`__shared__ float4 tile[32][33]`", "float tile"),
    wide("STS.128 [R1], R4", "tile[r][i ^ (r % 8)]", "c ^ r"),
    wide("LDSM.16.M88.4 R0, [R1]", "(16 bytes), so that 128-bit", "float tile"),
    wide("STSM.16.M88.4 [R1], R0", "(16 bytes), so that 128-bit", "float tile"),
    wide("LDGSTS.E.BYPASS.128 [R1], [R2]", "`__shared__ float4 tile[32][33]`", "float tile"),
)

CASES = (*UNCOALESCED, *COPIES, *GATHERS, *LOCAL, *CONFLICTS)
