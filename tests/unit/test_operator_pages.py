"""The operators' pages are current, and take a bench's numbers once there is one."""

from __future__ import annotations

import json
import shutil
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kprof.bench.result import Bench, ShapeResult, UnitResult
from kprof.bench_export import to_json
from scripts import operator_pages as pages
from scripts import operator_runs as runs
from tests.bench_fixture import BENCH, WHY, timing


def unit(variant: str, seconds: float, **parameters: int) -> UnitResult:
    return UnitResult(variant, variant, parameters, "ok", timing=timing(seconds), why=WHY)


def bench_of(shape: str, *units: UnitResult) -> Bench:
    return replace(BENCH, shapes=(ShapeResult(shape, units, copy_s=2e-6),))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for data in place of the real one, which has only the candidates in it."""
    shutil.copy(runs.DATA / "candidates.json", tmp_path)
    monkeypatch.setattr(runs, "DATA", tmp_path)
    return tmp_path


@pytest.mark.parametrize("path", pages.pages(), ids=lambda path: path.name)
def test_a_page_is_current(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == pages.renewed(text), "run: make docs"


def test_every_part_is_on_a_page() -> None:
    texts = [path.read_text(encoding="utf-8") for path in pages.pages()]
    used = {found[2] for text in texts for found in pages.PART.finditer(text)}
    assert used == set(pages.PARTS)


@pytest.mark.parametrize("operator", [pages.CONVOLUTION, pages.ADDITION])
def test_without_a_bench_the_page_says_where_its_times_come_from(data: Path, operator: str) -> None:
    text = pages.times_part(operator)
    assert text.count("Not a run of `kprof bench` yet") == 2
    assert "cold L2 cache" in text
    assert "warm L2 cache" in text
    assert "No run of" in pages.reasons_part(operator)


def test_a_bench_replaces_the_candidates_times(data: Path) -> None:
    bench = bench_of(
        "8x64x8x8", unit("naive", 8e-6), unit("tuned", 2.5e-6), unit("torch", 5e-6),
        unit("cudnn", 4e-6),
    )  # fmt: skip
    (data / "depthwise-conv.json").write_text(to_json(bench), encoding="utf-8")
    text = pages.times_part(pages.CONVOLUTION)
    assert "Not a run" not in text
    assert "`kprof bench depthwise-conv` with torch 2.11.0 and CUDA 13.0: medians of 100" in text
    # The better rival takes 4 µs, the copy 2 µs.
    assert "| 8x64x8x8 | 8.00 | 2.50 | 5.00 | 4.00 | 2.00 | 1.60 × | 80 |" in text
    assert "| 8x64x8x8 | naive | 75 | 30 | 61 | 12 | DRAM | dram-bandwidth-bound |" in (
        pages.reasons_part(pages.CONVOLUTION)
    )


def test_what_a_variant_does_not_do_is_not_called_unmeasured(data: Path) -> None:
    refused = UnitResult("fused", "fused", {}, "unsupported", "needs a bias")
    bench = bench_of("8x64x8x8", unit("tuned", 2e-6), unit("torch", 4e-6), refused)
    both = replace(
        bench,
        shapes=(*bench.shapes, *bench_of("64", unit("fused", 1e-6)).shapes),
        notes=("ncu got no further.",),
    )
    (data / "depthwise-conv.json").write_text(to_json(both), encoding="utf-8")
    text = pages.times_part(pages.CONVOLUTION)
    assert "| 8x64x8x8 | 2.00 | not this shape | 4.00 | 2.00 | 2.00 × | 100 |" in text
    assert "In the run: ncu got no further." in pages.reasons_part(pages.CONVOLUTION)


def goal(operator: str, at_least: float, *ratios: float | None) -> dict[str, Any]:
    known = [ratio for ratio in ratios if ratio is not None]
    middle = statistics.median(known) if len(known) == len(ratios) else None
    return {"operator": operator, "what": f"over {at_least}", "at_least": at_least,
            "median": middle, "ratios": list(ratios)}  # fmt: skip


def test_a_goal_is_met_missed_or_not_measured(data: Path) -> None:
    assert "Not held against its goals" in pages.goals_part(pages.ADDITION)
    goals = [
        goal(pages.CONVOLUTION, 1.4, 1.5, 1.3, 1.6),
        goal(pages.CONVOLUTION, 0.85, 0.8, 0.9, 0.7),
        goal(pages.CONVOLUTION, 1.0, 2.0, None, 2.0),
        goal(pages.ADDITION, 0.95, 1.0),
    ]
    (data / "goals.json").write_text(json.dumps({"l2": "cold", "goals": goals}), encoding="utf-8")
    text = pages.goals_part(pages.CONVOLUTION)
    assert "| over 1.4 | 1.40 × | 1.50 × | 1.30 – 1.60 | 3 | met |" in text
    assert "| over 0.85 | 0.85 × | 0.80 × | 0.70 – 0.90 | 3 | **missed** |" in text
    assert "| over 1.0 | 1.00 × | not measured | 2.00 – 2.00 | 3 | not measured |" in text
    assert "over 0.95" not in text
    assert "| over 0.95 | 0.95 × | 1.00 × | 1.00 – 1.00 | 1 | met |" in pages.goals_part(
        pages.ADDITION
    )


def test_what_is_not_measured_is_not_zero(data: Path) -> None:
    both = (unit("one-per-thread", 3e-6), unit("float4", 2e-6))
    few = replace(bench_of("64", both[0]), shapes=())
    shapes = (*bench_of("64", both[0]).shapes, *bench_of("128", both[1]).shapes)
    (data / "vector-add.json").write_text(to_json(replace(few, shapes=shapes)), encoding="utf-8")
    text = pages.times_part(pages.ADDITION)
    assert "| 64 | 3.00 | not measured | 2.00 | not measured | not measured |" in text


def test_of_a_swept_variant_the_fastest_counts(data: Path) -> None:
    swept = (unit("float4", 2e-6, block=128), unit("float4", 1e-6, block=256))
    (data / "vector-add.json").write_text(to_json(bench_of("64", *swept)), encoding="utf-8")
    assert runs.cold_run(pages.ADDITION).times["64"]["float4"] == 1e-6


def test_the_claim_is_measured_where_dram_matters(data: Path) -> None:
    units = (unit("naive", 8e-4), unit("tiled", 4e-4), unit("cudnn", 5e-4))
    bench = bench_of(pages.LARGE, *units)
    large = replace(bench, shapes=(replace(bench.shapes[0], copy_s=2e-4),))
    (data / "depthwise-conv.json").write_text(to_json(large), encoding="utf-8")
    text = pages.claim_part()
    assert "| tiled against naive | 4 × | 2.00 × | 4.00 × |" in text
    assert "| cudnn against tiled | 7 × | 0.80 × | 2.00 × |" in text


def test_the_stored_measurements_are_what_the_dispatcher_chooses() -> None:
    """The times called tuned are near those of the candidate with as many rows per strip."""
    stored = json.loads((runs.DATA / "candidates.json").read_text(encoding="utf-8"))
    for shape, found in stored[pages.CONVOLUTION].items():
        rows = 2 if shape in ("1x64x32x32", pages.LARGE) else 4
        screened = found["candidates"][f"strip r{rows} b128 p512"]["warm"]
        assert found["times"]["tuned"]["warm"] == pytest.approx(screened, rel=0.02), shape


def test_the_times_of_one_kernel_that_disagree_stand_beside_each_other() -> None:
    grid_stride, float4 = pages.spread_part().splitlines()
    assert grid_stride.startswith("- `grid-stride`: 218 µs as a program of its own under ncu")
    assert "201 µs cold (199 to 202" in grid_stride
    assert "213 µs warm (201 to 216" in grid_stride
    assert "183 µs cold" in float4
