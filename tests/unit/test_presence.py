"""What the system does not let kprof see: tried as a user without rights, also when root tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kprof import output, presence
from kprof.collect import find, target
from kprof.errors import NcuNotFound, NvccNotFound, OutputNotWritable, TargetNotFound
from kprof.inputs import Failure, expand
from kprof.samples import find_nvcc

NOBODY = 65534
LONG = "n" * 300


@pytest.fixture
def locked() -> Iterator[Path]:
    """A folder that may not be searched or listed, next to an ordinary one."""
    base = Path(tempfile.mkdtemp())  # pytest's own folders are closed to other users
    base.chmod(0o755)
    (base / "locked").mkdir()
    for name in ("a.ncu-rep", "x.py"):
        (base / name).touch()
        (base / "locked" / name).touch()
    (base / "locked").chmod(0o000)
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    yield base / "locked"
    if root:
        os.seteuid(0)
    (base / "locked").chmod(0o755)
    shutil.rmtree(base)


def test_a_report_that_cannot_be_reached_fails_in_its_place(locked: Path) -> None:
    bad, good = expand([locked / "a.ncu-rep", locked.parent / "a.ncu-rep"])
    assert isinstance(bad, Failure)
    assert bad.cause == f"{locked / 'a.ncu-rep'} cannot be read: Permission denied"
    assert bad.hint
    assert good == locked.parent / "a.ncu-rep"


def test_a_directory_that_cannot_be_searched_is_named(locked: Path) -> None:
    good, bad = expand([locked.parent])
    assert good == locked.parent / "a.ncu-rep"
    assert isinstance(bad, Failure)
    assert bad.path == str(locked)
    assert bad.cause == f"the directory {locked} cannot be searched: Permission denied"


def test_output_below_it(locked: Path) -> None:
    with pytest.raises(OutputNotWritable, match="Permission denied") as caught:
        output.check_free(locked / "x.html")
    assert caught.value.hint
    with pytest.raises(OutputNotWritable):
        output.new_directory(locked / "x")


def test_programs_below_it(locked: Path) -> None:
    with pytest.raises(TargetNotFound, match="Permission denied"):
        target.resolve([str(locked / "x.py")])
    with pytest.raises(TargetNotFound, match="Permission denied"):
        target.resolve([str(locked / "x")])
    with pytest.raises(NcuNotFound, match="Permission denied"):
        find.find(str(locked / "ncu"))


def test_it_is_passed_over_on_path(locked: Path) -> None:
    tools = locked.parent / "a.ncu-rep"
    environ = {"PATH": f"{locked}{os.pathsep}{tools}", "CUDA_HOME": str(locked)}
    assert find.candidates(environ, locked) == []
    with pytest.raises(NvccNotFound):
        find_nvcc(environ, locked)


def test_names_too_long_for_the_system(tmp_path: Path) -> None:
    (bad,) = expand([tmp_path / LONG])
    assert isinstance(bad, Failure)
    assert "File name too long" in bad.cause
    with pytest.raises(OutputNotWritable, match="File name too long"):
        output.check_free(tmp_path / f"{LONG}.html")
    with pytest.raises(TargetNotFound, match="File name too long"):
        target.resolve([f"{LONG}.py"])
    assert find.candidates({"PATH": LONG}, tmp_path) == []


def test_links_that_lead_back_to_themselves(tmp_path: Path) -> None:
    (tmp_path / "loop.ncu-rep").symlink_to("loop.ncu-rep")
    (tmp_path / "good.ncu-rep").touch()
    bad, good = expand([tmp_path / "loop.ncu-rep", tmp_path / "good.ncu-rep"])
    assert isinstance(bad, Failure)
    assert "symbolic links" in bad.cause
    assert "link" in (bad.hint or "")
    assert good == tmp_path / "good.ncu-rep"
    assert len(expand([tmp_path])) == 2  # the loop below a directory fails when it is read


def test_an_empty_path_is_not_the_current_directory() -> None:
    (bad,) = expand([""])
    assert isinstance(bad, Failure)
    assert "empty path" in bad.cause


def test_an_absent_file_is_not_refused(tmp_path: Path) -> None:
    assert presence.refusal(tmp_path / "no") is None
    assert presence.refusal(tmp_path) is None
