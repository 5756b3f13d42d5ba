"""The project keeps its own promises: layers, sizes, current documents, lint and types."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kprof.version import __version__
from scripts import generate_docs

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "kprof").rglob("*.py"))
RULES = sorted((ROOT / "rules").glob("*.py"))
RECORDINGS = ROOT / "tests" / "data" / "h200"
LINES = 400
DATA_BYTES = 16 * 2**20
# Places that exist on somebody's machine only. Spelled in two halves: this file is looked at too.
PRIVATE = tuple("/" + name + "/" for name in ("work", "farm"))

# Imports go downward (docs/decisions/0002). Within a layer they may go sideways, without cycles.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "injection", "regions", "signals", "version"}),
    frozenset({"model"}),
    frozenset(
        {"crew", "inputs", "metrics", "names", "output", "own_code", "presence", "process",
         "protobuf", "quantity", "sass", "units", "words"}
    ),
    frozenset(
        {"attribution", "balance", "collect", "embedded", "evidence", "instruction_mix",
         "limiter", "occupancy", "occupancy_curves", "producer", "reader", "roofline", "rule",
         "samples", "sharedmem", "source_text", "source_view", "stall_tree", "stalls", "tensor"}
    ),
    frozenset(
        {"audit", "bench", "diagnosis", "estimate", "filling", "occupancy_rule", "ordering", "quality", "stall_rule",
         "suspects", "whole"}
    ),
    frozenset(
        {"annotations", "bench_export", "bench_figures", "bench_html", "bench_text",
         "collection_text", "curve_sketch", "doctor_export", "doctor_html", "doctor_input",
         "doctor_matrix", "doctor_result", "doctor_text", "doctor_words", "doubts", "export",
         "figures", "finding_text", "frame", "html", "kernel_text", "markdown", "markers", "page", "plane",
         "ranking", "sketch", "source_page", "survey_text", "templating", "terminal", "text",
         "unplaced"}
    ),
    frozenset({"", "analysis", "api", "calibration", "formats", "schema"}),  # "" is kprof/__init__.py
    frozenset({"__main__", "cli"}),
)  # fmt: skip
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
DIAGNOSIS = LEVEL["diagnosis"]


def part(dotted: str) -> str:
    """Return the part of kprof a module belongs to: ``kprof.cli.demo`` is of ``cli``."""
    return [*dotted.split("."), ""][1]


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> Iterator[str]:
    """Yield the modules of kprof that a file imports anywhere, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "kprof")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "kprof":
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if is_module(name) else str(node.module)


def is_module(name: str) -> bool:
    place = ROOT.joinpath(*name.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def tracked() -> list[Path]:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed: which files belong to the project is unknown")
    listed = subprocess.run(
        [git, "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout: which files belong to the project is unknown")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def manifest() -> dict[str, int]:
    recorded = json.loads((RECORDINGS / "manifest.json").read_text(encoding="utf-8"))
    return {entry["file"]: entry["bytes"] for entry in recorded["recordings"]}


def run(*argv: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *argv], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


# --- the gate: what `make lint` runs ---------------------------------------------------------


def test_the_linter_is_content() -> None:
    run("ruff", "check")


def test_the_code_is_formatted() -> None:
    run("ruff", "format", "--check")


def test_the_types_hold() -> None:
    run("mypy")


# --- layers ----------------------------------------------------------------------------------


def test_every_module_has_a_layer_and_every_layer_its_modules() -> None:
    assert {part(dotted(path)) for path in MODULES} == set(LEVEL)


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_imports_go_downward(path: Path) -> None:
    here = part(dotted(path))
    upward = {name for name in imported(path) if LEVEL[part(name)] > LEVEL[here]}
    assert upward == set()


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_rules_know_the_diagnosis_and_what_is_below_alone(path: Path) -> None:
    names = {part(name) for name in imported(path)}
    assert {name for name in names if LEVEL[name] > DIAGNOSIS} == set()
    assert not names & {"cli", "collect", "diagnosis", "process", "reader"}


def test_no_part_depends_on_itself_through_others() -> None:
    below: dict[str, set[str]] = {name: set() for name in LEVEL}
    for path in MODULES:
        here = part(dotted(path))
        below[here] |= {part(name) for name in imported(path)} - {here}
    while leaves := {name for name, others in below.items() if not others}:
        below = {name: others - leaves for name, others in below.items() if name not in leaves}
    assert below == {}, "these parts import each other"


# --- sizes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*MODULES, *RULES], ids=dotted)
def test_files_stay_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LINES


def test_recorded_data_stays_small() -> None:
    total = sum(path.stat().st_size for path in (ROOT / "tests" / "data").rglob("*"))
    assert total <= DATA_BYTES


# --- documents -------------------------------------------------------------------------------


def test_the_changelog_knows_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d[^]]*)\]", text, re.MULTILINE)
    assert newest is not None
    assert newest[1] == __version__


@pytest.mark.parametrize("path", generate_docs.candidates(), ids=lambda path: path.name)
def test_generated_parts_are_current(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == generate_docs.renewed(text), "run: make docs"


def test_every_kind_of_generated_part_is_used() -> None:
    texts = [path.read_text(encoding="utf-8") for path in generate_docs.candidates()]
    used = {found[2] for text in texts for found in generate_docs.PART.finditer(text)}
    assert used == set(generate_docs.PARTS)


def test_links_between_documents_lead_somewhere() -> None:
    broken = [
        f"{path.relative_to(ROOT)}: {link}"
        for path in tracked()
        if path.suffix == ".md"
        for link in re.findall(r"\]\(([^)#:\s]+)[)#]", path.read_text(encoding="utf-8"))
        if not (path.parent / link).exists()
    ]
    assert broken == []


def test_decisions_that_the_code_names_exist() -> None:
    numbers = {path.name[:4] for path in (ROOT / "docs" / "decisions").glob("*.md")}
    named = {
        number
        for path in [*MODULES, *RULES, ROOT / "pyproject.toml"]
        for number in re.findall(r"decisions/(\d{4})", path.read_text(encoding="utf-8"))
    }
    assert named <= numbers


def test_the_project_names_no_private_place() -> None:
    telling = [
        f"{path.relative_to(ROOT)}: {place}"
        for path in tracked()
        for place in PRIVATE
        if place.encode() in path.read_bytes()
    ]
    assert telling == []


# --- recordings ------------------------------------------------------------------------------


def test_the_manifest_lists_every_recording_and_no_other() -> None:
    there = {
        path.relative_to(RECORDINGS).as_posix(): path.stat().st_size
        for path in RECORDINGS.rglob("*.ncu-rep.xz")
    }
    assert there == manifest()


def test_every_sample_of_the_manifest_exists() -> None:
    recorded = json.loads((RECORDINGS / "manifest.json").read_text(encoding="utf-8"))
    sources = {entry["source"] for entry in recorded["recordings"]}
    assert {source for source in sources if not (ROOT / source).is_file()} == set()
