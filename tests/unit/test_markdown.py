from __future__ import annotations

from dataclasses import replace

from kprof.markdown import escaped, markdown
from kprof.model import KernelReport, Report


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


def test_escaping_keeps_one_line() -> None:
    assert escaped("a\n*b* `c`\x1b") == "a \\*b\\* \\`c\\`?"


def test_several_reports_follow_each_other(report: Report) -> None:
    assert markdown([report, report]) == "\n".join([markdown([report])] * 2)
