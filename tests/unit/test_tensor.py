from __future__ import annotations

import pytest

from kprof import tensor
from kprof.metrics import elapsed
from tests.kernels import TENSOR, kernel

OPS = "sm__ops_path_tensor_{}.sum"
PEAK = OPS + ".peak_sustained"
# Peaks per cycle of an H200, as its reports hold them.
HOPPER = {
    PEAK.format("op_hgmma_src_fp16_sparsity_off"): 540672.0,
    PEAK.format("op_hgmma_src_fp16_sparsity_on"): 1081344.0,
    PEAK.format("op_hmma_src_fp16_dst_fp32_sparsity_off"): 360448.0,
    PEAK.format("op_hmma_src_fp16_dst_fp16_sparsity_off"): 360448.0,
    PEAK.format("src_fp16_dst_fp32"): 1081344.0,
    PEAK.format("op_imma_src_int8_sparsity_off"): 720896.0,
    PEAK.format("op_igmma_src_int8_sparsity_off"): 1081344.0,
    PEAK.format("src_fp8_sparsity_off"): 1081344.0,
    PEAK.format("src_fp64"): 33792.0,
}


@pytest.mark.parametrize(
    ("opcode", "count", "kind", "operations"),
    [
        # Counted by the hardware of an H200 for the same launches.
        ("HGMMA.64x128x16.F32", 393216.0, "fp16", 25769803776.0),
        ("HMMA.1688.F32.TF32", 2007040.0, "tf32", 4110417920.0),
        ("HMMA.16816.F32", 135168000.0, "fp16", 553648128000.0),
        ("HGMMA.64x128x8.F32.TF32", 100352.0, "tf32", 3288334336.0),
        # By the shape in the name.
        ("HMMA.16816.F32.BF16", 1.0, "bf16", 4096.0),
        ("HMMA.884.F32.F32.STEP0", 1.0, "fp16", 512.0),
        ("IMMA.16832.S8.S8", 1.0, "int8", 8192.0),
        ("IMMA.16864.S4.S4", 1.0, "int4", 16384.0),
        ("DMMA.884", 1.0, "fp64", 512.0),
        ("QGMMA.64x64x32.F32.E4M3.E4M3", 4.0, "fp8", 262144.0),
        ("BMMA.168256.XOR.POPC", 1.0, "int1", 65536.0),
    ],
)
def test_operations_by_shape(opcode: str, count: float, kind: str, operations: float) -> None:
    assert tensor.operations(kernel(opcodes_full={opcode: count})) == {kind: operations}


def test_types_are_kept_apart_and_added_up() -> None:
    mix = {"HMMA.16816.F32": 2.0, "HMMA.1688.F32": 4.0, "HMMA.16816.F32.BF16": 1.0, "FFMA": 99.0}
    assert tensor.operations(kernel(opcodes_full=mix)) == {"fp16": 16384.0, "bf16": 4096.0}


@pytest.mark.parametrize("opcode", ["HFMA2.MMA", "FFMA", "HMMA", "HMMA.77.F32", "LDSM.16.M88.4"])
def test_what_has_no_known_shape_is_not_counted(opcode: str) -> None:
    assert tensor.operations(kernel(opcodes_full={opcode: 5.0})) == {}


def test_an_opcode_that_never_ran_is_no_work() -> None:
    assert tensor.operations(kernel(opcodes_full={"HMMA.16816.F32": 0.0})) == {}


def test_counters_are_preferred_and_never_added_twice() -> None:
    counters = {
        OPS.format("src_fp16_dst_fp32"): 100.0,
        OPS.format("src_fp16_dst_fp32_sparsity_off"): 100.0,
        OPS.format("op_hmma_src_fp16_dst_fp32_sparsity_off"): 60.0,
        OPS.format("op_hgmma_src_fp16_sparsity_off"): 40.0,
    }
    item = kernel(metrics=counters, opcodes_full={"HMMA.16816.F32": 1.0})
    assert tensor.operations(item) == {"fp16": 100.0}


def test_counters_by_path_alone_are_added() -> None:
    counters = {
        OPS.format("op_hmma_src_fp16_dst_fp32_sparsity_off"): 60.0,
        OPS.format("op_hgmma_src_fp16_sparsity_off"): 40.0,
    }
    assert tensor.operations(kernel(metrics=counters)) == {"fp16": 100.0}


def test_counters_that_read_zero_leave_it_to_the_opcodes() -> None:
    item = kernel(metrics={OPS.format("src_fp16_dst_fp32"): 0.0}, opcodes_full={"DMMA.884": 1.0})
    assert tensor.operations(item) == {"fp64": 512.0}


@pytest.mark.parametrize(
    ("metrics", "opcodes", "known"),
    [
        ({}, {}, False),
        (HOPPER, {}, False),  # peaks say nothing about what ran
        ({OPS.format("src_fp16_dst_fp32"): 0.0}, {}, True),
        ({}, {"FFMA": 1.0}, True),
        ({elapsed(TENSOR): 0.0}, {}, True),  # the pipe never ran
        ({elapsed(TENSOR): 1.0}, {}, False),
    ],
)
def test_none_is_told_apart_from_unknown(
    metrics: dict[str, float], opcodes: dict[str, float], known: bool
) -> None:
    assert tensor.is_known(kernel(metrics=metrics, opcodes=opcodes, measured={})) is known


def test_peaks_are_dense_and_by_path() -> None:
    assert tensor.peaks(kernel(metrics=HOPPER)) == {
        "fp16": 540672.0,
        "fp16_mma": 360448.0,
        "int8": 1081344.0,
        "int8_mma": 720896.0,
        "fp8": 1081344.0,
        "fp64": 33792.0,
    }


def test_a_sparse_peak_alone_is_no_roof() -> None:
    sparse = {
        PEAK.format("op_hgmma_src_fp16_sparsity_on"): 1081344.0,
        PEAK.format("src_fp16_dst_fp32"): 1081344.0,
    }
    assert tensor.peaks(kernel(metrics=sparse)) == {}


def test_before_sparsity_every_peak_is_dense() -> None:
    """A T4's, as its reports hold them: 40,960 per cycle are the published 65 TFLOP/s."""
    turing = {
        PEAK.format("src_fp16_bf16_tf32_dst_fp32"): 40960.0,
        PEAK.format("src_fp16_dst_fp16"): 40960.0,
        PEAK.format("src_int8"): 81920.0,
    }
    major = "device__attribute_compute_capability_major"
    peaks = {"fp16": 40960.0, "int8": 81920.0}
    assert tensor.peaks(kernel(metrics=turing | {major: 7.0})) == peaks
    assert tensor.peaks(kernel(metrics=turing | {major: 8.0})) == {}
    assert tensor.peaks(kernel(metrics=turing)) == {}


def test_turing_has_one_floating_point_input() -> None:
    counted = {OPS.format("src_fp16_bf16_tf32_dst_fp32"): 5.0}
    assert tensor.operations(kernel(metrics=counted)) == {"fp16": 5.0}


def test_with_one_path_only_there_is_one_roof() -> None:
    ampere = {PEAK.format("op_hmma_src_fp16_dst_fp32_sparsity_off"): 221184.0}
    assert tensor.peaks(kernel(metrics=ampere)) == {"fp16": 221184.0}
    assert tensor.peaks(kernel()) == {}


def test_the_roof_follows_the_instructions_used() -> None:
    warp = kernel(metrics=HOPPER, opcodes_full={"HMMA.16816.F32": 1.0})
    group = kernel(metrics=HOPPER, opcodes_full={"HGMMA.64x128x16.F32": 1.0})
    assert tensor.path_peak(warp, "fp16") == ("fp16_mma", 360448.0)
    assert tensor.path_peak(group, "fp16") == ("fp16", 540672.0)
    assert tensor.path_peak(warp, "fp64") == ("fp64", 33792.0)
    assert tensor.path_peak(warp, "tf32") is None


def test_most_operations_decide_the_path_not_most_instructions() -> None:
    mix = {"HMMA.1688.F32": 3.0, "HGMMA.64x256x16.F32": 1.0}  # 6,144 against 131,072 operations
    assert not tensor.uses_warp_level_mma(kernel(opcodes_full=mix))
    assert tensor.uses_warp_level_mma(kernel(opcodes_full={"HMMA.1688.F32": 3.0}))
    assert not tensor.uses_warp_level_mma(kernel())
