"""What every form of a diagnosis says of a finding in the same words."""

from __future__ import annotations

from kprof.model import Evidence, Finding, Place
from kprof.units import quantity, share
from kprof.words import NO_GAIN, at_the_limit, gain


def part(place: Place, amount: float | None = None) -> str:
    """Say a place's share and of what it is: ``54.6 % of the executed instructions``.

    Args:
        place: where.
        amount: another share (0..1) of the same; the place's own when None.
    """
    return f"{share(place.share if amount is None else amount)} of {whole(place)}"


def whole(place: Place) -> str:
    """Return what a place's share is of, in words to follow "of"."""
    return place.share_of or "the total"


def threshold(item: Evidence) -> str | None:
    """Say which value would speak for the finding: ``at least 40.0 %, not met``.

    A rule that looks at several things may fire without this one; None for mere context.
    """
    if item.threshold is None:
        return None
    limit = quantity(item.threshold, item.unit)
    if item.side is None:
        return limit
    met = (item.value < item.threshold) == (item.side == "below")
    return f"{item.side} {limit}{'' if met else ', not met'}"


def prospect(finding: Finding) -> str | None:
    """Say what a fix could bring, None without an estimate.

    At the limit nothing is broken, so there it is what is left up to the roof.
    """
    if finding.estimated_speedup is None:
        return None
    expected = gain(finding.estimated_speedup)
    if expected == NO_GAIN:
        return expected
    label = "left to gain" if at_the_limit(finding) else "fixing it"
    return f"{label}: {expected}"
