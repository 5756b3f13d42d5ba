from __future__ import annotations

from dataclasses import replace

from kprof.markdown import TIMED_ROWS, escaped, markdown
from kprof.model import Finding, KernelReport, Place, Report, Spot
from tests.report_fixture import WHOLE, surveyed


def test_it_has_the_table_and_the_findings(report: Report) -> None:
    text = markdown([report])
    assert "## tile.ncu\\-rep" in text
    assert "| 0 | 1.21 ms | 100.0 % | Shared memory | 94.1 % | transpose\\_tiled" in text
    assert "| 1 | unknown | unknown | Unknown | unknown |" in text
    assert "- **shared-bank-conflicts** (high; fixing it: 1.6–2.4× as fast, estimated)" in text
    assert "`shared_wavefronts`: 34,603,008 wavefronts" in text
    assert "/src/transpose.cu:42" in text
    assert "Not evaluated: thread-divergence" in text
    assert "> The file is cut off" in text


def test_no_name_breaks_the_table_or_brings_html(report: Report, transpose: KernelReport) -> None:
    odd = replace(transpose, demangled="void f<a|b, </script><img src=x>>(int)")
    text = markdown([replace(report, kernels=(odd,))])
    row = next(line for line in text.splitlines() if "| 0 |" in line)
    assert row.replace("\\|", "").count("|") == 8
    assert "<img" not in text.replace("\\<", "")


def test_a_line_of_a_cuda_header_follows_the_line_that_calls_it(
    report: Report, transpose: KernelReport, conflicts: Finding
) -> None:
    header = Spot("/usr/local/cuda/include/mma.hpp", 634)
    inlined = Place(header.file, 634, "LDS R0", 16, 0.5, (header, Spot("/src/tile.cu", 3)))
    kernels = (replace(transpose, findings=(replace(conflicts, source=(inlined,)),)),)
    text = markdown([replace(report, kernels=kernels)])
    assert "  - at /src/tile.cu:3 \\(mma.hpp:634\\), 50.0 % of the total\n" in text


def test_escaping_keeps_one_line() -> None:
    assert escaped("a\n*b* `c`\x1b") == "a \\*b\\* \\`c\\`?"


def test_several_reports_follow_each_other(report: Report) -> None:
    assert markdown([report, report]) == "\n".join([markdown([report])] * 2)


def test_a_whole_program_is_one_line_and_one_table_per_reason() -> None:
    text = markdown([WHOLE])
    assert "1,831 launches of 6 kernels, 40.5 ms of GPU time; 2 kernels measured in depth" in text
    assert "| 0 | 16.0 ms | 39.5 % | Shared memory | 96.2 % | transpose\\_tile32 ×40 |" in text
    assert "413 µs measured in depth, 400 µs in the program \\(average of 40 launches\\)" in text
    rest = text[text.index("### Not profiled in depth") :]
    assert "| 2 | 8.50 ms | 21.0 % | tried\\_matmul ×600 |" in rest
    assert rest.count("| # | time | share | kernel |") == 3
    assert "nknown" not in text


def test_small_kernels_do_not_flood_a_comment() -> None:
    text = markdown([surveyed(500)])
    assert text.count("tiny") == TIMED_ROWS
    assert "The first 20; 480 more are in the JSON." in text


def test_a_survey_that_was_cut_off_is_noted() -> None:
    survey = WHOLE.collection.survey
    assert survey is not None
    collection = replace(WHOLE.collection, survey=replace(survey, complete=False))
    assert "> The survey was cut off after 1,831" in markdown(
        [replace(WHOLE, collection=collection)]
    )
