from __future__ import annotations

from dataclasses import replace

import pytest

from kprof import balance
from kprof.rule import registry
from tests.kernels import kernel
from tests.rules.parallel_cases import WAVES, balanced


def test_an_idle_share_is_the_distance_of_the_mean_from_the_maximum() -> None:
    assert balance.idle_share(balanced(0.25, 2.0)) == pytest.approx(0.25)


def test_a_maximum_above_the_whole_time_counts_as_the_whole_time() -> None:
    item = balanced(0.25, 2.0, metrics={"sm__cycles_elapsed.max": 0.9e6})
    assert balance.idle_share(item) == pytest.approx(0.25)


def test_a_mean_above_the_maximum_is_no_idleness() -> None:
    assert balance.idle_share(balanced(-0.1, 2.0)) == 0.0


@pytest.mark.parametrize("gone", ["avg", "max"])
def test_what_is_not_measured_is_not_known(gone: str) -> None:
    item = balanced(0.25, 2.0)
    metrics = {n: v for n, v in item.metrics.items() if n != f"sm__cycles_active.{gone}"}
    assert balance.idle_share(kernel(measured={}, metrics=metrics)) is None


@pytest.mark.parametrize(
    ("waves", "lost"),
    [(0.5, 0.0), (1.0, 0.0), (1.1, 0.45), (1.5, 0.25), (2.0, 0.0), (2.01, 0.0), (2.3, 0.7 / 3)],
)
def test_the_last_wave_takes_as_long_as_a_full_one(waves: float, lost: float) -> None:
    assert balance.tail_share(kernel(metrics={WAVES: waves})) == pytest.approx(lost)


def test_an_unknown_number_of_waves_has_no_tail() -> None:
    assert balance.tail_share(kernel()) == 0.0


def test_blocks_that_all_fit_are_dealt_out_one_by_one() -> None:
    assert balance.uneven_share(balanced(0.0, 0.4, blocks=200.0)) == pytest.approx(1 - 200 / 264)
    assert balance.uneven_share(balanced(0.0, 0.4, blocks=264.0)) == 0.0
    assert balance.uneven_share(balanced(0.0, 1.4, blocks=200.0)) == 0.0


def test_the_finding_says_when_the_grid_is_what_is_uneven() -> None:
    (rule,) = (item for item in registry() if item.name == "workload-imbalance")
    by_grid, by_work = (rule.check(balanced(0.24, 0.4, blocks=blocks)) for blocks in (200.0, 264.0))
    assert by_grid is not None
    assert by_work is not None
    assert "200 blocks cannot be shared evenly by 132 SMs" in by_grid.detail
    assert "different times" in by_work.detail


def test_clusters_make_waves_of_their_own() -> None:
    clusters = {"launch__cluster_size": 16.0, "launch__cluster_max_active": 7.0}
    item = balanced(0.0, 0.97, blocks=128.0, metrics=clusters)
    assert balance.tail_share(item) == 0.0
    assert balance.cluster_tail_share(item) == pytest.approx(1 - 128 / 112 / 2)
    assert balance.cluster_tail_share(balanced(0.0, 1.1)) == 0.0


def test_what_cannot_be_told_is_not_uneven() -> None:
    clusters = {"launch__cluster_size": 16.0, "launch__cluster_max_active": 7.0}
    assert balance.cluster_tail_share(kernel(metrics=clusters)) == 0.0
    known = balanced(0.0, 0.4, blocks=200.0)
    for name in ("launch__grid_size", "launch__sm_count"):
        zero = replace(known, metrics={**known.metrics, name: 0.0})
        absent = replace(known, metrics={k: v for k, v in known.metrics.items() if k != name})
        assert balance.uneven_share(zero) == balance.uneven_share(absent) == 0.0
