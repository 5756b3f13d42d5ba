from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import jsonschema
import pytest

from kprof import bench_html, schema
from kprof.bench import roofs
from kprof.bench.result import Bench, BenchDevice, Comparison
from kprof.bench_export import SCHEMA, to_csv, to_dict, to_json
from kprof.bench_figures import roofline, time_over_size
from kprof.bench_text import conditions, summary
from tests.bench_fixture import BENCH, DEVICE, HOSTILE, timing

UNPROFILED = tuple(replace(unit, why=None) for unit in BENCH.shapes[0].units)
ALONE = replace(
    BENCH,
    shapes=(
        replace(BENCH.shapes[0], units=UNPROFILED, bytes=None, flops=None, copy_s=None, noise=None),
    ),
)


def test_the_shipped_schema_is_the_model_as_it_is() -> None:
    assert schema.shipped(SCHEMA) == schema.generate(SCHEMA), "run: python -m kprof.schema"


@pytest.mark.parametrize("bench", [BENCH, ALONE])
def test_a_bench_fits_its_schema(bench: Bench) -> None:
    jsonschema.validate(to_dict(bench), schema.shipped(SCHEMA))
    assert json.loads(to_json(bench)) == to_dict(bench)
    assert "\x1b" not in to_json(bench)


def test_no_timing_is_given_for_what_is_wrong() -> None:
    wrong = [u for s in to_dict(BENCH)["shapes"] for u in s["units"] if u["status"] == "wrong"]
    assert [unit["timing"] for unit in wrong] == [None, None]


def test_the_rows_of_the_csv_are_shapes_and_units() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(BENCH))))
    assert [(row["shape"], row["unit"]) for row in rows] == [
        (shape.shape, unit.unit) for shape in BENCH.shapes for unit in shape.units
    ]
    tiled = rows[1]
    assert float(tiled["p50_s"]) == 1.1e-5
    assert (tiled["verdict"], tiled["bound"], rows[3]["p50_s"]) == ("faster", "dram", "")


def test_the_text_says_what_is_faster_equal_and_wrong() -> None:
    text = summary(BENCH, width=110)
    assert "2.00×" in text
    assert "Within the noise (±1.2 %) of naive: twin." in text
    assert "WRONG  1 of 4 elements are wrong" in text
    assert "bad: wrong" in text
    assert "dram-bandwidth-bound" in text
    assert "tiled_kernel<float, 3> and 1 more: DRAM is busy" in text.replace("float,3", "float, 3")
    assert "Note: ncu got no further." in text
    assert "99 % confidence" not in text
    assert "99 % confidence 1.980 to 2.020" in summary(BENCH, width=110, verbose=1)


def compared(comparison: Comparison) -> Bench:
    naive, *_ = BENCH.shapes[0].units
    other = replace(naive, unit="other", timing=timing(2.2e-5, comparison))
    return replace(BENCH, shapes=(replace(BENCH.shapes[0], units=(naive, other)),))


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(0.9, 1.125, "equal"), (0.9, 1.126, "unclear"), (0.2, 15.0, "unclear"), (0.0, 1.0, "unclear")],
)
def test_times_that_vary_much_are_not_called_equal(low: float, high: float, word: str) -> None:
    bench = compared(Comparison("naive", 1.0, low, high, 9.0, "equal"))
    for text in (summary(bench, width=110), bench_html.render(bench)):
        assert ("Unclear: times vary too much" in text) == (word == "unclear")
    row = next(line for line in summary(bench, width=110).splitlines() if line.startswith("other"))
    assert row.split()[-1] == word


def test_another_baseline_on_a_shape_is_named() -> None:
    said = "Compared with twin here: naive has no time on this shape."
    other = compared(Comparison("twin", 2.0, 1.9, 2.1, 0.01, "faster"))
    assert said in summary(other, width=110)
    assert said in bench_html.render(other)
    assert "has no time on this shape" not in summary(BENCH, width=110)


def test_a_cache_that_stays_warm_is_told_where_it_was_to_be_flushed() -> None:
    warm = replace(timing(1e-6), method="graph", cold=False)
    units = (replace(BENCH.shapes[0].units[0], timing=warm),)
    small = replace(BENCH, shapes=(replace(BENCH.shapes[0], units=units),))
    asked = replace(small, conditions=replace(BENCH.conditions, l2="warm"))
    assert "too small to flush" in summary(small, width=110)
    assert "too small to flush" in bench_html.render(small)
    assert "too small to flush" not in summary(asked, width=110)
    assert "too small to flush" not in bench_html.render(asked)


@pytest.mark.parametrize("width", [1, 40, 80, 200])
def test_the_text_keeps_to_the_terminal(width: int) -> None:
    lines = summary(BENCH, width=width).splitlines()
    assert max(map(len, lines)) <= max(width, 40)


def test_what_is_unknown_has_no_column() -> None:
    text = summary(ALONE, width=110)
    assert "GB/s" in text, "a rate that is known is shown"
    bare = replace(timing(1e-5), bytes_per_s=None, flops_per_s=None, roof_pct=None, copy_pct=None)
    units = (replace(BENCH.shapes[0].units[0], timing=bare),)
    text = summary(replace(BENCH, shapes=(replace(ALONE.shapes[0], units=units),)), width=110)
    assert "GB/s" not in text
    assert "roof" not in text


def test_the_page_is_the_same_twice_and_escapes_what_it_quotes() -> None:
    page = bench_html.render(BENCH)
    assert page == bench_html.render(BENCH)
    assert "<script>x" not in page
    assert "\x1b" not in page
    assert "<script src" not in page
    assert HOSTILE[:8] not in page.replace("<script>\n", "")


def test_the_charts_have_a_mark_for_every_timing() -> None:
    over_size, roof = time_over_size(BENCH), roofline(BENCH)
    assert over_size is not None
    assert roof is not None
    assert (len(over_size.marks), len(over_size.lines)) == (6, 3)
    assert len(roof.marks) == 6
    assert [line.label for line in roof.roofs] == ["DRAM 4.90 TB/s", "FP32 66.9 TFLOP/s"]
    assert len(roof.arrows) == 4, "from each variant to the next, on both shapes"


def test_the_intensity_of_one_kernel_of_several_is_not_that_of_the_variant() -> None:
    def places(*kernels: str) -> list[str]:
        whole = BENCH.shapes[0]
        units = [replace(u, why=u.why and replace(u.why, kernels=kernels)) for u in whole.units]
        chart = roofline(replace(BENCH, shapes=(replace(whole, units=tuple(units)),)))
        assert chart is not None
        return [mark.title for mark in chart.marks]

    assert any("1.70 FLOP/byte" in title for title in places("add"))
    assert not any("1.70 FLOP/byte" in title for title in places("add", "relu"))


def test_there_is_no_chart_of_what_is_unknown() -> None:
    assert time_over_size(ALONE) is None
    assert roofline(ALONE) is None
    assert roofline(replace(BENCH, device=BenchDevice("cpu", "CPU"))) is None
    assert "Roofline" not in bench_html.render(ALONE)


def test_the_roofs_are_those_of_the_clocks() -> None:
    found = roofs.ceilings(DEVICE)
    assert found["fp32"] == pytest.approx(132 * 128 * 2 * 1.98e9)
    assert found["fp64"] == pytest.approx(found["fp32"] / 2)
    assert roofs.ceilings(replace(DEVICE, compute_capability="99.0")) == {"dram": 4.9e12}
    assert roofs.ceilings(BenchDevice("cpu", "CPU")) == {}


@pytest.mark.parametrize(
    ("moved", "flops", "precision", "expected"),
    [
        (4.9e12, None, None, ("dram", 1.0)),
        (4.9e12, 1.0, "fp32", ("dram", 1.0)),
        (4.9e12, 1e15, "fp32", ("fp32", 1e15 / (132 * 128 * 2 * 1.98e9))),
        (4.9e12, 1e15, "int8", ("dram", 1.0)),
        (None, 1e15, "fp32", None),
    ],
)
def test_the_roof_that_binds_needs_most_time(
    moved: float | None,
    flops: float | None,
    precision: str | None,
    expected: tuple[str, float] | None,
) -> None:
    found = roofs.binding(roofs.ceilings(DEVICE), moved, flops, precision)
    assert (found and found[0]) == (expected and expected[0])
    assert (found and found[1]) == pytest.approx(expected and expected[1])


def test_the_l2_cache_is_spoken_of_on_a_gpu_alone() -> None:
    assert "L2 cache" in conditions(BENCH)
    assert "L2 cache" not in conditions(replace(BENCH, device=replace(DEVICE, cuda=None)))
