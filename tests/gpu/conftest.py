"""What the tests on a real GPU share."""

from __future__ import annotations

import shutil

import pytest

from kprof.cli import preflight
from kprof.errors import KprofError


@pytest.fixture(scope="session")
def nvcc() -> str:
    """The compiler for the tests' programs; skips where nothing can be profiled or compiled."""
    try:
        preflight.ready()
    except KprofError as error:
        pytest.skip(f"no profiling here: {error}")
    found = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if found is None:
        pytest.skip("no nvcc to build the target with")
    return found
