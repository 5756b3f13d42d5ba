"""What the reading process hands over, on its way to the one that asked."""

from __future__ import annotations

import pickle
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from kprof.model.profile import Code, Kernel
from kprof.reader import reading
from kprof.reader.disassembly import Described, Listing
from kprof.reader.job import Answer, Bare, Outcome, Packed, Part
from tests.kernels import kernel

Thing = TypeVar("Thing")
SAMPLES = "smsp__pcsamp_sample_count"
FOUND = Outcome(ranges=1, actions=3)


def handed_over(thing: Thing) -> Thing:
    found: Thing = pickle.loads(pickle.dumps(thing))  # noqa: S301 - our own
    return found


def listing(index: int) -> Listing:
    return Listing(index, ("f",), 1.0, (0x100,), {0x110: {SAMPLES: 2.0 + index}})


def packed() -> Packed:
    kernels = tuple(replace(kernel(), index=index) for index in range(3))
    return Packed.of(Part(kernels, {}, counters=True), (listing(0), listing(2)))


def answer(text: str) -> Answer:
    """Describe the one instruction of kernel 2."""
    return Answer(FOUND, (pickle.dumps({2: Described({0x10: Code(0x10, text)})}),))


def texts(kernels: tuple[Kernel, ...]) -> list[list[str]]:
    return [[row.sass for row in found.instructions] for found in kernels]


def test_listings_can_be_chosen_from_on_the_way() -> None:
    assert handed_over(packed()).listings == (listing(0), listing(2))


@pytest.mark.parametrize("awaited", [frozenset({2}), frozenset({0, 2})])
def test_kernels_have_their_instructions_whether_described_or_not(awaited: frozenset[int]) -> None:
    parts = handed_over(Bare((packed(),), awaited)).unpacked()
    (part,) = answer("LDS R1, [R2]").outcome(parts).parts
    assert [found.index for found in part.kernels] == [0, 1, 2]
    assert texts(part.kernels) == [[""], [], ["LDS R1, [R2]"]]
    assert part.kernels[2].instructions[0].values == {SAMPLES: 4.0}
    assert part.counters


def test_a_description_that_never_comes_leaves_the_counters() -> None:
    parts = Bare((packed(),), frozenset({2})).unpacked()
    (part,) = Answer(FOUND, ()).outcome(parts).parts
    assert texts(part.kernels) == [[""], [], [""]]


def test_parts_are_unpacked_as_soon_as_they_are_written(tmp_path: Path) -> None:
    file = tmp_path / "parts"
    ended = threading.Event()

    def write() -> None:
        time.sleep(0.05)
        (tmp_path / "new").write_bytes(pickle.dumps(Bare((packed(),))))
        (tmp_path / "new").replace(file)

    writer = threading.Thread(target=write)
    writer.start()
    found = reading._unpacked(file, ended)
    writer.join()
    assert len(found) == 1, "and nobody has said that the worker ended"


def test_a_worker_that_ends_without_parts_is_not_waited_for(tmp_path: Path) -> None:
    ended = threading.Event()
    ended.set()
    assert reading._unpacked(tmp_path / "parts", ended) == []
