"""From a survey of all launches to the few that are worth measuring in depth.

One launch stands for all with the same name, grid, block and shared memory: that is also what
ncu's ``--filter-mode per-launch-config`` takes for one. Launches of a search for the best
configuration (autotuning) are recognised by their order and left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from kprof.collect.patterns import CUT, literal
from kprof.model import Dim3, Kernel, KernelReport, Survey

# A search: this many configurations of one name, each launched several times in one go and never
# again, beside one that comes back.
_SEARCHED = 3
_TRIED = 2
_NOTABLE = 0.01  # share of the GPU time that a reader looks for, whatever it costs to measure
_LONGEST = 64 << 10  # characters of a filter; Linux passes 128 KiB in one argument


@dataclass(frozen=True, slots=True)
class Config:
    """What tells launches apart: on which GPU they ran does not, for ncu's filter neither."""

    demangled: str
    grid: Dim3 | None
    block: Dim3 | None
    shared_dynamic_bytes: int | None


@dataclass(frozen=True, slots=True)
class Group:
    """All launches of one configuration.

    Attributes:
        config: what they have in common.
        example: the one whose duration is the median.
        launches: how many there are.
        total_s: their GPU time in seconds; those without a time count as 0.
        first: position of the first in the program's launches.
        tuning: they are a search's, and not what the program runs on.
        selected: to be measured in depth.
    """

    config: Config
    example: Kernel
    launches: int
    total_s: float
    first: int
    tuning: bool = False
    selected: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """A survey with what to measure.

    Attributes:
        groups: most GPU time first.
        complete: False when the survey was cut off.
        timed_by: as of :class:`kprof.model.Survey`.
    """

    groups: tuple[Group, ...]
    complete: bool = True
    timed_by: str = "ncu"

    @property
    def selected(self) -> tuple[Group, ...]:
        """The groups to measure in depth."""
        return tuple(group for group in self.groups if group.selected)

    def missing(self, seen: Iterable[Config]) -> tuple[Group, ...]:
        """Return what was chosen and is not among these."""
        there = set(seen)
        return tuple(group for group in self.selected if group.config not in there)

    def named_by(self, kernels: Iterable[Kernel]) -> Selection:
        """Return the same with the names that ncu has for these kernels.

        The tracer knows mangled names alone, and each demangler writes a name its own way.
        """
        names = {kernel.mangled: kernel for kernel in kernels if kernel.mangled}
        return replace(self, groups=tuple(_named(group, names) for group in self.groups))

    def on(self, places: Sequence[int]) -> Selection:
        """Return the same with GPUs by their place in another report.

        Args:
            places: for each GPU of the survey.
        """
        return replace(
            self,
            groups=tuple(
                replace(group, example=replace(group.example, device=places[group.example.device]))
                for group in self.groups
            ),
        )

    @property
    def launches(self) -> int:
        """All launches."""
        return sum(group.launches for group in self.groups)

    def summary(self, measured: Container[Config] | None = None) -> Survey:
        """Return the numbers for the report.

        Args:
            measured: what was measured in depth, the plan when None.
        """
        if measured is None:
            deep = self.selected
        else:
            deep = tuple(group for group in self.groups if group.config in measured)
        total = math.fsum(group.total_s for group in self.groups)
        tuning = [group for group in self.groups if group.tuning]
        tuning_s = math.fsum(group.total_s for group in tuning)
        covered = math.fsum(group.total_s for group in deep if not group.tuning)
        return Survey(
            launches=self.launches,
            kernels=len(self.groups),
            total_s=total,
            in_depth=len(deep),
            covered=covered / (total - tuning_s) if total > tuning_s else 0.0,
            tuning_launches=sum(group.launches for group in tuning),
            tuning_s=tuning_s,
            complete=self.complete,
            timed_by=self.timed_by,
        )


def config(kernel: Kernel | KernelReport) -> Config:
    """Return what tells a launch from others."""
    launch = kernel.launch
    return Config(
        kernel.demangled or kernel.name,
        launch.grid if launch else None,
        launch.block if launch else None,
        launch.shared_dynamic_bytes if launch else None,
    )


def select(
    kernels: Sequence[Kernel],
    *,
    coverage: float = 0.95,
    top: int | None = None,
    complete: bool = True,
    timed_by: str = "ncu",
) -> Selection:
    """Choose the configurations that make up the GPU time.

    ncu chooses by name and measures every configuration of it. So whole functions are chosen:
    first those with a configuration of 1 % of the time, then those with most time for each
    configuration to measure.

    Args:
        kernels: every launch of the survey, in order.
        coverage: share 0..1 of the GPU time, search left out, to measure in depth.
        top: at most this many configurations, those with most time.
        complete: whether these are all launches of the program.
        timed_by: what timed them.
    """
    groups = sorted(_groups(kernels), key=lambda group: (-group.total_s, group.first))
    covering = _covering(groups, coverage)
    wanted = set([group.config for group in groups if group.config in covering][:top])
    return Selection(
        tuple(replace(group, selected=group.config in wanted) for group in groups),
        complete,
        timed_by,
    )


def _covering(groups: Sequence[Group], coverage: float) -> set[Config]:
    """Return the configurations of the functions that cover this share of the time."""
    eligible = _time(groups)
    functions: dict[str, list[Group]] = {}
    for group in groups:
        functions.setdefault(group.config.demangled, []).append(group)

    def worth(function: list[Group]) -> tuple[bool, float]:
        notable = any(_time([group]) >= _NOTABLE * eligible for group in function)
        return notable, _time(function) / len(function)

    covered = 0.0
    chosen: set[Config] = set()
    for function in sorted(functions.values(), key=worth, reverse=True):
        if eligible and covered >= coverage * eligible:
            break
        covered += _time(function)
        chosen.update(group.config for group in function if not group.tuning)
    return chosen


def _time(groups: Iterable[Group]) -> float:
    """Return GPU time in seconds, that of a search left out."""
    return math.fsum(group.total_s for group in groups if not group.tuning)


def mangled_filter(groups: Iterable[Group]) -> str | None:
    """Return a regular expression for ncu that matches the mangled names of these groups.

    None where one is not known, or all together are too long for a command line.
    """
    mangled = list(dict.fromkeys(group.example.mangled for group in groups))
    names = _any_of(mangled)
    return names if all(mangled) and len(names) <= _LONGEST else None


def function_names(groups: Iterable[Group]) -> Callable[[str], str]:
    """Return what gives a function's name for the mangled one that ncu's log has.

    The log may cut a long name. What is not known stays as it is.
    """
    names = {group.example.mangled: group.example.name for group in groups}

    def name_of(logged: str) -> str:
        if logged in names:
            return names[logged]
        start = logged.removesuffix(CUT)
        found = {name for mangled, name in names.items() if mangled.startswith(start)}
        return found.pop() if start != logged and len(found) == 1 else logged

    return name_of


def function_filter(groups: Iterable[Group]) -> str:
    """Return a regular expression for ncu that matches these groups' function names."""
    return _any_of(dict.fromkeys(group.example.name for group in groups))


def _named(group: Group, names: Mapping[str, Kernel]) -> Group:
    known = names.get(group.example.mangled)
    if known is None:
        return group
    return replace(
        group,
        config=replace(group.config, demangled=known.demangled or known.name),
        example=replace(group.example, name=known.name, demangled=known.demangled),
    )


def _any_of(names: Iterable[str]) -> str:
    return "^(?:" + "|".join(map(literal, names)) + ")$"


def _groups(kernels: Sequence[Kernel]) -> list[Group]:
    configs = [config(kernel) for kernel in kernels]
    positions: dict[Config, list[int]] = {}
    for position, key in enumerate(configs):
        positions.setdefault(key, []).append(position)
    tuning = _searched(configs)
    return [
        Group(
            config=key,
            example=_median([kernels[position] for position in where]),
            launches=len(where),
            total_s=math.fsum(kernels[position].duration_s or 0.0 for position in where),
            first=where[0],
            tuning=key in tuning,
        )
        for key, where in positions.items()
    ]


def _median(kernels: list[Kernel]) -> Kernel:
    timed = [kernel for kernel in kernels if kernel.duration_s is not None]
    ordered = sorted(timed or kernels, key=lambda kernel: kernel.duration_s or 0.0)
    return ordered[len(ordered) // 2]


def _searched(configs: Sequence[Config]) -> set[Config]:
    """Return the configurations that were only tried, by the order of each name's launches."""
    by_name: dict[str, list[Config]] = {}
    for key in configs:
        by_name.setdefault(key.demangled, []).append(key)
    found: set[Config] = set()
    for sequence in by_name.values():
        runs = [(key, len(list(run))) for key, run in groupby(sequence)]
        often: dict[Config, int] = {}
        for key, _ in runs:
            often[key] = often.get(key, 0) + 1
        tried = {key for key, length in runs if often[key] == 1 and length >= _TRIED}
        if len(tried) >= _SEARCHED - 1 and any(count > 1 for count in often.values()):
            found |= tried
    return found
