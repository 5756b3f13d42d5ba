from __future__ import annotations

import pytest

from kprof.model import Collection, Flops, Kernel, Roofline
from kprof.quality import CHECKS, COLD_CACHES, quality
from kprof.roofline import roofline
from tests.kernels import CLOCK, DRAM, L1_HIT, L2, WAVEFRONTS, counted, kernel, row

HARDWARE = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
PLAIN = Roofline()


def checks(item: Kernel, roof: Roofline = PLAIN) -> list[str]:
    return [note.check for note in quality(item, roof)]


def message(item: Kernel, roof: Roofline = PLAIN) -> str:
    (note,) = quality(item, roof)
    return note.message


def test_a_plain_kernel_raises_no_doubt() -> None:
    assert checks(kernel()) == []


@pytest.mark.parametrize(("active", "doubt"), [(249.0, ["inflated-duration"]), (250.0, [])])
def test_inflated_duration(active: float, doubt: list[str]) -> None:
    metrics = {"sm__cycles_active.max": active, "sm__cycles_elapsed.max": 1000.0}
    assert checks(kernel(metrics=metrics)) == doubt


def test_missing_duration_says_why() -> None:
    absent = kernel(duration_s=None)
    assert "holds no duration" in message(absent)
    broken = kernel(duration_s=None, unusable={"gpu__time_duration.sum": "NaN"})
    assert checks(broken) == ["missing-duration", "unusable-metrics"]
    assert "holds NaN as duration" in quality(broken, PLAIN)[0].message


def test_unusable_metrics_are_named_and_counted() -> None:
    one = message(kernel(unusable={"a": "NaN"}))
    assert one.startswith("1 metric has")
    assert "a (NaN)" in one
    assert "more" not in one
    many = message(kernel(unusable=dict.fromkeys("edcba", "inf")))
    assert many.startswith("5 metrics have")
    assert "a (inf), b (inf), c (inf) and 2 more" in many


def test_incomplete_levels_name_what_is_missing() -> None:
    said = message(kernel(measured={DRAM: 5.0, L2: 5.0}))
    assert "l1_pct, issue_pct missing" in said


@pytest.mark.parametrize(("pct", "doubt"), [(100.5, []), (100.6, ["above-roof"])])
def test_a_unit_above_its_own_peak(pct: float, doubt: list[str]) -> None:
    assert checks(kernel({DRAM: pct})) == doubt


@pytest.mark.parametrize(
    ("pct", "doubt"), [(None, []), (102.0, []), (102.1, ["above-roof"]), (500.0, ["above-roof"])]
)
def test_a_kernel_above_its_roof(pct: float | None, doubt: list[str]) -> None:
    assert checks(kernel(), Roofline(roof="fp32", roof_pct=pct)) == doubt


@pytest.mark.parametrize("metric", [L1_HIT, "lts__t_sector_hit_rate.pct"])
def test_hit_rates_above_all(metric: str) -> None:
    assert checks(kernel(metrics={metric: 100.0})) == []
    assert checks(kernel(metrics={metric: 100.01})) == ["hit-rate-above-100"]


@pytest.mark.parametrize(
    ("hardware", "sass", "doubt"),
    [
        (100_000.0, 10_000.0, False),
        (100_001.0, 10_000.0, True),
        (2_000.0, 20_000.0, False),
        (1_999.0, 20_000.0, True),
        (9_999.0, 100.0, False),  # too few to compare
        (50_000.0, 0.0, False),
        (0.0, 50_000.0, False),
    ],
)
def test_two_counts_of_the_same_wavefronts(hardware: float, sass: float, doubt: bool) -> None:
    found = checks(kernel(metrics={HARDWARE: hardware, WAVEFRONTS: sass}))
    assert found == (["passes-disagree"] if doubt else [])


@pytest.mark.parametrize(("seconds", "doubt"), [(19.9e-6, ["short-kernel"]), (20e-6, [])])
def test_short_kernels(seconds: float, doubt: list[str]) -> None:
    assert checks(kernel(duration_s=seconds)) == doubt


@pytest.mark.parametrize(("share", "doubt"), [(0.949, ["clock-state"]), (0.951, [])])
@pytest.mark.parametrize("attribute", ["max_gpu_frequency_khz", "clock_rate"])
def test_a_clock_below_its_maximum(attribute: str, share: float, doubt: list[str]) -> None:
    metrics = {
        "sm__cycles_elapsed.avg.per_second": share * CLOCK,
        f"device__attribute_{attribute}": CLOCK / 1e3,
    }
    assert checks(kernel(metrics=metrics)) == doubt


def test_an_unknown_clock_is_no_doubt() -> None:
    assert checks(kernel(metrics={"sm__cycles_elapsed.avg.per_second": 1.0})) == []
    assert checks(kernel(metrics={"device__attribute_clock_rate": 1.98e6})) == []


@pytest.mark.parametrize(("samples", "doubt"), [(99.0, ["few-samples"]), (100.0, [])])
def test_few_samples(samples: float, doubt: list[str]) -> None:
    assert checks(kernel(metrics={"smsp__pcsamp_sample_count": samples})) == doubt


def test_one_sample_reads_like_any_number_of_them() -> None:
    notes = quality(kernel(metrics={"smsp__pcsamp_sample_count": 1.0}), Roofline())
    (message,) = [note.message for note in notes if note.check == "few-samples"]
    assert message == "too few warp samples (1) to speak of stall reasons"


def test_no_line_information() -> None:
    bare = kernel(instructions=(row("LDG", 0),))
    assert checks(bare) == ["no-line-info"]
    assert "-lineinfo" in message(bare)
    assert checks(kernel(instructions=(row("LDG", 0), row("STG", 16, file="a.cu", line=1)))) == []


def test_doubts_come_in_the_order_of_the_checks() -> None:
    item = kernel(
        {DRAM: 120.0}, {"smsp__pcsamp_sample_count": 1.0}, duration_s=1e-6, unusable={"x": "inf"}
    )
    found = checks(item)
    assert found == ["above-roof", "unusable-metrics", "short-kernel", "few-samples"]
    assert found == sorted(found, key=list(CHECKS).index)


@pytest.mark.parametrize(
    ("halves", "opcodes", "doubtful"),
    [
        ((0.0, 0.0, 32.0), {"HFMA2": 1.0, "STG": 99.0}, True),
        ((0.0, 0.0, 32.0), {"HFMA2": 6.0, "STG": 94.0}, False),
        ((1.0, 0.0, 32.0), {"HFMA2": 1.0, "STG": 99.0}, False),
        ((0.0, 0.0, 0.0), {"STG": 99.0}, False),
        ((0.0, 0.0, 32.0), {}, False),
    ],
)
def test_constants_loaded_by_half_instructions(
    halves: tuple[float, float, float],
    opcodes: dict[str, float],
    doubtful: bool,
) -> None:
    item = kernel(metrics=counted(fp16=halves), opcodes=opcodes)
    found = [note.check for note in quality(item, roofline(item))]
    assert ("fp16-constants" in found) is doubtful


def test_halves_that_hardly_count_are_not_mentioned() -> None:
    few = counted(fp32=(0.0, 0.0, 1e6), fp16=(0.0, 0.0, 32.0))
    item = kernel(metrics=few, opcodes={"HFMA2": 1.0, "FFMA": 1e6})
    assert "fp16-constants" not in [note.check for note in quality(item, roofline(item))]


def test_tensor_work_without_a_tensor_roof() -> None:
    work = Roofline(flops=Flops(tensor={"fp16": 1e9}), ceilings={"fp32": 1e12})
    assert checks(kernel(), work) == ["no-tensor-roof"]
    roofs = {"fp32": 1e12, "tensor_fp16": 1e14}
    assert checks(kernel(), Roofline(flops=work.flops, ceilings=roofs)) == []


FLUSHED = Collection(cache_control="all", replay_mode="kernel")
L2_BYTES = 50e6


def cold(moved: float | None, how: Collection | None = FLUSHED) -> list[str]:
    metrics = {"device__attribute_l2_cache_size": L2_BYTES}
    if moved is not None:
        metrics["dram__bytes.sum"] = moved
    notes = quality(kernel(metrics=metrics), Roofline(), how)
    return [note.message for note in notes if note.check == COLD_CACHES]


def test_a_kernel_whose_data_fit_into_l2_depends_on_the_mode() -> None:
    (message,) = cold(1.2e6)
    assert "it moved 1.20 MB" in message
    assert "L2 holds 50.0 MB" in message
    assert "--as-in-app" in message


@pytest.mark.parametrize(
    ("moved", "count"), [(L2_BYTES, 1), (L2_BYTES * 1.01, 0), (0.0, 1), (None, 0)]
)
def test_a_kernel_that_moves_more_than_l2_holds_does_not(moved: float | None, count: int) -> None:
    assert len(cold(moved)) == count


@pytest.mark.parametrize(
    "how", [None, Collection(), Collection(cache_control="none", replay_mode="application")]
)
def test_caches_that_were_not_flushed_are_not_spoken_of(how: Collection | None) -> None:
    assert cold(1.2e6, how) == []


def test_an_l2_of_unknown_size_is_not_spoken_of() -> None:
    notes = quality(kernel(metrics={"dram__bytes.sum": 1.0}), Roofline(), FLUSHED)
    assert COLD_CACHES not in [note.check for note in notes]
