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
CONFLICTS = frozenset({"shared-bank-conflicts", "shared-atomic-contention"})
ACCESSES = frozenset({"uncoalesced-global-access", "narrow-global-access"})
REUSE = frozenset({"low-l2-reuse", "partition-camping"})
# By recording: each is built to look like the first of its rules.
MUST_NOT_CARRY: dict[str, frozenset[str]] = {
    # Arbitration shows as bank conflicts in the raw counters; no wavefront is in excess. And one
    # tile per block leaves nothing to overlap its copy with.
    "transpose-padded": CONFLICTS | {"synchronous-tile-copy"},
    "look_alikes-padded_tile": CONFLICTS,
    # 512 bytes per warp take four wavefronts, or 16 sectors.
    "look_alikes-wide_shared_loads": CONFLICTS,
    "vector_add-float4": ACCESSES | REUSE,
    # Read once: a low hit rate in L2 is all there can be.
    "look_alikes-stream_once": ACCESSES | REUSE | {"memory-latency-bound"},
    # 70 % of device memory: neither idle nor at its roof, and 32-bit accesses are not the reason.
    "vector_add-simple": ACCESSES | REUSE | {"memory-latency-bound"},
    # Local memory that L1 serves while the kernel computes.
    "look_alikes-small_local_array": frozenset({"local-memory-traffic"}),
    "look_alikes-grid_stride_waves": LAUNCH | OCCUPANCY,
    "look_alikes-one_block_gemm": OCCUPANCY | LAUNCH | {"tensor-pipe-underused"},
    "look_alikes-persistent": LAUNCH | OCCUPANCY,
    "vector_add-grid_stride": LAUNCH | OCCUPANCY | ACCESSES | REUSE,
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


@pytest.mark.parametrize("depth", DEPTHS)
def test_indices_and_spills_are_told_apart(depth: str) -> None:
    headlines = {
        name: next(f.headline for f in diagnosed(depth, f"local-memory-traffic-{name}").findings
                   if f.rule == "local-memory-traffic")
        for name in ("bad", "spill")
    }  # fmt: skip
    assert headlines["bad"].startswith("Arrays with run-time indices")
    assert headlines["spill"].startswith("Registers spill")


@pytest.mark.parametrize("depth", DEPTHS)
def test_seven_tenths_of_device_memory_say_what_is_left(depth: str) -> None:
    report = diagnosed(depth, "vector_add-simple")
    first = report.findings[0]
    assert first.rule == "dram-bandwidth-bound"
    assert first.severity in {"low", "medium"}
    assert first.estimated_speedup is not None
    assert report.limiter is not None
    assert 60.0 <= report.limiter.pct < 80.0
