from __future__ import annotations

import pytest

from kprof.roofline import ceilings, flops, levels, roofline, total_flops
from tests.kernels import CLOCK, PEAKS, TENSOR, counted, kernel

DRAM_BYTES = {"dram__bytes.sum": 1e9}
TENSOR_PEAK = "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum.peak_sustained"
WARP_PEAK = "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32_sparsity_off.sum.peak_sustained"


def test_a_fused_operation_counts_twice_and_a_packed_one_works_on_two() -> None:
    metrics = counted(fp32=(1.0, 2.0, 4.0), fp64=(8.0, 16.0, 32.0), fp16=(1.0, 1.0, 1.0))
    work = flops(kernel(metrics=metrics))
    assert (work.fp32, work.fp64, work.fp16) == (11.0, 88.0, 8.0)
    assert total_flops(work) == 107.0


def test_a_precision_with_a_part_missing_is_unknown() -> None:
    partial = counted(fp64=None, fp16=None)
    del partial["smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"]
    work = flops(kernel(metrics=partial))
    assert (work.fp32, work.fp64, work.fp16) == (None, None, None)
    assert total_flops(work) is None


def test_counted_nothing_is_zero_not_unknown() -> None:
    work = flops(kernel(metrics=counted()))
    assert total_flops(work) == 0.0


def test_ceilings_come_from_peaks_and_clocks() -> None:
    roofs = ceilings(kernel(metrics=PEAKS | {TENSOR_PEAK: 540672.0, WARP_PEAK: 360448.0}))
    assert roofs == pytest.approx(
        {
            "dram": 1504 * 3.2e9,
            "l2": 188 * 32 * 1.7e9,
            "l1": 132 * 128 * CLOCK,
            "fp64": 2 * 8448 * CLOCK,
            "fp32": 2 * 16896 * CLOCK,
            "fp16": 4 * 16896 * CLOCK,
            "tensor_fp16": 540672 * CLOCK,
            "tensor_fp16_mma": 360448 * CLOCK,
        }
    )


def test_roofs_move_with_the_clock() -> None:
    slow = ceilings(kernel(metrics=PEAKS | {"sm__cycles_elapsed.avg.per_second": CLOCK / 2}))
    assert slow["fp32"] == pytest.approx(ceilings(kernel(metrics=PEAKS))["fp32"] / 2)


def test_without_clocks_there_are_no_roofs() -> None:
    peaks = {name: value for name, value in PEAKS.items() if not name.endswith("per_second")}
    assert ceilings(kernel(metrics=peaks | {TENSOR_PEAK: 1.0})) == {}
    assert ceilings(kernel()) == {}


BUS = {
    "device__attribute_memory_clock_rate": 3.201e6,
    "device__attribute_global_memory_bus_width": 6016.0,
}


def test_the_memory_roof_falls_back_on_clock_and_bus() -> None:
    assert ceilings(kernel(metrics=BUS))["dram"] == pytest.approx(2 * 3.201e9 * 6016 / 8)
    assert ceilings(kernel(measured={}, metrics=BUS | DRAM_BYTES))["dram"] > 0.0


def test_the_measured_memory_peak_is_preferred() -> None:
    assert ceilings(kernel(metrics=BUS | PEAKS))["dram"] == pytest.approx(1504 * 3.2e9)


@pytest.mark.parametrize("lost", list(BUS))
def test_half_the_attributes_give_no_roof(lost: str) -> None:
    assert "dram" not in ceilings(kernel(metrics={k: v for k, v in BUS.items() if k != lost}))
    assert "dram" not in ceilings(kernel(metrics=BUS | {lost: 0.0}))


def test_memory_shared_with_a_cpu_has_no_roof() -> None:
    """Chips without counters of device memory: the bus is not the GPU's alone."""
    assert "dram" not in ceilings(kernel(measured={}, metrics=BUS))


def test_bytes_by_level() -> None:
    traffic = {
        "dram__bytes.sum": 640.0,
        "lts__lts2xbar_cycles_active.sum": 30.0,
        "l1tex__lsu_writeback_active_mem_lgds.sum": 5.0,
    }
    found = levels(kernel(metrics=traffic))
    assert (found.dram, found.l2, found.l1) == (640.0, 960.0, 640.0)
    nothing = levels(kernel())
    assert (nothing.dram, nothing.l2, nothing.l1) == (None, None, None)


def test_a_kernel_under_the_memory_roof() -> None:
    work = counted(fp32=(1e9, 0.0, 0.0))
    place = roofline(kernel(metrics=PEAKS | DRAM_BYTES | work, duration_s=1e-3))
    assert place.roof == "dram"
    assert place.roof_pct == pytest.approx(100 * 1e12 / (1504 * 3.2e9))
    assert place.intensity.dram == pytest.approx(1.0)
    assert place.flops_per_s == pytest.approx(1e12)
    assert place.roof_flops_per_s == pytest.approx(1504 * 3.2e9)
    assert place.intensity.l2 is None


def test_a_kernel_under_the_arithmetic_roof() -> None:
    work = counted(fp32=(0.0, 0.0, 1e10))
    place = roofline(kernel(metrics=PEAKS | DRAM_BYTES | work))
    assert place.roof == "fp32"
    assert place.roof_flops_per_s == pytest.approx(2 * 16896 * CLOCK)
    assert place.roof_pct == pytest.approx(100 * 2e13 / (2 * 16896 * CLOCK))


def test_mixed_precision_is_bound_by_the_pipe_that_takes_longest() -> None:
    """Half as many FP64 operations on half the rate tie; a few more make FP64 the roof."""
    work = counted(fp32=(0.0, 0.0, 1e10), fp64=(0.0, 0.0, 0.51e10))
    assert roofline(kernel(metrics=PEAKS | work)).roof == "fp64"


@pytest.mark.parametrize(
    ("opcode", "roof"),
    [("HGMMA.64x128x16.F32", "tensor_fp16"), ("HMMA.16816.F32", "tensor_fp16_mma")],
)
def test_the_tensor_roof_is_that_of_the_path(opcode: str, roof: str) -> None:
    peaks = PEAKS | {TENSOR_PEAK: 540672.0, WARP_PEAK: 360448.0}
    assert roofline(kernel(metrics=peaks, opcodes_full={opcode: 1e6})).roof == roof


def test_a_copy_has_a_roof_but_no_arithmetic_rate() -> None:
    place = roofline(kernel(metrics=PEAKS | DRAM_BYTES | counted()))
    assert place.roof == "dram"
    assert place.roof_pct is not None
    assert place.flops_per_s == 0.0
    assert place.intensity.dram == 0.0
    assert place.roof_flops_per_s is None


def test_without_a_duration_there_are_no_rates() -> None:
    place = roofline(kernel(metrics=PEAKS | DRAM_BYTES | counted(), duration_s=None))
    assert (place.flops_per_s, place.roof_pct, place.roof_flops_per_s) == (None, None, None)
    assert place.intensity.dram == 0.0


def test_without_arithmetic_counters_there_is_no_intensity() -> None:
    place = roofline(kernel(metrics=PEAKS | DRAM_BYTES))
    assert place.flops_per_s is None
    assert place.intensity.dram is None
    assert place.roof == "dram"


def test_no_bytes_is_no_intensity_rather_than_infinite() -> None:
    idle = {"dram__bytes.sum": 0.0}
    place = roofline(kernel(metrics=PEAKS | idle | counted(fp32=(1.0, 0.0, 0.0))))
    assert place.bytes.dram == 0.0
    assert place.intensity.dram is None


def test_nothing_measured_has_no_place() -> None:
    place = roofline(kernel(measured={}, duration_s=None))
    assert (place.roof, place.roof_pct, place.flops_per_s) == (None, None, None)
    assert place.ceilings == {}


def test_uncounted_tensor_operations_leave_the_total_unknown() -> None:
    """The tensor pipe ran, nothing says how much: FP32 alone would be a fiction."""
    place = roofline(kernel({TENSOR: 40.0}, PEAKS | DRAM_BYTES | counted(fp32=(1e6, 0.0, 1e6))))
    assert place.flops.fp32 == 3e6
    assert (place.flops_per_s, place.intensity.dram) == (None, None)


def test_constants_loaded_as_halves_are_no_arithmetic() -> None:
    metrics = PEAKS | DRAM_BYTES | counted(fp16=(0.0, 0.0, 1e6))
    moved = roofline(kernel(metrics=metrics, opcodes={"HFMA2": 1.0, "STG": 99.0}))
    assert moved.flops.fp16 == 0.0
    assert moved.flops_per_s == 0.0
    computed = roofline(kernel(metrics=metrics, opcodes={"HFMA2": 50.0, "STG": 50.0}))
    assert computed.flops_per_s == 4e9
