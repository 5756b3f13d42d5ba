from __future__ import annotations

import time

import pytest

from kprof import crew, process


def _sleep(seconds: float) -> int:
    return process.run(["sleep", str(seconds)], timeout_s=60).returncode


def test_results_come_in_the_order_of_the_items() -> None:
    assert list(crew.results(lambda n: n * n, range(5), jobs=2)) == [0, 1, 4, 9, 16]


def test_leaving_early_ends_the_programs_and_starts_no_other() -> None:
    began = time.monotonic()
    found = crew.results(_sleep, [0, 30, 30, 30], jobs=2)
    assert next(found) == 0
    found.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began < 5


def test_an_error_meanwhile_ends_them_too() -> None:
    def fail() -> None:
        raise ValueError("odd")

    began = time.monotonic()
    with pytest.raises(ValueError, match="odd"):
        list(crew.results(_sleep, [30], jobs=1, meanwhile=fail))
    assert time.monotonic() - began < 5
