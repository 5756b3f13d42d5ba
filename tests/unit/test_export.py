from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import sys

import pytest

from kprof.errors import KprofError
from kprof.export import reports_json, to_csv, to_dict, to_frame, to_json, to_parquet
from kprof.inputs import Failure
from kprof.model import KernelReport, Report, Source
from kprof.version import __version__
from tests.report_fixture import WHOLE


def test_the_top_level_is_the_documented_one(report: Report) -> None:
    expected = ["schema", "kprof_version", "source", "collection", "devices", "kernels"]
    assert list(to_dict(report)) == [*expected, "findings", "notes", "files"]
    assert to_dict(report)["schema"] == "kprof.report/1"
    assert to_dict(report)["kprof_version"] == __version__


def test_values_survive_the_trip_through_json(report: Report) -> None:
    kernel = json.loads(to_json(report))["kernels"][0]
    assert kernel["launch"]["grid"] == [256, 256, 1]
    assert kernel["duration_s"] == 1.21e-3
    assert kernel["shared_memory"]["by_source"][0]["line"] == 42
    assert kernel["findings"][0]["evidence"][0]["metric"] == "shared_wavefronts"
    assert kernel["roofline"]["flops"]["tensor"] == {"fp16": 0.0}


def test_absent_is_null_and_never_zero(report: Report) -> None:
    kernel = json.loads(to_json(report))["kernels"][1]
    for name in ("duration_s", "limiter", "launch", "roofline", "shared_memory", "origin"):
        assert kernel[name] is None
    assert kernel["throughput"]["dram_pct"] is None
    assert kernel["bound"] == "unknown"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_is_a_bug_and_named(
    report: Report, transpose: KernelReport, value: float
) -> None:
    broken = dataclasses.replace(transpose, stalls={"barrier": value})
    with pytest.raises(ValueError, match=r"report.kernels\[0\].stalls.barrier is "):
        to_dict(dataclasses.replace(report, kernels=(broken,)))


def test_two_calls_give_the_same_bytes(report: Report) -> None:
    assert to_json(report) == to_json(dataclasses.replace(report))


def test_a_path_of_other_bytes_still_gives_utf8(report: Report) -> None:
    odd = dataclasses.replace(report, source=Source(path="r\udcff\u00e9.ncu-rep", sha256=""))
    assert json.loads(to_json(odd).encode("utf-8"))["source"]["path"] == "r?\u00e9.ncu-rep"


def test_several_reports_keep_what_failed(report: Report) -> None:
    failed = Failure("x.ncu-rep", "x.ncu-rep is empty", None)
    document = json.loads(reports_json([report, report], [failed]))
    assert document["schema"] == "kprof.reports/1"
    assert document["reports"] == [json.loads(to_json(report))] * 2
    assert document["errors"] == [
        {"path": "x.ncu-rep", "cause": "x.ncu-rep is empty", "hint": None}
    ]


def test_a_frame_has_a_row_per_kernel_and_units_in_its_columns(report: Report) -> None:
    frame = to_frame(report)
    assert list(frame["name"]) == ["transpose_tiled", "k<&>"]
    first, second = frame.iloc[0], frame.iloc[1]
    assert first["duration_s"] == 1.21e-3
    assert first["device"] == "NVIDIA H200"
    assert first["first_finding"] == "shared-bank-conflicts"
    assert first["grid"] == "256x256x1"
    assert first["shared_excess_pct"] == 93.94
    assert frame["registers_per_thread"].tolist()[0] == 16
    assert second[["duration_s", "limiter_pct", "dram_pct", "first_finding"]].isna().all()
    assert second["findings"] == 0


def test_columns_have_one_type_even_when_all_is_absent(
    report: Report, unmeasured: KernelReport
) -> None:
    unknown = to_frame(dataclasses.replace(report, kernels=(unmeasured,)))
    assert dict(unknown.dtypes) == dict(to_frame(report).dtypes)
    assert unknown["duration_s"].dtype == "float64"


def test_a_frame_of_several_reports_says_which(report: Report) -> None:
    other = dataclasses.replace(report, source=Source("other.ncu-rep", ""))
    assert to_frame([report, other])["report"].unique().tolist() == [
        "runs/tile.ncu-rep",
        "other.ncu-rep",
    ]


def test_a_report_without_kernels_keeps_its_columns(report: Report) -> None:
    empty = dataclasses.replace(report, kernels=())
    assert to_frame(empty).empty
    assert list(to_frame(empty).columns) == list(to_frame(report).columns)
    assert to_csv(empty).count("\n") == 1


def test_csv_says_the_same_and_leaves_absent_cells_empty(report: Report) -> None:
    first, second = csv.DictReader(io.StringIO(to_csv(report)))
    assert float(first["duration_s"]) == 1.21e-3
    assert first["demangled"] == "void transpose_tiled<float, 32>(float const*, float*, int)"
    assert second["duration_s"] == second["limiter_pct"] == ""
    assert list(first) == list(to_frame(report).columns)


def test_parquet_round_trips(report: Report) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow", reason="pyarrow is an extra")
    back = pandas.read_parquet(io.BytesIO(to_parquet(report)))
    assert back["duration_s"].tolist()[0] == 1.21e-3
    assert list(back.columns) == list(to_frame(report).columns)


def test_parquet_without_pyarrow_names_the_extra(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(KprofError) as caught:
        to_parquet(report)
    assert caught.value.hint == "pip install 'kprof[parquet]'"


def test_a_survey_is_in_the_json_and_in_the_rows() -> None:
    document = json.loads(to_json(WHOLE))
    survey = document["collection"]["survey"]
    assert (survey["launches"], survey["kernels"], survey["in_depth"]) == (1831, 6, 2)
    timed = document["kernels"][2]
    assert (timed["depth"], timed["left_out"], timed["bound"]) == (
        "survey",
        "autotuning",
        "unknown",
    )
    assert (timed["launches"], timed["total_s"], timed["findings"]) == (600, 8.5e-3, [])
    rows = list(csv.DictReader(io.StringIO(to_csv(WHOLE))))
    told = [(row["depth"], row["left_out"], row["launches"], row["total_s"]) for row in rows]
    assert told[0] == ("standard", "", "40", "0.016")
    assert told[5] == ("survey", "coverage", "1", "0.0001")


def test_without_a_survey_the_time_of_all_launches_is_absent(report: Report) -> None:
    assert json.loads(to_json(report))["collection"]["survey"] is None
    frame = to_frame(report)
    assert frame["total_s"].dtype == "float64"
    assert frame["total_s"].isna().all()
    assert frame["left_out"].isna().all()
