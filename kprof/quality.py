"""Doubts about the data itself, looked for before any rule runs."""

from __future__ import annotations

from collections.abc import Callable

from kprof import metrics as m
from kprof import roofline, stalls
from kprof.limiter import covers_every_level, has_inflated_duration, utilisations
from kprof.model import Collection, Kernel, QualityNote, Roofline
from kprof.units import si

# Below this, counters of different passes need not belong together (Profiling Guide, "Range and
# Precision").
SHORT_S = 20e-6
# Percentages are not clamped by ncu; rounding alone gives up to half a point.
ABOVE_PCT = 100.5
# kprof's own: more than this over the roof is a wrong peak or a moved clock. Unsourced.
ABOVE_ROOF_PCT = 102.0
LOW_CLOCK = 0.95
NOTICEABLE = 0.01  # of the other operations
# kprof's own: two counts of the same thing that differ by more were not the same work. Shuffles
# and arbitration make the hardware count up to a few times the derived one. Unsourced.
DISAGREE = 10.0
FEW_WAVEFRONTS = 10_000.0  # too few to compare: start-up and reductions differ anyway

COLD_CACHES = "cold-caches"

Check = Callable[[Kernel, Roofline], str | None]


def quality(
    kernel: Kernel, roof: Roofline, how: Collection | None = None
) -> tuple[QualityNote, ...]:
    """Return every doubt about a kernel's data, most serious first.

    Args:
        kernel: what was measured.
        roof: its place on the roofline.
        how: the conditions it was measured under, None when not known.
    """
    found = [(name, check(kernel, roof)) for name, check in CHECKS.items()]
    found.append((COLD_CACHES, _cold_caches(kernel, how or Collection())))
    return tuple(QualityNote(name, message) for name, message in found if message is not None)


def _cold_caches(kernel: Kernel, how: Collection) -> str | None:
    # What it moves with empty caches is what it needs; where L2 holds all of that, the mode decides.
    moved = m.DRAM_BYTES.read(kernel.metrics)
    room = kernel.metrics.get("device__attribute_l2_cache_size")
    if how.cache_control != "all" or moved is None or room is None or moved > room:
        return None
    return (
        f"it moved {si(moved, 'byte')} from and to device memory with caches flushed before each pass; "
        f"L2 holds {si(room, 'byte')}, so in the program it may find its data there and be faster: "
        "kprof profile --as-in-app measures that"
    )


def _inflated(kernel: Kernel, _: Roofline) -> str | None:
    if not has_inflated_duration(kernel):
        return None
    return (
        "the busiest SM was active for less than a quarter of the duration: this is not the "
        "kernel's own time (seen when a whole CUDA graph is profiled), so no verdict is drawn"
    )


def _missing_duration(kernel: Kernel, _: Roofline) -> str | None:
    if kernel.duration_s is not None:
        return None
    reason = kernel.unusable.get("gpu__time_duration.sum")
    said = f"holds {reason} as duration" if reason else "holds no duration"
    return f"the report {said}: rates and the share of GPU time are unknown"


def _unusable(kernel: Kernel, _: Roofline) -> str | None:
    if not kernel.unusable:
        return None
    names = sorted(kernel.unusable)
    shown = ", ".join(f"{name} ({kernel.unusable[name]})" for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    count = "1 metric has" if len(names) == 1 else f"{len(names)} metrics have"
    return f"{count} no usable number, which is taken as unknown: {shown}{more}"


def _levels(kernel: Kernel, _: Roofline) -> str | None:
    if covers_every_level(kernel):
        return None
    missing = [q.name for q in m.COVERAGE if q.read(kernel.metrics) is None]
    return (
        f"not every level was measured ({', '.join(missing)} missing): the limiter may be unknown"
    )


def _other_run(kernel: Kernel, _: Roofline) -> str | None:
    if not kernel.other_run:
        return None
    return (
        f"its {' and '.join(kernel.other_run)} were measured in another run of the program, which "
        "executed the same instructions: durations and caches may differ from this one's"
    )


def _above(kernel: Kernel, roof: Roofline) -> str | None:
    over = [unit for unit in utilisations(kernel) if unit.pct > ABOVE_PCT]
    if over:
        return f"{over[0].metric} reads {over[0].pct:.1f} %, above its own peak: passes or clocks differ"
    if roof.roof_pct is not None and roof.roof_pct > ABOVE_ROOF_PCT:
        return (
            f"the kernel sits at {roof.roof_pct:.0f} % of its {roof.roof} roof: the clock moved "
            "between passes, or the peak is not this chip's; read the roofline with care"
        )
    return None


def _no_tensor_roof(_: Kernel, roof: Roofline) -> str | None:
    if not roof.flops.tensor or any(name.startswith("tensor_") for name in roof.ceilings):
        return None
    return (
        "tensor operations were counted, but the report holds no tensor peak: the roof that limits "
        "them is missing from the chart"
    )


def _hit_rates(kernel: Kernel, _: Roofline) -> str | None:
    for quantity in (m.L1_HIT, m.L2_HIT):
        value = quantity.read(kernel.metrics)
        if value is not None and value > 100.0:
            return (
                f"{quantity.name} reads {value:.2f} %: hits and look-ups were counted in different "
                "passes; shown as measured"
            )
    return None


def _disagree(kernel: Kernel, _: Roofline) -> str | None:
    hardware = m.SHARED_WAVEFRONTS_HARDWARE.read(kernel.metrics)
    sass = m.SHARED_WAVEFRONTS.read(kernel.metrics)
    if not hardware or not sass or max(hardware, sass) < FEW_WAVEFRONTS:
        return None
    if 1.0 / DISAGREE <= hardware / sass <= DISAGREE:
        return None
    return (
        f"shared-memory wavefronts differ between passes ({hardware:,.0f} counted, {sass:,.0f} "
        "derived): the kernel did not do the same work each time, or uses instructions that only "
        "one of them sees"
    )


def _short(kernel: Kernel, _: Roofline) -> str | None:
    if kernel.duration_s is None or kernel.duration_s >= SHORT_S:
        return None
    return (
        f"{kernel.duration_s * 1e6:.1f} µs is short: ratios of counters from different passes "
        "carry wide error bars, and up to 2 µs of it is launch overhead"
    )


def _clock(kernel: Kernel, _: Roofline) -> str | None:
    clock = m.SM_CLOCK.read(kernel.metrics)
    khz = kernel.metrics.get("device__attribute_max_gpu_frequency_khz") or kernel.metrics.get(
        "device__attribute_clock_rate"
    )
    if clock is None or not khz or clock >= LOW_CLOCK * khz * 1e3:
        return None
    return (
        f"the SM clock was {clock / 1e9:.2f} GHz of at most {khz / 1e6:.2f} GHz: arithmetic roofs "
        "are built from the clock that ran, memory may look faster beside them than in production"
    )


def _samples(kernel: Kernel, _: Roofline) -> str | None:
    samples = m.SAMPLES.read(kernel.metrics)
    if samples is None or samples >= stalls.MIN_SAMPLES:
        return None
    return f"too few warp samples ({samples:,.0f}) to speak of stall reasons"


def _lines(kernel: Kernel, _: Roofline) -> str | None:
    if not kernel.instructions or any(row.file for row in kernel.instructions):
        return None
    return "no line information: compile with -lineinfo to see source lines beside the SASS"


def _moves(kernel: Kernel, _: Roofline) -> str | None:
    work = roofline.flops(kernel)
    if not roofline.halves_are_constants(kernel):
        return None
    if (work.fp16 or 0.0) < NOTICEABLE * ((work.fp32 or 0.0) + (work.fp64 or 0.0)):
        return None
    return (
        "the FP16 operations are constants being loaded (HFMA2 R, -RZ, RZ, 0, 0), which the counters "
        "take for arithmetic: they are left out of the roofline"
    )


CHECKS: dict[str, Check] = {
    "inflated-duration": _inflated,
    "missing-duration": _missing_duration,
    "above-roof": _above,
    "no-tensor-roof": _no_tensor_roof,
    "unusable-metrics": _unusable,
    "incomplete-levels": _levels,
    "other-run": _other_run,
    "passes-disagree": _disagree,
    "hit-rate-above-100": _hit_rates,
    "short-kernel": _short,
    "clock-state": _clock,
    "few-samples": _samples,
    "no-line-info": _lines,
    "fp16-constants": _moves,
}
