from __future__ import annotations

import random
import statistics

import pytest

from kprof.bench import compare

ROUNDS, RUNS = 20, 5


def dice_of(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - a simulation


def rounds(
    dice: random.Random, seconds: float, noise: float, drift: list[float]
) -> list[list[float]]:
    """Runs as a GPU gives them: noise that is never negative, now and then a slow one, and a clock
    that changes for all variants alike."""
    return [
        [
            seconds * d * (1 + abs(dice.gauss(0, noise))) * (1.3 if dice.random() < 0.03 else 1.0)
            for _ in range(RUNS)
        ]
        for d in drift
    ]  # fmt: skip


def verdict(seed: int, ratio: float, noise: float) -> str:
    dice = dice_of(seed)
    drift = [1 + 0.1 * dice.random() for _ in range(ROUNDS)]
    base = rounds(dice, 1e-5, noise, drift)
    floor = compare.noise(rounds(dice, 1e-5, noise, drift), base)
    found = compare.comparison(rounds(dice, 1e-5 / ratio, noise, drift), base, "base", floor)
    assert found is not None
    return found.verdict


@pytest.mark.parametrize("noise", [0.002, 0.01, 0.05])
def test_identical_variants_compare_as_equal_in_at_least_19_of_20_runs(noise: float) -> None:
    verdicts = [verdict(seed, 1.0, noise) for seed in range(400)]
    assert verdicts.count("equal") >= 0.95 * len(verdicts)


@pytest.mark.parametrize(("ratio", "expected"), [(1.05, "faster"), (1 / 1.05, "slower")])
def test_five_percent_are_seen_through_the_noise_of_a_quiet_gpu(
    ratio: float, expected: str
) -> None:
    verdicts = [verdict(seed, ratio, 0.005) for seed in range(100)]
    assert verdicts.count(expected) >= 95


def test_a_clock_that_drops_meanwhile_changes_nothing() -> None:
    slow = [1.0] * 10 + [2.0] * 10
    one = [[1e-5 * factor] * RUNS for factor in slow]
    other = [[0.5e-5 * factor] * RUNS for factor in slow]
    found = compare.comparison(other, one, "one", None)
    assert found is not None
    assert found.speedup == pytest.approx(2.0)
    assert found.verdict == "faster"


def test_less_than_the_least_noise_is_equal_however_sure() -> None:
    found = compare.comparison([[0.995e-5]] * ROUNDS, [[1e-5]] * ROUNDS, "one", 0.0)
    assert found is not None
    assert (found.verdict, found.noise) == ("equal", compare.LEAST_NOISE)


def test_a_twin_that_differs_widens_what_counts_as_equal() -> None:
    floor = compare.noise([[1.04e-5]] * ROUNDS, [[1e-5]] * ROUNDS)
    assert floor == pytest.approx(0.04)
    found = compare.comparison([[0.97e-5]] * ROUNDS, [[1e-5]] * ROUNDS, "one", floor)
    assert found is not None
    assert found.verdict == "equal"


def test_few_rounds_tell_nothing() -> None:
    found = compare.comparison([[1e-5]] * 3, [[2e-5]] * 3, "one", None)
    assert found is not None
    assert (found.verdict, found.low, found.high) == ("unknown", None, None)
    assert found.speedup == pytest.approx(2.0)
    assert compare.noise([[1e-5]] * 3, [[2e-5]] * 3) is None


def test_no_rounds_compare_with_nothing() -> None:
    assert compare.comparison([], [[1.0]], "one", None) is None


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    dice = dice_of(1)
    held = 0
    for _ in range(2000):
        found = compare.interval([dice.expovariate(1.0) for _ in range(20)])
        assert found is not None
        held += found[0] <= 0.693147 <= found[1]
    assert held >= 0.985 * 2000


def test_eight_values_are_the_fewest_for_an_interval() -> None:
    # 2 / 2^8 is the first below 1 %.
    assert compare.interval([1.0] * 7) is None
    assert compare.interval([float(x) for x in range(8)]) == (0.0, 7.0)


def test_quantiles_are_those_of_the_standard_library() -> None:
    dice = dice_of(2)
    values = [dice.random() for _ in range(41)]
    wanted = statistics.quantiles(values, n=20, method="inclusive")
    assert compare.quantile(values, 0.95) == pytest.approx(wanted[18])
    assert compare.quantile(values, 0.5) == pytest.approx(statistics.median(values))
