"""Which instructions of a function have to be printed, where not all can be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from kprof.evidence import TOP_PLACES
from kprof.reader.instructions import SAMPLES

# The most costly instructions, and those before one that waits for data: kprof's own choice, half
# a torch kernel's price. A register is rarely loaded further ahead than that.
_MOST_COSTLY = 48
_WAITERS = 3
_UPSTREAM = 48
_STEP = 16
_SCOREBOARDS = tuple(
    f"smsp__pcsamp_warps_issue_stalled_{kind}_scoreboard{form}"
    for kind in ("long", "short")
    for form in ("_not_issued", "")
)
# Counters that cost, each less its ideal.
_COSTS = (
    (SAMPLES, ""),
    ("memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"),
    ("memory_l2_theoretical_sectors_global", "memory_l2_theoretical_sectors_global_ideal"),
    ("memory_l2_theoretical_sectors_local", ""),
)
# Accesses as such. Of each cost and of these a finding shows so many places: TOP_PLACES.
_TRAFFIC = (
    ("memory_l1_wavefronts_shared", ""),
    ("memory_l2_theoretical_sectors_global", ""),
)
# Instructions that :func:`vital` returns at most.
MOST = _MOST_COSTLY + _WAITERS * (1 + _UPSTREAM) + TOP_PLACES * (len(_COSTS) + len(_TRAFFIC))

_Rows = Mapping[int, Mapping[str, float]]


def vital(launches: Iterable[_Rows], whole: Set[int]) -> set[int]:
    """Return the costly instructions, and those that lead up to the hottest waits.

    Args:
        launches: counters by instruction, of every launch of the function.
        whole: every instruction there is.
    """
    rows = _summed(launches)
    amounts = [_amounts(rows, *cost) for cost in _COSTS]
    costly = _heaviest(dict.fromkeys(rows, 0.0) | _shares(amounts), _MOST_COSTLY)
    amounts += [_amounts(rows, *kind) for kind in _TRAFFIC]
    shown = {key for each in amounts for key in _heaviest(_positive(each), TOP_PLACES)}
    waits = {key: sum(row.get(name, 0.0) for name in _SCOREBOARDS) for key, row in rows.items()}
    hottest = _heaviest(_positive(waits), _WAITERS)
    before = (range(key - _UPSTREAM * _STEP, key, _STEP) for key in hottest)
    return {*costly, *shown, *hottest, *(key for span in before for key in span if key in whole)}


def _summed(launches: Iterable[_Rows]) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for rows in launches:
        for key, row in rows.items():
            into = found.setdefault(key, {})
            for name, value in row.items():
                into[name] = into.get(name, 0.0) + value
    return found


def _amounts(rows: _Rows, name: str, ideal: str) -> dict[int, float]:
    return {key: row.get(name, 0.0) - row.get(ideal, 0.0) for key, row in rows.items()}


def _positive(amounts: Mapping[int, float]) -> dict[int, float]:
    return {key: amount for key, amount in amounts.items() if amount > 0}


def _shares(costs: Iterable[Mapping[int, float]]) -> dict[int, float]:
    """Return the sum of an instruction's shares of each cost."""
    shares: dict[int, float] = {}
    for amounts in costs:
        total = sum(amounts.values())
        if total > 0:
            for key, amount in amounts.items():
                shares[key] = shares.get(key, 0.0) + amount / total
    return shares


def _heaviest(weights: Mapping[int, float], most: int) -> list[int]:
    return sorted(weights, key=lambda key: (-weights[key], key))[:most]
