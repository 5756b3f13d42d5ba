"""Times of the operators' variants, from a stored run of ``kprof bench`` or from the candidates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "docs" / "operators" / "data"
COPY = "copy"
Times = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Run:
    """Seconds by shape and variant, and on which GPU and how they were measured."""

    device: str
    how: str
    times: Times
    kernels: Mapping[str, Mapping[str, str]]
    reasons: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    refused: frozenset[tuple[str, str]] = frozenset()  # shapes that a variant does not do
    notes: tuple[str, ...] = ()


def cold_run(operator: str) -> Run:
    """Return the times with a cold L2 cache: those of a bench, else of the candidates."""
    path = DATA / f"{operator}.json"
    return bench_run(read(path)) if path.is_file() else candidate_run(operator, "cold")


def warm_run(operator: str) -> Run | None:
    """Return the times with a warm cache from the same kind of source, None where there are none."""
    path = DATA / f"{operator}-warm.json"
    if path.is_file():
        return bench_run(read(path))
    benched = (DATA / f"{operator}.json").is_file()
    return None if benched else candidate_run(operator, "warm")


def bench_run(document: Mapping[str, Any]) -> Run:
    """Return the times of a ``kprof.bench/1`` document; of a swept variant, the fastest unit's."""
    said, device = document["conditions"], document["device"]
    times: dict[str, dict[str, float]] = {}
    reasons: dict[str, dict[str, Mapping[str, Any]]] = {}
    for shape in document["shapes"]:
        right = [unit for unit in shape["units"] if unit["timing"]]
        right.sort(key=lambda unit: unit["timing"]["p50_s"], reverse=True)
        times[shape["shape"]] = {u["variant"]: u["timing"]["p50_s"] for u in right}
        if shape["copy_s"]:
            times[shape["shape"]][COPY] = shape["copy_s"]
        reasons[shape["shape"]] = {u["variant"]: u["why"] for u in right if u["why"]}
    kernels = {
        shape: {variant: why["kernel"] for variant, why in found.items()}
        for shape, found in reasons.items()
    }
    how = (
        f"`kprof bench {document['target']}` with torch {document['torch']} and CUDA "
        f"{device['cuda']}: medians of {said['runs']} runs, {said['l2']} L2 cache."
    )
    refused = frozenset(
        (shape["shape"], unit["variant"])
        for shape in document["shapes"]
        for unit in shape["units"]
        if unit["status"] == "unsupported"
    )
    notes = tuple(document["notes"])
    return Run(device["name"], how, times, kernels, reasons, refused, notes)


def candidate_run(operator: str, l2: str) -> Run:
    """Return the times measured while the configuration was chosen."""
    stored = read(DATA / "candidates.json")
    shapes = stored[operator]
    how = (
        f"Not a run of `kprof bench` yet: measured while the configuration was chosen, with torch "
        f"{stored['torch']} and CUDA {stored['cuda']}, as medians of {stored['rounds']} rounds in "
        f"which all take turns, {l2} L2 cache. "
        + ("Single launches between events, L2 overwritten before each." if l2 == "cold" else
           "Launches back to back in a CUDA graph.")
    )  # fmt: skip
    times = {
        name: {variant: seconds[l2] for variant, seconds in shape["times"].items()}
        for name, shape in shapes.items()
    }
    kernels = {
        name: {variant: names[0] for variant, names in shape.get("kernels", {}).items()}
        for name, shape in shapes.items()
    }
    return Run(stored["device"], how, times, kernels)


def candidates(operator: str) -> dict[str, Any]:
    """Return by shape what was measured while the configuration was chosen."""
    found: dict[str, Any] = read(DATA / "candidates.json")[operator]
    return found


def goals(operator: str) -> list[dict[str, Any]]:
    """Return an operator's goals and the ratios measured in each run, none where there was no run."""
    path = DATA / "goals.json"
    stored = read(path)["goals"] if path.is_file() else []
    return [goal for goal in stored if goal["operator"] == operator]


def read(path: Path) -> Any:
    """Return a JSON document."""
    return json.loads(path.read_text(encoding="utf-8"))
