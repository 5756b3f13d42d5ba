"""Which ncu profiles which GPU: what is said about the first and the last that does."""

from __future__ import annotations

from typing import Any

import pytest

from kprof.audit import matrix
from kprof.audit.verdict import Remedy
from tests.audit.snapshots import driver, gpu, judged, machine

CHECK = "ncu.chip_unsupported"
UNSUPPORTED = (
    "==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer "
    "--list-chips option"
)


def facts(name: str, capability: str, ncu: str | None, **more: Any) -> dict[str, Any]:
    found = {"path": "/usr/local/cuda/bin/ncu", "version": ncu} if ncu else {"path": None}
    return machine(gpus=[gpu(name, capability)], driver=driver("580.95.05", "13.0"), ncu=found,
                   **more)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "capability", "ncu", "says"),
    [
        ("NVIDIA GeForce RTX 5050 Laptop GPU", "12.0", "2025.1.0", ": 2025.3 is the first that knows GB207"),
        ("NVIDIA GeForce RTX 5090", "12.0", "2024.1.1", ": 2025.1 is the first that knows GB202"),
        ("NVIDIA GB10", "12.1", "2024.1.1", ": 2026.1 does"),  # when it came is not sourced
        ("Tesla V100-SXM2-32GB", "7.0", "2025.3.1", ": the last that did came before 2025.1"),
        ("Tesla P100-PCIE-16GB", "6.0", "2024.1.1", ": none does"),
    ],
)  # fmt: skip
def test_since_when_and_until_when(name: str, capability: str, ncu: str, says: str) -> None:
    verdict = judged(CHECK, facts(name, capability, ncu))
    assert verdict.status == "error"
    assert verdict.message.endswith(f"({capability}){says}")


def test_no_version_is_called_the_first_that_is_here_already() -> None:
    verdict = judged(CHECK, facts("NVIDIA H100 80GB HBM3", "9.0", "2025.3.1", log=UNSUPPORTED))
    assert verdict.status == "error"
    assert verdict.message.endswith("does not profile NVIDIA H100 80GB HBM3 (9.0)")


def remedy(check: str, found: dict[str, Any]) -> Remedy:
    verdict = judged(check, found)
    assert verdict.remedy is not None
    return verdict.remedy


@pytest.mark.parametrize("ncu", ["2024.1.1", None])
@pytest.mark.parametrize(
    ("name", "capability"), [("NVIDIA GeForce GTX 1080 Ti", "6.1"), ("Tesla P100-PCIE-16GB", "6.0")]
)
def test_a_gpu_that_no_ncu_profiles_gets_another_tool(
    name: str, capability: str, ncu: str | None
) -> None:
    found = remedy(CHECK if ncu else "ncu.missing", facts(name, capability, ncu))
    assert "nvprof" in found.text
    assert "newer GPU" in found.text
    assert not any("nsight-compute" in one for one in found.commands)


def test_a_gpu_that_an_older_ncu_profiles_gets_that_one() -> None:
    found = remedy(CHECK, facts("Tesla V100-SXM2-32GB", "7.0", "2025.3.1"))
    assert any("nsight-compute-2024.3" in one for one in found.commands)


@pytest.mark.parametrize("capability", [(10, 3), (11, 0), (12, 1)])
def test_what_stands_in_a_list_is_not_called_the_first(capability: tuple[int, int]) -> None:
    listed = matrix.ncu_listed_in(capability)
    assert listed is not None
    assert listed.value == "2026.1"
    assert matrix.ncu_needed_for(capability) is None
    assert matrix.ncu_supports("2025.3", capability) is None
