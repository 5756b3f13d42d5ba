"""Which hardware counters a GPU has, by compute capability.

ncu drops a name that the chip does not have without a word, so kprof has to know. The table
``availability.json`` lists for every hardware counter that kprof reads the chips without it;
``scripts/query_chips.py`` makes it from NVIDIA's own library, no GPU needed, which also tells in how
many replay passes a chip counts what the plan asks for. What ncu counts by patching the code
(``sass__...``, ``memory_...``, ``inst_executed``) is not in that library; where it was seen says
docs/decisions/0011.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

from packaging.version import InvalidVersion, Version


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip of the table.

    Attributes:
        name: NVIDIA's name, e.g. ``GH100``; it stands for every chip of its architecture, which
            all have the same counters.
        capability: compute capability, e.g. ``"9.0"``.
        inferred: True where NVIDIA does not document which capability the chip has.
    """

    name: str
    capability: str
    inferred: bool = False

    def has(self, metric: str) -> bool:
        """Say whether ncu can collect this; True for what the table does not judge."""
        return self.name not in _table()["lacking"].get(metric.split(".")[0], ())

    def passes(self, depth: str) -> int | None:
        """Return the replay passes that the hardware counters of a depth take.

        As NVIDIA's library schedules them; None for a chip that it no longer lists, and for ``full``.
        """
        found: int | None = _table()["passes"].get(self.name, {}).get(depth)
        return found


def chip_of(capability: str | tuple[int, int]) -> Chip | None:
    """Return the chip of a compute capability, None where the table has none.

    Args:
        capability: ``"9.0"`` or ``(9, 0)``.
    """
    major_minor = capability if isinstance(capability, str) else ".".join(map(str, capability))
    name = _table()["chips"].get(major_minor)
    return name and Chip(name, major_minor, major_minor in _table()["inferred"])


def is_judged(metric: str) -> bool:
    """Say whether the table knows which chips have this metric."""
    return metric.split(".")[0] in _table()["lacking"]


def too_old(ncu_version: str) -> bool:
    """Say whether an ncu is older than any the table was made with; False if that is no version."""
    try:
        return Version(ncu_version) < Version(oldest_ncu())
    except InvalidVersion:
        return False


def oldest_ncu() -> str:
    """Return the oldest ncu that the table was made with, e.g. ``2024.1``."""
    return str(_table()["oldest_ncu"])


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    text = resources.files("kprof.collect").joinpath("availability.json").read_text("utf-8")
    table: dict[str, Any] = json.loads(text)
    return table
