from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kprof.annotations import github, sarif
from kprof.model import Finding, KernelReport, Place, Report, Spot
from tests.report_fixture import WHOLE

DOCS = {"shared-bank-conflicts": "## What it detects\nConflicts in the banks.\n"}


def run_of(report: Report) -> dict[str, Any]:
    log = json.loads(sarif([report], DOCS))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


def test_a_result_names_its_rule_and_line(report: Report) -> None:
    run = run_of(report)
    (result,) = run["results"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["id"] == result["ruleId"] == "shared-bank-conflicts"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]] is rule
    assert rule["fullDescription"]["text"] == "Conflicts in the banks."
    assert result["level"] == "warning"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "file:///src/transpose.cu"
    assert place["region"] == {"startLine": 42}
    assert "93.9 %" in result["message"]["text"]


def test_notes_of_the_reader_are_notifications(report: Report) -> None:
    (told,) = run_of(report)["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"].startswith("The file is cut off")


def test_without_a_line_the_report_itself_is_the_place(
    report: Report, transpose: KernelReport, conflicts: Finding
) -> None:
    unplaced = replace(conflicts, source=(Place(None, None, "LDS", 16, 1.0),))
    kernels = (replace(transpose, findings=(unplaced,)),)
    result = run_of(replace(report, kernels=kernels))["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "runs/tile.ncu-rep"}}
    assert "file=" not in github([replace(report, kernels=kernels)])


def test_paths_below_the_working_directory_are_relative(
    report: Report,
    transpose: KernelReport,
    conflicts: Finding,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    here = Place(str(tmp_path / "src dir" / "k.cu"), 7, None, None, 1.0)
    kernels = (replace(transpose, findings=(replace(conflicts, source=(here,)),)),)
    placed = replace(report, kernels=kernels)
    uri = run_of(placed)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert uri == {"uri": "src%20dir/k.cu"}
    assert "file=src dir/k.cu,line=7" in github([placed])


def test_a_line_of_a_cuda_header_is_shown_where_it_is_called(
    report: Report, transpose: KernelReport, conflicts: Finding
) -> None:
    header = Spot("/usr/local/cuda/targets/x86_64-linux/include/device_atomic_functions.hpp", 112)
    inlined = Place(header.file, 112, "ATOMG", 16, 1.0, (header, Spot("/src/hist.cu", 11)))
    kernels = (replace(transpose, findings=(replace(conflicts, source=(inlined,)),)),)
    placed = replace(report, kernels=kernels)
    (result,) = run_of(placed)["results"]
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "file:///src/hist.cu"},
        "region": {"startLine": 11},
    }
    assert github([placed]).startswith("::warning file=/src/hist.cu,line=11,")


def test_findings_that_span_kernels_are_there_too(report: Report, conflicts: Finding) -> None:
    fusion = replace(conflicts, rule="fusion-candidate", severity="low", kernels=(0, 1))
    both = replace(report, findings=(fusion,))
    results = run_of(both)["results"]
    assert [result["ruleId"] for result in results] == [
        "shared-bank-conflicts",
        "fusion-candidate",
    ]
    assert results[1]["level"] == "note"
    assert "::notice " in github([both])


def test_a_workflow_command_is_one_line_and_escaped(report: Report) -> None:
    (line,) = github([report]).splitlines()
    assert line.startswith(
        "::warning file=/src/transpose.cu,line=42,title=kprof%3A shared-bank-conflicts::"
    )
    assert "93.9 %25" in line
    assert "%0A" in line


def test_nothing_found_is_an_empty_list(report: Report) -> None:
    quiet = replace(report, kernels=())
    assert run_of(quiet)["results"] == []
    assert github([quiet]) == ""


def test_a_kernel_that_was_only_timed_is_no_annotation() -> None:
    timed = replace(WHOLE, kernels=WHOLE.kernels[2:])
    run = run_of(timed)
    assert run["results"] == run["invocations"][0]["toolExecutionNotifications"] == []
    assert github([timed]) == ""
    assert len(run_of(WHOLE)["results"]) == 3
