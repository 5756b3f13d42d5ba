from __future__ import annotations

from dataclasses import replace

from kprof.model import KernelReport, Report
from kprof.ranking import gpu_time, ranked


def test_time_takes_most_first_and_unknown_last(
    report: Report, transpose: KernelReport, unmeasured: KernelReport
) -> None:
    small = replace(transpose, index=2, demangled="small", duration_s=1e-6)
    groups = ranked(replace(report, kernels=(unmeasured, small, transpose)))
    assert [group.kernel.index for group in groups] == [0, 2, 1]
    assert groups[2].share is groups[2].total_s is None
    assert groups[0].share is not None
    assert abs(groups[0].share - 1.21e-3 / (1.21e-3 + 1e-6)) < 1e-12


def test_launches_that_are_alike_are_one_group(report: Report, transpose: KernelReport) -> None:
    again = replace(transpose, index=5, duration_s=2e-3, launches=3)
    other = replace(transpose, index=6, findings=())
    groups = ranked(replace(report, kernels=(transpose, again, other)))
    assert [group.launches for group in groups] == [4, 1]
    assert groups[0].kernel is again
    assert groups[0].total_s == 1.21e-3 + 3 * 2e-3


def test_no_time_known_is_unknown_and_not_zero(report: Report, unmeasured: KernelReport) -> None:
    assert gpu_time([unmeasured]) is None
    assert ranked(replace(report, kernels=(unmeasured,)))[0].share is None
    assert ranked(replace(report, kernels=())) == ()
