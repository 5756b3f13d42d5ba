"""Lines, instructions and loads in reports of other people, GPUs and ncu versions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kprof import reader
from kprof.model import Profile
from kprof.producer import LONG, SHORT, waits
from kprof.sass import effect, parse
from kprof.source_view import source_view
from kprof.stall_tree import stall_tree
from tests.golden.totals import mismatches, misplaced

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "reports"
FILES = sorted((*FOLDER.glob("h200/*.xz"), *FOLDER.glob("public/*.xz")))
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not FILES, reason="the shared reports are not beside the repository"),
]
# Instructions that nobody needs to have a register of.
PLAIN = frozenset(
    ["NOP", "EXIT", "BRA", "BSSY", "BSYNC", "BREAK", "BAR", "CALL", "RET", "WARPSYNC", "DEPBAR", "LDGDEPBAR", "MEMBAR", "ERRBAR", "CCTL", "YIELD", "FENCE", "CGAERRBAR", "ENDCOLLECTIVE", "WARPGROUP", "USETSHMSZ", "USETMAXREG", "UCGABAR_ARV", "UCGABAR_WAIT", "ACQBULK", "PREEXIT", "UTMACMDFLUSH", "NANOSLEEP", "BMOV", "KILL"]
)  # fmt: skip


@pytest.fixture(scope="module", params=FILES, ids=lambda file: file.name.split(".")[0])
def profile(request: pytest.FixtureRequest) -> Profile:
    return reader.load(request.param)


def test_lines_add_up_to_the_kernel(profile: Profile) -> None:
    assert {kernel.index: list(mismatches(kernel)) for kernel in profile.kernels} == {
        kernel.index: [] for kernel in profile.kernels
    }


def test_no_line_is_credited_to_another_file(profile: Profile) -> None:
    """The report's own mapping from program counter to file and line is the judge."""
    for kernel in profile.kernels:
        assert misplaced(kernel) == []


def test_every_instruction_that_is_read_is_understood(profile: Profile) -> None:
    unknown: Counter[str] = Counter()
    for text in {item.sass for kernel in profile.kernels for item in kernel.code if item.sass}:
        parsed, done = parse(text), effect(text)
        if parsed is None:
            unknown[text] += 1
        elif parsed.opcode not in PLAIN and not done.reads and not done.writes:
            constant = all("RZ" in word or "PT" in word or "c[" in word or "0x" in word
                           for word in parsed.operands)  # fmt: skip
            unknown[text] += not constant
    assert +unknown == Counter()


def test_loads_that_are_waited_for_are_loads(profile: Profile) -> None:
    for kernel in profile.kernels:
        for reason in (LONG, SHORT):
            for wait in waits(kernel, reason):
                shares = sum(place.share for place in wait.producers)
                assert shares <= wait.waiter.share + 1e-6
                assert (wait.trail is None) == (not wait.producers)
                assert all(place.sass for place in wait.producers)


def test_most_waits_are_traced_to_a_register(profile: Profile) -> None:
    """Where the code was read, of kernels with enough samples."""
    traced = everything = 0.0
    for kernel in profile.kernels:
        tree = stall_tree(kernel)
        if tree is None or tree.undersampled or not all(item.sass for item in kernel.code):
            continue
        for wait in waits(kernel, LONG) if kernel.code else ():
            everything += wait.waiter.share
            traced += wait.waiter.share if wait.trail in {"register", "arithmetic"} else 0.0
    assert traced >= 0.9 * everything


def test_views_of_many_kernels_stay_small(profile: Profile) -> None:
    for kernel in profile.kernels:
        view = source_view(kernel, (20, 32))
        assert view is None or (len(view.lines) <= 20 and len(view.instructions) <= 32)
