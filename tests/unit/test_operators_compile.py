"""The operators compile for every architecture that the newest toolkit knows; no GPU is needed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from kprof import samples
from kprof.errors import NvccNotFound

CONTENT = Path(__file__).resolve().parents[2] / "sample_kernels"
OPERATORS = ("vector_add", "depthwise_conv")
ARCHITECTURES = ("75", "80", "86", "89", "90", "100", "120")
SOURCES = sorted(
    path
    for operator in OPERATORS
    for path in (CONTENT / operator).iterdir()
    if path.suffix == ".cu" or path.name == "launchers.cuh"
)


def together(sources: list[Path]) -> str:
    """Return one translation unit of them all: most of the time goes into CUDA's own headers."""
    headers = sorted({*CONTENT.glob("*.cuh"), *shared_headers()})
    return "\n".join(
        [
            *(f'#include "{path}"' for path in headers),
            *(f'namespace n{i} {{\n#include "{path}"\n}}' for i, path in enumerate(sources)),
        ]
    )


def shared_headers() -> set[Path]:
    headers = {path for operator in OPERATORS for path in (CONTENT / operator).glob("*.cuh")}
    return headers - set(SOURCES)


def kernels(sources: list[Path]) -> int:
    """Count the kernels that sources and headers define, each template once."""
    text = "".join(path.read_text(encoding="utf-8") for path in [*sources, *shared_headers()])
    return len(re.findall(r"^__global__ void", text, re.MULTILINE))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_an_operator_compiles_without_a_warning(architecture: str, tmp_path: Path) -> None:
    try:
        nvcc = samples.find_nvcc()
    except NvccNotFound:
        pytest.skip("no nvcc on this machine")
    listed = subprocess.run(
        [nvcc, "--list-gpu-code"], capture_output=True, text=True, check=False, timeout=60
    )
    if f"sm_{architecture}" not in listed.stdout.split():
        pytest.skip(f"this nvcc does not know sm_{architecture}")
    source, cubin = tmp_path / "all.cu", tmp_path / "all.cubin"
    source.write_text(together(SOURCES), encoding="utf-8")
    done = subprocess.run(
        [nvcc, f"-arch=sm_{architecture}", "-std=c++17", "-Werror", "all-warnings", "-cubin",
         "-o", cubin, source],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = set(re.findall(rb"\.text\.(\w+)\0", cubin.read_bytes()))
    assert len(found) >= kernels(SOURCES) > len(OPERATORS)
