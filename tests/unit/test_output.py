from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from kprof.errors import KprofError, OutputExists, OutputNotWritable
from kprof.output import (
    SUFFIXES,
    check_free,
    format_of,
    new_directory,
    unused_directory,
    unused_names,
    write,
)


def test_a_file_is_written_whole_with_usual_permissions(tmp_path: Path) -> None:
    write(tmp_path / "a.json", "µ\n")
    assert (tmp_path / "a.json").read_bytes() == "µ\n".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    (tmp_path / "plain").touch()
    assert (tmp_path / "a.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("mine")
    with pytest.raises(OutputExists) as caught:
        write(path, "new")
    assert path.read_text() == "mine"
    assert "--force" in (caught.value.hint or "")
    write(path, b"new", force=True)
    assert path.read_text() == "new"


def test_a_dangling_link_counts_as_existing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputExists):
        check_free(tmp_path / "link")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputNotWritable, match="does not exist") as caught:
        write(tmp_path / "no" / "a.json", "x")
    assert caught.value.hint == f"mkdir -p {tmp_path / 'no'}"


def test_a_refusal_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OutputNotWritable):  # a file cannot replace a directory
        write(tmp_path / "taken", "x", force=True)
    with pytest.raises(OutputNotWritable):
        write(tmp_path / ("n" * 300 + ".json"), "x")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_proc_is_not_writable_even_for_root() -> None:
    with pytest.raises(KprofError):
        write(Path("/proc/kprof.json"), "x")


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write(pipe, "through")
    reader.join(10)
    assert got == [b"through"]
    assert pipe.is_fifo()


def test_a_directory_is_made_with_its_parents_once(tmp_path: Path) -> None:
    made = new_directory(tmp_path / "a" / "b")
    assert made.is_dir()
    with pytest.raises(OutputExists):
        new_directory(made)
    assert new_directory(made, force=True) == made


def test_a_file_is_no_directory_even_with_force(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(OutputExists, match="is a file"):
        new_directory(tmp_path / "a", force=True)


def test_default_directories_are_numbered(tmp_path: Path) -> None:
    base = tmp_path / "kprof-train"
    names = [unused_directory(base).name for _ in range(3)]
    assert names == ["kprof-train", "kprof-train-2", "kprof-train-3"]


def test_a_default_directory_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OutputNotWritable):
        unused_directory(tmp_path / "no" / "kprof-train")


def test_names_that_repeat_are_numbered() -> None:
    assert unused_names(["a", "b", "a", "a-2", "a"]) == ["a", "b", "a-2", "a-2-2", "a-3"]


@pytest.mark.parametrize(("name", "suffix"), SUFFIXES.items())
def test_every_format_has_a_suffix_that_leads_back(name: str, suffix: str) -> None:
    assert format_of(Path("x" + suffix)) == format_of(Path("x" + suffix.upper())) == name


def test_an_unknown_suffix_stands_for_nothing() -> None:
    assert format_of(Path("x.pdf")) is format_of(Path("directory")) is None
