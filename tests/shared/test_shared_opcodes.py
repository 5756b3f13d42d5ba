"""The opcode mix against the counters, in reports of other programs, GPUs and ncu versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from kprof import metrics as m
from kprof import reader
from kprof.metrics import opcodes
from kprof.model import Kernel
from kprof.quantity import Quantity

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "reports"
KINDS = (*m.FP32_INSTRUCTIONS, *m.FP64_INSTRUCTIONS, *m.FP16_INSTRUCTIONS)
# How many kernels, and how many of their counters are not zero.
REPORTS = {
    "h200/torch_a": (75, 118),
    "public/a100-sxm4-40gb-1fb29598": (4, 4),
    "public/h100-pcie-1480021e": (4, 16),
    "public/rtx-5070-ti-bd4e22a6": (6, 7),
    "public/gtx-1660-super-7aafec15": (2, 3),
    "public/tesla-v100-sxm2-32gb-0295a32a": (5, 9),
}
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(
        not FOLDER.is_dir(), reason="the shared reports are not beside the repository"
    ),
]


def by_counter(quantity: Quantity, kernel: Kernel) -> float | None:
    measured = {n: v for n, v in kernel.metrics.items() if not n.startswith("kprof__")}
    return quantity.read(measured)


def conversions(quantity: Quantity, kernel: Kernel) -> float:
    # The counter of half additions takes the conversion to float for one.
    return kernel.thread_opcodes.get("HADD2.F32", 0.0) if quantity is m.HADD else 0.0


@pytest.mark.parametrize("name", REPORTS)
def test_the_mix_equals_the_counters(name: str) -> None:
    kernels = reader.load(FOLDER / f"{name}.ncu-rep.xz").kernels
    compared = [
        (counter, quantity.read(kernel.metrics), conversions(quantity, kernel))
        for kernel in kernels
        for quantity in KINDS
        if (counter := by_counter(quantity, kernel)) is not None
    ]
    for counter, mix, converted in compared:
        assert mix is not None
        assert counter == pytest.approx(mix + converted)
    assert (len(kernels), sum(counter > 0.0 for counter, _, _ in compared)) == REPORTS[name]


def test_a_conversion_is_no_half_arithmetic() -> None:
    kernels = reader.load(FOLDER / "h200" / "torch_a.ncu-rep.xz").kernels
    converting = [kernel for kernel in kernels if "HADD2.F32" in kernel.thread_opcodes]
    assert len(converting) == 21
    adding = [k for k in converting if k.metrics[opcodes.by_opcode("hadd")] > 0.0]
    assert all("HADD2" in kernel.thread_opcodes for kernel in adding)
    assert len(adding) == 2
