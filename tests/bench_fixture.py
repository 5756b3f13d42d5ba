"""A made-up bench of three variants on two shapes, in which one variant is wrong."""

from __future__ import annotations

from kprof.bench.result import (
    Bench,
    BenchDevice,
    Check,
    Comparison,
    Conditions,
    ShapeResult,
    Timing,
    UnitChecks,
    UnitResult,
    Why,
)

DEVICE = BenchDevice("cuda", "NVIDIA H200", "9.0", "13.0", 132, 1.98e9, 62_914_560, 4.9e12)
HOSTILE = "<script>x</script>\x1b[31m"


def timing(seconds: float, comparison: Comparison | None = None) -> Timing:
    return Timing(
        method="events",
        cold=True,
        runs=100,
        min_s=0.97 * seconds,
        p50_s=seconds,
        p95_s=1.04 * seconds,
        spread=0.008,
        bytes_per_s=8e6 / seconds,
        flops_per_s=2e7 / seconds,
        roof="dram",
        roof_pct=100 * 8e6 / 4.9e12 / seconds,
        copy_pct=100 * 3e-6 / seconds,
        comparison=comparison,
    )


WHY = Why(
    kernels=("void tiled_kernel<float, 3>(const float*)", "void other(float*)"),
    kernel="void tiled_kernel<float, 3>(const float*)",
    duration_s=1.1e-5,
    memory_pct=75.0,
    compute_pct=30.0,
    occupancy_pct=61.0,
    wavefront_excess_pct=12.0,
    intensity=1.7,
    bound="dram",
    finding="dram-bandwidth-bound",
    headline="DRAM is busy for 75 % of the time",
)
FASTER = Comparison("naive", 2.0, 1.98, 2.02, 0.012, "faster")
EQUAL = Comparison("naive", 1.001, 0.999, 1.004, 0.012, "equal")


def shape(name: str) -> ShapeResult:
    return ShapeResult(
        shape=name,
        units=(
            UnitResult("naive", "naive", {}, "ok", timing=timing(2.2e-5)),
            UnitResult("tiled[block=64]", "tiled", {"block": 64}, "ok", timing=timing(1.1e-5, FASTER), why=WHY),
            UnitResult("twin", "twin", {}, "ok", timing=timing(2.2e-5, EQUAL)),
            UnitResult("bad", "bad", {}, "wrong", f"1 of 4 elements are wrong {HOSTILE}"),
        ),
        bytes=8e6,
        flops=2e7,
        precision="fp32",
        copy_s=3e-6,
        noise=0.012,
    )  # fmt: skip


BENCH = Bench(
    target="depthwise-conv",
    python="3.12.3",
    torch="2.11.0",
    device=DEVICE,
    conditions=Conditions(10, 100, "cold", 7, None, "naive"),
    checks=(
        UnitChecks("naive", (Check("1x1", "ok", None, 1e-4, 0.0, 1.5e-7),)),
        UnitChecks("bad", (Check("1x1", "wrong", "1 of 4 elements are wrong", 1e-4),)),
    ),
    shapes=(shape("1x64"), shape("8x64")),
    notes=("ncu got no further.",),
)
