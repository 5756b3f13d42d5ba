"""Advice that fits the kernel: none that is followed already, and what fills a unit below its roof."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kprof.model import Instruction, Kernel
from tests.kernels import (
    ALU,
    FMA,
    ISSUE,
    L1,
    L2,
    SECTORS,
    WAVEFRONTS,
    WAVEFRONTS_IDEAL,
    counted,
    kernel,
    row,
)
from tests.rules.atomic_cases import atomics
from tests.rules.case import Case
from tests.rules.compute_cases import ONE, TWO, halves
from tests.rules.memory_cases import camping

# Atomics that return nothing anyway.
NO_ANSWER = "Do not use the value an atomic returns"
ATOMICS = (
    Case("atomic-contention", "values are returned",
         kernel(metrics=atomics(1.0), opcodes={"ATOMG": 1.0, "IADD3": 9.0}), holds=NO_ANSWER),
    Case("atomic-contention", "none are", kernel(metrics=atomics(1.0), opcodes={"REDG": 1.0, "ATOM": 0.0}),
         holds="Combine in the block first", lacks=NO_ANSWER),
    Case("atomic-contention", "which atomics is not known", kernel(metrics=atomics(1.0)), holds=NO_ANSWER),
)  # fmt: skip


# What a busy slice of L2 is asked for.
def asked(title: str, *rows: tuple[str, float], holds: str, lacks: str) -> Case:
    case = camping(title)
    listed = tuple(replace(row(sass), values={SECTORS: sectors}) for sass, sectors in rows)
    return replace(case, kernel=replace(case.kernel, instructions=listed), holds=holds, lacks=lacks)


LOAD, ADD, STORE = "LDG.E R0, [R2.64]", "@P0 REDG.E.ADD [R2.64], R0", "STG.E [R2.64], R0"
SLICES = (
    asked("reads", (LOAD, 9.0), (ADD, 8.0), holds="what everybody reads", lacks="everybody updates"),
    asked("updates", (LOAD, 8.0), (ADD, 9.0), holds="what everybody updates", lacks="everybody reads"),
    asked("stores", (LOAD, 8.0), (STORE, 9.0), holds="what everybody writes", lacks="everybody reads"),
)  # fmt: skip

# Loads that are as wide as they can be.
NARROW, WIDE = {"LDG.E": 5.0, "LDG.E.128": 5.0}, {"LDG.E": 4.0, "LDG.E.128": 5.0}
SHARED_NARROW, SHARED_WIDE = {"LDS": 5.0, "LDS.128": 5.0}, {"LDS": 4.0, "LDS.128": 5.0}
BY_SHARED = {
    "l1tex__data_pipe_lsu_wavefronts.sum": 1000.0,
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 900.0,
    WAVEFRONTS: 1000.0,
    WAVEFRONTS_IDEAL: 1000.0,
}


def loading(executed: Mapping[str, float], unit: str, **metrics: float) -> Kernel:
    return kernel({unit: 90.0}, metrics, opcodes_full=executed)


ALREADY, FLOAT4 = "128 bits wide already", "float4"
LOADS = (
    Case("l1-bandwidth-bound", "narrow loads", loading(NARROW, L1), holds=FLOAT4, lacks=ALREADY),
    Case("l1-bandwidth-bound", "wide loads", loading(WIDE, L1), holds=ALREADY, lacks=FLOAT4),
    Case("shared-memory-bandwidth-bound", "narrow loads",
         loading(SHARED_NARROW, L1, **BY_SHARED), holds=FLOAT4, lacks=ALREADY),
    Case("shared-memory-bandwidth-bound", "wide loads",
         loading(SHARED_WIDE, L1, **BY_SHARED), holds=ALREADY, lacks=FLOAT4),
    Case("shared-memory-bandwidth-bound", "wide loads of global memory",
         loading(WIDE, L1, **BY_SHARED), holds=FLOAT4, lacks=ALREADY),
    Case("issue-bound", "narrow loads", loading(NARROW, ISSUE), holds=FLOAT4, lacks=ALREADY),
    Case("issue-bound", "wide loads", loading(WIDE, ISSUE), holds=ALREADY, lacks=FLOAT4),
)  # fmt: skip

# Arithmetic that is fused or packed.
FUSE, PACK = "use fused multiply-add", "Use packed half2"


def multiplied(add: float, multiply: float, fused: float) -> Kernel:
    return kernel({FMA: 90.0}, counted(fp32=(add, multiply, fused)))


ONE_VALUE, MATRICES = halves(ONE), "use the tensor cores"
HALF_PRODUCT: Instruction = row("HFMA2 R0, R2, R3, R0", inst_executed=9.0)
HALF_POLYNOMIAL: Instruction = row("HFMA2 R0, R0, 0.75, 0.75, R3", inst_executed=9.0)
ARITHMETIC = (
    Case("compute-bound", "sums and products apart", multiplied(1.0, 1.0, 8.0), holds=FUSE),
    Case("compute-bound", "fewer", multiplied(0.99, 1.0, 8.01), holds="Remove arithmetic", lacks=FUSE),
    Case("compute-bound", "sums alone", multiplied(9.0, 0.0, 0.0), lacks=FUSE),
    Case("compute-bound", "fused or not is not known", kernel({FMA: 90.0}), holds=FUSE),
    Case("compute-bound", "products are counted, sums are not",
         replace(both := multiplied(0.0, 5.0, 5.0), metrics={
             name: value for name, value in both.metrics.items() if "fadd" not in name}), holds=FUSE),
    Case("compute-bound", "halves one at a time", ONE_VALUE, holds=PACK),
    Case("compute-bound", "packed halves", halves(TWO), holds="Remove arithmetic", lacks=PACK),
    Case("compute-bound", "products of halves", replace(ONE_VALUE, instructions=(HALF_PRODUCT,)),
         holds=MATRICES, lacks=PACK),
    Case("compute-bound", "a polynomial of halves",
         replace(ONE_VALUE, instructions=(HALF_POLYNOMIAL,)), lacks=MATRICES),
)  # fmt: skip

# Below its roof a unit has room.
FULL, ROOM = "as fast as", "idles 20 % of the time"
ROOF = (
    Case("compute-bound", "80 %", kernel({ALU: 80.0}), holds=FULL, lacks="idles"),
    Case("compute-bound", "79.9 %", kernel({ALU: 79.9}), holds=ROOM, lacks=FULL),
    Case("shared-memory-bandwidth-bound", "80 %", kernel({L1: 80.0}, BY_SHARED), holds=FULL, lacks="idles"),
    Case("shared-memory-bandwidth-bound", "79.9 %", kernel({L1: 79.9}, BY_SHARED), holds=ROOM, lacks=FULL),
    Case("l2-bandwidth-bound", "80 %", kernel({L2: 80.0}), lacks="idles"),
    Case("l2-bandwidth-bound", "79.9 %", kernel({L2: 79.9}), holds=ROOM),
    Case("l1-bandwidth-bound", "80 %", kernel({L1: 80.0}), lacks="idles"),
    Case("l1-bandwidth-bound", "79.9 %", kernel({L1: 79.9}), holds=ROOM),
)  # fmt: skip
CASES = (*ATOMICS, *SLICES, *LOADS, *ARITHMETIC, *ROOF)
