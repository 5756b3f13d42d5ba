"""The operators' kernels on the CPU: their results, their refusals and what they touch.

The sources are those that nvcc compiles but for three places that are no C++: launches, dynamic
shared memory and one load in assembly. The number of planes that a grid holds is 2 here, so that
small problems have more.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTENT = ROOT / "sample_kernels"
SHIM = ROOT / "tests" / "cuda_on_cpu"
LAUNCH = re.compile(r"(\w+(?:<[^<>;]*>)?)\s*<<<(.*?)>>>\((.*?)\);", re.DOTALL)
PLANES = "kPlanesAtOnce = 65535;"
SHARED = "extern __shared__ float patch[];"
LOAD = re.compile(r"asm volatile\(.*?\);\n", re.DOTALL)
GUARD = 64
INVALID, NOT_SUPPORTED = 1, 801
NUMBER = ctypes.c_longlong
Array = np.ndarray[Any, np.dtype[np.float32]]


def as_cpp(text: str) -> str:
    """Return a CUDA source as C++."""
    text = LAUNCH.sub(r"on_cpu::launch(\2, [=] { \1(\3); });", text)
    text = text.replace(SHARED, "float* const patch = on_cpu::shared.data();")
    text = text.replace(PLANES, "kPlanesAtOnce = 2;")
    return LOAD.sub("if (wanted) quad = *reinterpret_cast<const float4*>(source);\n", text)


def compiled(operator: str, folder: Path) -> ctypes.CDLL:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("no g++ on this machine")
    for path in (CONTENT / operator).glob("*.cuh"):
        (folder / path.name).write_text(as_cpp(path.read_text(encoding="utf-8")), encoding="utf-8")
    library = folder / "operator.so"
    done = subprocess.run(
        [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", "-pthread", f"-I{SHIM}", "-w",
         "-Wl,-Bsymbolic", "-o", library, "-x", "c++", folder / "launchers.cuh"],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if "barrier: No such file" in done.stderr:
        pytest.skip("this g++ has no std::barrier")
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


@pytest.fixture(scope="module")
def convolution(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compiled("depthwise_conv", tmp_path_factory.mktemp("depthwise_conv"))


@pytest.fixture(scope="module")
def addition(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return compiled("vector_add", tmp_path_factory.mktemp("vector_add"))


def guarded(count: int, sides: float, offset: int = 0) -> tuple[Array, Array]:
    """Return memory full of `sides`, and `count` elements in it, `offset` from a multiple of 64 bytes."""
    whole = np.full(count + 3 * GUARD, sides, np.float32)
    first = GUARD - whole.ctypes.data // 4 % 16 + offset
    return whole, whole[first : first + count]


def address(values: Array | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if values is None else values.ctypes.data)


def untouched(whole: Array, inside: Array, sides: float) -> bool:
    first = (inside.ctypes.data - whole.ctypes.data) // 4
    around = np.concatenate([whole[:first], whole[first + inside.size :]])
    return bool((around == sides).all())


# images, channels, height, width, filter, stride, padding
SIZES = [
    (1, 1, 1, 1, 3, 1, 1),
    (2, 3, 33, 36, 3, 1, 1),
    (1, 5, 31, 64, 5, 1, 2),
    (2, 2, 17, 132, 3, 1, 1),
    (1, 2, 19, 260, 5, 1, 2),
    (2, 3, 13, 17, 3, 2, 1),
    (1, 3, 13, 17, 5, 2, 2),
    (2, 3, 9, 11, 5, 1, 0),
    (1, 2, 70, 37, 3, 1, 1),
    (1, 4, 12, 12, 3, 1, 2),
    (1, 2, 9, 8, 7, 3, 3),
    (3, 7, 8, 8, 1, 1, 0),
    (1, 2, 20, 20, 4, 3, 0),
]


def direct(image: Array, weights: Array, stride: int, pad: int) -> np.ndarray[Any, Any]:
    """Return the convolution in float64, tap by tap."""
    size = weights.shape[-1]
    padded = np.pad(image.astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    rows, columns = ((side - size) // stride + 1 for side in padded.shape[2:])
    total = np.zeros((*image.shape[:2], rows, columns))
    for dy in range(size):
        for dx in range(size):
            taken = padded[:, :, dy::stride, dx::stride][:, :, :rows, :columns]
            total += taken * weights[:, dy, dx].reshape(1, -1, 1, 1)
    return total


def convolve(
    launcher: Any, size: tuple[int, ...], sides: Array, place: Array, bias: Array | None
) -> int:
    """Launch with outputs as many as there have to be."""
    *sizes, kernel, stride, pad = size
    outputs = [(side + 2 * pad - kernel) // stride + 1 for side in sizes[2:]]
    numbers = map(NUMBER, (*size, *outputs))
    relu = ctypes.c_int(bias is not None)
    given = (sides, weights_of(size), bias, place)
    return int(launcher(*map(address, given), *numbers, relu, ctypes.c_void_p()))


def weights_of(size: tuple[int, ...]) -> Array:
    return np.random.default_rng(1).uniform(-1, 1, (size[1], size[4], size[4])).astype(np.float32)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
@pytest.mark.parametrize(
    ("name", "sms"),  # of a device with many, the tuned kernel takes two rows per strip, else four
    [("naive", 1), ("tiled", 1), ("tuned", 1), ("tuned", 1000), ("fused", 1), ("fused", 1000)],
)
def test_a_convolution_is_right(
    convolution: ctypes.CDLL, name: str, sms: int, size: tuple[int, ...]
) -> None:
    *sizes, _, stride, pad = size
    random = np.random.default_rng(2)
    _, image = guarded(int(np.prod(sizes)), np.nan)
    image[:] = random.uniform(-1, 1, image.size)
    bias = random.uniform(-1, 1, sizes[1]).astype(np.float32) if name == "fused" else None
    wanted = direct(image.reshape(sizes), weights_of(size), stride, pad)
    if bias is not None:
        wanted = np.maximum(wanted + bias.reshape(1, -1, 1, 1), 0.0)
    whole, place = guarded(wanted.size, 77.0)
    place[:] = np.nan
    convolution.pretend(sms, 1 << 30)
    launcher = getattr(convolution, f"depthwise_{'tuned' if bias is not None else name}")
    assert convolve(launcher, size, image, place, bias) == 0
    assert np.abs(place - wanted.reshape(-1)).max() < 1e-5
    assert untouched(whole, place, 77.0)


def test_more_planes_than_a_grid_holds_are_among_them() -> None:
    assert PLANES in (CONTENT / "depthwise_conv" / "textbook.cuh").read_text(encoding="utf-8")
    assert any(images * channels > 2 for images, channels, *_ in SIZES)


GOOD = (1, 1, 4, 4, 3, 1, 1, 4, 4)
REFUSED = {
    "no image": ((0, *GOOD[1:]), INVALID),
    "no stride": ((*GOOD[:5], 0, *GOOD[6:]), INVALID),
    "negative padding": ((*GOOD[:6], -1, *GOOD[7:]), INVALID),
    "a filter beyond the padding": ((1, 1, 2, 2, 7, 1, 1, 1, 1), INVALID),
    "another number of outputs": ((*GOOD[:8], 5), INVALID),
    "too many planes": ((1 << 20, 1 << 20, *GOOD[2:]), NOT_SUPPORTED),
    "too large an image": ((1, 1, 1 << 20, 1 << 20, 3, 1, 1, 1 << 20, 1 << 20), NOT_SUPPORTED),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("name", ["naive", "tiled", "tuned"])
def test_what_is_no_convolution_is_refused(convolution: ctypes.CDLL, name: str, case: str) -> None:
    numbers, status = REFUSED[case]
    some = address(np.zeros(64, np.float32))
    launcher = getattr(convolution, f"depthwise_{name}")
    end = (ctypes.c_int(0), ctypes.c_void_p())
    assert launcher(some, some, None, some, *map(NUMBER, numbers), *end) == status
    assert launcher(None, some, None, some, *map(NUMBER, GOOD), *end) == INVALID


def test_a_tile_whose_halo_does_not_fit_is_refused(convolution: ctypes.CDLL) -> None:
    size = (1, 1, 30, 30, 9, 8, 4)
    image, place = np.zeros(900, np.float32), np.zeros(16, np.float32)
    assert convolve(convolution.depthwise_tiled, size, image, place, None) == NOT_SUPPORTED


@pytest.mark.parametrize("count", [1, 3, 4, 5, 255, 256, 1023, 1027])
@pytest.mark.parametrize("offset", [0, 1, 3])
@pytest.mark.parametrize("name", ["one_per_thread", "in_one_wave", "by_float4"])
def test_a_sum_is_right(addition: ctypes.CDLL, name: str, count: int, offset: int) -> None:
    (_, a), (_, b), (whole, out) = (
        guarded(count, sides, offset) for sides in (np.nan, np.nan, 77.0)
    )
    a[:], b[:] = np.random.default_rng(count).uniform(-1, 1, (2, count))
    out[:] = np.nan
    launcher = getattr(addition, f"vector_add_{name}")
    addition.pretend(1, 1 << 30)
    assert launcher(*map(address, (a, b, out)), NUMBER(count), NUMBER(64), None) == 0
    assert (out == a + b).all()
    assert untouched(whole, out, 77.0)


def test_additions_refuse_what_they_cannot_do(addition: ctypes.CDLL) -> None:
    a = np.zeros(64, np.float32)
    same, shifted = address(a), address(a[1:])
    for name in ("one_per_thread", "in_one_wave", "by_float4"):
        launcher = getattr(addition, f"vector_add_{name}")
        for count, block in ((0, 64), (8, 0), (8, 48), (8, 2048)):
            assert launcher(same, same, same, NUMBER(count), NUMBER(block), None) == INVALID
        assert launcher(None, same, same, NUMBER(8), NUMBER(64), None) == INVALID
    by_float4 = addition.vector_add_by_float4
    assert by_float4(same, shifted, same, NUMBER(8), NUMBER(64), None) == NOT_SUPPORTED
