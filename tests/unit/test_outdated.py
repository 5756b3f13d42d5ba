"""What an earlier profile has left, beside the files of a new one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kprof.cli.place import remove_outdated

DEPTH = {"report.ncu-rep.xz", "report-2.ncu-rep", "follow-up.ncu-rep"}
SURVEYS = {"survey.ncu-rep", "survey.ncu-rep.xz", "survey.tsv", "survey.tsv.xz"}
THEIRS = {"mine.ncu-rep", "survey.txt", "report-a.ncu-rep", "report.json", "survey.tsv.part"}


@pytest.mark.parametrize(
    ("new", "left"),
    [
        ({"report.ncu-rep"}, set()),
        ({"report.ncu-rep", "survey.tsv.xz"}, set()),
        ({"survey.tsv"}, DEPTH),  # an interrupted run has measured nothing in their place
        (set(), DEPTH | SURVEYS),
    ],
)
def test_what_is_untrue_goes(tmp_path: Path, new: set[str], left: set[str]) -> None:
    for name in DEPTH | SURVEYS | THEIRS | new:
        (tmp_path / name).touch()
    remove_outdated([tmp_path / name for name in new])
    assert {path.name for path in tmp_path.iterdir()} == left | THEIRS | new


def test_a_folder_of_that_name_stays(tmp_path: Path) -> None:
    (tmp_path / "survey.ncu-rep").mkdir()
    remove_outdated([tmp_path / "survey.tsv"])
    assert (tmp_path / "survey.ncu-rep").is_dir()


def test_a_folder_that_has_gone_is_no_trouble(tmp_path: Path) -> None:
    remove_outdated([tmp_path / "gone" / "report.ncu-rep"])
