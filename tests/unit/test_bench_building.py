from __future__ import annotations

import ctypes
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kprof import presence
from kprof.bench import building
from kprof.bench import launchers as entries
from kprof.errors import NvccNotFound
from kprof.samples import find_nvcc

SOURCE = (
    '#include "scale.cuh"\nextern "C" int twice(float* x, long long n) { return scaled(x, n); }\n'
)
HEADER = "inline int scaled(float*, long long n) { return FACTOR * (int)n; }\n"


@pytest.fixture
def nvcc() -> Path:
    try:
        return find_nvcc()
    except NvccNotFound:
        pytest.skip("there is no nvcc")


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def library(folder: Path, source: str = SOURCE, **more: Any) -> dict[str, Any]:
    (folder / "scale.cu").write_text(source)
    (folder / "scale.cuh").write_text(HEADER)
    return {"source": str(folder / "scale.cu"), "flags": ["-DFACTOR=2"], **more}


def built(*libraries: dict[str, Any], capability: str | None = "9.0") -> list[building.Built]:
    return building.build_all(libraries, capability)


def test_a_library_is_built_once_and_called(nvcc: Path, tmp_path: Path) -> None:
    (first,) = built(library(tmp_path))
    assert first.problem is None
    assert first.place is not None
    assert ctypes.CDLL(first.place).twice(None, ctypes.c_longlong(21)) == 42
    began = time.monotonic()
    assert built(library(tmp_path)) == [first]
    assert time.monotonic() - began < 0.2, "it was compiled again"


def test_what_it_is_made_of_makes_another(nvcc: Path, tmp_path: Path) -> None:
    (first,) = built(library(tmp_path))
    (flags,) = built(library(tmp_path, flags=["-DFACTOR=3"]))
    both = library(tmp_path)
    (tmp_path / "scale.cuh").write_text(HEADER + "// changed\n")
    (header,) = built(both)
    assert len({first.place, flags.place, header.place}) == 3


def test_a_source_that_does_not_compile_costs_the_others_nothing(
    nvcc: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    bad, missing, good = built(
        library(broken, "int x = y;\n"),
        {"source": str(tmp_path / "none.cu"), "flags": []},
        library(tmp_path),
    )
    assert bad.place is None
    assert bad.problem is not None
    assert "scale.cu" in bad.problem
    assert '"y" is undefined' in bad.problem
    assert missing.problem == f"{tmp_path / 'none.cu'} does not exist"
    assert good.place is not None


def test_without_a_gpu_or_a_compiler_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert built(library(tmp_path), capability=None)[0].problem == "CUDA launchers need a GPU"

    def none() -> Path:
        raise NvccNotFound("no nvcc", hint="install it")

    monkeypatch.setattr(building, "find_nvcc", none)
    assert built(library(tmp_path))[0].problem == "no nvcc; install it"
    assert built() == []


@pytest.mark.parametrize(
    ("flags", "has"), [((), True), (("-DX",), True), (("-arch=sm_90a",), False), (("-gencode", "x"), False)]
)  # fmt: skip
def test_flags_of_its_own_choose_the_architecture(flags: tuple[str, ...], has: bool) -> None:
    made = building.argv(Path("nvcc"), Path("a.cu"), flags, "-arch=sm_90", Path("a.so"))
    assert ("-arch=sm_90" in made) == has


class Fake:
    """What a launcher needs of torch, where there is no GPU."""

    class cuda:  # noqa: N801 - a module's name
        @staticmethod
        def is_available() -> bool:
            return False

    def data_ptr(self) -> int:
        return 0


@pytest.fixture
def launchers(nvcc: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> entries.Library:
    source = """
    extern "C" int sum(const float* p, long long n, double x, int flag, const float* none, void* stream) {
      return p == nullptr && none == nullptr && stream == nullptr ? (int)(n + x) + flag - 8 : -1;
    }
    extern "C" int refuses(void*) { return 801; }
    """
    monkeypatch.setitem(sys.modules, "torch", Fake)
    (made,) = built(library(tmp_path, source))
    found = entries.Library(tmp_path / "scale.cu")
    assert made.place is not None
    found.place = Path(made.place)
    return found


def test_launchers_get_pointers_numbers_and_the_stream(launchers: entries.Library) -> None:
    launchers.sum(Fake(), 5, 2.5, True, None)
    with pytest.raises(entries.LaunchError, match="sum returned 1"):
        launchers.sum(Fake(), 6, 2.5, True, None)
    with pytest.raises(entries.LaunchError, match="not str"):
        launchers.sum("x")


def test_launchers_that_refuse_or_are_missing_are_told_apart(launchers: entries.Library) -> None:
    with pytest.raises(NotImplementedError):
        launchers.refuses()
    with pytest.raises(entries.LaunchError, match='no extern "C" function nothing'):
        launchers.nothing()
    uncompiled = entries.Library(Path("x.cu"))
    uncompiled.problem = "nvcc said no"
    with pytest.raises(entries.LaunchError, match="nvcc said no"):
        uncompiled.anything()
    assert presence.is_file(Path(str(launchers.place)))
