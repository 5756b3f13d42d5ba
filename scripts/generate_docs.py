"""Write the generated parts of README.md and docs/: tables, an example of the JSON, a session.

Everything between ``<!-- generated: NAME -->`` and ``<!-- end -->`` belongs to this script.
``make docs`` runs it; a test holds the pages current.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kprof import metrics, text
from kprof.analysis import Analysis
from kprof.export import to_dict
from kprof.quantity import Quantity
from kprof.rule import registry

ROOT = Path(__file__).resolve().parents[1]
RECORDING = "tests/data/h200/plan/transpose-unpadded.ncu-rep.xz"
PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
# How much of a list or mapping the example shows where one item says enough.
SHOWN = {"ceilings": 4, "clear": 2, "evidence": 2, "by_source": 1, "source": 1, "stalls": 3}
DIGITS = 6


def quantity_tables() -> str:
    """Return one table per module of ``kprof.metrics``, in the order of definition."""
    return "\n".join(
        f"### {title}\n\n"
        "| quantity | what it is | unit | read from, first that is there |\n"
        "| --- | --- | --- | --- |\n" + "".join(map(_row, found))
        for title, found in _sections()
    )


def unit_table() -> str:
    """Return the hardware units whose utilisation decides the limiter, by class."""
    rows = (
        f"| `{kind}` | {', '.join(f'`{base}`' for base in bases)} |\n"
        for kind, bases in metrics.UNITS.items()
    )
    return "| class | metrics |\n| --- | --- |\n" + "".join(rows)


def json_example() -> str:
    """Return the JSON of a recorded report, lists shortened and numbers rounded."""
    report = to_dict(Analysis().of(ROOT / RECORDING))
    report["source"]["path"] = Path(RECORDING).name
    return f"```json\n{json.dumps(_shortened(report), indent=1, ensure_ascii=False)}\n```\n"


def rule_table() -> str:
    """Return the catalogue: every rule with its summary."""
    rows = (f"| `{rule.name}` | {rule.summary} |\n" for rule in registry())
    return "| rule | what it says |\n| --- | --- |\n" + "".join(rows)


def catalogue() -> str:
    """Return every rule with its summary and the quantities it requires."""
    rows = (
        f"| `{rule.name}` | {rule.summary} | "
        f"{', '.join(f'`{quantity.name}`' for quantity in rule.requires) or 'nothing'} |\n"
        for rule in registry()
    )
    return "| rule | what it says | requires |\n| --- | --- | --- |\n" + "".join(rows)


def transpose_output() -> str:
    """Return what the terminal shows for the transpose with bank conflicts."""
    shown = text.summary(Analysis().of(ROOT / RECORDING), width=96, color=False)
    return f"```console\n$ kprof analyze {RECORDING}\n{shown.rstrip()}\n```\n"


PARTS: dict[str, Callable[[], str]] = {
    "quantities": quantity_tables,
    "units": unit_table,
    "example": json_example,
    "rules": rule_table,
    "catalogue": catalogue,
    "transpose": transpose_output,
}


def candidates() -> list[Path]:
    """Return the documents that may have generated parts."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def renewed(document: str) -> str:
    """Return a document's text with its generated parts as they are now."""
    return PART.sub(_filled, document)


def _filled(part: re.Match[str]) -> str:
    return f"{part[1]}{PARTS[part[2]]()}{part[3]}"


def _sections() -> Iterator[tuple[str, list[Quantity]]]:
    for found in pkgutil.iter_modules(metrics.__path__):
        module = importlib.import_module(f"{metrics.__name__}.{found.name}")
        there = [
            value
            for value in vars(module).values()
            if isinstance(value, Quantity) and value in metrics.quantities()
        ]
        if there:
            yield (module.__doc__ or found.name).splitlines()[0].rstrip("."), there


def _row(quantity: Quantity) -> str:
    return f"| `{quantity.name}` | {quantity.meaning} | {quantity.unit} | {_ways(quantity)} |\n"


def _ways(quantity: Quantity) -> str:
    if isinstance(quantity, metrics.Largest):
        return f"the largest of {len(quantity.ways)} units, see below"
    ways = (" with ".join(f"`{name}`" for name in way.metrics) for way in quantity.ways)
    return "; ".join(dict.fromkeys(ways)) + ("" if quantity.collected else " (never asked for)")


def _shortened(value: Any, shown: int | None = None) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, list):
        return [_shortened(item) for item in value[:shown]]
    if isinstance(value, dict):
        limit = None if "sha256" in value else shown  # the report's own "source" is no list
        items = list(value.items())[:limit]
        return {key: _shortened(item, SHOWN.get(key)) for key, item in items}
    return value


def main() -> None:
    """Rewrite the documents that are not current."""
    for path in candidates():
        before = path.read_text(encoding="utf-8")
        now = renewed(before)
        if now != before:
            path.write_text(now, encoding="utf-8")


if __name__ == "__main__":
    main()
