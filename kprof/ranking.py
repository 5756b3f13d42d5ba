"""Which kernels a short summary speaks of: launches that are alike as one, by GPU time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from kprof.model import Finding, KernelReport, Report


@dataclass(frozen=True, slots=True)
class Group:
    """Launches of one kernel that are alike: same name, launch configuration and verdict.

    Attributes:
        kernel: the longest launch, which stands for all.
        members: every launch, in launch order.
        total_s: time of all launches, None when no time is known.
        share: of the report's GPU time, 0..1, None when no time is known.
    """

    kernel: KernelReport
    members: tuple[KernelReport, ...]
    total_s: float | None
    share: float | None

    @property
    def launches(self) -> int:
        """How often it was launched, all members together."""
        return sum(max(1, member.launches) for member in self.members)

    @property
    def first(self) -> Finding | None:
        """The finding that matters most, None when no rule fired."""
        return self.kernel.findings[0] if self.kernel.findings else None


def gpu_time(kernels: Iterable[KernelReport]) -> float | None:
    """Sum the known durations in seconds, repeated launches included; None if none is known.

    Where a survey timed all launches, its sum counts: a launch measured in depth starts with
    cold caches.
    """
    times = [time for kernel in kernels if (time := _time(kernel)) is not None]
    return math.fsum(times) if times else None


def _time(kernel: KernelReport) -> float | None:
    if kernel.total_s is not None:
        return kernel.total_s
    return None if kernel.duration_s is None else kernel.duration_s * max(1, kernel.launches)


def ranked(report: Report, *, apart: bool = False) -> tuple[Group, ...]:
    """Group the report's kernels and order the groups by GPU time; unknown times come last.

    Args:
        report: what was diagnosed.
        apart: whether every launch is a group of its own.
    """
    total = gpu_time(report.kernels)
    alike: dict[object, list[KernelReport]] = {}
    for kernel in report.kernels:
        alike.setdefault(kernel.index if apart else _identity(kernel), []).append(kernel)
    groups = [_group(members, total) for members in alike.values()]
    # sorted() is stable: equal times keep launch order.
    return tuple(sorted(groups, key=lambda group: (group.total_s is None, -(group.total_s or 0))))


def _group(members: list[KernelReport], total: float | None) -> Group:
    longest = max(members, key=lambda kernel: kernel.duration_s or 0.0)
    time = gpu_time(members)
    return Group(longest, tuple(members), time, time / total if time and total else None)


def _identity(kernel: KernelReport) -> object:
    launch = kernel.launch
    shape = (launch.grid, launch.block) if launch else None
    rules = tuple(finding.rule for finding in kernel.findings)
    known = kernel.duration_s is not None
    extent = (kernel.depth, kernel.left_out, known)
    return kernel.demangled, kernel.device, kernel.workload, shape, kernel.bound, rules, extent
