"""Which CUDA libraries torch would load, by the loader's rules, and their versions."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from kprof.audit.probes import elf, libraries
from kprof.audit.probes.loader import Loader
from tests.audit.software_fixture import LOOK, SITE, Fake, library

TORCH = f"{SITE}/torch"
RPATH = "$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN/../../nvidia/nccl/lib:$ORIGIN/../../nvidia/cu13/lib:$ORIGIN"
NEEDED = ["libc10.so", "libcudart.so.13", "libcudnn.so.9", "libnccl.so.2", "libcublas.so.13"]


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    made = Fake(tmp_path)
    made.answers({**LOOK, "torch": TORCH}, "look")
    return made


def put_library(fake: Fake, path: str, **asks: Any) -> None:
    name = path.rpartition("/")[2]
    fake.put(path, library(soname=name, **asks))


# --- the dynamic section ---------------------------------------------------------------------


def test_what_a_library_asks_for(tmp_path: Path) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(
        library(needed=["libcudart.so.12", "libc.so.6"], soname="x.so.1", rpath="/a:$ORIGIN/b")
    )
    assert elf.dynamic(path) == elf.Dynamic(
        needed=("libcudart.so.12", "libc.so.6"), soname="x.so.1", rpath=("/a", "$ORIGIN/b")
    )
    path.write_bytes(library(runpath="$ORIGIN"))
    assert elf.dynamic(path) == elf.Dynamic(runpath=("$ORIGIN",))


def test_a_library_of_this_very_system_can_be_read() -> None:
    linked = elf.dynamic(Path(os.path.realpath(sys.executable)))
    assert linked is not None
    assert any(name.startswith("libc.so") for name in linked.needed)


@pytest.mark.parametrize("size", [0, 3, 20, 64, 70, 119, 130, 200])
def test_a_library_cut_short_is_none_or_asks_for_less(tmp_path: Path, size: int) -> None:
    whole = library(needed=["libcudart.so.12"], soname="x.so")
    path = tmp_path / "x.so"
    path.write_bytes(whole[:size])
    found = elf.dynamic(path)
    assert found is None or set(found.needed) <= {"libcudart.so.12", ""}


@pytest.mark.parametrize("byte", range(16, 176, 4))
def test_damaged_numbers_do_no_harm(tmp_path: Path, byte: int) -> None:
    whole = bytearray(library(needed=["libcudart.so.12"], soname="x.so"))
    whole[byte : byte + 4] = b"\xff\xff\xff\xff"
    path = tmp_path / "x.so"
    path.write_bytes(whole)
    found = elf.dynamic(path)
    assert found is None or isinstance(found, elf.Dynamic)


def test_what_is_no_file_is_no_library(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for ever
    (tmp_path / "link").symlink_to("link")
    for name in ("pipe", "link", "gone", "."):
        assert elf.dynamic(tmp_path / name) is None
    assert elf.dynamic(Path("a\0b")) is None


# --- the loader's order ----------------------------------------------------------------------

LISTED = b"""12 libs found in cache `/etc/ld.so.cache'
\tlibx.so.1 (libc6,x86-64) => /cached/libx.so.1
\tlibx.so.1 (libc6) => /cached32/libx.so.1
\tlibold.so (libc6, hwcap: 0x1) => /cached32/libold.so
"""


@pytest.mark.parametrize(
    ("there", "found"),
    [
        (["/r", "/ld", "/run", "/lib64"], "/r"),
        (["/ld", "/run", "/lib64"], "/ld"),
        (["/cached", "/lib64"], "/cached"),
        (["/lib64", "/usr/lib"], "/cached"),
    ],
)
def test_an_rpath_comes_before_the_library_path(fake: Fake, there: list[str], found: str) -> None:
    fake.environ["LD_LIBRARY_PATH"] = ":relative:/ld/:"
    fake.replies["ldconfig", "-p"] = LISTED
    put_library(fake, "/app/a.so", rpath="$ORIGIN/../r")
    for folder in there:
        put_library(fake, f"{folder}/libx.so.1")
    assert Loader(fake.machine()).find("libx.so.1", ["/app/a.so"]) == f"{found}/libx.so.1"


@pytest.mark.parametrize(("there", "found"), [(["/ld", "/run"], "/ld"), (["/run"], "/run")])
def test_a_runpath_comes_after_the_library_path_and_voids_the_rpath(
    fake: Fake, there: list[str], found: str
) -> None:
    fake.environ["LD_LIBRARY_PATH"] = "/ld"
    put_library(fake, "/app/a.so", rpath="/r", runpath="${ORIGIN}/../run")
    put_library(fake, "/r/libx.so.1")
    for folder in there:
        put_library(fake, f"{folder}/libx.so.1")
    assert Loader(fake.machine()).find("libx.so.1", ["/app/a.so"]) == f"{found}/libx.so.1"


def test_the_rpath_of_whoever_brought_a_library_in_counts_for_it(fake: Fake) -> None:
    put_library(fake, "/app/main.so", rpath="/r")
    put_library(fake, "/app/plain.so")
    put_library(fake, "/app/strict.so", runpath="/nowhere")
    put_library(fake, "/r/libx.so.1")
    loader = Loader(fake.machine())
    assert loader.find("libx.so.1", ["/app/plain.so", "/app/main.so"]) == "/r/libx.so.1"
    assert loader.find("libx.so.1", ["/app/strict.so", "/app/main.so"]) is None


def test_what_is_no_library_is_passed_over(fake: Fake) -> None:
    fake.environ["LD_LIBRARY_PATH"] = "/text:/folder:/ld"
    fake.put("/text/libx.so.1", "/* GNU ld script */")
    fake.put("/folder/libx.so.1/file")
    put_library(fake, "/ld/libx.so.1")
    assert Loader(fake.machine()).find("libx.so.1") == "/ld/libx.so.1"


def test_the_system_s_folders_come_last_and_32_bits_never(fake: Fake) -> None:
    fake.replies["ldconfig", "-p"] = LISTED
    put_library(fake, "/usr/lib/libold.so")
    loader = Loader(fake.machine())
    assert loader.find("libold.so") == "/usr/lib/libold.so"
    assert loader.find("libgone.so") is None


# --- what torch loads ------------------------------------------------------------------------


def put_torch(fake: Fake) -> None:
    put_library(fake, f"{TORCH}/lib/libtorch_global_deps.so", needed=NEEDED[1:2], rpath=RPATH)
    put_library(fake, f"{TORCH}/lib/libtorch_cuda.so", needed=NEEDED, rpath=RPATH)
    for folder, names in (
        ("cu13", ["libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13"]),
        ("nccl", ["libnccl.so.2"]),
    ):
        for name in names:
            put_library(fake, f"{SITE}/nvidia/{folder}/lib/{name}")
    for name in ("libcudnn.so.9", "libcudnn_ops.so.9", "libcudnn_graph.so.9"):
        put_library(fake, f"{SITE}/nvidia/cudnn/lib/{name}", runpath="$ORIGIN")
    for name, version in (
        ("nvidia_cuda_runtime", "13.0.96"),
        ("nvidia_cublas", "13.1.0.3"),
        ("nvidia_cudnn_cu13", "9.19.0.56"),
        ("nvidia_nccl_cu13", "2.28.9"),
    ):
        fake.install(name, version)


def loaded(fake: Fake) -> dict[str, list[tuple[str, str | None]]]:
    found = libraries.loaded_libraries(fake.machine())["loaded_libraries"]
    return {
        family: [(one["path"].removeprefix(SITE), one["version"]) for one in entries]
        for family, entries in found.items()
    }


def test_torch_s_own_wheels(fake: Fake) -> None:
    put_torch(fake)
    assert loaded(fake) == {
        "libcudart": [("/nvidia/cu13/lib/libcudart.so.13", "13.0")],
        "libcudnn": [("/nvidia/cudnn/lib/libcudnn.so.9", "9.19.0")],
        "libnccl": [("/nvidia/nccl/lib/libnccl.so.2", "2.28.9")],
        "libcublas": [("/nvidia/cu13/lib/libcublas.so.13", "13.1")],
    }


def test_a_part_of_another_cudnn_on_the_library_path_is_seen(fake: Fake) -> None:
    put_torch(fake)
    fake.environ["LD_LIBRARY_PATH"] = "/usr/local/cuda/lib64"
    put_library(fake, "/opt/cudnn/libcudnn_ops.so.9.1.0")
    fake.put("/opt/cudnn/libcudnn_ops.so.9.1.0", library(soname="libcudnn_ops.so.9"))
    folder = fake.root / "usr/local/cuda/lib64"
    folder.mkdir(parents=True)
    (folder / "libcudnn_ops.so.9").symlink_to("../../../../opt/cudnn/libcudnn_ops.so.9.1.0")
    assert loaded(fake)["libcudnn"] == [
        ("/nvidia/cudnn/lib/libcudnn.so.9", "9.19.0"),
        ("/usr/local/cuda/lib64/libcudnn_ops.so.9", "9.1.0"),
    ]


def test_torch_without_wheels_takes_what_the_system_has(fake: Fake) -> None:
    put_library(fake, f"{TORCH}/lib/libtorch_cuda.so", needed=NEEDED, runpath="$ORIGIN")
    fake.environ["LD_LIBRARY_PATH"] = "/usr/local/cuda-12.3/lib64"
    fake.put("/usr/local/cuda-12.3/lib64/libcublas.so.13.3.4.1", library(soname="libcublas.so.13"))
    (fake.root / "usr/local/cuda-12.3/lib64/libcublas.so.13").symlink_to("libcublas.so.13.3.4.1")
    put_library(fake, "/usr/lib64/libcudnn.so.9")
    fake.put(
        "/usr/include/cudnn_version.h",
        "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 2\n#define CUDNN_PATCHLEVEL 1\n",
    )
    assert loaded(fake) == {
        "libcudart": [],
        "libcudnn": [("/usr/lib64/libcudnn.so.9", "9.2.1")],
        "libnccl": [],
        "libcublas": [("/usr/local/cuda-12.3/lib64/libcublas.so.13", "13.3")],
    }


def test_a_library_bundled_with_torch(fake: Fake) -> None:
    name = "libcudart-d0da41ae.so.11.0"
    put_library(fake, f"{TORCH}/lib/libc10_cuda.so", needed=[name], rpath="$ORIGIN")
    put_library(fake, f"{TORCH}/lib/{name}")
    fake.answers({"number": 11080}, "version", "libcudart", f"{TORCH}/lib/{name}")
    assert loaded(fake)["libcudart"] == [(f"/torch/lib/{name}", "11.8")]


def test_two_wheels_that_own_one_file_leave_its_version_to_the_file(fake: Fake) -> None:
    put_torch(fake)
    fake.install("nvidia_nccl_cu12", "2.27.5")
    assert loaded(fake)["libnccl"] == [("/nvidia/nccl/lib/libnccl.so.2", None)]
    fake.answers({"number": 22705}, "version", f"{SITE}/nvidia/nccl/lib/libnccl.so.2")
    assert loaded(fake)["libnccl"] == [("/nvidia/nccl/lib/libnccl.so.2", "2.27.5")]


def test_a_cpu_build_loads_none(fake: Fake) -> None:
    put_library(fake, f"{TORCH}/lib/libtorch_global_deps.so", needed=["libgomp.so.1"])
    assert loaded(fake) == {family: [] for family in libraries.FAMILIES}


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("/x/libcudart.so.12", "libcudart"),
        ("libcudart-d0da41ae.so.11.0", "libcudart"),
        ("libcudnn_cnn_infer.so.8", "libcudnn"),
        ("libnccl.so.2", "libnccl"),
        ("libcublas.so.12", "libcublas"),
        ("libcublasLt.so.12", None),
        ("libnccl-net.so", None),
        ("libcudartx.so", None),
        ("/libcudart.so.12/libc.so.6", None),
    ],
)
def test_families(name: str, family: str | None) -> None:
    assert libraries.family_of(name) == family


@pytest.mark.parametrize(
    ("family", "number", "version"),
    [
        ("libcudart", 12040, "12.4"),
        ("libcudart", 13000, "13.0"),
        ("libcudnn", 8902, "8.9.2"),
        ("libcudnn", 91900, "9.19.0"),
        ("libnccl", 2708, "2.7.8"),
        ("libnccl", 22809, "2.28.9"),
    ],
)
def test_a_version_from_a_library_s_own_number(family: str, number: int, version: str) -> None:
    assert libraries.number_to_version(family, number) == version
