"""Who waits for which load in the recorded kernels: the load is on the line it was planted at."""

from __future__ import annotations

from pathlib import Path

import pytest

from kprof.model import Place
from kprof.producer import LONG, loads, waits
from tests.golden.recordings import DEPTHS, diagnosed, every, kernel

SAMPLES = Path(__file__).resolve().parents[2] / "sample_kernels"
# Sample to the line of the load that its header promises to be waited for.
PLANTED = {
    "memory-latency-bound-bad": "node = next[node];",
    "occupancy-limited-by-registers-bad": "row = next[next[row]];",
    "occupancy-limited-by-shared-memory-bad": "row = next[row];",
    "grid-too-small-bad": "sum += row[i];",
    "l2-bandwidth-bound-bad": "__ldcg(",
    "vector_add-simple": "= a[i] + b[i]",
    "vector_add-grid_stride": "= a[i] + b[i]",
    "achieved-occupancy-gap-bad": "= fmaf(2.0f, input[i]",
    "occupancy-limited-by-block-size-bad": "at = next[at];",
    "partition-camping-bad": "__ldcg(mine",
    "remote-memory-traffic-bad": "const float x = input[i];",
    "synchronous-tile-copy-bad": "slice_a[n * kThreads",
    "tail-effect-bad": "recur_piece(",  # inlined: the report counts the load at the call
    "workload-imbalance-bad": "= input[first + k * kThreads]",
}
every_depth = pytest.mark.parametrize("depth", DEPTHS)


def planted(place: Place, name: str) -> bool:
    """Say whether the text planted in a sample stands where a place is: in the sample or its header."""
    topic = name.rpartition("-")[0]
    lines = (SAMPLES / topic / Path(place.file or "").name).read_text("utf-8").splitlines()
    return PLANTED[name] in lines[(place.line or 0) - 1]


RECORDED = [(depth, name) for depth, name in every() if name in PLANTED]


@pytest.mark.parametrize(("depth", "name"), RECORDED)
def test_the_planted_load_is_what_is_waited_for(depth: str, name: str) -> None:
    first = loads(waits(kernel(depth, name), LONG))[0]
    assert planted(first, name), first
    assert (first.sass or "").startswith("LDG")


@every_depth
@pytest.mark.parametrize("name", [name for name in PLANTED if name.startswith("memory")])
def test_the_finding_says_both(depth: str, name: str) -> None:
    finding = diagnosed(depth, name).findings[0]
    (wait, *_) = finding.waits
    assert finding.source[0].pc == wait.waiter.pc
    assert not (wait.waiter.sass or "").startswith("LDG")
    assert (wait.producers[0].sass or "").startswith("LDG")
    assert wait.trail == "register"


@pytest.mark.parametrize(("depth", "name"), every(), ids=lambda value: value)
def test_shares_of_producers_are_those_of_their_waiters(depth: str, name: str) -> None:
    for wait in waits(kernel(depth, name), LONG):
        assert sum(place.share for place in wait.producers) <= wait.waiter.share + 1e-9
        # Where paths lead out of what is known, some of the samples have no producer.
        lost = 0.02 if wait.complete else max(0.02, 0.1 * wait.waiter.share)
        if wait.trail == "register":
            assert sum(p.share for p in wait.producers) >= wait.waiter.share - lost
