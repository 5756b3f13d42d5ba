"""Numbers as people read them: SI prefixes, percent, thousands; ``unknown`` for what is absent.

Pure functions, no locale, never exponent notation. ``None``, NaN and infinity all read
``unknown``: none of them is a measurement.
"""

from __future__ import annotations

import math

UNKNOWN = "unknown"

_SPELLINGS = {"byte": "B", "bytes": "B", "hz": "Hz", "second": "s", "seconds": "s", "%": "%"}
_SCALED = {"B", "FLOP", "OP", "Hz", "s", "W", "J"}
_PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}  # fmt: skip
_SMALLEST_PLAIN = 6  # decimals of a number that takes no prefix


def si(value: float | None, unit: str, digits: int = 3) -> str:
    """Format with an SI prefix: ``90.4 µs``, ``3.84 TB/s``, ``66.9 TFLOP/s``.

    Prefixes below one are used for time alone (nobody reads ``mB``), and prefixes above one for
    everything but time. Whole numbers below 1000 keep no decimals: ``512 B``.

    Args:
        value: in ``unit``; None, NaN and infinity give ``unknown``.
        unit: SI base unit; ``byte`` is written ``B``. Empty for a plain count.
        digits: significant digits, at least 1.
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    unit = spelled(unit)
    if value == 0:
        return _joined("0", "", unit)
    sign = "-" if value < 0 else ""
    mantissa, exponent = f"{abs(value):.{digits - 1}e}".split("e")
    power = _prefix_power(int(exponent), unit)
    decimals = digits - 1 - (int(exponent) - power)
    if power == 0 and float(value).is_integer():
        decimals = 0
    text = _fixed(float(f"{mantissa}e{int(exponent) - power}"), decimals)
    return _joined(sign + text, _PREFIXES[power], unit)


def percent(value: float | None, decimals: int = 1) -> str:
    """Format a percentage given as 0..100: ``93.1 %``; a trace reads ``<0.1 %``, not zero."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    step = 10.0**-decimals
    if 0 < abs(value) < step / 2:
        return f"<{step:.{decimals}f} %" if value > 0 else f">-{step:.{decimals}f} %"
    text = f"{value:,.{decimals}f}"
    return f"{_unsigned_zero(text)} %"


def share(value: float | None, decimals: int = 1) -> str:
    """Format a share given as 0..1 in percent."""
    return percent(None if value is None else 100 * value, decimals)


def count(value: float | None, noun: str = "") -> str:
    """Format a count with thousands separators: ``1,048,576 wavefronts`` for noun ``wavefront``.

    A count that is not whole (an average) keeps two decimals.
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    text = f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
    return _with_noun(_unsigned_zero(text), noun)


def ratio(value: float | None, digits: int = 3) -> str:
    """Format a plain ratio with significant digits and no prefix: ``0.0833``, ``31.9``."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    exponent = int(f"{abs(value):.{digits - 1}e}".split("e")[1])
    return _fixed(value, digits - 1 - exponent)


def speedup(low: float | None, high: float | None) -> str:
    """Format an estimated range of speed-up: ``1.2-1.9×``; one number when both read the same.

    A range that starts at no gain is a limit, ``up to 1.3×``.
    """
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return UNKNOWN
    first, last = _times(low), _times(high)
    if first == last:
        return f"{last}×"
    return f"up to {last}×" if first == _times(1.0) else f"{first}\N{EN DASH}{last}×"


def quantity(value: float | None, unit: str) -> str:
    """Format a number of any unit the model carries, as in evidence.

    ``%`` reads as percent, ``s``, ``byte``, ``FLOP`` and their rates with prefixes, a plain
    number as a count or ratio, and any other word as a count of that thing.
    """
    if unit == "%":
        return percent(value)
    if spelled(unit).split("/")[0] in _SCALED:
        return si(value, unit)
    if not unit:
        whole = value is not None and math.isfinite(value) and float(value).is_integer()
        return count(value) if whole else ratio(value)
    if value is None or not math.isfinite(value) or float(value).is_integer():
        return count(value, unit)
    return _with_noun(ratio(value), unit)


def spelled(unit: str) -> str:
    """Return the unit as it is written: ``byte/s`` is ``B/s``."""
    return "/".join(_SPELLINGS.get(part, part) for part in unit.split("/"))


def _prefix_power(exponent: int, unit: str) -> int:
    lowest = -12 if unit == "s" else 0
    highest = 0 if unit == "s" else 18
    if "/" in unit and unit.split("/")[1] != "s":  # an intensity such as FLOP/B is a ratio
        return 0
    return max(lowest, min(highest, 3 * (exponent // 3)))


def _fixed(value: float, decimals: int) -> str:
    """Write without exponent; what would round to zero reads as smaller than the last digit."""
    if decimals > _SMALLEST_PLAIN and abs(value) < 0.5 * 10.0**-_SMALLEST_PLAIN:
        return f"<{10.0**-_SMALLEST_PLAIN:.{_SMALLEST_PLAIN}f}"
    return f"{value:,.{max(0, min(decimals, _SMALLEST_PLAIN))}f}"


def _with_noun(text: str, noun: str) -> str:
    plural = noun.isalpha() and text != "1"
    return f"{text} {noun}{'s' if plural else ''}".rstrip()


def _times(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def _joined(text: str, prefix: str, unit: str) -> str:
    return f"{text} {prefix}{unit}".rstrip()


def _unsigned_zero(text: str) -> str:
    return text.lstrip("-") if not text.strip("-0.") else text
