"""The rules about how much memory instructions move, and where from."""

from __future__ import annotations

from kprof import metrics as m
from kprof.metrics import accesses
from kprof.model import Instruction
from tests.kernels import (
    ALU,
    DRAM,
    FULL_GRID,
    ISSUE,
    L1,
    L2,
    LSU,
    SECTORS,
    SECTORS_IDEAL,
    WAVEFRONTS,
    kernel,
    sampled,
)
from tests.rules.case import FIRES, SILENT, Case

WARP_INSTRUCTIONS = "inst_executed"


# Narrow accesses.
def mix(**opcodes: float) -> dict[str, float]:
    """Return what the reader makes of an opcode mix; ``LDG_E_U8`` stands for ``LDG.E.U8``."""
    named = {name.replace("_", "."): n for name, n in opcodes.items()}
    return accesses.totals(named) | {WARP_INSTRUCTIONS: sum(named.values())}


def load(
    sass: str, pc: int = 0, *, sectors: float = 4.0, ideal: float = 4.0, threads: float = 32.0
) -> Instruction:
    """Return a load that 100 warps execute, with its sectors per warp."""
    values = {
        SECTORS: 100.0 * sectors,
        SECTORS_IDEAL: 100.0 * ideal,
        "inst_executed": 100.0,
        "thread_inst_executed": 100.0 * threads,
    }
    return Instruction(pc, sass, "a.cu", 7, values)


NARROW = "narrow-global-access"
WORDS = mix(LDG_E=40.0, FFMA=60.0)
BYTES = mix(LDG_E_U8=40.0, IADD3=60.0)
BY_LANE = load("LDG.E R0, [R2.64]")
BYTE = load("LDG.E.U8.CONSTANT R0, [R2.64]", sectors=1.0, ideal=1.0)
BROADCAST = load("LDG.E R4, desc[UR4][R2.64+0x4]", 16, sectors=1.0, ideal=1.0)
BEFORE = load("LDG.E R5, desc[UR4][R2.64]", 32, sectors=1.0, ideal=1.0)
ELSEWHERE = load("LDG.E R5, desc[UR4][R2.64+0x80]", 32, sectors=1.0, ideal=1.0)
OTHER_BASE = load("LDG.E R5, desc[UR4][R8.64]", 32, sectors=1.0, ideal=1.0)
STRIDED = load("LDG.E R0, [R2.64]", sectors=32.0, ideal=4.0)


def executed(item: Instruction, times: float) -> Instruction:
    """Return the same access executed more often."""
    factor = times / item.values["inst_executed"]
    values = {name: factor * value for name, value in item.values.items()}
    return Instruction(item.pc, item.sass, item.file, item.line, values)


def narrow(title: str, units: dict[str, float], metrics: dict[str, float], *rows: Instruction,
           expected: str = FIRES, says: str = "", confidence: str | None = None) -> Case:  # fmt: skip
    listed = tuple(executed(item, 40.0 / len(rows)) for item in rows)
    item = kernel(units, metrics, instructions=listed)
    return Case(NARROW, title, item, expected, says, confidence)


NARROW_ACCESS = (
    narrow("words fill the issue slots", {ISSUE: 80.0}, WORDS, BY_LANE, says="32 bits per thread, "
           "and their number is the limit at a.cu:7", confidence="medium"),
    narrow("bytes fill the load unit", {LSU: 90.0, L1: 85.0}, BYTES, BYTE, expected="high",
           says="8 bits", confidence="high"),
    narrow("bytes fill the data stage", {L1: 90.0}, BYTES | {"l1tex__data_pipe_lsu_wavefronts.sum":
           100.0, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 0.0}, BYTE, expected="high"),
    narrow("words fill the data stage as wide accesses would", {L1: 90.0}, WORDS, BY_LANE,
           expected=SILENT),
    narrow("words fill load unit and data stage alike", {LSU: 90.0, L1: 90.0}, WORDS, BY_LANE,
           expected=SILENT),
    narrow("no instruction is listed", {ISSUE: 80.0}, WORDS, confidence="low"),
    narrow("60 % busy", {ISSUE: 60.0}, WORDS, BY_LANE),
    narrow("59.99 % busy", {ISSUE: 59.99}, WORDS, BY_LANE, expected=SILENT),
    narrow("DRAM is the limit", {ISSUE: 70.0, DRAM: 75.0}, WORDS, BY_LANE, expected=SILENT),
    narrow("L2 is the limit", {ISSUE: 70.0, L2: 75.0}, WORDS, BY_LANE, expected=SILENT),
    narrow("arithmetic is the limit", {ISSUE: 70.0, ALU: 75.0}, WORDS, BY_LANE, expected=SILENT),
    narrow("DRAM is close behind", {ISSUE: 85.0, DRAM: 84.0}, WORDS, BY_LANE, expected="low"),
    narrow("66 % narrow", {ISSUE: 80.0}, mix(LDG_E=66.0, LDG_E_128=34.0), BY_LANE),
    narrow("65.9 % narrow", {ISSUE: 80.0}, mix(LDG_E=65.9, LDG_E_128=34.1), BY_LANE,
           expected=SILENT),
    narrow("64 bits are wide enough", {ISSUE: 80.0}, mix(LDG_E_64=40.0, FFMA=60.0),
           load("LDG.E.64 R0, [R2.64]", sectors=8.0, ideal=8.0), expected=SILENT),
    narrow("shared memory alone", {LSU: 90.0}, mix(LDS=90.0, FFMA=10.0), expected=SILENT),
    narrow("a tenth of the issue slots", {ISSUE: 80.0}, mix(LDG_E=40.0, FFMA=260.0), BY_LANE),
    narrow("less than a tenth of them", {ISSUE: 80.0}, mix(LDG_E=40.0, FFMA=261.0), BY_LANE,
           expected=SILENT),
    narrow("scattered", {ISSUE: 80.0}, WORDS, STRIDED, expected=SILENT),
    narrow("one element beside the sector", {ISSUE: 80.0}, WORDS,
           load("LDG.E R0, [R2.64]", sectors=5.0)),
    narrow("all lanes read one word", {ISSUE: 80.0}, WORDS, BROADCAST, expected=SILENT),
    narrow("all lanes read the next word too", {ISSUE: 80.0}, WORDS, BROADCAST, BEFORE),
    narrow("all lanes read a word far away", {ISSUE: 80.0}, WORDS, BROADCAST, ELSEWHERE,
           expected=SILENT),
    narrow("all lanes read another array", {ISSUE: 80.0}, WORDS, BROADCAST, OTHER_BASE,
           expected=SILENT),
)  # fmt: skip


# Re-reading what L2 has evicted.
L2_MB = 50.0


def traffic(
    *, dram: float = 900.0, delivered: float = 1000.0, hit: float = 30.0, stored: float = 0.0,
    loaded: float = 1000.0, l2: float = L2_MB,
) -> dict[str, float]:  # fmt: skip
    """Return megabytes moved, and the hit rate of L2 with stores counted as hits."""
    sectors = 1e6 / 32.0
    rate = (hit * delivered + 100.0 * stored) / (delivered + stored)
    return {
        "dram__bytes.sum": 1e6 * (dram + stored),
        "lts__lts2xbar_cycles_active.sum": sectors * delivered,
        "lts__t_sector_hit_rate.pct": rate,
        SECTORS: sectors * (loaded + stored),
        "device__attribute_l2_cache_size": 1e6 * l2,
    }


def moved(sass: str, megabytes: float) -> Instruction:
    return Instruction(0, sass, None, None, {SECTORS: megabytes * 1e6 / 32.0})


def reuse(title: str, metrics: dict[str, float], *rows: Instruction, expected: str = FIRES,
          says: str = "", confidence: str = "medium", holds: str = "", lacks: str = "",
          **units: float) -> Case:  # fmt: skip
    busy = {DRAM: 90.0} | {{"l2": L2, "dram": DRAM}[name]: pct for name, pct in units.items()}
    return Case(
        "low-l2-reuse", title, kernel(busy, metrics, instructions=rows), expected, says, confidence,
        holds, lacks,
    )  # fmt: skip


REUSE = (
    reuse("most is fetched again", traffic(), expected="high", says="delivers 90 % of what"),
    reuse("more is fetched than is read", traffic(dram=1600.0), says="1.6 times what the SMs read",
          confidence="low", holds="L2 fetches more than the SMs ask for"),
    reuse("as much is fetched as is read", traffic(dram=1000.0), says="delivers 100 % of what",
          lacks="L2 fetches more"),
    reuse("60 % busy", traffic(), dram=60.0),
    reuse("59.99 % busy", traffic(), expected=SILENT, dram=59.99),
    reuse("L2 is the limit", traffic(), expected=SILENT, l2=95.0),
    reuse("L2 is next", traffic(), expected=SILENT, l2=89.9),
    reuse("read once", traffic(dram=1000.0, hit=0.0), expected=SILENT),
    reuse("a tenth of the reads hit", traffic(hit=10.01)),
    reuse("fewer hit", traffic(hit=9.99), expected=SILENT),
    reuse("half is fetched", traffic(dram=500.1, hit=50.0)),
    reuse("less is fetched", traffic(dram=499.9, hit=50.0), expected=SILENT),
    reuse("an eighth is written", traffic(stored=124.9), moved("LDG R0", 1000.0),
          moved("@P0 STG.E [R2], R0", 124.9)),
    reuse("more is written", traffic(stored=125.1), moved("LDG R0", 1000.0),
          moved("@P0 STG.E [R2], R0", 125.1), expected=SILENT),
    reuse("what is written is not told apart", traffic(stored=500.0), moved("", 1500.0),
          expected=SILENT),
    reuse("no instruction is listed", traffic(stored=500.0), expected=SILENT),
    reuse("atomics write too", traffic(stored=500.0), moved("LDG R0", 1000.0),
          moved("REDG.E.ADD [R2], R0", 500.0), expected=SILENT),
    reuse("twice what L2 holds", traffic(l2=450.0)),
    reuse("the first fill of a cold cache", traffic(l2=450.1), expected=SILENT),
    reuse("nothing is read", traffic(delivered=0.0, stored=500.0), expected=SILENT),
)  # fmt: skip


# Tiles copied through registers.
TILE = "synchronous-tile-copy"
WAITS = m.SAMPLED_STALL_NOT_ISSUED.format("long_scoreboard")
COPIES = accesses.totals({"LDG.E.128": 8.0, "STS.128": 8.0, "FFMA": 99.0}) | {
    "device__attribute_compute_capability_major": 9.0,
    "launch__grid_size": 256.0,
    "launch__sm_count": 132.0,
    "launch__block_size": 64.0,
}
STORED = 512.0 * 10.0  # 256 blocks of two warps, ten tiles
FETCH = Instruction(0, "LDG.E.128 R4, desc[UR4][R2.64]", "t.cu", 8, {"inst_executed": STORED})


def stored(sass: str = "@!P0  STS.128 [R9+0x10], R4 ;", times: float = STORED,
           samples: float = 500.0) -> Instruction:  # fmt: skip
    return Instruction(64, sass, "t.cu", 9, {"inst_executed": times, WAITS: samples})


def tile(title: str, *rows: Instruction, expected: str = FIRES, says: str = "",
         confidence: str | None = None, busy: float = 40.0, waits: float = 500.0,
         others: float = 300.0, **changed: float) -> Case:  # fmt: skip
    stalls = sampled(long_scoreboard=waits, wait=others, barrier=1000.0 - waits - others)
    names = {"major": "device__attribute_compute_capability_major",
             "blocks": "launch__grid_size", "copies": "kprof__inst_executed_async_copy",
             "stores": "kprof__inst_executed_shared_store", "threads": "launch__block_size",
             "issued": "smsp__issue_active.avg.per_cycle_active"}  # fmt: skip
    metrics = COPIES | stalls | {names[name]: value for name, value in changed.items()}
    item = kernel({ISSUE: busy}, metrics, instructions=rows or (FETCH, stored()))
    return Case(TILE, title, item, expected, says, confidence)


TILES = (
    tile("half of the time", expected="high", says="50 % of the stalled time waits to store to "
         "shared memory what was just loaded at t.cu:9", confidence="high"),
    tile("a fifth of the time", waits=200.0, others=800.0, confidence="medium"),
    tile("less than a fifth", waits=199.0, others=801.0, expected=SILENT),
    tile("most waiting is elsewhere", FETCH, stored(samples=199.0), expected=SILENT),
    tile("two fifths", FETCH, stored(samples=400.0), confidence="high"),
    tile("less than two fifths", FETCH, stored(samples=399.0), confidence="medium"),
    tile("two tiles per warp", FETCH, stored(times=1024.0)),
    tile("a single tile per warp", FETCH, stored(times=1023.0), expected=SILENT),
    tile("converted on the way", FETCH, stored("STS.128 [R9+0x10], R8"), expected=SILENT),
    tile("no load", stored(), expected=SILENT),
    tile("a load of an address", FETCH, stored("STS.128 [R4], R8"), expected=SILENT),
    tile("asynchronous copies", copies=1.0, expected=SILENT),
    tile("Turing has none", major=7.0, expected=SILENT),
    tile("Ampere has them", major=8.0),
    tile("no shared memory", stores=0.0, expected=SILENT),
    tile("59.99 % busy", busy=59.99),
    tile("60 % busy", busy=60.0, expected=SILENT),
    tile("a small grid", blocks=64.0, expected=SILENT),
)  # fmt: skip

# Atomic updates of shared memory.
ATOMIC = "shared-atomic-contention"
STAGE = "l1tex__data_pipe_lsu_wavefronts.sum"


def update(sass: str = "ATOMS.CAST.SPIN R3, [R10], R2, R3", times: float = 3200.0,
           lanes: float = 16.5, turns: float = 1.0) -> Instruction:  # fmt: skip
    values = {"inst_executed": times, "thread_inst_executed": times * lanes,
              WAVEFRONTS: times * turns}  # fmt: skip
    return Instruction(64, sass, "h.cu", 5, values)


def entered(times: float) -> Instruction:
    return Instruction(16, "LDG.E R5, [R2.64]", "h.cu", 5, {"inst_executed": times})


def atomic(title: str, *rows: Instruction, expected: str = FIRES, says: str = "",
           confidence: str | None = None, stage: float = 50.0, count: float = 3200.0,
           metrics: dict[str, float] | None = None, **units: float) -> Case:  # fmt: skip
    busy = {L1: stage} | {
        {"dram": DRAM, "issue": ISSUE, "alu": ALU}[k]: v for k, v in units.items()
    }
    mixed = accesses.totals({"ATOMS.CAST.SPIN": count, "LDG.E": 100.0})
    item = kernel(busy, {WAVEFRONTS: 3200.0} | mixed | (metrics or {}), instructions=rows)
    return Case(ATOMIC, title, item, expected, says, confidence)


NATIVE = update("ATOMS.ADD RZ, [R12], R5", lanes=32.0, turns=1.0)
ATOMICS = (
    atomic("all lanes want one word", entered(100.0), update(), expected="high",
           says="take 32 turns each: lanes want the same word at h.cu:5", confidence="high"),
    atomic("five turns", entered(640.0), update(lanes=19.0)),
    atomic("fewer turns", entered(641.0), update(lanes=19.0), expected=SILENT),
    atomic("each lane its own word", entered(100.0), update(lanes=32.0), expected=SILENT),
    atomic("as often as it is entered", entered(3200.0), update(lanes=32.0), expected=SILENT),
    atomic("the lanes alone tell", update(lanes=19.2)),
    atomic("the lanes alone tell that they are few", update(lanes=19.3), expected=SILENT),
    atomic("the hardware takes five turns", update("ATOMS.ADD RZ, [R12], R5", turns=5.0),
           metrics={WAVEFRONTS: 16000.0}, confidence="medium"),
    atomic("the hardware takes fewer", update("ATOMS.ADD RZ, [R12], R5", turns=4.99),
           metrics={WAVEFRONTS: 15968.0}, expected=SILENT),
    atomic("the hardware counted more than the addresses need", NATIVE, metrics={
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 20000.0}),
    atomic("none are executed", count=0.0, expected=SILENT),
    atomic("none are listed", expected=SILENT),
    atomic("stage 40 % busy", entered(100.0), update(), stage=40.0),
    atomic("idle stage", entered(100.0), update(), stage=39.9, expected=SILENT),
    atomic("idle stage but warps wait for it", entered(100.0), update(), stage=10.0,
           metrics=sampled(short_scoreboard=200.0, wait=800.0)),
    atomic("idle stage and few warps wait", entered(100.0), update(), stage=10.0,
           metrics=sampled(short_scoreboard=199.0, wait=801.0), expected=SILENT),
    atomic("DRAM is the limit", entered(100.0), update(), dram=60.0, expected=SILENT),
    atomic("arithmetic is the limit", entered(100.0), update(), alu=60.0, expected=SILENT),
    atomic("the loop fills the issue slots", entered(100.0), update(), issue=80.0),
    atomic("atomics are little of the stage", entered(100.0), update(), metrics={STAGE: 1e6},
           expected=SILENT),
)  # fmt: skip


# Slices and channels that carry more than others.
CAMPING = "partition-camping"


def camping(title: str, expected: str = FIRES, says: str = "", *, most: float = 900.0,
            mean: float = 100.0, channel: float = 1.0, duration_s: float = 1e-3,
            blocks: float = 10_000.0, **units: float) -> Case:  # fmt: skip
    names = {"l2": L2, "dram": DRAM, "issue": ISSUE}
    metrics = FULL_GRID | {
        "lts__t_sectors.max": most,
        "lts__t_sectors.avg": mean,
        "dram__cycles_active.max": 100.0 * channel,
        "dram__cycles_active.avg": 100.0,
        "launch__grid_size": blocks,
    }
    busy = {L2: 10.0} | {names[name]: pct for name, pct in units.items()}
    item = kernel(busy, metrics, duration_s=duration_s)
    return Case(CAMPING, title, item, expected, says, None if expected == SILENT else "medium")


SLICES = (
    camping("one slice serves everybody", "high",
            "The busiest L2 slice carries 9.0 times the mean and is 90 % busy"),
    camping("60 % busy", most=600.0),
    camping("59.9 % busy", SILENT, most=599.0),
    camping("1.5 times the mean", l2=80.0, most=150.0),
    camping("1.49 times the mean", SILENT, l2=80.0, most=149.0),
    camping("even", SILENT, l2=90.0, most=100.0),
    camping("a channel", FIRES, "memory channel", most=100.0, dram=50.0, channel=1.5),
    camping("an idle channel", SILENT, most=100.0, dram=10.0, channel=1.5),
    camping("instructions are the limit", SILENT, issue=60.0),
    camping("a small grid", SILENT, blocks=8.0),
    camping("20 us", duration_s=20e-6),
    camping("shorter", SILENT, duration_s=19.9e-6),
)  # fmt: skip

# Memory of the host and of other GPUs.
REMOTE = "remote-memory-traffic"
MISSED = "lts__t_sectors_srcunit_tex{}_lookup_miss.sum"


def remote(title: str, expected: str = FIRES, says: str = "", *, host: float = 1e6,
           peer: float = 0.0, missed: float = 1e6, duration_s: float | None = 1e-3,
           busy: float = 5.0) -> Case:  # fmt: skip
    metrics = {
        MISSED.format("_aperture_sysmem"): host,
        MISSED.format("_aperture_peer"): peer,
        MISSED.format(""): missed,
    }
    item = kernel({ISSUE: busy}, metrics, duration_s=duration_s)
    return Case(REMOTE, title, item, expected, says, None if expected == SILENT else "high")


REMOTES = (
    remote("all from the host", "high", "100 % of what L2 fetches comes from the host's memory, at 32.0"),
    remote("from another GPU", FIRES, "another GPU's memory", host=0.0, peer=1e6),
    remote("40 %", host=4e5),
    remote("39.9 %", SILENT, host=3.99e5),
    remote("both together 40 %", host=2e5, peer=2e5),
    remote("1 GB/s", host=31250.0, missed=31250.0),
    remote("less than 1 GB/s", SILENT, host=31249.0, missed=31249.0),
    remote("none", SILENT, host=0.0),
    remote("nothing missed", SILENT, host=0.0, missed=0.0),
    remote("59.9 % busy", busy=59.9),
    remote("60 % busy", SILENT, busy=60.0),
    remote("no duration", SILENT, duration_s=None),
)  # fmt: skip

CASES = (*NARROW_ACCESS, *REUSE, *TILES, *ATOMICS, *SLICES, *REMOTES)
