from __future__ import annotations

import pytest

from kprof import metrics as m
from kprof.limiter import (
    bound,
    busiest,
    covers_every_level,
    fp32_instruction_pct,
    has_inflated_duration,
    is_too_small,
    limiter,
    runs_matrix_instructions,
    shared_memory_share,
    utilisations,
)
from kprof.model import Kernel
from tests.kernels import (
    ALU,
    DRAM,
    FMA,
    FP16,
    FP64,
    FULL_GRID,
    ISSUE,
    L1,
    L2,
    LSU,
    PEAKS,
    TENSOR,
    XU,
    counted,
    kernel,
)  # fmt: skip

L1_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts.sum"
SHARED_COUNTED = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
SHARED_SASS = "memory_l1_wavefronts_shared"


def resource(item: Kernel) -> str | None:
    top = limiter(item)
    return top.resource if top else None


def test_units_are_ranked_busiest_first_and_ties_by_name() -> None:
    ranked = utilisations(kernel({DRAM: 40.0, FMA: 70.0}))
    assert [unit.pct for unit in ranked] == [70.0, 40.0, 5.0, 5.0, 5.0, 0.0]
    tied = [unit.metric for unit in ranked[2:5]]
    assert tied == sorted(tied)


def test_busiest_of_some_classes() -> None:
    item = kernel({DRAM: 40.0, FMA: 70.0})
    dram = busiest(item, ("dram", "l2"))
    assert dram is not None
    assert (dram.kind, dram.pct) == ("dram", 40.0)
    assert busiest(item, ("xu",)) is None


def test_nothing_measured_is_unknown() -> None:
    nothing = kernel(measured={})
    assert limiter(nothing) is None
    assert bound(nothing) == "unknown"


@pytest.mark.parametrize(
    ("unit", "expected"),
    [(DRAM, "dram"), (L2, "l2"), (LSU, "l1"), (L1, "l1"), (ISSUE, "issue"), (FMA, "fp32"),
     (ALU, "int"), (FP64, "fp64"), (FP16, "fp16"), (XU, "xu"), (TENSOR, "tensor"),
     ("sm__inst_executed_pipe_uniform", "issue"), ("idc__request_cycles_active", "issue")],
)  # fmt: skip
def test_every_class_has_its_bound(unit: str, expected: str) -> None:
    busy = kernel({unit: 70.0})
    assert resource(busy) == bound(busy) == expected


@pytest.mark.parametrize(("pct", "expected"), [(59.99, "latency"), (60.0, "dram")])
def test_a_unit_is_the_limit_from_60_percent(pct: float, expected: str) -> None:
    item = kernel({DRAM: pct})
    assert bound(item) == expected
    top = limiter(item)
    assert top is not None
    assert (top.metric, top.pct) == (m.elapsed(DRAM), pct)


@pytest.mark.parametrize(("pct", "expected"), [(79.99, "unknown"), (80.0, "dram")])
@pytest.mark.parametrize("absent", [L2, L1, ISSUE])
def test_with_a_level_missing_only_80_percent_is_sure(
    absent: str, pct: float, expected: str
) -> None:
    levels = {unit: 5.0 for unit in (L2, L1, ISSUE) if unit != absent}
    item = kernel({DRAM: pct}, measured=levels)
    assert not covers_every_level(item)
    assert bound(item) == expected


def test_a_level_that_reads_zero_is_measured() -> None:
    assert covers_every_level(kernel({DRAM: 0.0, L2: 0.0, L1: 0.0, ISSUE: 0.0}))


@pytest.mark.parametrize(("fma", "expected"), [(63.99, "issue"), (64.0, "fp32")])
def test_multiply_adds_that_fill_the_issue_slots(fma: float, expected: str) -> None:
    item = kernel({ISSUE: 80.0, FMA: fma}, opcodes={"FFMA": 10.0})
    assert bound(item) == expected


def test_the_pipe_beneath_a_busy_issue_rate_must_be_busy_itself() -> None:
    """62 % of the issue slots and 55 % of the FMA pipe: something is busy, so not latency."""
    assert bound(kernel({ISSUE: 62.0, FMA: 55.0}, opcodes={"FFMA": 10.0})) == "issue"


def test_the_heavy_half_of_the_pipe_does_not_fill_the_issue_slots() -> None:
    """Integer work on the heavy half, as on an A10G: 88 % issue, 78 % heavy, 41 % of the whole."""
    busy = {ISSUE: 87.6, "sm__pipe_fmaheavy_cycles_active": 77.9, FMA: 41.4}
    assert bound(kernel(busy)) == "issue"


def test_a_lopsided_pipe_alone_is_integer_work() -> None:
    busy = {"sm__pipe_fmaheavy_cycles_active": 77.9, FMA: 41.4}
    assert bound(kernel(busy)) == "int"
    assert bound(kernel({"sm__pipe_fmaheavy_cycles_active": 77.9, FMA: 52.1})) == "fp32"
    assert bound(kernel({"sm__pipe_fmaheavy_cycles_active": 77.9, FMA: 51.8})) == "int"
    assert bound(kernel({"sm__pipe_fmaheavy_cycles_active": 77.9})) == "fp32"


def test_integer_multiply_adds_do_not_hide_the_issue_rate() -> None:
    item = kernel({ISSUE: 90.0, FMA: 85.0}, opcodes={"IMAD": 10.0})
    assert bound(item) == "issue"


@pytest.mark.parametrize(
    ("opcodes", "expected"),
    [
        ({"FFMA": 10.0}, "fp32"),
        ({"FFMA": 5.0, "IMAD": 5.0}, "fp32"),
        ({"FFMA": 4.9, "IMAD": 5.1}, "int"),
        ({"FADD": 3.0, "FMUL": 3.0, "IMAD": 5.0}, "fp32"),
        ({"FFMA2": 10.0, "IMAD": 5.0}, "fp32"),
        ({"IMAD": 10.0, "MUFU": 90.0}, "int"),
    ],
)
def test_the_fma_pipe_is_told_apart_by_opcode(opcodes: dict[str, float], expected: str) -> None:
    assert bound(kernel({FMA: 70.0}, opcodes=opcodes)) == expected


def test_without_opcodes_the_counted_instructions_tell() -> None:
    full = 16896.0 * 1.98e9 * 1e-3
    for share, expected in ((0.36, "fp32"), (0.34, "int")):
        amounts = PEAKS | counted(fp32=(0.0, 0.0, share * full))
        item = kernel({FMA: 70.0}, amounts)
        assert fp32_instruction_pct(item) == pytest.approx(100.0 * share)
        assert bound(item) == expected


def test_the_fp32_rate_is_unknown_without_its_parts() -> None:
    amounts = PEAKS | counted(fp32=(0.0, 0.0, 1e9))
    assert fp32_instruction_pct(kernel(metrics=amounts)) is not None
    assert fp32_instruction_pct(kernel(metrics=amounts, duration_s=None)) is None
    assert fp32_instruction_pct(kernel(metrics=PEAKS)) is None
    assert fp32_instruction_pct(kernel(metrics=counted(fp32=(0.0, 0.0, 1e9)))) is None


@pytest.mark.parametrize(("tensor", "expected"), [(80.99, "shared"), (81.0, "tensor")])
def test_the_tensor_pipe_behind_its_shared_memory_stage(tensor: float, expected: str) -> None:
    fed = {L1_WAVEFRONTS: 100.0, SHARED_COUNTED: 100.0}
    assert bound(kernel({L1: 90.0, TENSOR: tensor}, fed, opcodes={"HGMMA": 1.0})) == expected


def test_the_tensor_pipe_behind_the_stage_must_be_busy_itself() -> None:
    fed = {L1_WAVEFRONTS: 100.0, SHARED_COUNTED: 100.0}
    assert bound(kernel({L1: 62.0, TENSOR: 57.0}, fed, opcodes={"HGMMA": 1.0})) == "shared"


@pytest.mark.parametrize(
    ("opcodes", "matrix"),
    [({"HMMA": 1.0}, True), ({"HGMMA": 1.0}, True), ({"UTCHMMA": 1.0}, True), ({"IMMA": 1.0}, True),
     ({"HFMA2": 1.0}, False), ({"FFMA": 1.0}, False), ({}, None)],
)  # fmt: skip
def test_matrix_instructions(opcodes: dict[str, float], matrix: bool | None) -> None:
    assert runs_matrix_instructions(kernel(opcodes=opcodes)) is matrix


def test_packed_half_on_the_tensor_pipe_is_not_a_matrix_product() -> None:
    """``HFMA2.MMA`` keeps the tensor pipe busy on some chips."""
    mixed = {"HFMA2": 10.0}
    spelled = {"HFMA2.MMA": 10.0}
    assert bound(kernel({TENSOR: 70.0}, opcodes=mixed, opcodes_full=spelled)) == "fp16"
    assert bound(kernel({TENSOR: 70.0}, opcodes={"HMMA": 10.0})) == "tensor"
    assert bound(kernel({TENSOR: 70.0})) == "tensor"


@pytest.mark.parametrize(
    ("metrics", "share"),
    [
        ({L1_WAVEFRONTS: 100.0, SHARED_COUNTED: 40.0, SHARED_SASS: 90.0}, 0.4),
        ({L1_WAVEFRONTS: 100.0, SHARED_SASS: 90.0}, 0.9),
        ({L1_WAVEFRONTS: 100.0, SHARED_SASS: 300.0}, 1.0),
        ({L1_WAVEFRONTS: 0.0, SHARED_SASS: 3.0}, None),
        ({L1_WAVEFRONTS: 100.0}, None),
        ({SHARED_SASS: 3.0}, None),
    ],
)
def test_shared_part_of_the_data_stage(metrics: dict[str, float], share: float | None) -> None:
    assert shared_memory_share(kernel(metrics=metrics)) == share


@pytest.mark.parametrize("unit", ["l1tex__tex_writeback_active", "sm__inst_executed_pipe_tex"])
def test_textures_do_not_pass_through_shared_memory(unit: str) -> None:
    metrics = {L1_WAVEFRONTS: 1.0, SHARED_COUNTED: 1.0}
    assert bound(kernel({unit: 70.0}, metrics)) == "l1"


@pytest.mark.parametrize(("shared", "expected"), [(49.9, "l1"), (50.0, "shared")])
def test_the_data_stage_belongs_to_what_fills_it(shared: float, expected: str) -> None:
    metrics = {L1_WAVEFRONTS: 100.0, SHARED_COUNTED: shared}
    assert bound(kernel({L1: 70.0}, metrics)) == expected


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        ({DRAM: 85.0, L2: 83.0}, "balanced"),
        ({DRAM: 85.0, L2: 82.99}, "dram"),
        ({DRAM: 79.9, L2: 79.9}, "dram"),  # neither is near its roof
        ({DRAM: 85.0, "fbpa__dram_sectors": 85.0}, "dram"),  # the same unit twice
        ({ISSUE: 85.0, DRAM: 84.0}, "issue"),
        ({TENSOR: 85.0, DRAM: 84.0}, "tensor"),
        ({FP64: 85.0, DRAM: 84.0}, "balanced"),
        ({DRAM: 85.0, LSU: 84.0}, "dram"),  # a queue is busy with the same traffic
    ],
)
def test_two_unlike_units_at_the_top_are_balanced(units: dict[str, float], expected: str) -> None:
    assert bound(kernel(units)) == expected


@pytest.mark.parametrize(("seconds", "expected"), [(4.999e-6, "launch"), (5e-6, "latency")])
def test_a_short_idle_kernel_is_launch_bound(seconds: float, expected: str) -> None:
    assert bound(kernel(metrics=FULL_GRID, duration_s=seconds)) == expected


@pytest.mark.parametrize(("blocks", "expected"), [(105.0, "launch"), (106.0, "latency")])
def test_a_grid_that_leaves_a_fifth_of_the_sms_empty_is_launch_bound(
    blocks: float, expected: str
) -> None:
    grid = {"launch__grid_size": blocks, "launch__sm_count": 132.0}
    assert bound(kernel(metrics=grid)) == expected


def test_a_busy_kernel_is_not_launch_bound_however_short() -> None:
    assert bound(kernel({DRAM: 70.0}, duration_s=1e-6)) == "dram"


def test_too_small_is_not_claimed_of_what_is_unknown() -> None:
    assert not is_too_small(kernel(duration_s=None))
    assert not is_too_small(kernel(metrics={"launch__grid_size": 1.0}, duration_s=None))


def inflated(active: float, duration_s: float | None = 1e-3, **metrics: float) -> Kernel:
    cycles = {"sm__cycles_active.max": active, "sm__cycles_elapsed.max": 1000.0}
    return kernel({DRAM: 90.0}, {**cycles, **metrics}, duration_s=duration_s)


@pytest.mark.parametrize(("active", "expected"), [(249.9, True), (250.0, False)])
def test_a_duration_without_a_busy_sm_is_not_the_kernels(active: float, expected: bool) -> None:
    item = inflated(active)
    assert has_inflated_duration(item) is expected
    assert (limiter(item) is None) is expected
    assert bound(item) == ("unknown" if expected else "dram")


@pytest.mark.parametrize(("seconds", "expected"), [(20e-6, False), (20.1e-6, True), (None, False)])
def test_short_kernels_are_mostly_launch_not_inflated(
    seconds: float | None, expected: bool
) -> None:
    assert has_inflated_duration(inflated(100.0, seconds)) is expected


def test_inflation_is_not_claimed_of_what_is_unknown() -> None:
    assert not has_inflated_duration(kernel())
    assert not has_inflated_duration(kernel(metrics={"sm__cycles_active.max": 1.0}))
    assert not has_inflated_duration(kernel(metrics={"sm__cycles_elapsed.max": 1e6}))
    assert not has_inflated_duration(inflated(0.0, **{"sm__cycles_elapsed.max": 0.0}))


def test_bytes_alone_show_a_busy_memory_where_no_counter_does() -> None:
    """A report with durations and bytes: 90 % of the peak rate leaves no room for doubt."""
    peak = 1504.0 * 3.2e9
    moved = PEAKS | {"dram__bytes.sum": 0.9 * peak * 1e-3}
    assert bound(kernel(metrics=moved, measured={})) == "dram"
    little = PEAKS | {"dram__bytes.sum": 0.5 * peak * 1e-3}
    assert bound(kernel(metrics=little, measured={})) == "unknown"


@pytest.mark.parametrize(
    ("mix", "resource"),
    [
        ({"HFMA2": 60.0, "FFMA": 40.0}, "fp16"),
        ({"HFMA2": 50.0, "IMAD": 50.0}, "fp16"),
        ({"HFMA2": 40.0, "FFMA": 60.0}, "fp32"),
        ({"HFMA2.MMA": 90.0, "FFMA": 10.0}, "fp32"),
        ({"HADD2.F32": 90.0, "FFMA": 10.0}, "fp32"),
        ({"HFMA2.BF16_V2": 90.0, "HADD2": 5.0, "FFMA": 5.0}, "fp16"),
    ],
)
def test_halves_on_the_multiply_add_pipe_are_halves(mix: dict[str, float], resource: str) -> None:
    short: dict[str, float] = {}
    for name, executed in mix.items():
        short[name.split(".")[0]] = short.get(name.split(".")[0], 0.0) + executed
    top = limiter(kernel({FMA: 90.0}, opcodes=short, opcodes_full=mix))
    assert top is not None
    assert top.resource == resource


def test_halves_that_fill_the_issue_slots_are_named_like_floats() -> None:
    mix = {"HFMA2": 90.0, "IADD3": 10.0}
    top = limiter(kernel({FMA: 85.0, ISSUE: 95.0}, opcodes=mix, opcodes_full=mix))
    assert top is not None
    assert top.resource == "fp16"
