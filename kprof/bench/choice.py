"""What of a bench file's offer is to be run: units, the baseline, shapes to check."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kprof.bench.api import Shape
from kprof.errors import BadBench

# Sizes to check by number of dimensions, where the bench file names none: a single element, tiles
# filled exactly (powers of two), ragged ones (primes). The last two dimensions are the large ones.
_ONE = {1: (65536,), 2: (64, 128)}
_RAGGED = {1: (100_003,), 2: (67, 131)}


def chosen(units: Sequence[Mapping[str, Any]], names: Sequence[str] | None) -> dict[str, Any]:
    """Return the units that were asked for, by label and in that order.

    Raises:
        BadBench: one does not exist.
    """
    if names is None:
        return {unit["label"]: unit for unit in units}
    found: dict[str, Any] = {}
    for name in names:
        same = [unit for unit in units if name in (unit["label"], unit["variant"])]
        if not same:
            raise _unknown(name, units)
        found |= {unit["label"]: unit for unit in same}
    return found


def known_settings(units: Sequence[Mapping[str, Any]], names: Iterable[str]) -> None:
    """Refuse values for a parameter that no variant has: they would change nothing.

    Raises:
        BadBench: there is one.
    """
    known = dict.fromkeys(parameter for unit in units for parameter in unit["parameters"])
    for name in names:
        if name not in known:
            there = f"there are {', '.join(known)}" if known else "the variants have none"
            raise BadBench(f"no variant has a parameter {name!r}", hint=there)


def baseline_first(units: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    """Return the units with the baseline at the first place.

    Raises:
        BadBench: the baseline is none of them.
    """
    if name is None:
        return dict(units)
    same = [label for label, unit in units.items() if name in (label, unit["variant"])]
    if not same:
        raise _unknown(name, units.values())
    return {same[0]: units[same[0]], **units}


def check_shapes(shapes: Sequence[str]) -> list[str]:
    """Return shapes to check that fit those to time: as many dimensions, the same options."""
    found: list[str] = []
    for text in shapes:
        shape = Shape.parse(text)
        count = len(shape)
        sizes = (
            (1,) * count,
            _ONE.get(count, (*(2,) * (count - 2), 64, 64)),
            _RAGGED.get(count, (*(3,) * (count - 2), 37, 61)),
        )
        found += [str(Shape(each, shape.options)) for each in sizes]
    return list(dict.fromkeys(found))


def _unknown(name: str, units: Iterable[Mapping[str, Any]]) -> BadBench:
    known = list(dict.fromkeys(unit["variant"] for unit in units))
    close = difflib.get_close_matches(name, known, n=1)
    meant = f"did you mean {close[0]}? " if close else ""
    return BadBench(f"there is no variant {name!r}", hint=f"{meant}there are {', '.join(known)}")
