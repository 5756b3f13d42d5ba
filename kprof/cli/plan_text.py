"""What a run in depth will measure and what that takes, said before it starts."""

from __future__ import annotations

from kprof import units
from kprof.collect import stages
from kprof.collect.selection import Group, Selection
from kprof.names import short
from kprof.survey_text import launched, launches

# As measured on an H200 (docs/decisions/0005), for a GPU of which nobody knows.
_SOME_PASSES = {"quick": 5, "standard": 8, "full": stages.FULL_PASSES}
_LISTED = 10
_NAME_WIDTH = 60


def lines(
    selection: Selection,
    plain_s: float,
    depth: str,
    *,
    passes: int | None = None,
    follows: bool = False,
) -> list[str]:
    """Return the plan, a line each: what was seen, what is measured, what is left out.

    Args:
        selection: the survey with what was chosen.
        plain_s: wall time of the target alone.
        depth: how much is measured.
        passes: replay passes of a kernel, None where that is not known.
        follows: whether one more run may follow for limiters that stay open.
    """
    seen = selection.summary()
    chosen = selection.selected
    each = passes or _SOME_PASSES[depth]
    seconds = stages.estimate_s(selection, plain_s, each, patched=depth != "quick")
    size = units.si(len(chosen) * stages.BYTES_PER_KERNEL, "B")
    full = _duration(stages.estimate_full_s(selection))
    said = [
        f"Survey: {launched(seen)} of {units.count(seen.kernels, 'kernel')}, "
        f"{units.si(seen.total_s, 's')} of GPU time.",
        f"Plan: {units.count(len(chosen), 'kernel')} in depth, {100 * seen.covered:.1f} % of that "
        f"time, some {each} passes each: about {_duration(seconds)} and {size} "
        f"(every launch with --set full: about {full}).",
        *(_line(group, seen.total_s) for group in chosen[:_LISTED]),
    ]
    if len(chosen) > _LISTED:
        rest = sum(group.total_s for group in chosen[_LISTED:])
        said.append(f"  and {len(chosen) - _LISTED} more{_share(rest, seen.total_s)}")
    if seen.tuning_launches:
        said.append(
            f"Left out: {launches(seen.tuning_launches)} that tried configurations (autotuning), "
            f"{units.si(seen.tuning_s, 's')}."
        )
    if follows:
        said += _follow_up(selection, plain_s)
    return said


def _follow_up(selection: Selection, plain_s: float) -> list[str]:
    total_s = selection.summary().total_s
    large = [group for group in selection.selected if group.total_s > stages.WORTH * total_s]
    if not large:
        return []
    seconds = stages.estimate_follow_up_s(large, plain_s + stages.ATTACH_S)
    return [
        "Should what limits a kernel with more than "
        f"{100 * stages.WORTH:.0f} % of that time stay open: one more run for the counters that "
        f"decide, {_duration(seconds)} at most (--no-follow-up leaves it out)."
    ]


def _line(group: Group, total_s: float) -> str:
    name = short(group.config.demangled, _NAME_WIDTH)
    times = f" ×{group.launches:,}" if group.launches > 1 else ""
    return f"  {name}{times}{_share(group.total_s, total_s)}"


def _share(part_s: float, total_s: float) -> str:
    return f", {100 * part_s / total_s:.1f} %" if total_s else ""


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
