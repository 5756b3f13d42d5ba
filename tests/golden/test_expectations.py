"""The planted kernels: each sample is built to show one thing, and that has to come out."""

from __future__ import annotations

from pathlib import Path

import pytest

from kprof.model import KernelReport
from kprof.ordering import LIMITS
from tests.golden.companions import ALLOWED, PLANTED
from tests.golden.recordings import DEPTHS, diagnosed, names

SAMPLES = Path(__file__).resolve().parents[2] / "sample_kernels"
every_depth = pytest.mark.parametrize("depth", DEPTHS)
BOUNDS = {
    "compute-bound-bad": "fp32",
    "fp64-usage-bad": "fp64",
    "grid-too-small-bad": "launch",
    "issue-bound-bad": "issue",
    "l1-bandwidth-bound-bad": "l1",
    "l2-bandwidth-bound-bad": "l2",
    "memory-latency-bound-bad": "latency",
    "occupancy-limited-by-registers-bad": "latency",
    "occupancy-limited-by-shared-memory-bad": "latency",
    "tensor-core-bound-bad": "tensor",
    "transpose-padded": "dram",
    "transpose-unpadded": "shared",
    "uncoalesced-global-access-bad": "dram",
    "vector_add-float4": "dram",
    "vector_add-grid_stride": "dram",
    "vector_add-simple": "dram",
}


def planted(*endings: str) -> list[tuple[str, str]]:
    """Return (sample, rule) of the samples named after a rule."""
    return [
        (name, name.removesuffix(f"-{ending}"))
        for name in names()
        for ending in endings
        if name.endswith(f"-{ending}")
    ]


def severities(report: KernelReport) -> dict[str, str]:
    return {finding.rule: finding.severity for finding in report.findings}


def first(report: KernelReport) -> str | None:
    return report.findings[0].rule if report.findings else None


@every_depth
@pytest.mark.parametrize(("name", "rule"), planted("bad", "spill"))
def test_a_bad_sample_is_named_first(depth: str, name: str, rule: str) -> None:
    assert first(diagnosed(depth, name)) == rule


@every_depth
@pytest.mark.parametrize(("name", "rule"), planted("good"))
def test_a_good_sample_does_not_carry_its_rule(depth: str, name: str, rule: str) -> None:
    assert severities(diagnosed(depth, name)).get(rule, "info") == "info"


@every_depth
@pytest.mark.parametrize(("name", "bound"), BOUNDS.items())
def test_the_bound_is_what_the_sample_is_built_for(depth: str, name: str, bound: str) -> None:
    assert diagnosed(depth, name).bound == bound


LOUD = {"medium", "high"}


@every_depth
@pytest.mark.parametrize("name", names())
def test_no_rule_is_loud_on_a_kernel_it_is_not_planted_in(depth: str, name: str) -> None:
    """But for those that a table allows, with the reason."""
    rule, _, kind = name.rpartition("-")
    planted_here = rule if kind == "bad" else PLANTED.get(name)
    loud = {name for name, how in severities(diagnosed(depth, name)).items() if how in LOUD}
    assert loud - LIMITS - {planted_here} <= set(ALLOWED.get(name, ()))


def test_every_allowance_is_used() -> None:
    for name, allowed in ALLOWED.items():
        found: set[str] = set()
        for depth in DEPTHS:
            found |= {
                rule for rule, how in severities(diagnosed(depth, name)).items() if how in LOUD
            }
        assert set(allowed) <= found, name


def announced(name: str) -> str:
    """Return what a sample's header says it is expected to show."""
    topic, _, file = name.rpartition("-")
    text = (SAMPLES / topic / f"{file}.cu").read_text(encoding="utf-8")
    return next(line for line in text.splitlines() if line.startswith("// Expect: "))[11:]


@every_depth
@pytest.mark.parametrize("name", names())
def test_the_header_of_a_sample_says_what_comes_out(depth: str, name: str) -> None:
    said = announced(name)
    if said.startswith("none of its own rule"):
        assert name.rpartition("-")[0] not in severities(diagnosed(depth, name))
    elif said.startswith("none of the memory rules"):
        assert first(diagnosed(depth, name)) in {"compute-bound", "issue-bound", "integer-bound"}
    else:
        assert first(diagnosed(depth, name)) == said.split(",")[0].split(" ")[0]


def line_that_reads_a_column() -> int:
    lines = (SAMPLES / "transpose" / "unpadded.cu").read_text(encoding="utf-8").splitlines()
    (found,) = (
        number for number, line in enumerate(lines, 1) if "= tile[threadIdx.x][threadIdx.y" in line
    )
    return found


@every_depth
def test_the_unpadded_tile_conflicts_32_ways_where_it_is_read(depth: str) -> None:
    finding = diagnosed(depth, "transpose-unpadded").findings[0]
    assert finding.rule == "shared-bank-conflicts"
    assert finding.severity == "high"
    assert "32-way" in finding.headline
    assert f"unpadded.cu:{line_that_reads_a_column()}" in finding.headline
    for place in finding.source:
        assert Path(place.file or "").name == "unpadded.cu"
        assert place.line == line_that_reads_a_column()
        assert (place.sass or "").startswith("LDS")


@every_depth
def test_conflicts_are_counted_exactly(depth: str) -> None:
    """8192 x 8192 floats, a warp each 32: one wavefront to store, 32 to read a column."""
    shared = diagnosed(depth, "transpose-unpadded").shared_memory
    assert shared is not None
    warps = 8192 * 8192 / 32
    assert (shared.wavefronts, shared.ideal) == (33 * warps, 2 * warps)
    assert shared.excess_pct == pytest.approx(100 * 31 / 33)
    reads = [line for line in shared.by_source if (line.sass or "").startswith("LDS")]
    assert {line.wavefronts / line.ideal for line in reads} == {32.0}


@every_depth
def test_the_padded_tile_has_no_conflicts_and_memory_is_the_limit(depth: str) -> None:
    report = diagnosed(depth, "transpose-padded")
    assert "shared-bank-conflicts" not in severities(report)
    assert first(report) == "dram-bandwidth-bound"
    assert report.shared_memory is not None
    assert report.shared_memory.excess_pct == pytest.approx(0.0, abs=0.01)


@every_depth
def test_the_padded_transpose_takes_less_time(depth: str) -> None:
    padded, unpadded, naive = (
        diagnosed(depth, f"transpose-{name}").duration_s for name in ("padded", "unpadded", "naive")
    )
    assert padded is not None
    assert unpadded is not None
    assert naive is not None
    assert padded < unpadded
    assert padded < naive


@every_depth
def test_the_promised_gain_is_within_reach_of_what_the_fix_brought(depth: str) -> None:
    """Padding is the fix the finding asks for: the estimate's range has to hold the result."""
    unpadded, padded = (diagnosed(depth, f"transpose-{name}") for name in ("unpadded", "padded"))
    gain = unpadded.findings[0].estimated_speedup
    assert gain is not None
    assert unpadded.duration_s is not None
    assert padded.duration_s is not None
    assert gain.low <= unpadded.duration_s / padded.duration_s <= gain.high


@every_depth
def test_tiling_the_convolution_moves_the_limit_to_memory(depth: str) -> None:
    naive, tiled = (diagnosed(depth, f"depthwise_conv-{name}") for name in ("naive", "tiled"))
    assert tiled.bound == "dram"
    assert naive.bound != "dram"
    assert tiled.throughput.dram_pct is not None
    assert naive.throughput.dram_pct is not None
    assert tiled.throughput.dram_pct > 1.5 * naive.throughput.dram_pct


@every_depth
def test_nothing_is_skipped_and_nothing_failed(depth: str) -> None:
    for name in names(depth):
        skipped = {item.rule for item in diagnosed(depth, name).skipped}
        assert skipped == set(), name


def test_the_same_samples_are_recorded_at_both_depths() -> None:
    assert names("plan") == names("full")
    assert len(names("plan")) >= 26


@pytest.mark.parametrize("name", names())
def test_both_depths_come_to_the_same_verdict(name: str) -> None:
    plan, full = diagnosed("plan", name), diagnosed("full", name)
    assert (plan.bound, first(plan)) == (full.bound, first(full))


@pytest.mark.parametrize("name", names())
def test_both_depths_find_the_same_causes(name: str) -> None:
    plan, full = diagnosed("plan", name), diagnosed("full", name)
    assert set(severities(plan)) == set(severities(full))
