"""Write the generated parts of docs/operators/: times, goals, what the counters say, what was tried.

Times come from ``kprof bench OPERATOR --profile -o docs/operators/data/OPERATOR.json`` and, with
``--warm-l2``, ``OPERATOR-warm.json``. As long as there is no such file they come from
``candidates.json``, the measurements that the tuned kernels' configuration was chosen by, and the page
says so. Goals come from ``goals.json`` of ``benchmarks/operators.py --times 5``, counters from the
recorded samples. ``make docs`` runs this (``python -m scripts.operator_pages``); a test holds the pages
current.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kprof.analysis import Analysis
from kprof.metrics.hardware import DRAM_PCT, ISSUE_PCT
from kprof.metrics.memory import DRAM_BYTES, WARP_INSTRUCTIONS
from kprof.model import KernelReport
from kprof.names import short
from kprof.quantity import Quantity
from kprof.reader import load
from kprof.words import BOUNDS
from scripts.operator_runs import COPY, DATA, Run, candidates, cold_run, goals, read, warm_run

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "operators"
RECORDINGS = ROOT / "tests" / "data" / "h200" / "plan"
PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
CONVOLUTION, ADDITION = "depthwise-conv", "vector-add"
VARIANTS = {
    CONVOLUTION: ("naive", "tiled", "tuned", "fused", "torch", "cudnn"),
    ADDITION: ("one-per-thread", "grid-stride", "float4", "triton", "torch"),
}
OURS = {CONVOLUTION: "tuned", ADDITION: "float4"}
RIVALS = {CONVOLUTION: ("torch", "cudnn"), ADDITION: ("torch",)}
# The samples with their outputs by default, and the bytes that each has to move at least.
STEPS = {
    CONVOLUTION: (("naive", "tiled", "tuned", "fused"), 16 * 128 * 128 * 128, 8),
    ADDITION: (("simple", "grid_stride", "float4"), 1 << 26, 12),
}
LARGE = "32x256x128x128"  # far beyond the L2 cache, as the samples' 16x128x128x128 is
PERCENTAGES = {
    "memory_pct": "memory, %",
    "compute_pct": "compute, %",
    "occupancy_pct": "occupancy, %",
    "wavefront_excess_pct": "excess wavefronts, %",
}


def times_part(operator: str) -> str:
    """Return one table per state of the cache."""
    runs = filter(None, (cold_run(operator), warm_run(operator)))
    return "\n".join(f"{run.device}. {run.how}\n\n{times_table(operator, run)}" for run in runs)


def times_table(operator: str, run: Run) -> str:
    """Return microseconds of every variant that was measured, and two ratios."""
    ours, rivals = OURS[operator], RIVALS[operator]
    there = [v for v in VARIANTS[operator] if any(v in t for t in run.times.values())]
    against = "faster of torch and cuDNN" if len(rivals) > 1 else rivals[0]
    head = ["shape", *(f"{v}, µs" for v in [*there, COPY]), f"{ours} against {against}",
            f"{ours} in % of a copy's speed"]  # fmt: skip
    rows = []
    for shape, times in run.times.items():
        best = min((times[v] for v in rivals if v in times), default=None)
        rows.append([
            shape,
            *("not this shape" if (shape, v) in run.refused else micro(times.get(v))
              for v in [*there, COPY]),
            over(best, times.get(ours)), percent(times.get(COPY), times.get(ours)),
        ])  # fmt: skip
    return table(head, rows)


def goals_part(operator: str) -> str:
    """Return what was promised, and the median that was measured."""
    found = goals(operator)
    if not found:
        return "Not held against its goals in a run that is recorded.\n"
    rows = (
        (
            goal["what"],
            f"{goal['at_least']:.2f} ×",
            shown(goal["median"], "{:.2f} ×"),
            spread_of([ratio for ratio in goal["ratios"] if ratio is not None]),
            len(goal["ratios"]),
            met(goal),
        )
        for goal in found
    )
    return table(("times as fast", "goal", "median", "from – to", "runs", ""), rows)


def spread_of(ratios: list[float]) -> str:
    """Return the smallest and the largest of some ratios."""
    return f"{min(ratios):.2f} – {max(ratios):.2f}" if ratios else "not measured"


def met(goal: Mapping[str, Any]) -> str:
    """Say whether a goal is reached."""
    if goal["median"] is None:
        return "not measured"
    return "met" if goal["median"] >= goal["at_least"] else "**missed**"


def kernels_part() -> str:
    """Return which kernels the libraries chose."""
    names: dict[tuple[str, str], list[str]] = {}
    for shape, found in cold_run(CONVOLUTION).kernels.items():
        for variant in RIVALS[CONVOLUTION]:
            if variant in found:
                names.setdefault((variant, found[variant]), []).append(shape)
    rows = ((variant, f"`{short(name, 100)}`", ", ".join(shapes))
            for (variant, name), shapes in sorted(names.items()))  # fmt: skip
    return table(("variant", "kernel", "shapes"), rows)


def reasons_part(operator: str) -> str:
    """Return what limits each variant according to ``--profile``, where it is recorded."""
    run = cold_run(operator)
    rows = [
        (
            shape,
            variant,
            *map(rounded, map(why.get, PERCENTAGES)),
            BOUNDS.get(why["bound"], why["bound"]),
            why["finding"] or "none",
        )
        for shape, variants in run.reasons.items()
        for variant, why in sorted(
            variants.items(), key=lambda pair: VARIANTS[operator].index(pair[0])
        )
    ]
    if not rows:
        return f"No run of `kprof bench {operator} --profile` is recorded yet.\n"
    said = "".join(f"\nIn the run: {note}\n" for note in run.notes)
    return table(("shape", "variant", *PERCENTAGES.values(), "bound", "first finding"), rows) + said


@dataclass(frozen=True)
class Step:
    """One sample as its recording shows it."""

    name: str
    report: KernelReport
    metrics: Mapping[str, float]
    outputs: int

    def read(self, quantity: Quantity) -> float | None:
        """Return a quantity's value."""
        return quantity.read(self.metrics)

    @property
    def per_output(self) -> float | None:
        """Seconds per output."""
        return self.report.duration_s and self.report.duration_s / self.outputs

    @property
    def instructions(self) -> float | None:
        """Instructions per output, counted per thread."""
        executed = self.read(WARP_INSTRUCTIONS)
        return executed and executed * 32 / self.outputs


@functools.cache
def steps(operator: str) -> list[Step]:
    """Return the recorded samples of an operator in the order of the story."""
    names, outputs, _ = STEPS[operator]
    folder = operator.replace("-", "_")
    found = []
    for name in names:
        path = RECORDINGS / f"{folder}-{name}.ncu-rep.xz"
        if path.is_file():
            metrics = load(path).kernels[0].metrics
            found.append(Step(name, Analysis().of(path).kernels[0], metrics, outputs))
    return found


def counters_part(operator: str) -> str:
    """Return what the counters say of every recorded sample, and what changed from step to step."""
    found = steps(operator)
    names, outputs, byte_count = STEPS[operator]
    least = outputs * byte_count
    rows = zip(*(column(step, least) for step in found), strict=True)
    labels = ("time, µs", "limited by", "issue slots used", "DRAM busy", "bytes from and to DRAM",
              "instructions per output", "L1 hits", "achieved occupancy", "warps wait for", "first finding")  # fmt: skip
    text = table(
        ("", *(step.name for step in found)),
        ((label, *row) for label, row in zip(labels, rows, strict=True)),
    )
    missing = [name for name in names if name not in {step.name for step in found}]
    text += "".join(f"\nNo recording of `{name}` yet.\n" for name in missing)
    pairs = itertools.pairwise(found)
    return text + "\n" + "".join(f"- {change(before, after)}\n" for before, after in pairs)


def column(step: Step, least: int) -> Iterator[str]:
    """Yield a step's cells."""
    report, moved = step.report, step.read(DRAM_BYTES)
    yield micro(report.duration_s)
    yield bound_of(report)
    yield shown(step.read(ISSUE_PCT), "{:.0f} %")
    yield shown(step.read(DRAM_PCT), "{:.0f} %")
    yield shown(moved and moved / least, "{:.2f} of what is needed")
    yield shown(step.instructions, "{:.1f}")
    yield shown(report.caches.l1_hit_pct if report.caches else None, "{:.0f} %")
    yield shown(report.occupancy.achieved_pct, "{:.0f} %")
    waits = sorted(report.stalls.items(), key=lambda pair: pair[1], reverse=True)
    yield ", ".join(f"`{reason}` {100 * part:.0f} %" for reason, part in waits[:3])
    yield f"`{report.findings[0].rule}`" if report.findings else "none"


def spread_part() -> str:
    """Say how far the tables' times of one kernel are apart: they are of different programs."""
    outputs = STEPS[ADDITION][1]
    programs = {step.name: step.report.duration_s for step in steps(ADDITION)}
    listed = (
        f"- `{name}`: {micro(programs.get(sample))} µs as a program of its own under ncu; in the bench "
        f"{'; '.join(bench_times(name, str(outputs)))}\n"
        for name, sample in (("grid-stride", "grid_stride"), ("float4", "float4"))
    )
    return "".join(listed)


def bench_times(variant: str, shape: str) -> Iterator[str]:
    """Yield a variant's median, minimum and 95th percentile in each run of the bench."""
    for how, ending in (("cold", ""), ("warm", "-warm")):
        document = read(DATA / f"{ADDITION}{ending}.json")
        for timing in (
            unit["timing"]
            for found in document["shapes"]
            for unit in found["units"]
            if found["shape"] == shape and unit["variant"] == variant and unit["timing"]
        ):
            first, last = micro(timing["min_s"]), micro(timing["p95_s"])
            yield f"{micro(timing['p50_s'])} µs {how} ({first} to {last}, the slowest 5 % left out)"


def bound_of(report: KernelReport) -> str:
    """Return in words what limits a kernel."""
    return BOUNDS.get(report.bound or "unknown", str(report.bound))


def change(before: Step, after: Step) -> str:
    """Say what a step brought and which limit it moved."""
    faster = over(before.report.duration_s, after.report.duration_s)
    one, other = bound_of(before.report), bound_of(after.report)
    limit = f"Still limited by {one}" if one == other else f"The limit moves: {one} → {other}"
    return (
        f"**{before.name} → {after.name}: {faster}.** {limit}; instructions per output "
        f"{shown(before.instructions, '{:.1f}')} → {shown(after.instructions, '{:.1f}')}, DRAM busy "
        f"{shown(before.read(DRAM_PCT), '{:.0f}')} → {shown(after.read(DRAM_PCT), '{:.0f} %')}."
    )


def per_output() -> dict[str, float]:
    """Return seconds per output where DRAM matters, as the bench measured them."""
    outputs = math.prod(map(int, LARGE.split("x")))
    times = cold_run(CONVOLUTION).times.get(LARGE, {})
    return {variant: seconds / outputs for variant, seconds in times.items()}


def claim_part() -> str:
    """Return the published ratios beside the ones here, and the most that a copy leaves room for."""
    each = per_output()
    programs = {step.name: step.per_output for step in steps(CONVOLUTION) if step.per_output}
    names = [name for name in (*VARIANTS[CONVOLUTION], COPY) if name in each]
    listed = table(
        ("ps per output", *names),
        [
            (label, *(f"{found[name] * 1e12:.2f}" if name in found else "" for name in names))
            for label, found in (("`kprof bench`", each), ("sample programs", programs))
        ],
    )
    rows = []
    for slow, fast, said in (("naive", "tiled", 4), ("tiled", "cudnn", 7)):
        rows.append((
            f"{fast} against {slow}", f"{said} ×", over(each.get(slow), each.get(fast)),
            over(each.get(slow), each.get(COPY)),
        ))  # fmt: skip
    head = ("", "published", "here", "a copy against the slower one")
    return f"{listed}\n{table(head, rows)}"


# What the table of candidates compares: all with 128 threads per block and registers for 512 threads
# per SM, unless said.
CANDIDATES = (
    ("1 row per strip", "strip r1 b128 p512"),
    ("2 rows", "strip r2 b128 p512"),
    ("4 rows", "strip r4 b128 p512"),
    ("8 rows", "strip r8 b128 p512"),
    ("2 rows, registers for 1024 threads", "strip r2 b128 p1024"),
    ("4 rows, registers for 768 threads", "strip r4 b128 p768"),
    ("4 rows, registers for 1024 threads", "strip r4 b128 p1024"),
    ("4 rows, 64 threads per block", "strip r4 b64 p512"),
    ("4 rows, 256 threads per block", "strip r4 b256 p512"),
    ("4 rows, streaming stores", "strip r4 b128 p512 cs"),
    ("walking 16 rows, 2 at a time", "walk r2/16 b128 p512"),
    ("walking 16 rows, 4 at a time", "walk r4/16 b128 p512"),
    ("walking 64 rows, 4 at a time", "walk r4/64 b128 p512"),
)


def candidates_part() -> str:
    """Return microseconds, warm and cold, of what was tried for the tuned kernel."""
    shapes = candidates(CONVOLUTION)
    rows = (
        (label, *(f"{micro(t['warm'])} / {micro(t['cold'])}" for t in in_all(shapes, name)))
        for label, name in CANDIDATES
    )
    return table(("warm / cold, µs", *shapes), rows)


def in_all(shapes: Mapping[str, Any], name: str) -> list[Mapping[str, float]]:
    """Return a candidate's times on all shapes."""
    return [shape["candidates"][name] for shape in shapes.values()]


PARTS: dict[str, Callable[[], str]] = {
    "convolution_times": lambda: times_part(CONVOLUTION),
    "convolution_goals": lambda: goals_part(CONVOLUTION),
    "convolution_kernels": kernels_part,
    "convolution_counters": lambda: counters_part(CONVOLUTION),
    "convolution_reasons": lambda: reasons_part(CONVOLUTION),
    "convolution_claim": claim_part,
    "convolution_candidates": candidates_part,
    "addition_times": lambda: times_part(ADDITION),
    "addition_goals": lambda: goals_part(ADDITION),
    "addition_counters": lambda: counters_part(ADDITION),
    "addition_spread": spread_part,
    "addition_reasons": lambda: reasons_part(ADDITION),
}


def pages() -> list[Path]:
    """Return the pages that have generated parts."""
    return sorted(PAGES.glob("*.md"))


def renewed(document: str) -> str:
    """Return a page's text with its generated parts as they are now."""
    return PART.sub(lambda part: f"{part[1]}{PARTS[part[2]]()}{part[3]}", document)


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Return a Markdown table."""
    first = [*head]
    lines: list[Iterable[object]] = [first, ["---"] * len(first), *rows]
    return "".join(f"| {' | '.join(f'{cell}' for cell in line)} |\n" for line in lines)


def micro(seconds: float | None) -> str:
    """Return microseconds with three digits and no fewer than the whole ones."""
    return shown(seconds and seconds * 1e6, "{:.0f}" if (seconds or 0) >= 1e-4 else "{:#.3g}")


def over(slow: float | None, fast: float | None) -> str:
    """Return how many times as fast."""
    return f"{slow / fast:.2f} ×" if slow and fast else "not measured"


def percent(part: float | None, whole: float | None) -> str:
    """Return a share."""
    return f"{100 * part / whole:.0f}" if part and whole else "not measured"


def rounded(value: float | None) -> str:
    """Return a whole number."""
    return shown(value, "{:.0f}")


def shown(value: float | None, form: str) -> str:
    """Return a number as a format says, or that there is none."""
    return "not measured" if value is None else form.format(value)


def main() -> None:
    """Rewrite the pages that are not current."""
    for path in pages():
        before = path.read_text(encoding="utf-8")
        now = renewed(before)
        if now != before:
            path.write_text(now, encoding="utf-8")


if __name__ == "__main__":
    main()
