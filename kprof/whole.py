"""The whole program: what was measured in depth, put among all that a survey timed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kprof.collect.selection import Config, Group, Selection, config
from kprof.model import KernelReport, LeftOut, Report
from kprof.names import short

_NAMED = 3  # kernels that a note names
_NAME_WIDTH = 60


def whole(report: Report, selection: Selection, *, cut_off: bool = False) -> Report:
    """Return the report of the whole program.

    Kernels measured in depth keep their numbers and get the launch count and GPU time of the
    survey; the rest follow with what the survey knows: a duration, and no verdict. What the two
    runs disagree about becomes a note.

    Args:
        report: the diagnosis of the second run.
        selection: the survey of the first.
        cut_off: whether the second run ended badly: what it lacks is then no difference between
            the two runs.
    """
    groups = {group.config: group for group in selection.groups}
    deep = {config(kernel): kernel for kernel in reversed(report.kernels)}
    kernels = [
        _counted(kernel, groups.get(key))
        for kernel in report.kernels
        if deep[key := config(kernel)] is kernel
    ]
    rest = [group for group in selection.groups if group.config not in deep]
    start = max((kernel.index for kernel in report.kernels), default=-1) + 1
    chosen = bool(selection.selected)
    timed = [_timed(group, start + at, _why(group, chosen)) for at, group in enumerate(rest)]
    return replace(
        report,
        kernels=(*kernels, *timed),
        collection=replace(report.collection, survey=selection.summary(deep)),
        notes=(*report.notes, *_differences(selection, deep, groups, cut_off=cut_off)),
    )


def _counted(kernel: KernelReport, group: Group | None) -> KernelReport:
    if group is None:
        return kernel
    return replace(kernel, launches=group.launches, total_s=group.total_s)


def _why(group: Group, chosen: bool) -> LeftOut | None:
    if group.tuning:
        return "autotuning"
    if group.selected:
        return "missing"
    return "coverage" if chosen else None  # nothing was chosen: the survey itself was cut off


def _timed(group: Group, index: int, why: LeftOut | None) -> KernelReport:
    kernel = group.example
    return KernelReport(
        index=index,
        name=kernel.name,
        demangled=kernel.demangled,
        device=kernel.device,
        workload=kernel.workload,
        bound="unknown",
        launch=kernel.launch,
        nvtx=kernel.nvtx,
        duration_s=kernel.duration_s,
        launches=group.launches,
        total_s=group.total_s,
        depth="survey",
        left_out=why,
    )


def _differences(
    selection: Selection, deep: Iterable[Config], groups: Iterable[Config], *, cut_off: bool
) -> tuple[str, ...]:
    """Say where the survey and the run in depth met different kernels."""
    seen, known = set(deep), set(groups)
    missing = [group.config for group in selection.selected if group.config not in seen]
    added = [key for key in seen if key not in known]
    notes = []
    if missing and not cut_off:
        notes.append(
            f"{_count(missing)} chosen for depth {_was(missing)} not met there ({_names(missing)}): "
            "the program did not launch the same again, or ncu's filter passed over it. What the "
            "survey timed is shown."
        )
    if added:
        notes.append(
            f"{_count(added)} measured in depth {_was(added)} not met by the survey "
            f"({_names(added)}): the program did not launch the same again. How often it is "
            "launched is unknown."
        )
    return tuple(notes)


def _was(configs: list[Config]) -> str:
    return "was" if len(configs) == 1 else "were"


def _count(configs: list[Config]) -> str:
    return "1 kernel" if len(configs) == 1 else f"{len(configs)} kernels"


def _names(configs: list[Config]) -> str:
    unique = list(dict.fromkeys(short(key.demangled, _NAME_WIDTH) for key in configs))
    more = f" and {len(unique) - _NAMED} more" if len(unique) > _NAMED else ""
    return ", ".join(unique[:_NAMED]) + more
