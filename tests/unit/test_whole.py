"""What was measured in depth, put among all that a survey timed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kprof.cli.threshold import failing
from kprof.collect.selection import select
from kprof.model import Collection, Kernel, KernelReport, Launch, Report, Source
from kprof.ranking import gpu_time, ranked
from kprof.whole import whole
from tests.report_fixture import WHOLE


def launch(name: str, seconds: float, grid: int = 1) -> Kernel:
    shape = Launch(grid=(grid, 1, 1), block=(128, 1, 1), shared_dynamic_bytes=0)
    return Kernel(0, name, name, launch=shape, duration_s=seconds)


def deep(index: int, kernel: Kernel, seconds: float) -> KernelReport:
    return KernelReport(
        index, kernel.name, kernel.demangled, 0, "kernel", "dram",
        launch=kernel.launch, duration_s=seconds, depth="standard",
    )  # fmt: skip


def report(*kernels: KernelReport) -> Report:
    return Report(Source("x.ncu-rep", ""), Collection(depth="standard"), (), kernels)


LAUNCHES = [*(launch("gemm", 10e-6) for _ in range(9)), launch("add", 2e-6), launch("add", 2e-6)]


def test_counts_and_time_come_from_the_survey() -> None:
    found = whole(report(deep(0, LAUNCHES[0], 12e-6)), select(LAUNCHES, coverage=0.9))
    gemm, add = found.kernels
    assert (gemm.launches, gemm.total_s, gemm.duration_s) == (9, 90e-6 + 0, 12e-6)
    assert (add.launches, add.depth, add.bound, add.findings) == (2, "survey", "unknown", ())
    assert gpu_time(found.kernels) == pytest.approx(94e-6)
    assert [group.kernel.name for group in ranked(found)] == ["gemm", "add"]
    assert found.collection.survey is not None
    assert found.collection.survey.launches == 11
    assert found.notes == ()


def test_a_kernel_that_did_not_run_again_is_said_and_kept() -> None:
    found = whole(report(deep(0, LAUNCHES[0], 12e-6)), select(LAUNCHES, coverage=1))
    assert [kernel.depth for kernel in found.kernels] == ["standard", "survey"]
    assert "1 kernel chosen for depth was not met there (add): " in found.notes[0]
    assert found.kernels[1].left_out == "missing"


def test_only_what_was_measured_counts_as_covered() -> None:
    found = whole(report(deep(0, LAUNCHES[0], 12e-6)), select(LAUNCHES, coverage=1))
    survey = found.collection.survey
    assert survey is not None
    assert (survey.kernels, survey.in_depth) == (2, 1)
    assert survey.covered == pytest.approx(90 / 94)


def test_a_run_in_depth_that_was_stopped_is_no_other_program() -> None:
    cut = whole(report(), select(LAUNCHES, coverage=1), cut_off=True)
    assert cut.notes == ()
    assert [kernel.left_out for kernel in cut.kernels] == ["missing", "missing"]
    assert cut.collection.survey is not None
    assert cut.collection.survey.in_depth == cut.collection.survey.covered == 0


def test_it_is_kept_why_a_kernel_was_left_out() -> None:
    tried = [launch("gemm", 20e-6, grid) for grid in (2, 2, 1, 1, 3, 3, 4, 4)]
    found = whole(
        report(deep(0, LAUNCHES[0], 12e-6)),
        select([*tried, *LAUNCHES], coverage=0.9),
    )
    why = {(kernel.name, kernel.launch.grid[0]): kernel.left_out
           for kernel in found.kernels if kernel.launch and kernel.launch.grid}  # fmt: skip
    assert why == {
        ("gemm", 1): None, ("add", 1): "coverage",
        ("gemm", 2): "autotuning", ("gemm", 3): "autotuning", ("gemm", 4): "autotuning",
    }  # fmt: skip


def test_a_kernel_of_the_second_run_alone_is_said_and_kept() -> None:
    other = deep(1, launch("gemm", 1e-6, grid=7), 3e-6)
    found = whole(report(deep(0, LAUNCHES[0], 1e-6), other), select(LAUNCHES, coverage=0.9))
    assert "1 kernel measured in depth was not met by the survey (gemm): " in found.notes[0]
    assert found.kernels[1].launches == 1
    assert found.kernels[1].total_s is None


def test_indices_stay_unique() -> None:
    found = whole(report(replace(deep(5, LAUNCHES[0], 1e-6))), select(LAUNCHES, coverage=0.9))
    assert [kernel.index for kernel in found.kernels] == [5, 6]


def test_the_survey_alone_makes_a_report() -> None:
    found = whole(report(), select(LAUNCHES, coverage=0, complete=False))
    assert [kernel.launches for kernel in found.kernels] == [9, 2]
    assert found.collection.survey is not None
    assert not found.collection.survey.complete
    assert all(kernel.timed_only and kernel.left_out is None for kernel in found.kernels)


def test_a_kernel_that_was_only_timed_reaches_no_threshold() -> None:
    assert failing([replace(WHOLE, kernels=WHOLE.kernels[2:])], "low") is None
    assert "1 finding of severity high" in str(failing([WHOLE], "high"))
