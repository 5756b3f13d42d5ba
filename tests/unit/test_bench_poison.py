"""What memory that nobody wrote holds, with torch on a CPU."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.torch_python import torch_python

# Of the reference, and of a result; the tolerated share is of elements that are right by chance.
KINDS = (
    ("float64", "float32"), ("float64", "float64"), ("float64", "bfloat16"), ("int64", "int64"),
    ("int64", "int32"), ("int64", "uint8"), ("complex128", "complex64"),
    ("complex128", "complex128"), ("bool", "bool"),
)  # fmt: skip
PROBE = """
import json, sys
import torch
sys.path.insert(0, sys.argv[1])
from kprof.bench.poison import spoil

def left(reference, kind, count):
    wanted = torch.ones(count, dtype=getattr(torch, reference))
    earlier = torch.ones(count, dtype=getattr(torch, kind))
    more = earlier.clone()
    del earlier, more
    spoil(wanted)
    made = torch.empty(count, dtype=getattr(torch, kind))
    return float((made == 1).double().mean())

print(json.dumps([
    [left(*kinds, count) for _ in range(5) for count in (20_000, 65_536, 100_003)]
    for kinds in json.loads(sys.argv[2])
]))
"""


def test_a_right_result_does_not_stay_in_memory() -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [torch_python(), "-c", PROBE, str(root), json.dumps(KINDS)],
        capture_output=True, text=True, timeout=120, check=True,
        env={"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    shares = {
        kinds: sum(found) / len(found)
        for kinds, found in zip(KINDS, json.loads(done.stdout), strict=True)
    }
    assert shares == pytest.approx(dict.fromkeys(KINDS, 0.0), abs=0.25)
