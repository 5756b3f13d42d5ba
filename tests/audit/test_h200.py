"""A real machine's facts, and the same machine broken in ways that cannot be done to it for real."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kprof.audit import Audit, Facts, audit

RECORDED = Path(__file__).parents[1] / "data" / "machines" / "h200.json"
FACTS: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))["facts"]


def broken(change: Callable[[dict[str, Any]], object]) -> Audit:
    facts = copy.deepcopy(FACTS)
    change(facts)
    return audit(Facts(facts))


def closed(facts: dict[str, Any]) -> None:
    facts["driver"]["params"]["RmProfilingAdminOnly"] = 1
    facts["process"] = {"euid": 1000, "capabilities": []}
    facts["os"]["container"] = None


def closed_in_a_container(facts: dict[str, Any]) -> None:
    facts["driver"]["params"]["RmProfilingAdminOnly"] = 1
    facts["process"] = {"euid": 0, "capabilities": ["CAP_CHOWN"]}


def launcher_alone(facts: dict[str, Any]) -> None:
    said = "ncu is a launcher without the tool behind it (exit status 0)"
    facts["ncu"] = {"path": "/usr/local/cuda/bin/ncu", "version": None, "error": said}


def no_ncu(facts: dict[str, Any]) -> None:
    facts["ncu"] = {"path": None, "installs": []}


def old_ncu(facts: dict[str, Any]) -> None:
    facts["ncu"].update(version="2022.1.0.0", chips=["ga100", "ga102", "tu102", "gv100"])


def cpu_torch(facts: dict[str, Any]) -> None:
    facts["torch"].update(version="2.11.0+cpu", cuda=None, arch_list=[], cuda_available=False)


def old_driver(facts: dict[str, Any]) -> None:
    for name in ("version", "module_version"):
        facts["driver"][name] = "535.183.01"
    facts["driver"]["cuda_version"] = "12.2"
    facts["libcuda"].update(version="535.183.01", cuda_version="12.2")
    facts["torch"]["cuda_available"] = False


def old_torch(facts: dict[str, Any]) -> None:
    facts["torch"].update(
        version="1.12.1+cu113", cuda="11.3", arch_list=["sm_37", "sm_70", "sm_75"]
    )


@pytest.mark.parametrize(
    ("change", "primary"),
    [
        (closed, "ncu.perm"),
        (closed_in_a_container, "container.no_sys_admin"),
        (launcher_alone, "ncu.launcher_stub"),
        (no_ncu, "ncu.missing"),
        (old_ncu, "ncu.chip_unsupported"),
        (cpu_torch, "torch.cpu_only"),
        (old_driver, "driver.too_old_for_torch"),
        (old_torch, "torch.arch_missing"),
    ],
)
def test_what_is_broken_is_named(change: Callable[[dict[str, Any]], object], primary: str) -> None:
    assert broken(change).primary == primary


def test_an_unwritable_home_is_said() -> None:
    found = broken(lambda facts: facts["files"]["HOME"].update(writable=False))
    home = next(one for one in found.results if one.check.id == "ncu.home_unwritable")
    assert home.verdict.status == "warning"


def test_the_machine_as_it_is_has_no_error_and_no_warning() -> None:
    found = broken(lambda _: None)
    told = [one.check.id for one in found.results if one.verdict.status in ("error", "warning")]
    assert told == []
