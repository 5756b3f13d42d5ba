"""Source attribution of the recorded kernels: complete, and where it was planted."""

from __future__ import annotations

import pytest

from kprof.model import KernelReport
from kprof.source_view import INSTRUCTIONS
from tests.golden.recordings import DEPTHS, diagnosed, every, kernel
from tests.golden.totals import mismatches, misplaced

every_depth = pytest.mark.parametrize("depth", DEPTHS)
every_recording = pytest.mark.parametrize(("depth", "name"), every(), ids=lambda value: value)


@every_recording
def test_lines_add_up_to_the_kernel(depth: str, name: str) -> None:
    assert list(mismatches(kernel(depth, name))) == []
    assert misplaced(kernel(depth, name)) == []


@every_recording
def test_small_kernels_are_shown_as_a_whole(depth: str, name: str) -> None:
    view = diagnosed(depth, name).source
    assert view is not None
    if view.instructions_total > INSTRUCTIONS:
        assert not view.complete
        return
    assert view.complete
    assert view.instructions_total == len(view.instructions)
    assert all(line.sass for line in view.instructions)
    assert {line.file for line in view.lines} >= {view.lines[0].file}
    assert view.lines_total == len(view.lines)


@every_recording
def test_shares_of_places_are_of_the_kernels_total(depth: str, name: str) -> None:
    for finding in diagnosed(depth, name).findings:
        assert sum(place.share for place in finding.source) <= 1.0 + 1e-9, finding.rule


def rules_with_places(report: KernelReport) -> set[str]:
    return {finding.rule for finding in report.findings if finding.source}


@every_depth
@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("memory-latency-bound-bad", "memory-latency-bound"),
        ("local-memory-traffic-bad", "local-memory-traffic"),
        ("local-memory-traffic-spill", "local-memory-traffic"),
        ("thread-divergence-bad", "thread-divergence"),
        ("transpose-unpadded", "shared-bank-conflicts"),
        ("uncoalesced-global-access-bad", "uncoalesced-global-access"),
        ("transpose-naive", "uncoalesced-global-access"),
    ],
)
def test_a_rule_with_data_per_instruction_says_where(depth: str, name: str, rule: str) -> None:
    assert rule in rules_with_places(diagnosed(depth, name))


@every_recording
def test_the_stall_tree_is_made_of_all_samples(depth: str, name: str) -> None:
    tree = diagnosed(depth, name).stall_tree
    assert tree is not None
    if tree.undersampled:
        return
    assert tree.form == "sampled"
    assert tree.issued is not None
    assert tree.not_issued is not None
    assert tree.issued + tree.not_issued == tree.total
    assert sum(reason.share for reason in tree.reasons) == pytest.approx(1.0)
    assert sum(reason.amount for reason in tree.reasons) == tree.not_issued
    assert not {reason.reason for reason in tree.reasons} & {"selected", "not_selected"}


@pytest.mark.parametrize("name", sorted({name for _, name in every()}))
def test_the_full_set_tells_work_from_waiting(name: str) -> None:
    tree = diagnosed("full", name).stall_tree
    assert tree is not None
    assert tree.selected
    assert tree.not_selected is not None


@every_recording
def test_every_occupancy_curve_says_what_the_launch_has(depth: str, name: str) -> None:
    occupancy = diagnosed(depth, name).occupancy
    warps = kernel(depth, name).metrics["device__attribute_max_warps_per_multiprocessor"]
    assert {curve.resource for curve in occupancy.curves} == {
        "registers",
        "shared_memory",
        "block_size",
    }
    for curve in occupancy.curves:
        assert curve.here is not None
        assert occupancy.theoretical_pct == pytest.approx(100 * curve.here[1] / warps)
        assert list(curve.points) == sorted(curve.points)


@every_depth
def test_what_ifs_are_told_where_occupancy_matters_alone(depth: str) -> None:
    starved = diagnosed(depth, "occupancy-limited-by-registers-bad").occupancy
    assert starved.no_matter is None
    (change,) = starved.what_if
    assert change.change.startswith("\N{MINUS SIGN}")
    busy = diagnosed(depth, "compute-bound-bad").occupancy
    assert busy.no_matter is not None
    assert busy.what_if == ()
