"""What is just inside a threshold, and just outside; and what the finding then promises and advises.

Beside the cases of each rule's own module: these hold numbers that decide little and are easily
changed without anybody noticing.
"""

from __future__ import annotations

from dataclasses import replace

from kprof.model import Kernel, Launch
from tests.kernels import (
    ALU,
    DRAM,
    FMA,
    FP64,
    FULL_GRID,
    ISSUE,
    L1,
    L1_HIT,
    L2,
    LSU,
    PEAKS,
    SECTORS,
    TENSOR,
    XU,
    block_of,
    counted,
    kernel,
    sampled,
)  # fmt: skip
from tests.rules.access_cases import COLUMN, HALF_READ, access, local, sectors
from tests.rules.case import SILENT, Case
from tests.rules.compute_cases import (
    DIVISION,
    FUSED,
    ONE,
    PLAIN,
    ROOFS,
    SOFTMAX,
    apart,
    halves,
    integers,
    on,
    product,
)
from tests.rules.execution_cases import BY_REGISTERS, DOUBLES, TIED, threads
from tests.rules.memory_cases import (
    BY_LANE,
    BYTE,
    FETCH,
    NATIVE,
    WORDS,
    atomic,
    camping,
    entered,
    load,
    narrow,
    reuse,
    stored,
    tile,
    traffic,
    update,
)
from tests.rules.parallel_cases import ACHIEVED, STARVED, balanced, lasting

# Device memory. 1,504 bytes per cycle at 3.2 GHz for 1 ms.
DRAM_MOST = 1504.0 * 3.2e9 * 1e-3


def moving(share: float, pct: float = 90.0) -> Kernel:
    """Make a kernel that moves this share of what device memory could."""
    return kernel({DRAM: pct}, PEAKS | {"dram__bytes.sum": share * DRAM_MOST})


DEVICE_MEMORY = (
    Case("dram-bandwidth-bound", "bytes explain nine tenths of it", moving(0.811),
         lacks="The bytes themselves", holds="only moving fewer bytes"),
    Case("dram-bandwidth-bound", "bytes explain less", moving(0.809),
         holds="The bytes themselves are 81 % of the peak rate"),
    Case("dram-bandwidth-bound", "the peak is not known",
         kernel({DRAM: 90.0}, {"dram__bytes.sum": DRAM_MOST}), lacks="unknown"),
    Case("low-l2-reuse", "nothing passes L2",
         kernel({DRAM: 90.0}, traffic() | {"lts__lts2xbar_cycles_active.sum": 0.0, SECTORS: 0.0}),
         SILENT),
    Case("dram-bandwidth-bound", "below the roof", moving(0.7, 70.0), holds="not saturated either"),
    reuse("nine tenths are fetched again, a fifth would be left", traffic(), says="delivers 90 %"),
    reuse("L2 is busier, but both have room", traffic(), expected=SILENT, l2=65.0, dram=62.0),
    Case("low-l2-reuse", "what is left once four fifths hit",
         kernel({DRAM: 90.0}, traffic()), gain=(2.195, 4.5)),
    Case("uncoalesced-global-access", "what device memory moved",
         kernel({DRAM: 90.0}, sectors(4e6, 1e6) | {"dram__bytes.sum": 8 * 32e6}),
         gain=(2.581, 8.0)),
    Case("uncoalesced-global-access", "L1 serves the excess of loads",
         kernel({L2: 70.0}, HALF_READ, instructions=(access("LDG.E R0, [R2]", 800.0, 100.0),)),
         SILENT),
)  # fmt: skip

# L1, local and shared memory.
ON_CHIP = (
    Case("l1-bandwidth-bound", "static shared memory may fill it",
         kernel({L1: 70.0}, launch=Launch(shared_static_bytes=1024, shared_dynamic_bytes=0)),
         confidence="low"),
    Case("l1-bandwidth-bound", "half of what is declared is not known",
         kernel({L1: 70.0}, launch=Launch(shared_static_bytes=None, shared_dynamic_bytes=0)),
         confidence="low"),
    Case("local-memory-traffic", "5 % of what L2 delivers",
         kernel({L2: 70.0}, local(10.0, 10.0) | {"lts__lts2xbar_cycles_active.sum": 200.0})),
    Case("local-memory-traffic", "less than 5 % of it",
         kernel({L2: 70.0}, local(10.0, 10.0) | {"lts__lts2xbar_cycles_active.sum": 200.1}), SILENT),
    Case("local-memory-traffic", "a fifth of the cost within L1",
         kernel({LSU: 70.0}, local(15.0, 85.0) | {L1_HIT: 95.0}), gain=(1.0215, 1.0309)),
    Case("shared-bank-conflicts", "another unit is next",
         kernel({L1: 90.0, DRAM: 90.0}, COLUMN), holds="removing them alone gains nothing"),
    Case("shared-bank-conflicts", "no other unit is",
         kernel({L1: 90.0}, COLUMN), lacks="gains nothing"),
    Case("local-memory-traffic", "within L1, 9 % wait for the queue",
         kernel({LSU: 70.0}, local(15.0, 85.0) | {L1_HIT: 99.0}
                | sampled(lg_throttle=90.0, wait=910.0)), "info"),
    Case("uncoalesced-global-access", "sure from 1.1 times on",
         kernel({L2: 70.0}, sectors(100.0, 90.0)), confidence="high"),
    Case("uncoalesced-global-access", "less sure below",
         kernel({L2: 70.0}, sectors(100.0, 91.5)), confidence="medium"),
    atomic("no lane ever leaves, and nothing tells how often it is entered", update(lanes=16.0),
           says="take 32 turns"),
    atomic("none are counted", entered(100.0), update(), count=0.0, expected=SILENT),
    atomic("one is never executed", entered(100.0), update(), update(times=0.0), expected="high"),
    atomic("DRAM is busier, but no limit", entered(100.0), update(), dram=55.0),
    Case("shared-atomic-contention", "the loop is named",
         atomic("", entered(100.0), update()).kernel, holds="a loop around ATOMS.CAST.SPIN"),
    Case("shared-atomic-contention", "the hardware is named",
         atomic("", NATIVE, metrics={
             "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 20000.0}).kernel,
         holds="The hardware updates one word at a time", lacks="a loop around"),
)  # fmt: skip

# Accesses, slices and copies.
ACCESSES = (
    narrow("three quarters of the lanes' own sectors", {ISSUE: 80.0}, WORDS,
           load("LDG.E R0, [R2.64]", sectors=3.01, ideal=3.0)),
    narrow("fewer", {ISSUE: 80.0}, WORDS, load("LDG.E R0, [R2.64]", sectors=2.99, ideal=2.9),
           expected=SILENT),
    narrow("30 % more than the ideal", {ISSUE: 80.0}, WORDS,
           load("LDG.E R0, [R2.64]", sectors=5.19)),
    narrow("more than that", {ISSUE: 80.0}, WORDS, load("LDG.E R0, [R2.64]", sectors=5.21),
           expected=SILENT),
    narrow("half of them are bytes", {ISSUE: 80.0}, WORDS, BYTE, BY_LANE, confidence="high"),
    narrow("fewer are", {ISSUE: 80.0}, WORDS, *[BYTE] * 4, *[BY_LANE] * 5, confidence="medium"),
    narrow("an address without a register", {ISSUE: 80.0}, WORDS, BY_LANE,
           load("LDG.E R0, [0x10]", 16)),
    narrow("DRAM allows nothing", {ISSUE: 89.5, DRAM: 89.0}, WORDS, BY_LANE, expected=SILENT),
    camping("the issue rate is busier, but no limit", issue=30.0),
    camping("memory allows nothing", SILENT, most=150.0, l2=45.0, dram=90.0),
    tile("two tiles for each of three warps", FETCH, stored(times=1536.0), threads=72.0),
    tile("fewer for each of three warps", FETCH, stored(times=1535.0), threads=72.0,
         expected=SILENT),
    tile("schedulers hardly ever idle", issued=0.99, expected=SILENT),
    Case("synchronous-tile-copy", "Hopper has TMA", tile("").kernel, holds="TMA"),
    Case("synchronous-tile-copy", "Ampere has not", tile("", major=8.0).kernel, lacks="TMA"),
)  # fmt: skip

# Arithmetic.
HALF_THE_TIME = {"HFMA2": 1e9, "IADD3": 3e9}
MANY_DIVISIONS = {name: 10.0 * times for name, times in DIVISION.items()}
ARITHMETIC = (
    Case("integer-bound", "four fifths of the divisions",
         integers(full=PLAIN | MANY_DIVISIONS), gain=(2.273, 5.0)),
    Case("fp64-usage", "another unit is busier, but no limit",
         kernel({FP64: 50.0, DRAM: 55.0}, PEAKS | DOUBLES)),
    Case("special-function-bound", "half of them", kernel({XU: 95.0}, opcodes_full=SOFTMAX),
         gain=(1.538, 2.0)),
    Case("integer-bound", "15 % divisions", integers(full=PLAIN | DIVISION | {"FADD": 116.0}),
         says="divisions"),
    Case("integer-bound", "what can go of indices", integers(), gain=(1.212, 1.333)),
    Case("issue-bound", "half of the overhead",
         kernel({ISSUE: 70.0}, opcodes={"IMAD": 40.0, "FFMA": 60.0}), gain=(1.0, 1.25)),
    Case("unfused-multiply-add", "all pairs, or half of them", apart((5e8, 5e8, 0.0)),
         gain=(1.212, 2.0)),
    Case("unfused-multiply-add", "memory is the limit and has room",
         apart((5e8, 5e8, 0.0), {DRAM: 65.0}), SILENT),
    Case("unfused-multiply-add", "memory allows nothing",
         apart((5e8, 5e8, 0.0), {FMA: 90.0, DRAM: 89.9}), SILENT),
    Case("unfused-multiply-add", "the issue rate, threads' instructions not known",
         replace(apart((5e8, 5e8, 0.0), {ISSUE: 90.0}), thread_opcodes={}), SILENT),
    Case("unpacked-half", "half of the instructions", on(8.0, halves(ONE)), gain=(1.538, 2.0)),
    Case("unpacked-half", "and the tensor pipe", on(9.0, halves(ONE)), gain=(1.538, 4.0)),
    Case("unpacked-half", "the tensor pipe is idle",
         on(9.0, halves(ONE, units={FMA: 90.0, TENSOR: 4.99})), gain=(1.538, 4.0)),
    Case("unpacked-half", "the tensor pipe has work",
         on(9.0, halves(ONE, units={FMA: 90.0, TENSOR: 5.0})), gain=(1.538, 2.0)),
    Case("unpacked-half", "a quarter of the instructions",
         replace(halves(ONE, units={ISSUE: 90.0}), thread_opcodes=HALF_THE_TIME)),
    Case("unpacked-half", "less than a quarter",
         replace(halves(ONE, units={ISSUE: 90.0}), thread_opcodes=HALF_THE_TIME | {"MOV": 1e7}),
         SILENT),
    Case("unpacked-half", "threads' instructions not known",
         replace(halves(ONE, units={ISSUE: 90.0}), thread_opcodes={}), SILENT),
)  # fmt: skip


# Tensor cores.
def as_fast(times: float) -> Kernel:
    """Make a product where the tensor path is this much faster than the FP32 pipe."""
    path = "sm__ops_path_tensor_op_hgmma_src_tf32_dst_fp32_sparsity_off.sum.peak_sustained"
    return product(roofs=ROOFS | {path: 2 * 16896.0 * times})


BY_COUNTERS = {"sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32_sparsity_off.sum": FUSED}
MATRICES = (
    Case("tensor-core-bound", "not at its roof",
         kernel({TENSOR: 79.9}, opcodes={"HMMA": 1.0}), "low"),
    Case("tensor-cores-unused", "1.31 times as fast", as_fast(1.31)),
    Case("tensor-cores-unused", "1.29 times as fast", as_fast(1.29), SILENT),
    Case("tensor-pipe-underused", "what its instructions do is not known",
         kernel({TENSOR: 30.0}, PEAKS | FULL_GRID | counted(), opcodes={"HMMA": 1000.0}), SILENT),
    Case("tensor-pipe-underused", "operations known, instructions not",
         kernel({TENSOR: 30.0}, PEAKS | FULL_GRID | counted() | BY_COUNTERS), SILENT),
)  # fmt: skip

# Launches and warps.
WAITING = sampled(long_scoreboard=500.0, wait=500.0)
QUEUED = "The load queue is full"
MORE_WARPS = "Bring more warps"
ALLOWED = "sm__maximum_warps_per_active_cycle_pct"
NO_CLUSTERS = {"launch__cluster_size": 1.0, "launch__cluster_max_active": 100.0}
UNKNOWN_CLUSTERS = {"launch__cluster_size": 16.0, "launch__cluster_max_active": 0.0}
SCHEDULE = (
    Case("launch-overhead-bound", "4 us", lasting(3.99), confidence="high"),
    Case("launch-overhead-bound", "more than 4 us", lasting(4.01), confidence="medium"),
    Case("memory-latency-bound", "more than a tenth waits for the queue",
         kernel(metrics=WAITING | sampled(lg_throttle=112.0)), holds=QUEUED),
    Case("memory-latency-bound", "less than a tenth does",
         kernel(metrics=WAITING | sampled(lg_throttle=109.0)), lacks=QUEUED),
    Case("memory-latency-bound", "few warps",
         kernel(metrics=WAITING | {ACHIEVED: 49.9}), holds=MORE_WARPS),
    Case("memory-latency-bound", "half of the warps",
         kernel(metrics=WAITING | {ACHIEVED: 50.0}), lacks=MORE_WARPS),
    Case("memory-latency-bound", "fewer warps than fit",
         kernel(metrics=WAITING | {ACHIEVED: 39.9, ALLOWED: 50.0}), holds="Keep more warps there"),
    Case("memory-latency-bound", "too few blocks to fill the SMs",
         kernel(metrics=WAITING | {ACHIEVED: 9.0, ALLOWED: 100.0, "launch__waves_per_multiprocessor": 0.9}),
         holds="Launch more blocks", lacks="more warps"),
    Case("memory-latency-bound", "blocks enough to fill the SMs",
         kernel(metrics=WAITING | {"launch__waves_per_multiprocessor": 1.0}), lacks="Launch more blocks"),
    Case("memory-latency-bound", "as many warps as fit",
         kernel(metrics=WAITING | {ACHIEVED: 40.0, ALLOWED: 50.0}), holds=MORE_WARPS),
    Case("memory-latency-bound", "the queue is full of wide loads",
         kernel(metrics=WAITING | sampled(lg_throttle=300.0), opcodes_full={"LDG.E.128": 9.0}),
         holds="fewer loads.", lacks="wider loads"),
    Case("tail-effect", "sure from half of the tail on", balanced(0.226, 1.1), confidence="high"),
    Case("tail-effect", "less sure below", balanced(0.224, 1.1), confidence="medium"),
    Case("tail-effect", "2.02 waves", balanced(0.3, 2.019), SILENT),
    Case("tail-effect", "more than 2.02 waves", balanced(0.3, 2.021)),
    Case("workload-imbalance", "sure from a fifth on", balanced(0.201, 4.0), confidence="high"),
    Case("workload-imbalance", "less sure below", balanced(0.199, 4.0), confidence="medium"),
    Case("workload-imbalance", "half of it is the grid's",
         balanced(0.48, 0.4, blocks=200.0), holds="cannot be shared evenly"),
    Case("workload-imbalance", "less is the grid's",
         balanced(0.49, 0.4, blocks=200.0), holds="Blocks take different times"),
    Case("workload-imbalance", "clusters of one are none",
         balanced(0.4, 0.97, blocks=128.0, metrics=NO_CLUSTERS)),
    Case("workload-imbalance", "how many clusters fit is not known",
         balanced(0.4, 0.97, blocks=128.0, metrics=UNKNOWN_CLUSTERS)),
    Case("partial-warps", "half busy is not busy",
         kernel({ISSUE: 50.0}, {"launch__block_size": 8.0} | FULL_GRID), confidence="medium"),
    Case("partial-warps", "13 empty lanes of 128",
         kernel({ISSUE: 70.0}, {"launch__block_size": 115.0} | FULL_GRID)),
    Case("partial-warps", "12 empty lanes of 128",
         kernel({ISSUE: 70.0}, {"launch__block_size": 116.0} | FULL_GRID), SILENT),
    Case("thread-divergence", "blocks of 28 that diverge",
         kernel({ISSUE: 80.0}, threads(22.0), launch=block_of(28))),
    Case("thread-divergence", "a math pipe waits", kernel({ALU: 80.0}, threads(16.0)),
         resource="math"),
    Case("thread-divergence", "the issue slots wait", kernel({ISSUE: 80.0}, threads(16.0)),
         resource="issue"),
    Case("grid-too-small", "a launch that takes no time",
         kernel(metrics={"launch__grid_size": 8.0, "launch__sm_count": 132.0}, duration_s=5e-7),
         SILENT),
    Case("workload-imbalance", "blocks that last longer", balanced(0.5, 4.0),
         holds="Blocks take different times"),
    Case("workload-imbalance", "200 blocks on 132 SMs are dealt unevenly",
         balanced(0.24, 0.4, blocks=200.0), holds="cannot be shared evenly"),
    Case("achieved-occupancy-gap", "how many blocks fit is not known",
         kernel(metrics=STARVED | {"sm__cycles_active.avg": 3.5e4}), confidence="low"),
    Case("occupancy-limited-by-registers", "one limit", kernel(metrics=BY_REGISTERS),
         holds="more resident warps would fill the gaps"),
    Case("occupancy-limited-by-registers", "a tie", kernel(metrics=TIED), holds="Limits tie"),
)  # fmt: skip
CASES = (*DEVICE_MEMORY, *ON_CHIP, *ACCESSES, *ARITHMETIC, *MATRICES, *SCHEDULE)
