"""Where the text of a source file comes from, and where it must not come from."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kprof.model import Collection, Instruction, Kernel, Profile, Source
from kprof.source_text import MAX_FILE, Lookup, named, with_source

COMPILED = "/build/project/src/kernels/add.cu"


def profile(*files: str) -> Profile:
    rows = tuple(Instruction(16 * at, "NOP", file, 1, {}) for at, file in enumerate(files))
    kernel = Kernel(0, "add", "add()", instructions=rows)
    return Profile(Source("x.ncu-rep", "00"), Collection(), (), (kernel,))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("src/kernels/add.cu", "add.cu", "other/kernels/add.cu"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"// {name}\r\nline\r\n")
    return tmp_path


def texts(found: Profile) -> dict[str, str]:
    return {item.file: item.text for item in found.files}


def test_nothing_is_read_from_disk_unasked(tree: Path) -> None:
    here = profile(str(tree / "add.cu"))
    assert with_source(here, "absent.ncu-rep").files == ()


def test_the_longest_end_of_the_path_wins(tree: Path) -> None:
    found = with_source(profile(COMPILED), "absent.ncu-rep", Lookup((tree,)))
    assert texts(found) == {COMPILED: "// src/kernels/add.cu\nline\n"}
    assert found.files[0].origin == str(tree / "src/kernels/add.cu")


def test_a_map_goes_before_folders(tree: Path) -> None:
    lookup = Lookup((tree,), (("/build/project/src", tree / "other"),))
    assert texts(with_source(profile(COMPILED), "absent", lookup)) == {
        COMPILED: "// other/kernels/add.cu\nline\n"
    }


def test_a_map_ends_at_whole_folders(tree: Path) -> None:
    lookup = Lookup((), (("/build/proj", tree),))
    assert with_source(profile(COMPILED), "absent", lookup).files == ()


def test_names_from_windows_are_found(tree: Path) -> None:
    name = r"C:\build\src\kernels\add.cu"
    assert texts(with_source(profile(name), "absent", Lookup((tree,)))) == {
        name: "// src/kernels/add.cu\nline\n"
    }


@pytest.mark.parametrize("name", ["/x/../../secret.txt", "../secret.txt", "/x/link.cu"])
def test_nothing_outside_the_folder_is_read(tree: Path, name: str) -> None:
    inside = tree / "src"
    (tree / "secret.txt").write_text("secret")
    (inside / "x").mkdir()
    (inside / "link.cu").symlink_to(tree / "secret.txt")
    lookup = Lookup((inside,), (("/x", inside / "x"),))
    assert with_source(profile(name), "absent", lookup).files == ()


def test_a_very_long_file_is_left_out(tree: Path) -> None:
    (tree / "add.cu").write_text("x" * (MAX_FILE + 1))
    assert with_source(profile("/a/add.cu"), "absent", Lookup((tree,))).files == ()


def test_a_name_that_no_file_can_have_takes_no_time(tree: Path) -> None:
    started = time.monotonic()
    here = profile("x/" * 100_000 + "add.cu")
    assert with_source(here, "absent", Lookup((tree,))).files == ()
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    "name", ["/x/pipe.cu", "/x/loop.cu", "/x/zero.cu", "/x/src", "\0", "\udcff"]
)
def test_what_is_no_file_is_left_alone(tree: Path, name: str) -> None:
    os.mkfifo(tree / "pipe.cu")
    (tree / "loop.cu").symlink_to("loop.cu")
    (tree / "zero.cu").symlink_to("/dev/zero")
    assert with_source(profile(name), "absent", Lookup((tree,))).files == ()


def test_without_lines_nothing_is_looked_at() -> None:
    bare = profile()
    assert with_source(bare, "absent", Lookup((Path("/"),))) is bare


def test_files_with_most_instructions_come_first() -> None:
    assert named(profile("a.cu", "b.cu", "b.cu")) == ("b.cu", "a.cu")
