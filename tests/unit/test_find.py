from __future__ import annotations

from pathlib import Path

import pytest

from kprof.collect import find
from kprof.errors import NcuNotFound


def ncu(path: Path, version: str = "2025.3.1.0", code: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"#!/bin/sh\n{code or f'echo Version {version} (build 1)'}\n".replace(
            "(build 1)", "'(build 1)'"
        )
    )
    path.chmod(0o755)
    return path


def test_path_comes_first(tmp_path: Path) -> None:
    on_path = ncu(tmp_path / "bin/ncu", "2023.1.0.0")
    ncu(tmp_path / "opt/nvidia/nsight-compute/2026.1.0/ncu", "2026.1.0.0")
    found = find.find(environ={"PATH": str(tmp_path / "bin")}, root=tmp_path)
    assert found == find.Ncu(on_path, "2023.1.0.0")


def test_newest_of_the_known_places(tmp_path: Path) -> None:
    for version in ("2024.3.0", "2025.10.1", "2025.9.1"):
        ncu(tmp_path / f"opt/nvidia/nsight-compute/{version}/ncu", version)
    assert find.find(environ={}, root=tmp_path).version == "2025.10.1"


@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH"])
def test_cuda_home_comes_before_other_toolkits(tmp_path: Path, variable: str) -> None:
    ncu(tmp_path / "usr/local/cuda-13.0/bin/ncu", "2025.3.0.0")
    ncu(tmp_path / "mine/bin/ncu", "2024.1.0.0")
    environ = {variable: str(tmp_path / "mine")}
    assert find.find(environ=environ, root=tmp_path).version == "2024.1.0.0"


@pytest.mark.parametrize(
    "place",
    [
        "usr/local/cuda/bin/ncu",
        "usr/local/cuda-12.8/bin/ncu",
        "usr/local/cuda-12.8/nsight-compute-2025.1.0/ncu",
        "opt/nvidia/hpc_sdk/Linux_x86_64/24.5/profilers/Nsight_Compute/ncu",
        "conda/bin/ncu",
        "conda/nsight-compute/2025.1.0/ncu",
    ],
)
def test_every_known_place(tmp_path: Path, place: str) -> None:
    expected = ncu(tmp_path / place)
    environ = {"CONDA_PREFIX": str(tmp_path / "conda")}
    assert find.find(environ=environ, root=tmp_path).path == expected


def test_launcher_without_the_tool_is_passed_over(tmp_path: Path) -> None:
    ncu(tmp_path / "bin/ncu", code="echo 'no tool here' >&2; exit 127")
    real = ncu(tmp_path / "usr/local/cuda-12.8/bin/ncu")
    assert find.find(environ={"PATH": str(tmp_path / "bin")}, root=tmp_path).path == real


def test_the_same_file_is_asked_once(tmp_path: Path) -> None:
    real = ncu(tmp_path / "opt/nvidia/nsight-compute/2025.1.0/ncu")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ncu").symlink_to(real)
    found = find.candidates({"PATH": str(tmp_path / "bin")}, tmp_path)
    assert found == [tmp_path / "bin/ncu"]


def test_only_broken_ones_are_all_named(tmp_path: Path) -> None:
    ncu(tmp_path / "bin/ncu", code="echo broken >&2; exit 1")
    with pytest.raises(NcuNotFound) as caught:
        find.find(environ={"PATH": str(tmp_path / "bin")}, root=tmp_path)
    assert "launcher without the tool behind it (exit status 1, said: broken)" in str(caught.value)
    assert caught.value.hint is not None
    assert "\n" not in str(caught.value)


def test_none_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(NcuNotFound, match=r"PATH, CUDA_HOME.*/opt/nvidia/nsight-compute"):
        find.find(environ={"PATH": "/nonexistent"}, root=tmp_path)


def test_one_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "VERSION_TIMEOUT_S", 0.5)
    ncu(tmp_path / "bin/ncu", code="sleep 30")
    with pytest.raises(NcuNotFound, match="did not answer --version"):
        find.find(environ={"PATH": str(tmp_path / "bin")}, root=tmp_path)


def test_explicit_wins_and_is_not_replaced(tmp_path: Path) -> None:
    ncu(tmp_path / "bin/ncu")
    mine = ncu(tmp_path / "mine/ncu", "2024.1.0.0")
    environ = {"PATH": str(tmp_path / "bin")}
    assert find.find(str(mine), environ=environ, root=tmp_path).version == "2024.1.0.0"
    assert find.find(str(mine.parent), environ=environ, root=tmp_path).path == mine
    assert find.find("ncu", environ=environ, root=tmp_path).path == tmp_path / "bin/ncu"
    (tmp_path / "empty").mkdir()
    for name, said in (
        (str(tmp_path / "absent"), "absent does not exist"),
        (str(tmp_path / "empty"), "empty is a folder without ncu"),
        ("", "--ncu names nothing"),
    ):
        with pytest.raises(NcuNotFound, match=said):
            find.find(name, environ=environ, root=tmp_path)


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    path = tmp_path / "ncu"
    path.write_bytes(b"\x00\x01")
    path.chmod(0o755)
    with pytest.raises(NcuNotFound, match="cannot be started"):
        find.find(str(path), environ={}, root=tmp_path)


def test_dry_run_name_without_any(tmp_path: Path) -> None:
    assert find.first_name({}, tmp_path) == "ncu"
