"""The rules about which arithmetic runs, and on which pipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kprof.model import Kernel
from tests.kernels import (
    ALU,
    DRAM,
    FMA,
    FP64,
    FULL_GRID,
    ISSUE,
    L1,
    PEAKS,
    TENSOR,
    WAVEFRONTS,
    XU,
    counted,
    kernel,
    row,
    sampled,
)  # fmt: skip
from tests.rules.case import SILENT, Case

# Special functions.
SOFTMAX = {"MUFU.EX2": 60.0, "MUFU.RCP": 40.0, "FFMA": 900.0}
SPECIAL = (
    Case("special-function-bound", "exponentials", kernel({XU: 95.0}, opcodes_full=SOFTMAX), "high",
         "60 % of it with exponentials", "high"),
    Case("special-function-bound", "functions not known", kernel({XU: 95.0}), confidence="medium"),
    Case("special-function-bound", "60 %", kernel({XU: 60.0})),
    Case("special-function-bound", "59.9 %", kernel({XU: 59.9}), SILENT),
    Case("special-function-bound", "a tenth below the issue rate", kernel({XU: 72.1, ISSUE: 80.0})),
    Case("special-function-bound", "further below", kernel({XU: 71.9, ISSUE: 80.0}), SILENT),
)  # fmt: skip

# Integers.
INDICES = {"IMAD": 30.0, "IADD3": 20.0, "ISETP": 1.0, "FADD": 49.0}
PLAIN = {"IMAD": 30.0, "IADD3": 20.0, "ISETP.NE.AND": 1.0, "FADD": 49.0}
# A share of the instructions; each divisor has an IMAD.HI of its own.
DIVISION = {"IMAD.HI.U32": 3.0, "I2F.U32.RP": 1.0, "F2I.FTZ.U32.TRUNC.NTZ": 1.0, "MUFU.RCP": 1.0}
FEWER = DIVISION | {"FADD": 122.0}
RANDOM = {"IMAD.HI.U32": 6.0, "I2FP.F32.U32": 8.0}


def integers(
    pct: float = 80.0, opcodes: Mapping[str, float] = INDICES, full: Mapping[str, float] = PLAIN
) -> Kernel:
    return kernel({ALU: pct}, opcodes=opcodes, opcodes_full=full)


INTEGER = (
    Case("integer-bound", "indices", integers(), "low", "51 % of the instructions", "low"),
    Case("integer-bound", "divisions", integers(full=PLAIN | DIVISION), "medium", "divisions", "high"),
    Case("integer-bound", "fewer divisions", integers(full=PLAIN | FEWER), "low"),
    Case("integer-bound", "random numbers", integers(full=PLAIN | RANDOM), "low"),
    Case("integer-bound", "half of the instructions",
         integers(opcodes={"IMAD": 50.0, "FADD": 50.0}), SILENT),
    Case("integer-bound", "the issue slots are full of divisions",
         kernel({ISSUE: 90.0, ALU: 80.0}, opcodes=INDICES, opcodes_full=PLAIN | DIVISION), "medium",
         "the issue slots are 90 % busy"),
    Case("integer-bound", "the issue slots are full of indices",
         kernel({ISSUE: 90.0, ALU: 80.0}, opcodes=INDICES, opcodes_full=PLAIN), SILENT),
    Case("integer-bound", "60 % busy", integers(60.0)),
    Case("integer-bound", "59.9 % busy", integers(59.9), SILENT),
    Case("integer-bound", "instructions not known", integers(opcodes={}, full={}), SILENT),
    Case("integer-bound", "memory is the limit",
         kernel({ALU: 70.0, DRAM: 80.0}, opcodes=INDICES, opcodes_full=PLAIN), SILENT),
)  # fmt: skip


# Multiply-add.
def apart(
    fp32: tuple[float, float, float], units: Mapping[str, float] | None = None, **others: float
) -> Kernel:
    threads = {"FADD": fp32[0], "FMUL": fp32[1], "FFMA": fp32[2], **others}
    busy = {FMA: 90.0} if units is None else units
    return kernel(busy, counted(fp32=fp32), opcodes={"FFMA": 1.0}, thread_opcodes=threads)


DOUBLES_APART = kernel({FP64: 90.0}, counted(fp64=(5e8, 5e8, 0.0)))
HALVES_APART = kernel(
    {FMA: 90.0}, counted(fp16=(5e8, 5e8, 0.0)), opcodes={"HADD2": 1.0}, opcodes_full={"HADD2": 1.0}
)
UNFUSED = (
    Case("unfused-multiply-add", "none is fused", apart((5e8, 5e8, 0.0)), "high",
         "100 % of the FP32 instructions could be half", "medium"),
    Case("unfused-multiply-add", "doubles", DOUBLES_APART, says="FP64"),
    Case("unfused-multiply-add", "halves", HALVES_APART, says="FP16"),
    # Of 1e9 instructions 2e8 become 1e8.
    Case("unfused-multiply-add", "a tenth", apart((1e8, 1e8, 8e8)), says=": 20 % of the FP32"),
    # 4e8 additions and 2e8 products among 8e8: the two additions too many stay.
    Case("unfused-multiply-add", "more additions than products", apart((4e8, 2e8, 2e8)),
         says=": 50 % of the FP32", holds="25 % of the FP32 instructions would go"),
    Case("unfused-multiply-add", "less than a tenth", apart((0.99e8, 1e8, 8.01e8)), SILENT),
    Case("unfused-multiply-add", "additions alone", apart((1e9, 0.0, 1e8)), SILENT),
    Case("unfused-multiply-add", "multiplications alone", apart((0.0, 1e9, 1e8)), SILENT),
    Case("unfused-multiply-add", "the issue rate is the limit, half is arithmetic",
         apart((5e8, 5e8, 0.0), {ISSUE: 90.0}, IMAD=1e9)),
    Case("unfused-multiply-add", "and less is",
         apart((5e8, 5e8, 0.0), {ISSUE: 90.0}, IMAD=1.01e9), SILENT),
    Case("unfused-multiply-add", "memory is the limit",
         apart((5e8, 5e8, 0.0), {DRAM: 90.0}), SILENT),
    Case("unfused-multiply-add", "nothing is busy", apart((5e8, 5e8, 0.0), {FMA: 59.0}), SILENT),
)  # fmt: skip


# Halves.
ONE = "HFMA2 R0, R2.H0_H0, R3.H0_H0, R4.H1_H1"
TWO = "HFMA2 R0, R2, R3, R4"
CONSTANT = "HFMA2 R5, -RZ, RZ, 0, 0"


def halves(
    *texts: str, units: Mapping[str, float] | None = None, loads: Mapping[str, float] | None = None
) -> Kernel:
    return kernel(
        {FMA: 90.0} if units is None else units,
        counted(fp16=(0.0, 0.0, 1e9)),
        opcodes={"HFMA2": 90.0, "FFMA": 10.0},
        opcodes_full={"HFMA2": 90.0, "FFMA": 10.0, **(loads or {})},
        thread_opcodes={"HFMA2": 1e9, "IADD3": 1e9},
        instructions=tuple(row(text, 16 * place) for place, text in enumerate(texts)),
    )


def on(major: float, item: Kernel) -> Kernel:
    """Return the kernel on another generation."""
    major_of = {"device__attribute_compute_capability_major": major}
    return replace(item, metrics={**item.metrics, **major_of})


WIDE_LOADS = {"LDG.E.U16.CONSTANT": 49.0, "LDG.E": 51.0}
UNPACKED = (
    Case("unpacked-half", "one value each", halves(ONE), "high", "100 % of its instr", "high"),
    Case("unpacked-half", "the tensor pipe would help", on(9.0, halves(ONE)), "high"),
    Case("unpacked-half", "half of them", halves(ONE, TWO, CONSTANT)),
    Case("unpacked-half", "a third of them", halves(ONE, TWO, TWO), SILENT),
    Case("unpacked-half", "two values each", halves(TWO), SILENT),
    Case("unpacked-half", "a broadcast operand", halves("HFMA2 R0, R2.H0_H0, R3, R4"), SILENT),
    Case("unpacked-half", "constants and conversions",
         halves(CONSTANT, "HADD2.F32 R1, -RZ, R2.H0_H0"), SILENT),
    Case("unpacked-half", "loads of 16 bits", halves(loads={"LDG.E.U16.CONSTANT": 50.0, "LDG.E": 50.0}),
         confidence="medium"),
    Case("unpacked-half", "wider loads", halves(loads=WIDE_LOADS), SILENT),
    Case("unpacked-half", "neither is known", halves(), SILENT),
    Case("unpacked-half", "text before loads", halves(TWO, loads={"LDG.E.U16": 90.0}), SILENT),
    Case("unpacked-half", "issue slots", halves(ONE, units={ISSUE: 90.0})),
    Case("unpacked-half", "memory is the limit", halves(ONE, units={DRAM: 90.0}), SILENT),
    Case("unpacked-half", "nothing is busy", halves(ONE, units={FMA: 59.0}), SILENT),
)  # fmt: skip

# Tensor cores.
ROOFS = PEAKS | {
    "sm__ops_path_tensor_op_hgmma_src_tf32_dst_fp32_sparsity_off.sum.peak_sustained": 270336.0,
    "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum.peak_sustained": 540672.0,
    "sm__ops_path_tensor_src_fp64.sum.peak_sustained": 33792.0,
}
FUSED = 2.5e10


def product(
    fed: float = 0.25,
    rest: float = 0.0,
    units: Mapping[str, float] | None = None,
    roofs: Mapping[str, float] = ROOFS,
    **fields: Mapping[str, float],
) -> Kernel:
    """Make a product of matrices; ``fed`` is wavefronts per multiply-add of a warp."""
    metrics = {**roofs, **counted(fp32=(rest, 0.0, FUSED)), WAVEFRONTS: fed * FUSED / 32.0}
    opcodes = fields.pop("opcodes", {"FFMA": 1.0})
    return kernel({FMA: 90.0} if units is None else units, metrics, opcodes=opcodes)


def of_factors(own: float, *texts: str) -> Kernel:
    """Make a product in which this share of the multiply-adds has two factors of its own."""
    rows = [("FFMA R7, R66, R88.reuse, R8", own), *((text, (1.0 - own)) for text in texts)]
    listed = tuple(
        replace(row(text, 16 * place), values={"inst_executed": 1000.0 * times})
        for place, (text, times) in enumerate(rows)
    )
    return replace(product(), instructions=listed)


def in_doubles() -> Kernel:
    metrics = {**ROOFS, **counted(fp64=(0.0, 0.0, FUSED)), WAVEFRONTS: 0.25 * FUSED / 32.0}
    return kernel({FP64: 90.0}, metrics, opcodes={"DFMA": 1.0})


NUMBER = "FFMA R3, R5, 0.9375, R0"
POLYNOMIAL = "FFMA R3, R3, -R5, R0"
CONSTANTS = "FFMA R3, R5, c[0x3][0x10], R0"
TURING = {name: value for name, value in ROOFS.items() if "tf32" not in name}
UNUSED = (
    Case("tensor-cores-unused", "a product in FP32", product(), "high", "TF32 tensor path is 8.0"),
    Case("tensor-cores-unused", "nothing else is busy", product(), lacks="The gain ends"),
    Case("tensor-cores-unused", "tiles are next", product(units={FMA: 90.0, L1: 63.0}),
         holds="The gain ends before that: l1tex__data_pipe_lsu_wavefronts is next at 63 %"),
    Case("tensor-cores-unused", "a product in FP64", in_doubles(), says="FP64 tensor path is 2.0"),
    Case("tensor-cores-unused", "three quarters multiply two values", of_factors(0.75, NUMBER)),
    Case("tensor-cores-unused", "fewer do", of_factors(0.749, NUMBER), SILENT),
    Case("tensor-cores-unused", "the sum is multiplied", of_factors(0.7, POLYNOMIAL), SILENT),
    Case("tensor-cores-unused", "constants are multiplied", of_factors(0.7, CONSTANTS), SILENT),
    Case("tensor-cores-unused", "registers only", product(fed=0.019), SILENT),
    Case("tensor-cores-unused", "hardly fed", product(fed=0.021)),
    Case("tensor-cores-unused", "one operand each", product(fed=4.0)),
    Case("tensor-cores-unused", "no tile", product(fed=4.1), SILENT),
    Case("tensor-cores-unused", "a tenth is additions", product(rest=FUSED / 9.01)),
    Case("tensor-cores-unused", "more additions", product(rest=FUSED / 8.9), SILENT),
    Case("tensor-cores-unused", "they are used",
         product(opcodes={"FFMA": 1.0, "HMMA": 1.0}), SILENT),
    Case("tensor-cores-unused", "the pipe ran, opcodes not known",
         product(units={FMA: 90.0, TENSOR: 1.0}, opcodes={}), SILENT),
    Case("tensor-cores-unused", "the pipe was idle, opcodes not known",
         product(units={FMA: 90.0, TENSOR: 0.9}, opcodes={})),
    Case("tensor-cores-unused", "no path for the type", product(roofs=TURING), SILENT),
    Case("tensor-cores-unused", "shared memory is the limit",
         product(units={FMA: 80.0, L1: 95.0}), SILENT),
    Case("tensor-cores-unused", "60 % busy", product(units={FMA: 60.0})),
    Case("tensor-cores-unused", "59 % busy", product(units={FMA: 59.0}), SILENT),
)  # fmt: skip


def waiting(
    pct: float = 30.0,
    fp32: float = 0.0,
    stalls: Mapping[str, float] | None = None,
    grid: Mapping[str, float] = FULL_GRID,
    dram: float = 5.0,
) -> Kernel:
    """Make a kernel of 1,000 matrix instructions of 4,096 operations."""
    why = sampled(long_scoreboard=800.0, barrier=200.0) if stalls is None else stalls
    return kernel(
        {TENSOR: pct, DRAM: dram},
        {**PEAKS, **counted(fp32=(fp32, 0.0, 0.0)), **why, **grid},
        opcodes={"HMMA": 1000.0},
        opcodes_full={"HMMA.16816.F32": 1000.0},
    )


UNDERUSED = (
    Case("tensor-pipe-underused", "waits for operands", waiting(), "high",
         "80 % of stalled time is long scoreboard", "high"),
    Case("tensor-pipe-underused", "49.9 %", waiting(49.9)),
    Case("tensor-pipe-underused", "50 %", waiting(50.0), SILENT),
    Case("tensor-pipe-underused", "the reason is not known", waiting(stalls={}),
         confidence="medium"),
    Case("tensor-pipe-underused", "a fifth of the stalls",
         waiting(stalls=sampled(drain=800.0, wait=200.0)), says="20 % of stalled time is wait"),
    Case("tensor-pipe-underused", "less than a fifth",
         waiting(stalls=sampled(drain=801.0, wait=199.0)), confidence="medium"),
    Case("tensor-pipe-underused", "a fifth of it is other work", waiting(fp32=1.0e6)),
    Case("tensor-pipe-underused", "more is", waiting(fp32=1.1e6), SILENT),
    Case("tensor-pipe-underused", "memory is the limit", waiting(dram=60.0), SILENT),
    Case("tensor-pipe-underused", "memory is not", waiting(dram=59.0)),
    Case("tensor-pipe-underused", "a small grid",
         waiting(grid={"launch__grid_size": 8.0, "launch__sm_count": 132.0}), SILENT),
    Case("tensor-pipe-underused", "no matrix instructions",
         kernel({TENSOR: 30.0}, counted(), opcodes={"HFMA2": 1.0}), SILENT),
)  # fmt: skip
CASES = (*SPECIAL, *INTEGER, *UNFUSED, *UNPACKED, *UNUSED, *UNDERUSED)
