"""Every rule that has data per instruction puts the planted line first, in the source's own words.

A new recording joins by itself: ``<rule>-bad`` whose rule names places has to stand in ``PLANTED``.
"""

from __future__ import annotations

import json
from functools import cache

import pytest

from kprof.diagnosis import diagnose
from kprof.model import Finding, Place, Report
from kprof.producer import loads
from kprof.source_text import with_source
from tests.golden.recordings import DATA, DEPTHS, path, profile

RECORDED = json.loads((DATA / "manifest.json").read_text(encoding="utf-8"))["recordings"]
FILES = sorted(entry["file"].removesuffix(".ncu-rep.xz") for entry in RECORDED)
AT_LEAST = 0.95
# Rule, and the sample if it is not <rule>-bad, to what stands in the planted line: of the code the
# sample's header describes. Where a whole loop body is the fault, one of its lines.
PLANTED: dict[tuple[str, str], tuple[str, ...]] = {
    ("atomic-contention", ""): ("atomicAdd",),
    ("barrier-stalls", ""): ("__syncthreads();",),
    ("compute-bound", ""): ("chain[c] = fmaf",),
    ("dependency-stalls", ""): ("value = fmaf(value, kDecay",),
    ("dram-bandwidth-bound", "vector_add-simple"): ("= a[i] + b[i]",),
    ("dram-bandwidth-bound", "vector_add-float4"): ("reinterpret_cast<const float4*>",),
    ("fp64-usage", ""): ("sum[j] * x[j]",),
    ("instruction-cache-misses", ""): ("value[chain] = fmaf",),
    ("integer-bound", ""): ("rest % shape.", "rest /= shape.", "rest / shape."),
    ("issue-bound", ""): ("step(state, factor",),
    ("l1-bandwidth-bound", ""): ("own[(threadIdx.x",),
    ("l2-bandwidth-bound", ""): ("__ldcg(&buffer",),
    ("local-memory-traffic", ""): ("++bins[",),
    ("local-memory-traffic", "local-memory-traffic-spill"): ("sums[k] = fmaf(sums[k]",),
    ("low-l2-reuse", ""): ("sum += table[",),
    ("memory-fence-stalls", ""): ("__threadfence();",),
    ("memory-latency-bound", ""): ("node = next[node];",),
    ("narrow-global-access", ""): ("sum += column[row",),
    ("partition-camping", ""): ("__ldcg(mine",),
    ("remote-memory-traffic", ""): ("= input[i];",),
    ("shared-atomic-contention", ""): ("atomicAdd(&bins[",),
    ("shared-bank-conflicts", "transpose-unpadded"): ("tile[threadIdx.x][threadIdx.y + j]",),
    ("special-function-bound", ""): ("__expf(",),
    ("synchronous-tile-copy", ""): ("slice_a[", "slice_b["),
    ("tensor-core-bound", ""): ("wmma::mma_sync(",),
    ("tensor-pipe-underused", ""): ("wmma::mma_sync(",),
    ("thread-divergence", ""): ("cubic(input[i])", "quadratic(input[i])"),
    ("uncoalesced-global-access", ""): ("input[record * kFields + field]",),
    ("uncoalesced-global-access", "transpose-naive"): ("output[static_cast<std::size_t>(column)",),
    ("unfused-multiply-add", ""): ("__fadd_rn(__fmul_rn(",),
    ("unpacked-half", ""): ("__hfma(",),
}  # fmt: skip


@cache
def report(depth: str, name: str) -> Report:
    return diagnose(with_source(profile(depth, name), path(depth, name)))


def finding(depth: str, name: str, rule: str) -> Finding | None:
    (kernel,) = report(depth, name).kernels
    return next((item for item in kernel.findings if item.rule == rule), None)


def first_place(found: Finding) -> Place | None:
    """Return what is put first: the load where waits are told, else the place."""
    return next(iter((*loads(found.waits[:1]), *found.source)), None)


def lines_at(depth: str, name: str, place: Place) -> list[str]:
    """Return the text of a place's line and of the lines that it was inlined into."""
    texts = {item.file: item.text.splitlines() for item in report(depth, name).files}
    spots = [(place.file, place.line), *((spot.file, spot.line) for spot in place.chain)]
    return [texts[file][line - 1] for file, line in spots if file in texts and line]


def cases() -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [
        (depth, name, rule, planted)
        for (rule, other), planted in PLANTED.items()
        for depth in DEPTHS
        if f"{depth}/{(name := other or f'{rule}-bad')}" in FILES
    ]


def hit(depth: str, name: str, rule: str, planted: tuple[str, ...]) -> bool:
    found = finding(depth, name, rule)
    place = first_place(found) if found else None
    if place is None:
        return False
    return any(text in line for line in lines_at(depth, name, place) for text in planted)


def test_the_planted_line_is_first() -> None:
    known = cases()
    missed = [case for case in known if not hit(*case)]
    assert len(known) >= 2 * len(DEPTHS)
    assert len(missed) <= (1.0 - AT_LEAST) * len(known), missed


@pytest.mark.parametrize("file", [file for file in FILES if file.endswith("-bad")])
def test_every_rule_with_places_has_its_planted_line(file: str) -> None:
    depth, name = file.split("/")
    rule = name.removesuffix("-bad")
    found = finding(depth, name, rule)
    if found is not None and found.source:
        assert (rule, "") in PLANTED, "say in PLANTED which line the sample plants"


@pytest.mark.parametrize("file", FILES)
def test_conflicts_name_the_kind_of_access(file: str) -> None:
    depth, name = file.split("/")
    if "shared-bank-conflicts" not in {
        item.rule for item in report(depth, name).kernels[0].findings
    }:
        return
    shared = report(depth, name).kernels[0].shared_memory
    assert shared is not None
    assert shared.by_class
    assert all(item.opcode for item in shared.by_class)
