"""Executed arithmetic by precision, and the peaks of the pipes."""

from __future__ import annotations

import re

from kprof.metrics import opcodes
from kprof.metrics.execution import NS
from kprof.quantity import Quantity, Way, plain


def _thread_instructions(operation: str) -> Quantity:
    counter = f"smsp__sass_thread_inst_executed_op_{operation}_pred_on.sum"
    mix = Way((opcodes.by_opcode(operation),), float, asked=(opcodes.THREAD_OPCODES,))
    exact = Way((counter,), float)
    rate = Way(
        (
            counter + ".per_cycle_elapsed",
            "smsp__cycles_elapsed.avg.per_second",
            "gpu__time_duration.sum",
        ),
        lambda per_cycle, hertz, ns: per_cycle * hertz * ns * NS,
    )
    rate_sm = Way(
        (
            counter + ".per_cycle_elapsed",
            "sm__cycles_elapsed.avg.per_second",
            "gpu__time_duration.sum",
        ),
        lambda per_cycle, hertz, ns: per_cycle * hertz * ns * NS,
    )
    meaning = f"{operation.upper()} thread instructions executed, predicated-on threads only"
    return Quantity(f"{operation}_instructions", meaning, "inst", (mix, exact, rate, rate_sm))


FADD, FMUL, FFMA = (_thread_instructions(op) for op in ("fadd", "fmul", "ffma"))
DADD, DMUL, DFMA = (_thread_instructions(op) for op in ("dadd", "dmul", "dfma"))
HADD, HMUL, HFMA = (_thread_instructions(op) for op in ("hadd", "hmul", "hfma"))
FP32_INSTRUCTIONS = (FADD, FMUL, FFMA)
FP64_INSTRUCTIONS = (DADD, DMUL, DFMA)
FP16_INSTRUCTIONS = (HADD, HMUL, HFMA)


def _peak(operation: str, label: str) -> Quantity:
    metric = f"sm__sass_thread_inst_executed_op_{operation}_pred_on.sum.peak_sustained"
    return plain(f"{operation}_peak", metric, f"{label} thread instructions at peak", "inst/cycle")


FFMA_PEAK = _peak("ffma", "FP32 multiply-add")
DFMA_PEAK = _peak("dfma", "FP64 multiply-add")
HFMA_PEAK = _peak("hfma", "FP16 multiply-add")

TENSOR_OPS = re.compile(r"sm__ops_path_tensor_(?P<path>.+)\.sum(?P<peak>\.peak_sustained)?$")
