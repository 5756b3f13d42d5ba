"""Write the generated parts of README.md and docs/: tables, an example of the JSON, a session.

Everything between ``<!-- generated: NAME -->`` and ``<!-- end -->`` belongs to this script.
``make docs`` runs it; a test holds the pages current.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from kprof import calibration, doctor_text, metrics, text
from kprof.analysis import Analysis
from kprof.audit import Facts, audit, matrix, table
from kprof.audit.standing import standing
from kprof.audit.verdict import PURPOSES, registered
from kprof.doctor_input import load
from kprof.doctor_result import result
from kprof.export import to_dict
from kprof.quantity import Quantity, Way
from kprof.rule import registry

ROOT = Path(__file__).resolve().parents[1]
RECORDING = "tests/data/h200/plan/transpose-unpadded.ncu-rep.xz"
RECORDINGS = "tests/data/h200/plan"
MACHINE = "tests/data/doctor/r04-cu130-on-r570.json"
PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
# How much of a list or mapping the example shows where one item says enough.
SHOWN = {
    "ceilings": 4, "clear": 2, "evidence": 2, "by_source": 1, "source": 1, "stalls": 3,
    "lines": 1, "instructions": 1, "points": 3, "curves": 1, "reasons": 1,
}  # fmt: skip
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


def calibration_table() -> str:
    """Return estimated against measured speed-ups of the planted pairs."""
    compared = calibration.stored()
    head, *rows = calibration.table(compared)
    linked = ((f"`{rule}`", *rest) for rule, *rest in rows)
    return f"{_table(head, linked)}\n{calibration.summary(compared)}\n"


def score_table() -> str:
    """Return kprof's first findings beside NVIDIA's rule results, as last stored."""
    if str(ROOT) not in sys.path:  # started as a script, only its own folder is there
        sys.path.append(str(ROOT))
    from benchmarks import verdict_score

    head, *rows, total = verdict_score.table(verdict_score.stored())
    marked = ((f"`{sample}`", *rest) for sample, *rest in rows)
    return _table(head, (*marked, tuple(f"**{cell}**" if cell else "" for cell in total)))


def mutation_table() -> str:
    """Return the changes of rules that no test can notice, with the reason of each."""
    listed = json.loads((ROOT / "scripts" / "harmless_mutants.json").read_text(encoding="utf-8"))
    return _table(
        ("module", "change", "why nothing changes"),
        ((f"`{row['module']}`", row["change"].replace("|", "\\|"), row["why"]) for row in listed),
    )


def doctor_output() -> str:
    """Return what the doctor says of a machine from a public bug report."""
    report = result(audit(load(ROOT / MACHINE).facts))
    shown = doctor_text.summary(report, width=96, color=False)
    return f"```console\n$ kprof doctor --from {MACHINE}\n{shown.rstrip()}\n```\n"


def check_table() -> str:
    """Return the checks in the order of causes, and which purposes an error of each hurts."""
    importlib.import_module("kprof.audit.checks")
    return _table(
        ("check", "what it looks at", "counts for"),
        (
            (f"`{one.id}`", one.title, ", ".join(filter(one.hurts.__contains__, PURPOSES)))
            for one in registered()
        ),
    )


def toolkit_table() -> str:
    """Return CUDA's minor releases with their drivers, compilers and Nsight Compute."""
    return _table(
        ("CUDA", "ships with driver", "runs on driver", "PTX", "GCC up to", "Nsight Compute"),
        (
            (row.cuda, row.driver, row.needs, _told(matrix.ptx_isa(row.cuda)), row.gcc, row.ncu)
            for row in standing(Facts({})).cudas
        ),
    )


def branch_table() -> str:
    """Return the driver branches with the CUDA version they bring."""
    return _table(
        ("branch", "brings CUDA", "kind", "supported until"),
        ((row.branch, row.cuda, row.kind, row.end) for row in standing(Facts({})).branches),
    )


def architecture_table() -> str:
    """Return what each GPU architecture needs."""
    return _table(
        ("capability", "GPU", "CUDA", "driver branches", "kernel modules", "Nsight Compute"),
        (
            (
                row.capability,
                row.name,
                _span(row.first_cuda, row.last_cuda),
                _span(row.first_branch, row.last_branch),
                row.modules,
                "none" if row.ncu_never else _until(row.ncu_first, row.ncu_dropped),
            )
            for row in standing(Facts({})).gpus
        ),
    )


def torch_table() -> str:
    """Return PyTorch's releases with their builds and what they bring."""
    return _table(
        ("torch", "on PyPI", "other builds", "Python", "cuDNN", "NCCL", "Triton"),
        (
            (
                one.version,
                one.pypi_variant,
                " ".join(
                    name for name in matrix.torch_variants(one.version) if name != one.pypi_variant
                ),
                _span(one.python[0], [name for name in one.python if not name.endswith("t")][-1]),
                one.cudnn,
                one.nccl,
                one.triton,
            )
            for one in reversed(matrix.torch_releases())
        ),
    )


def code_table() -> str:
    """Return the code in PyTorch's builds, builds with the same code together."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in table.rows("wheels"):
        codes = " ".join(arch.removeprefix("sm_") for arch in row["archs"])
        sure = codes if row["confidence"] != table.UNSOURCED else "not sourced"
        found.setdefault((row["variant"], row["machine"], sure), []).append(row["torch"])
    return _table(
        ("build", "machine", "torch", "sm_"),
        (
            (variant, machine, _span(releases[0], releases[-1]), codes)
            for (variant, machine, codes), releases in found.items()
        ),
    )


def statement_list() -> str:
    """Return the rules about versions, each with its sources."""
    return "".join(
        f"- {row['text']} {_cited(row)}\n"
        for row in table.rows("rules")
        if row["confidence"] != table.UNSOURCED
    )


def source_list() -> str:
    """Return the words for confidence and the sources of the table."""
    words = "".join(f"- `{word}`: {meaning}\n" for word, meaning in table.confidences().items())
    rows = "".join(
        f"- `{key}`: [{title}]({url})\n" for key, (title, url) in table.sources().items()
    )
    return f"As of {table.table_date()}.\n\n{words}\n{rows}"


PARTS: dict[str, Callable[[], str]] = {
    "quantities": quantity_tables,
    "units": unit_table,
    "example": json_example,
    "rules": rule_table,
    "catalogue": catalogue,
    "transpose": transpose_output,
    "calibration": calibration_table,
    "score": score_table,
    "mutations": mutation_table,
    "doctor": doctor_output,
    "checks": check_table,
    "toolkits": toolkit_table,
    "branches": branch_table,
    "architectures": architecture_table,
    "torch": torch_table,
    "code": code_table,
    "statements": statement_list,
    "sources": source_list,
}


def candidates() -> list[Path]:
    """Return the documents that may have generated parts."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def renewed(document: str) -> str:
    """Return a document's text with its generated parts as they are now."""
    return PART.sub(_filled, document)


def _table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join('' if cell is None else str(cell) for cell in line)} |\n"
                   for line in lines)  # fmt: skip


def _told(fact: matrix.Fact | None) -> object:
    return fact.value if fact is not None and fact.certain else None


def _span(first: object, last: object) -> str:
    """Return ``11.8–12.9``, ``from 11.8``, ``to 580``, or one value."""
    if first is None:
        return "" if last is None else f"to {last}"
    if last is None:
        return f"from {first}"
    return str(first) if first == last else f"{first}–{last}"


def _until(first: object, dropped: object) -> str:
    return f"{first} until before {dropped}" if dropped else _span(first, None)


def _cited(row: table.Row) -> str:
    return f"({', '.join(f'`{key}`' for key in row['source'])}; {row['confidence']})"


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
    ways = dict.fromkeys(map(_way, quantity.ways))
    return "; ".join(ways) + ("" if quantity.collected else " (never asked for)")


def _way(way: Way) -> str:
    read = " with ".join(f"`{name}`" for name in way.metrics)
    asked = " with ".join(f"`{name}`" for name in way.asked)
    return f"{read} out of {asked}" if asked else read


def _shortened(value: Any, shown: int | None = None) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, list):
        return [_shortened(item) for item in value[:shown]]
    if isinstance(value, dict):
        # The "source" of the report and of a kernel are no lists.
        limit = None if {"sha256", "lines"} & value.keys() else shown
        items = list(value.items())[:limit]
        return {key: _shortened(item, SHOWN.get(key)) for key, item in items}
    return value


def main() -> None:
    """Measure the calibration anew, and rewrite the documents that are not current."""
    measured = calibration.to_json(calibration.measure(ROOT / RECORDINGS))
    (ROOT / "kprof" / calibration.STORED).write_text(measured, encoding="utf-8")
    for path in candidates():
        before = path.read_text(encoding="utf-8")
        now = renewed(before)
        if now != before:
            path.write_text(now, encoding="utf-8")


if __name__ == "__main__":
    main()
