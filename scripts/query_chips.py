"""Write kprof/collect/availability.json: what each chip counts, and in how many passes.

Asks NVIDIA's library of metrics, which comes with ``ncu-report``. Needs no GPU. Run it after adding
a metric to the catalogue or the plan, or for a chip that a new ``ncu-report`` knows. A chip that
the library no longer knows keeps what the file says of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kprof import metrics as m
from kprof.collect.chips import chip_of
from kprof.collect.plan import metrics_for
from scripts.metrics_library import Library

TABLE = Path(__file__).resolve().parents[1] / "kprof" / "collect" / "availability.json"
_BY_ROW = ("passes", "lacking")  # written with one item a line


def installed() -> Path | None:
    """Return the library beside the installed ``ncu_report``, None where it ships without."""
    spec = find_spec("ncu_report")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).with_name("libnvperf_host.so")
    return path if path.is_file() else None


def read_by_kprof(capabilities: Iterable[str]) -> list[str]:
    """Return the base name of every metric that kprof reads or asks for on any of these GPUs."""
    names = {name for quantity in m.quantities() for way in quantity.ways for name in way.metrics}
    names.update(metrics_for("standard"), m.UNIT_CLASS)
    for capability in capabilities:
        names.update(metrics_for("standard", chip=chip_of(capability)))
    return sorted({name.split(".")[0] for name in names})


def renewed(table: dict[str, Any], library: Library, version: str) -> dict[str, Any]:
    """Return the table as the library has it now."""
    names = read_by_kprof(table["chips"])
    found = {chip: library.having(chip, names) for chip in sorted(set(table["chips"].values()))}
    known = {chip: having for chip, having in found.items() if having is not None}
    hardware = set().union(*known.values())
    before = table["lacking"]
    lacking = {
        name: sorted(
            chip
            for chip in found
            if (name not in known[chip] if chip in known else chip in before.get(name, ()))
        )
        for name in names
        if name in hardware
    }
    passes = {**table["passes"], **passes_of(table["chips"], library)}
    return {**table, "ncu_report": version, "passes": passes, "lacking": lacking}


def passes_of(chips: dict[str, str], library: Library) -> dict[str, dict[str, int]]:
    """Return by chip and depth the replay passes that its hardware counters take."""
    counted = {
        chip: {
            depth: library.passes(chip, metrics_for(depth, chip=chip_of(capability)))
            for depth in ("quick", "standard")
        }
        for capability, chip in chips.items()
    }
    return {
        chip: {depth: count for depth, count in depths.items() if count is not None}
        for chip, depths in counted.items()
        if None not in depths.values()
    }


def main() -> None:
    """Renew the table with the installed library."""
    path = installed()
    if path is None:
        raise SystemExit("ncu-report is not installed, or without libnvperf_host.so")
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    table = renewed(table, Library(path), distribution("ncu-report").version)
    head = {key: value for key, value in table.items() if key not in _BY_ROW}
    text = json.dumps(head, indent=1).removesuffix("\n}")
    text += "".join(f',\n "{key}": {{\n{_rows(table[key])}\n }}' for key in _BY_ROW)
    TABLE.write_text(f"{text}\n}}\n", encoding="utf-8")


def _rows(items: dict[str, Any]) -> str:
    return ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in items.items())


if __name__ == "__main__":
    main()
