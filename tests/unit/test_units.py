from __future__ import annotations

import math

import pytest

from kprof.units import count, percent, quantity, ratio, share, si, speedup, spelled

NOT_NUMBERS = [None, math.nan, math.inf, -math.inf]


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (90.432e-6, "s", "90.4 µs"),
        (3.84e12, "byte/s", "3.84 TB/s"),
        (66.9e12, "FLOP/s", "66.9 TFLOP/s"),
        (1.98e9, "Hz", "1.98 GHz"),
        (999.4, "B", "999 B"),
        (999.5, "B", "1.00 kB"),
        (999.5, "", "1.00 k"),
        (999_499, "B", "999 kB"),
        (999_500, "B", "1.00 MB"),
        (999.6e-9, "s", "1.00 µs"),
        (999.4e-9, "s", "999 ns"),
        (512, "byte", "512 B"),
        (12, "byte", "12 B"),
        (1, "s", "1 s"),
        (1.5, "s", "1.50 s"),
        (1234, "s", "1,230 s"),
        (0, "byte", "0 B"),
        (0.0, "", "0"),
        (-2.5e6, "byte", "-2.50 MB"),
        (0.0833, "FLOP/byte", "0.0833 FLOP/B"),
        (1234.5, "FLOP/byte", "1,230 FLOP/B"),
        (0.5, "byte/s", "0.500 B/s"),
        (1e-15, "s", "0.00100 ps"),
        (3e22, "byte", "30,000 EB"),
        (1e-9, "byte", "<0.000001 B"),
    ],
)
def test_si_prefixes_and_boundaries(value: float, unit: str, expected: str) -> None:
    assert si(value, unit) == expected


@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_what_is_not_a_number_reads_unknown(value: float | None) -> None:
    texts = [si(value, "s"), percent(value), share(value), count(value), ratio(value)]
    texts += [quantity(value, unit) for unit in ("%", "s", "", "wavefront", "byte/s")]
    assert set(texts) == {"unknown"}
    assert speedup(value, 2.0) == speedup(1.0, value) == "unknown"


@pytest.mark.parametrize("digits", [1, 2, 4])
def test_digits_are_significant_digits(digits: int) -> None:
    assert si(1.23456e9, "Hz", digits) == {1: "1 GHz", 2: "1.2 GHz", 4: "1.235 GHz"}[digits]


@pytest.mark.parametrize("exponent", range(-16, 25))
@pytest.mark.parametrize("unit", ["s", "byte", "FLOP/s", "FLOP/byte", "wavefront", "%", ""])
def test_no_exponent_ever(exponent: int, unit: str) -> None:
    assert "e+" not in quantity(1.23456 * 10.0**exponent, unit)
    assert "e-" not in quantity(-1.23456 * 10.0**exponent, unit)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (93.14, "93.1 %"),
        (0, "0.0 %"),
        (-0.0, "0.0 %"),
        (100, "100.0 %"),
        (0.04, "<0.1 %"),
        (-0.04, ">-0.1 %"),
        (0.06, "0.1 %"),
        (3100, "3,100.0 %"),
        (-12.34, "-12.3 %"),
    ],
)
def test_percent(value: float, expected: str) -> None:
    assert percent(value) == expected


def test_share_is_percent_of_one() -> None:
    assert share(0.4375) == "43.8 %"


@pytest.mark.parametrize(
    ("value", "noun", "expected"),
    [
        (1048576, "wavefront", "1,048,576 wavefronts"),
        (1, "wavefront", "1 wavefront"),
        (1.5, "", "1.50"),
        (0, "", "0"),
        (-1234, "", "-1,234"),
        (7, "inst/cycle", "7 inst/cycle"),
    ],
)
def test_count(value: float, noun: str, expected: str) -> None:
    assert count(value, noun) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(31.94, "31.9"), (0.08333, "0.0833"), (0, "0"), (1234567.8, "1,234,568"), (1e-9, "<0.000001")],
)
def test_ratio(value: float, expected: str) -> None:
    assert ratio(value) == expected


def test_speedup_is_a_range_and_one_number_when_both_ends_read_the_same() -> None:
    assert speedup(1.2, 1.92) == "1.2–1.9×"
    assert speedup(1.49, 1.51) == "1.5×"
    assert speedup(1.0, 31.9) == "up to 32×"
    assert speedup(1.04, 1.3) == "up to 1.3×"
    assert speedup(1.0, 1.04) == "1.0×"


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (86.25, "%", "86.2 %"),
        (2.5e-3, "s", "2.50 ms"),
        (64, "", "64"),
        (31.94, "", "31.9"),
        (65011712, "wavefront", "65,011,712 wavefronts"),
        (4.5, "sector", "4.50 sectors"),
        (1.5e9, "byte/s", "1.50 GB/s"),
    ],
)
def test_quantity_chooses_by_unit(value: float, unit: str, expected: str) -> None:
    assert quantity(value, unit) == expected


def test_units_are_spelled_the_short_way() -> None:
    assert spelled("byte/s") == "B/s"
    assert spelled("wavefront") == "wavefront"
