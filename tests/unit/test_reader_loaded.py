from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kprof.reader.loaded import Alone, Loaded
from tests.unit.test_reader_excerpt import REPORT


@dataclass
class Range:
    names: tuple[str, ...]

    def num_actions(self) -> int:
        return len(self.names)

    def action_by_idx(self, index: int) -> str:
        return self.names[index]


@dataclass
class Context:
    ranges: list[tuple[str, ...]]

    def num_ranges(self) -> int:
        return len(self.ranges)

    def range_by_idx(self, index: int) -> Range:
        return Range(self.ranges[index])


WHOLE = Loaded(Context([("first", "second", "third")]))


@dataclass
class Library:
    """Loads every excerpt as the same kernels."""

    excerpt: tuple[str, ...]
    loaded: list[str] = field(default_factory=list)

    def __call__(self, path: str) -> Any:
        self.loaded.append(Path(path).name)
        return Context([self.excerpt])


def named(name: str) -> Callable[[Any], bool]:
    return lambda action: bool(action == name)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "x.ncu-rep"
    path.write_bytes(REPORT)
    return path


def test_kernels_are_numbered_over_all_ranges() -> None:
    loaded = Loaded(Context([("a", "b"), (), ("c",)]))
    assert (loaded.ranges, loaded.total) == (3, 3)
    assert [str(loaded.action(index)) for index in range(3)] == ["a", "b", "c"]
    with pytest.raises(IndexError):
        loaded.action(3)


def test_a_kernel_comes_from_its_excerpt(report: Path) -> None:
    library = Library(("first", "of the excerpt"))
    alone = Alone(report, report.parent, library, WHOLE)
    assert str(alone.action(1, named("of the excerpt"))) == "of the excerpt"
    assert len(library.loaded) == 1


@pytest.mark.parametrize(
    "excerpt", [("first",), ("second", "first"), ()], ids=["too few", "another", "none"]
)
def test_or_from_the_report_when_that_is_not_in_the_excerpt(
    report: Path, excerpt: tuple[str, ...]
) -> None:
    library = Library(excerpt)
    alone = Alone(report, report.parent, library, WHOLE)
    assert str(alone.action(1, named("second"))) == "second"
    assert str(alone.action(2, named("third"))) == "third"
    assert len(set(library.loaded)) == 2, "two files: the library reads when it is asked"


def test_or_when_no_excerpt_can_be_written(report: Path) -> None:
    library = Library(("first", "second"))
    alone = Alone(report, report.parent / "missing", library, WHOLE)
    assert str(alone.action(1, named("second"))) == "second"
    assert library.loaded == []


def test_any_kernel_is_one_with_little_code(report: Path) -> None:
    library = Library(("first", "second"))
    assert str(Alone(report, report.parent, library, WHOLE).any()) == "second"
    (excerpt,) = library.loaded
    assert excerpt.endswith("-1.ncu-rep")


def test_any_kernel_of_a_report_that_is_gone_is_the_first(tmp_path: Path) -> None:
    alone = Alone(tmp_path / "gone", tmp_path, Library(()), WHOLE)
    assert str(alone.any()) == "first"
