"""A Python that has torch, for tests of what runs in the target's interpreter."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Where `make test` puts a torch without CUDA.
OURS = ROOT / ".venv" / "torch" / "bin" / "python"
VARIABLE = "KPROF_TEST_TORCH"


@functools.cache
def _found() -> str | None:
    for python in (os.environ.get(VARIABLE), str(OURS), sys.executable):
        if python and Path(python).is_file():
            done = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
            if done.returncode == 0:
                return python
    return None


def torch_python() -> str:
    """Return its path; the test is skipped where there is none."""
    found = _found()
    if found is None:
        pytest.skip(f"no Python with torch; name one in {VARIABLE}")
    return found
