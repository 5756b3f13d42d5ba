"""Pure roofline arithmetic: traffic, operations, ceilings and the roof that binds.

Williams, Waterman, Patterson, "Roofline" (CACM 2009), hierarchical as in NERSC's and NVIDIA's
charts. Ceilings are built from the peaks and clocks in the report, never from a datasheet:
ncu may lock the clock, and the ridge moves with it.
"""

from __future__ import annotations

from dataclasses import replace

from kprof import metrics as m
from kprof import tensor
from kprof.model import Flops, Kernel, Levels, Roofline
from kprof.quantity import Quantity

L2_BYTES_PER_CYCLE = 32.0
L1_BYTES_PER_CYCLE = 128.0
FLOP_PER_FMA = 2.0
# A packed half instruction works on two values: 2 FLOP for add and multiply, 4 for FMA
# (ncu 2025.3 and the published H100 figure of 133.8 TFLOP/s agree).
HALVES = 2.0
# A kernel that computes in halves has a larger share of HFMA2 than that. kprof's own, unsourced.
FEW_HALVES = 0.05


def roofline(kernel: Kernel) -> Roofline:
    """Place a kernel on the roofline; every part that the report cannot give is None."""
    work, traffic, roofs = _arithmetic(kernel, flops(kernel)), levels(kernel), ceilings(kernel)
    # A product on the tensor cores that nobody counted would make the total a fiction.
    total = total_flops(work) if tensor.is_known(kernel) else None
    binding = _binding(kernel, work, traffic, roofs)
    rate = total / kernel.duration_s if total is not None and kernel.duration_s else None
    roof_pct = roof_rate = None
    if binding is not None and kernel.duration_s:
        roof_pct = 100.0 * binding[1] / kernel.duration_s
        roof_rate = total / binding[1] if total else None
    return Roofline(
        flops=work,
        bytes=traffic,
        intensity=Levels(
            *(_ratio(total, getattr(traffic, level)) for level in ("dram", "l2", "l1"))
        ),
        flops_per_s=rate,
        roof_flops_per_s=roof_rate,
        roof_pct=roof_pct,
        roof=binding[0] if binding else None,
        ceilings=roofs,
    )


def levels(kernel: Kernel) -> Levels:
    """Return bytes moved at each level (definitions: docs/metrics.md)."""
    return Levels(
        dram=m.DRAM_BYTES.read(kernel.metrics),
        l2=m.L2_BYTES.read(kernel.metrics),
        l1=m.L1_BYTES.read(kernel.metrics),
    )


def flops(kernel: Kernel) -> Flops:
    """Return operations of the launch by precision: adds and multiplies 1, FMA 2."""
    half = _weighted(kernel, m.FP16_INSTRUCTIONS)
    return Flops(
        fp64=_weighted(kernel, m.FP64_INSTRUCTIONS),
        fp32=_weighted(kernel, m.FP32_INSTRUCTIONS),
        fp16=None if half is None else HALVES * half,
        tensor=tensor.operations(kernel),
    )


def halves_are_constants(kernel: Kernel) -> bool:
    """Say whether the counted FP16 work is constants being loaded, not arithmetic.

    Compilers write ``HFMA2 R, -RZ, RZ, 0, 0`` to set a register, and the counters take it for a
    fused multiply-add. A kernel that computes in halves also adds or multiplies, or has many.
    """
    add, multiply, fused = (quantity.read(kernel.metrics) for quantity in m.FP16_INSTRUCTIONS)
    total = sum(kernel.opcodes.values())
    if not fused or add != 0.0 or multiply != 0.0 or not total:
        return False
    return kernel.opcodes.get("HFMA2", 0.0) <= FEW_HALVES * total


def _arithmetic(kernel: Kernel, work: Flops) -> Flops:
    return replace(work, fp16=0.0) if halves_are_constants(kernel) else work


def total_flops(work: Flops) -> float | None:
    """Return all operations together, None when no precision was counted."""
    known = [part for part in (work.fp64, work.fp32, work.fp16) if part is not None]
    if not known and not work.tensor:
        return None
    return sum(known) + sum(work.tensor.values())


def ceilings(kernel: Kernel) -> dict[str, float]:
    """Return roofs at this kernel's clocks: byte/s for memory levels, FLOP/s (OP/s) for pipes."""
    clock = m.SM_CLOCK.read(kernel.metrics)
    found = {
        "dram": _dram_ceiling(kernel),
        "l2": _product(m.L2_PEAK, m.L2_CLOCK, kernel, L2_BYTES_PER_CYCLE),
        "l1": _product(m.L1_PEAK, m.SM_CLOCK, kernel, L1_BYTES_PER_CYCLE),
        "fp64": _product(m.DFMA_PEAK, m.SM_CLOCK, kernel, FLOP_PER_FMA),
        "fp32": _product(m.FFMA_PEAK, m.SM_CLOCK, kernel, FLOP_PER_FMA),
        "fp16": _product(m.HFMA_PEAK, m.SM_CLOCK, kernel, FLOP_PER_FMA * HALVES),
    }
    if clock:
        found |= {f"tensor_{kind}": peak * clock for kind, peak in tensor.peaks(kernel).items()}
    return {name: value for name, value in found.items() if value is not None and value > 0.0}


def _binding(
    kernel: Kernel, work: Flops, traffic: Levels, roofs: dict[str, float]
) -> tuple[str, float] | None:
    """Return the roof that needs most time for this kernel's work, and that time in seconds.

    The kernel cannot finish before its slowest unit: the time at each roof is work over roof, and
    the largest is the bound, also for kernels that mix precisions.
    """
    times = {
        name: amount / roofs[roof]
        for name, roof, amount in _amounts(kernel, work, traffic)
        if amount and roof in roofs
    }
    if not times:
        return None
    name = max(times, key=lambda key: (times[key], key))
    return name, times[name]


def _amounts(kernel: Kernel, work: Flops, traffic: Levels) -> list[tuple[str, str, float | None]]:
    rows: list[tuple[str, str, float | None]] = [
        (level, level, getattr(traffic, level)) for level in ("dram", "l2", "l1")
    ]
    rows += [(kind, kind, getattr(work, kind)) for kind in ("fp64", "fp32", "fp16")]
    for kind, amount in work.tensor.items():
        path = tensor.path_peak(kernel, kind)
        name = f"tensor_{path[0] if path else kind}"
        rows.append((name, name, amount))
    return rows


def _weighted(kernel: Kernel, instructions: tuple[Quantity, Quantity, Quantity]) -> float | None:
    add, multiply, fused = (quantity.read(kernel.metrics) for quantity in instructions)
    if add is None or multiply is None or fused is None:
        return None
    return add + multiply + FLOP_PER_FMA * fused


def _dram_ceiling(kernel: Kernel) -> float | None:
    measured = _product(m.DRAM_PEAK, m.DRAM_CLOCK, kernel, 1.0)
    if measured is not None:
        return measured
    # ``--set basic`` has no peak: two transfers per memory clock over the bus (attributes in kHz
    # and bits). Chips without DRAM counters share their memory with a CPU: no roof from this.
    if m.DRAM_PCT.read(kernel.metrics) is None and m.DRAM_BYTES.read(kernel.metrics) is None:
        return None
    khz = kernel.metrics.get("device__attribute_memory_clock_rate")
    bits = kernel.metrics.get("device__attribute_global_memory_bus_width")
    if not khz or not bits:
        return None
    return 2.0 * khz * 1e3 * bits / 8.0


def _product(peak: Quantity, clock: Quantity, kernel: Kernel, scale: float) -> float | None:
    per_cycle, hertz = peak.read(kernel.metrics), clock.read(kernel.metrics)
    if per_cycle is None or hertz is None:
        return None
    return per_cycle * hertz * scale


def _ratio(work: float | None, traffic: float | None) -> float | None:
    return work / traffic if work is not None and traffic else None
