from __future__ import annotations

from pathlib import Path

import pytest

from kprof.inputs import Failure, expand, is_report_name, stem


@pytest.mark.parametrize("suffix", [".ncu-rep", ".nsight-cuprof-report", ".NCU-REP"])
@pytest.mark.parametrize("compression", ["", ".xz", ".gz"])
def test_names_of_reports(suffix: str, compression: str) -> None:
    assert is_report_name("a" + suffix + compression)


@pytest.mark.parametrize("name", ["a.ncu-rep.bak", "a.xz", "a.json", "ncu-rep", "a.ncu-rep.zip"])
def test_other_names(name: str) -> None:
    assert not is_report_name(name)


def test_a_directory_stands_for_the_reports_below_it_in_order(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for name in ("b.ncu-rep", "a.ncu-rep.xz", "deep/er/c.nsight-cuprof-report.gz", "deep/no.txt"):
        (tmp_path / name).touch()
    found = expand([tmp_path])
    assert [str(path.relative_to(tmp_path)) for path in found if isinstance(path, Path)] == [
        "a.ncu-rep.xz",
        "b.ncu-rep",
        "deep/er/c.nsight-cuprof-report.gz",
    ]


def test_a_link_to_a_parent_does_not_loop(tmp_path: Path) -> None:
    (tmp_path / "a.ncu-rep").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    assert expand([tmp_path]) == (tmp_path / "a.ncu-rep",)


def test_a_file_is_taken_whatever_its_name_and_only_once(tmp_path: Path) -> None:
    (tmp_path / "report.bin").touch()
    (tmp_path / "x.ncu-rep").touch()
    arguments = [tmp_path / "report.bin", tmp_path / "x.ncu-rep", tmp_path]
    assert expand(arguments) == (tmp_path / "report.bin", tmp_path / "x.ncu-rep")


def test_what_is_missing_fails_in_its_place_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.ncu-rep").touch()
    missing, empty, good = expand([tmp_path / "no", tmp_path / "empty", tmp_path / "x.ncu-rep"])
    assert isinstance(missing, Failure)
    assert missing.cause == f"{tmp_path / 'no'} does not exist"
    assert isinstance(empty, Failure)
    assert empty.cause.startswith("no report in the directory")
    assert ".ncu-rep" in (empty.hint or "")
    assert good == tmp_path / "x.ncu-rep"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dir/a.b.ncu-rep.xz", "a.b"),
        ("a.nsight-cuprof-report", "a"),
        ("a.json", "a.json"),
        (".ncu-rep", "report"),
    ],
)
def test_the_stem_of_a_report(name: str, expected: str) -> None:
    assert stem(name) == expected
