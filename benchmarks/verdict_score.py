"""Compare kprof's first finding with NVIDIA's rule results, on planted causes of the same reports.

For every sample that is built to have one fault, from its recording with ncu's full set of
sections: whether kprof's first finding is that fault, whether the result of NVIDIA's rules with
the highest estimated speed-up names it, the same without the rules that say the same of nearly
every kernel, and whether any result names it at all. What counts as naming a cause is generous to
NVIDIA: benchmarks/naming.py. Of equal estimates one is enough; where no result with an estimate is
left, those without one count. Both kinds of estimate (of the whole kernel, of one unit) are ranked
as one, as the list of ncu's window does.

Run: python benchmarks/verdict_score.py [--store]

--store keeps the result for the documentation. Ends with 1 when kprof's first finding is right for
less than 95 % of the samples.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # started as a script, only its own folder is there
    sys.path.insert(0, str(ROOT))

from benchmarks import naming  # noqa: E402 - these need the path above
from kprof.analysis import Analysis  # noqa: E402
from kprof.reader.library import FAILED_RULE  # noqa: E402
from kprof.reader.opinions import clean  # noqa: E402

RECORDINGS = ROOT / "tests" / "data" / "h200" / "full"
STORED = Path(__file__).with_name("verdict_score.json")
ENDING = ".ncu-rep.xz"
AT_LEAST = 0.95
# Samples that are named after what they do.
PLANTED = {
    "local-memory-traffic-spill": "local-memory-traffic",
    "transpose-naive": "uncoalesced-global-access",
    "transpose-unpadded": "shared-bank-conflicts",
}


@dataclass(frozen=True)
class Row:
    """How both did on one sample.

    Attributes:
        sample: name of its recording.
        cause: the rule that names what is planted.
        kprof: kprof's first finding, None without findings.
        highest: NVIDIA's results with the highest estimate.
        specific: the same without its generic rules.
        highest_right: whether one of ``highest`` names the cause.
        specific_right: whether one of ``specific`` does.
        anywhere: whether any result does, at whatever rank.
        counts: what counts as naming the cause, in words.
    """

    sample: str
    cause: str
    kprof: str | None
    highest: str
    specific: str
    highest_right: bool
    specific_right: bool
    anywhere: bool
    counts: str

    @property
    def kprof_right(self) -> bool:
        """Whether kprof's first finding is the cause."""
        return self.kprof == self.cause


def samples() -> dict[str, str]:
    """Return the cause that is planted in each recorded sample."""
    names = sorted(path.name.removesuffix(ENDING) for path in RECORDINGS.glob(f"*{ENDING}"))
    found = {name: name.removesuffix("-bad") for name in names if name.endswith("-bad")}
    return dict(sorted({**found, **{k: v for k, v in PLANTED.items() if k in names}}.items()))


def digest() -> str:
    """Return a digest of what NVIDIA's score depends on: the recordings, and what counts."""
    total = hashlib.sha256(Path(naming.__file__).read_bytes())
    for name in samples():
        total.update(name.encode() + (RECORDINGS / f"{name}{ENDING}").read_bytes())
    return total.hexdigest()


def results(report: Path) -> tuple[naming.Result, ...]:
    """Return what NVIDIA's rules said of the only kernel of an uncompressed report."""
    # Not at the top: who asks for the stored result needs no library of NVIDIA's.
    import ncu_report

    action = ncu_report.load_report(str(report)).range_by_idx(0).action_by_idx(0)
    return tuple(_results(action.rule_results_as_dicts()))


def _results(found: Iterable[dict[str, Any]]) -> Iterator[naming.Result]:
    for result in found:
        message = result["rule_message"]
        if message["type"] == FAILED_RULE:
            continue
        estimate = result.get("speedup_estimation")
        title = clean(message["title"] or result["name"])
        saved = float(estimate["speedup"]) if estimate else None
        yield naming.Result(result["rule_identifier"], title, clean(message["message"]), saved)


def highest(said: Iterable[naming.Result]) -> tuple[naming.Result, ...]:
    """Return the results with the highest estimate; those without one where none has any."""
    every = tuple(said)
    most = max((one.saved_pct for one in every if one.saved_pct is not None), default=None)
    # As they are shown: equal to a tenth of a percent is equal.
    return tuple(one for one in every if _tenth(one.saved_pct) == _tenth(most))


def specific(said: Iterable[naming.Result], cause: str) -> tuple[naming.Result, ...]:
    """Leave out the generic rules, but for those that name this very cause."""
    wanted = naming.NAMING[cause].names
    return tuple(one for one in said if wanted(one) or not naming.is_generic(one))


def scored(sample: str, cause: str, said: tuple[naming.Result, ...], kprof: str | None) -> Row:
    """Judge one sample."""
    wanted = naming.NAMING[cause]
    top, left = highest(said), highest(specific(said, cause))
    return Row(
        sample=sample,
        cause=cause,
        kprof=kprof,
        highest=_told(top),
        specific=_told(left),
        highest_right=any(map(wanted.names, top)),
        specific_right=any(map(wanted.names, left)),
        anywhere=any(map(wanted.names, said)),
        counts=wanted.why,
    )


def _tenth(percent: float | None) -> float | None:
    return None if percent is None else round(percent, 1)


def _told(said: tuple[naming.Result, ...]) -> str:
    names = dict.fromkeys(f"{one.rule}: {one.title}" for one in said)
    estimate = _tenth(said[0].saved_pct) if said else None
    return ", ".join(names) + ("" if estimate is None else f" ({estimate:g} %)")


def score() -> tuple[Row, ...]:
    """Judge every sample."""
    reports = {name: RECORDINGS / f"{name}{ENDING}" for name in samples()}
    # kprof first: its reader is a process of its own, started before NVIDIA's library is used here.
    analysis = Analysis()
    firsts = {name: _first(analysis, path) for name, path in reports.items()}
    with tempfile.TemporaryDirectory(prefix="kprof-score-") as folder:
        return tuple(
            scored(name, cause, results(_unpacked(reports[name], Path(folder))), firsts[name])
            for name, cause in samples().items()
        )


def _first(analysis: Analysis, path: Path) -> str | None:
    (kernel,) = analysis.of(path).kernels
    return kernel.findings[0].rule if kernel.findings else None


def _unpacked(path: Path, folder: Path) -> Path:
    target = folder / path.name.removesuffix(".xz")
    target.write_bytes(lzma.decompress(path.read_bytes()))
    return target


def document(rows: Iterable[Row]) -> str:
    """Return the result as it is stored, with the digest of the recordings it is of."""
    kept = {"recordings": digest(), "rows": [asdict(row) for row in rows]}
    return json.dumps(kept, indent=1, ensure_ascii=False) + "\n"


def stored() -> tuple[Row, ...]:
    """Return the result that the documentation shows."""
    return tuple(Row(**row) for row in json.loads(STORED.read_text(encoding="utf-8"))["rows"])


def table(rows: Iterable[Row]) -> Iterator[tuple[str, ...]]:
    """Yield the table's head, a row per sample, and the totals."""
    every = tuple(rows)
    yield ("sample", "kprof's first finding", "NVIDIA's highest estimate",
           "without generic rules", "named at any rank", "what counts as naming it")  # fmt: skip
    for row in every:
        yield (
            row.sample,
            "right" if row.kprof_right else f"wrong: {row.kprof or 'nothing'}",
            _judged(row.highest_right, row.highest),
            _judged(row.specific_right, row.specific),
            "yes" if row.anywhere else "no",
            row.counts,
        )
    yield ("right", *(f"{count} of {len(every)}" for count in totals(every)), "")


def totals(rows: Iterable[Row]) -> tuple[int, int, int, int]:
    """Return how often kprof, NVIDIA's highest, its highest specific, and any result was right."""
    every = tuple(rows)
    return (
        sum(row.kprof_right for row in every),
        sum(row.highest_right for row in every),
        sum(row.specific_right for row in every),
        sum(row.anywhere for row in every),
    )


def _judged(right: bool, said: str) -> str:
    return f"{'right' if right else 'wrong'}: {said}" if said else "nothing"


def main() -> int:
    """Print the table, and 1 when kprof is right too seldom."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--store", action="store_true", help="keep the result for the docs")
    options = parser.parse_args()
    rows = score()
    for planted, *cells in table(rows):
        print(f"{planted:36.36}", *(f"{cell:40.40}" for cell in cells), sep="  ")
    if options.store:
        STORED.write_text(document(rows), encoding="utf-8")
    return 0 if totals(rows)[0] >= AT_LEAST * len(rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
