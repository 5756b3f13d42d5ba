"""The speed-ups kprof estimates against the ones measured with the fix.

A planted pair is ``sample_kernels/<rule>/bad.cu``, which has the fault, and ``good.cu``, its fix.
Both were recorded on the same GPU: the ratio of their durations is what the finding on ``bad``
should have promised. The numbers ship with the package; they can be measured anew from a folder
of recordings.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from kprof import presence, samples
from kprof.analysis import Analysis
from kprof.errors import UnreadableReport
from kprof.model import KernelReport, Speedup

SCHEMA = "kprof.calibration/1"
STORED = "calibration.json"
# How far the measured speed-up may be from the range that was promised. kprof's own.
BELOW, ABOVE = 0.8, 1.25
_ENDINGS = (".ncu-rep", ".ncu-rep.xz", ".ncu-rep.gz")
# Where one launch of the fix does the work of several: so many.
_LAUNCHES = {"launch-overhead-bound": 1024}
# Why a pair came out otherwise, or cannot be judged, where it is known.
_WHY = {
    "launch-overhead-bound": "what fewer launches save is not in the counters of one",
}
# Pairs that are not called bad and good.
_NAMED = {"shared-bank-conflicts": ("transpose/unpadded", "transpose/padded")}


@dataclass(frozen=True, slots=True)
class Pair:
    """What was promised for one fault, and what its fix brought.

    Attributes:
        rule: public name of the rule that names the fault.
        bad: the sample with the fault.
        good: the sample with the fix.
        gpu: where both were recorded, None where they were not.
        bad_s: duration of ``bad`` in seconds.
        good_s: duration of ``good`` in seconds.
        estimate: what the rule's finding on ``bad`` promises, None where it promises nothing.
        fired: whether the rule has a finding on ``bad``, None without its recording.
        missing: the samples of the pair without a recording.
    """

    rule: str
    bad: str
    good: str
    gpu: str | None = None
    bad_s: float | None = None
    good_s: float | None = None
    estimate: Speedup | None = None
    fired: bool | None = None
    missing: tuple[str, ...] = ()

    @property
    def launches(self) -> int:
        """How many launches of ``bad`` do the work of one of ``good``."""
        return _LAUNCHES.get(self.rule, 1)

    @property
    def measured(self) -> float | None:
        """How many times faster the fix is, None where one of both has no duration."""
        if self.bad_s is None or not self.good_s:
            return None
        return self.launches * self.bad_s / self.good_s

    @property
    def within(self) -> bool | None:
        """Whether it came out as promised, with a tolerance; None where nobody can say.

        A rule that does not fire on its own fault promised nothing of what the fix brings.
        """
        measured, promised = self.measured, self.estimate
        if measured is None or promised is None:
            return False if measured is not None and self.fired is False else None
        return BELOW * promised.low <= measured <= ABOVE * promised.high

    @property
    def inside(self) -> bool:
        """Whether it came out in the very range that is printed."""
        measured, promised = self.measured, self.estimate
        if measured is None or promised is None:
            return False
        return promised.low <= measured <= promised.high


def pairs() -> tuple[tuple[str, str, str], ...]:
    """Return (rule, bad sample, good sample) of every planted pair, ordered by rule."""
    names = {sample.name for sample in samples.samples()}
    found = {
        topic: (f"{topic}/bad", f"{topic}/good")
        for topic in {name.partition("/")[0] for name in names}
        if {f"{topic}/bad", f"{topic}/good"} <= names
    }
    return tuple((rule, *both) for rule, both in sorted({**_NAMED, **found}.items()))


def measure(folder: Path) -> tuple[Pair, ...]:
    """Compare estimate and result for every pair, from recordings named after the samples.

    Args:
        folder: holds ``<rule>-bad.ncu-rep`` and ``<rule>-good.ncu-rep``, packed or not.

    Raises:
        UnreadableReport: there is no such folder, or a recording cannot be read.
    """
    if not presence.is_dir(folder):
        raise UnreadableReport(
            f"{folder} is not a folder", hint="give a folder of recorded samples"
        )
    return tuple(_compared(folder, *pair) for pair in pairs())


def stored() -> tuple[Pair, ...]:
    """Return the comparison that ships with the package."""
    text = resources.files("kprof").joinpath(STORED).read_text(encoding="utf-8")
    return tuple(_from_dict(row) for row in json.loads(text)["pairs"])


def to_json(compared: Iterable[Pair]) -> str:
    """Return the comparison as JSON, absent values as null."""
    rows = tuple(compared)
    document = {
        "schema": SCHEMA,
        "tolerance": {"below": BELOW, "above": ABOVE},
        "pairs": [_to_dict(pair) for pair in rows],
        "summary": _summary(rows),
    }
    return json.dumps(document, indent=1) + "\n"


def table(compared: Iterable[Pair]) -> Iterator[tuple[str, ...]]:
    """Yield the table's head and one row per pair."""
    yield ("rule", "bad", "good", "estimated", "measured", "as promised")
    for pair in compared:
        yield (
            pair.rule,
            _microseconds(pair.bad_s, pair.launches),
            _microseconds(pair.good_s),
            _range(pair),
            "" if pair.measured is None else f"{pair.measured:.2f}×",
            _verdict(pair),
        )


def summary(compared: Iterable[Pair]) -> str:
    """Say in a sentence how many pairs came out as promised."""
    rows = tuple(compared)
    judged = [pair for pair in rows if pair.within is not None]
    unrecorded = sum(bool(pair.missing) for pair in rows)
    said = f"{sum(bool(pair.within) for pair in judged)} of {len(judged)} pairs with recordings came out as promised"
    rest = f"; {unrecorded} of {len(rows)} have no recording yet" if unrecorded else ""
    spread = _spread(judged)
    middle = "" if spread is None else f", the median range is {spread:.2f} wide (high over low)"
    inside = sum(pair.inside for pair in judged)
    return (
        f"{said} (from {BELOW:g} times the low to {ABOVE:g} times the high estimate; {inside} within "
        f"the range itself{_outside(judged)}){middle}{rest}."
    )


def _outside(judged: Iterable[Pair]) -> str:
    """Say on which side the pairs outside their range are."""
    beyond = [
        pair.measured > pair.estimate.high
        for pair in judged
        if pair.measured and pair.estimate and not pair.inside
    ]
    above = sum(beyond)
    below = len(beyond) - above
    parts = [
        f"{n} {side}" for n, side in ((above, "above its high end"), (below, "below its low")) if n
    ]
    return f", {', '.join(parts)}" if parts else ""


def _compared(folder: Path, rule: str, bad: str, good: str) -> Pair:
    found = {name: _recording(folder, name) for name in (bad, good)}
    missing = tuple(name for name, path in found.items() if path is None)
    before, gpu = _diagnosed(found[bad])
    after, _ = _diagnosed(found[good])
    fired, promised = _promised(before, rule)
    return Pair(
        rule, bad, good, gpu, _duration(before), _duration(after), promised, fired, missing
    )  # fmt: skip


def _recording(folder: Path, name: str) -> Path | None:
    slug = name.replace("/", "-")
    paths = (folder / f"{slug}{ending}" for ending in _ENDINGS)
    return next((path for path in paths if presence.is_file(path)), None)


def _diagnosed(path: Path | None) -> tuple[KernelReport | None, str | None]:
    """Return the longest kernel of a recording, and the GPU."""
    if path is None:
        return None, None
    report = Analysis().of(path)
    longest = max(report.kernels, key=lambda kernel: kernel.duration_s or 0.0, default=None)
    return longest, report.devices[0].name if report.devices else None


def _promised(kernel: KernelReport | None, rule: str) -> tuple[bool | None, Speedup | None]:
    if kernel is None:
        return None, None
    found = next((item for item in kernel.findings if item.rule == rule), None)
    gain = found.estimated_speedup if found is not None else None
    # Rounded here, so that what is stored is judged as what was measured.
    return found is not None, gain and Speedup(_round(gain.low), _round(gain.high))


def _duration(kernel: KernelReport | None) -> float | None:
    """Return the duration to the nanosecond, which is how ncu counts it."""
    return None if kernel is None or kernel.duration_s is None else round(kernel.duration_s, 9)


def _to_dict(pair: Pair) -> dict[str, Any]:
    promised = pair.estimate
    return {
        "rule": pair.rule,
        "bad": pair.bad,
        "good": pair.good,
        "gpu": pair.gpu,
        "bad_s": pair.bad_s,
        "good_s": pair.good_s,
        "estimated_speedup": promised and {"low": promised.low, "high": promised.high},
        "measured_speedup": pair.measured and _round(pair.measured),
        "within": pair.within,
        "fired": pair.fired,
        "missing": list(pair.missing),
    }  # fmt: skip


def _from_dict(row: dict[str, Any]) -> Pair:
    promised = row["estimated_speedup"]
    return Pair(
        rule=row["rule"],
        bad=row["bad"],
        good=row["good"],
        gpu=row["gpu"],
        bad_s=row["bad_s"],
        good_s=row["good_s"],
        estimate=promised and Speedup(promised["low"], promised["high"]),
        fired=row["fired"],
        missing=tuple(row["missing"]),
    )


def _summary(rows: tuple[Pair, ...]) -> dict[str, Any]:
    judged = [pair for pair in rows if pair.within is not None]
    return {
        "pairs": len(rows),
        "judged": len(judged),
        "within": sum(bool(pair.within) for pair in judged),
        "median_high_over_low": _spread(judged),
    }


def _spread(judged: Iterable[Pair]) -> float | None:
    widths = [pair.estimate.high / pair.estimate.low for pair in judged if pair.estimate]
    return _round(statistics.median(widths)) if widths else None


def _microseconds(seconds: float | None, launches: int = 1) -> str:
    times = f"{launches} × " if launches > 1 else ""
    return "" if seconds is None else f"{times}{1e6 * seconds:.1f} us"


def _range(pair: Pair) -> str:
    if pair.estimate is not None:
        return f"{pair.estimate.low:.2f} to {pair.estimate.high:.2f}×"
    return "" if pair.fired is None else "nothing" if pair.fired else "did not fire"


def _verdict(pair: Pair) -> str:
    if pair.missing:
        return f"not recorded: {', '.join(name.rpartition('/')[2] for name in pair.missing)}"
    why = _WHY.get(pair.rule)
    told = {True: "yes", False: "no", None: "not judged"}[pair.within]
    return f"{told}: {why}" if why and not pair.within else told


def _round(value: float) -> float:
    """Keep four digits: more would differ from one machine's arithmetic to another's."""
    return float(f"{value:.4g}")
