"""Kernels that look like a fault and are none: the rules they must not carry."""

from __future__ import annotations

from pathlib import Path

import pytest

from kprof.rule import registry
from tests.golden.recordings import DEPTHS, diagnosed, names

SAMPLES = Path(__file__).resolve().parents[2] / "sample_kernels"
OCCUPANCY = frozenset(
    {"achieved-occupancy-gap", "occupancy-limited-by-block-size", "occupancy-limited-by-registers",
     "occupancy-limited-by-shared-memory"}
)  # fmt: skip
LAUNCH = frozenset({"grid-too-small", "tail-effect", "workload-imbalance", "launch-overhead-bound"})
# By recording: each is built to look like the first of its rules.
MUST_NOT_CARRY: dict[str, frozenset[str]] = {
    "look_alikes-grid_stride_waves": LAUNCH | OCCUPANCY,
    "look_alikes-one_block_gemm": OCCUPANCY | LAUNCH | {"tensor-pipe-underused"},
    "look_alikes-persistent": LAUNCH | OCCUPANCY,
    "vector_add-grid_stride": LAUNCH | OCCUPANCY,
}
RECORDED = [(depth, name) for depth in DEPTHS for name in names(depth) if name in MUST_NOT_CARRY]


@pytest.mark.parametrize(("depth", "name"), RECORDED, ids="-".join)
def test_a_look_alike_does_not_carry_the_rule_it_looks_like(depth: str, name: str) -> None:
    carried = {finding.rule for finding in diagnosed(depth, name).findings}
    assert carried & MUST_NOT_CARRY[name] == set()


def test_every_look_alike_says_what_it_must_not_carry() -> None:
    sources = {f"look_alikes-{path.stem}" for path in (SAMPLES / "look_alikes").glob("*.cu")}
    assert sources <= set(MUST_NOT_CARRY)


def test_the_rules_it_speaks_of_exist() -> None:
    known = {rule.name for rule in registry()}
    assert frozenset().union(*MUST_NOT_CARRY.values()) <= known
