"""Who waits for which load in the recorded kernels: the load is on the line it was planted at."""

from __future__ import annotations

from pathlib import Path

import pytest

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
}
every_depth = pytest.mark.parametrize("depth", DEPTHS)


def line_of(name: str, text: str) -> int:
    topic, _, file = name.rpartition("-")
    lines = (SAMPLES / topic / f"{file}.cu").read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@every_depth
@pytest.mark.parametrize("name", PLANTED)
def test_the_planted_load_is_what_is_waited_for(depth: str, name: str) -> None:
    first = loads(waits(kernel(depth, name), LONG))[0]
    assert first.line == line_of(name, PLANTED[name])
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
        if wait.trail == "register":
            assert sum(p.share for p in wait.producers) == pytest.approx(
                wait.waiter.share, abs=0.02
            )
