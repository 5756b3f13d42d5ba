"""Reports of other people, GPUs and ncu versions: nothing breaks and nothing is claimed blindly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kprof import limiter, reader
from kprof.diagnosis import diagnose
from kprof.export import to_json
from kprof.model import Kernel, KernelReport, Profile, Report
from kprof.quality import ABOVE_PCT, ABOVE_ROOF_PCT

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "reports"
FILES = sorted((*FOLDER.glob("h200/*.xz"), *FOLDER.glob("public/*.xz")))
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not FILES, reason="the shared reports are not beside the repository"),
]
Read = tuple[Profile, Report]


@pytest.fixture(scope="module", params=FILES, ids=lambda file: file.name.split(".")[0])
def read(request: pytest.FixtureRequest) -> Read:
    """Read and diagnose a report; pytest keeps one at a time."""
    profile = reader.load(request.param)
    return profile, diagnose(profile)


def kernels(read: Read) -> Iterator[tuple[Kernel, KernelReport]]:
    return zip(read[0].kernels, read[1].kernels, strict=True)


def doubts(report: KernelReport) -> set[str]:
    return {note.check for note in report.quality}


def test_every_report_is_there() -> None:
    assert len(FILES) >= 31


def test_there_are_kernels_and_no_rule_failed(read: Read) -> None:
    assert read[1].kernels
    failures = {
        (skipped.rule, text)
        for report in read[1].kernels
        for skipped in report.skipped
        for text in skipped.missing
        if "failed" in text
    }
    assert failures == set()


def test_every_rule_is_accounted_for_once(read: Read) -> None:
    for report in read[1].kernels:
        said = [finding.rule for finding in report.findings]
        said += [*report.clear, *(skipped.rule for skipped in report.skipped)]
        assert len(said) == len(set(said)) >= 16


def test_numbers_above_a_roof_are_doubted(read: Read) -> None:
    for kernel, report in kernels(read):
        over = any(unit.pct > ABOVE_PCT for unit in limiter.utilisations(kernel))
        roof = report.roofline
        over = over or (roof is not None and (roof.roof_pct or 0.0) > ABOVE_ROOF_PCT)
        assert over == ("above-roof" in doubts(report)), kernel.index


def test_no_verdict_without_every_level_unless_it_is_sure(read: Read) -> None:
    for kernel, report in kernels(read):
        if limiter.covers_every_level(kernel):
            continue
        assert "incomplete-levels" in doubts(report)
        if report.bound != "unknown":
            assert report.limiter is not None
            assert report.limiter.pct >= limiter.SURELY_BUSY_PCT


def test_a_number_that_is_none_gives_no_verdict(read: Read) -> None:
    for kernel, report in kernels(read):
        if "gpu__time_duration.sum" in kernel.unusable:
            assert report.duration_s is None
            assert report.bound == "unknown"
            assert "missing-duration" in doubts(report)
        if kernel.unusable:
            assert "unusable-metrics" in doubts(report)


def test_an_inflated_duration_gives_no_verdict(read: Read) -> None:
    for kernel, report in kernels(read):
        inflated = limiter.has_inflated_duration(kernel)
        assert inflated == ("inflated-duration" in doubts(report))
        if inflated:
            assert (report.bound, report.findings, report.clear) == ("unknown", (), ())


def test_busy_and_idle_are_told_apart(read: Read) -> None:
    """Nothing at 60 % or more may be called idle, nothing below it the limit."""
    for report in read[1].kernels:
        if report.limiter is not None:
            busy = report.limiter.pct >= limiter.BUSY_PCT
            assert busy == (report.bound not in {"latency", "launch"}), report.index


def test_the_export_holds_no_nan(read: Read) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    json.loads(to_json(read[1]), parse_constant=refuse)


def diagnosed(name: str) -> Report:
    (file,) = (file for file in FILES if file.name.startswith(name))
    return diagnose(reader.load(file))


def test_a_graph_profiled_as_a_whole_has_no_verdict() -> None:
    """All but the launches that worked for milliseconds are mostly set-up."""
    report = diagnosed("torch_d")
    short = [kernel for kernel in report.kernels if (kernel.duration_s or 0.0) < 1e-3]
    assert len(short) == 4
    for kernel in short:
        assert kernel.bound == "unknown"
        assert doubts(kernel) == {"inflated-duration"}


@pytest.mark.parametrize("name", ["a10g-8fce6633", "h800-3a0513d4", "rtx-5060-ti-bf1d76d5"])
def test_an_unfinished_kernel_is_unknown_and_the_others_are_kept(name: str) -> None:
    *others, last = diagnosed(name).kernels
    assert last.bound == "unknown"
    assert last.findings == ()
    assert {"missing-duration", "unusable-metrics"} <= doubts(last)
    assert others
    assert all(kernel.duration_s for kernel in others)


def test_kernels_of_one_report_may_have_different_metrics() -> None:
    first, second, third = diagnosed("gtx-1660-super-8365d45b").kernels
    assert (first.bound, second.bound, third.bound) == ("launch", "launch", "unknown")
    assert len(third.skipped) > len(first.skipped)


def test_durations_alone_are_no_bound() -> None:
    report = diagnosed("gpt_survey")
    assert {kernel.bound for kernel in report.kernels} == {"unknown"}
    assert all(kernel.duration_s for kernel in report.kernels)
    assert {finding.confidence for k in report.kernels for finding in k.findings} <= {"medium"}


def test_shared_memory_is_told_from_the_cache_by_rate_and_time() -> None:
    """This one counts no wavefronts of the whole stage, only how busy it was."""
    for kernel in diagnosed("a100-sxm4-40gb").kernels:
        assert kernel.bound == "shared"
        assert kernel.findings[0].rule == "shared-bank-conflicts"
