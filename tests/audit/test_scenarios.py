"""Machines from public bug reports: the audit names the cause that the people there found.

Each file of ``tests/data/doctor`` is a snapshot with what must be found in it (``expect``), the
report it was rebuilt from (``source``) and its story. Four are healthy by construction.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kprof.audit import audit, parse
from kprof.audit.judge import Audit

SCENARIOS = sorted((Path(__file__).parents[1] / "data" / "doctor").glob("*.json"))
AT_LEAST = {"error": {"error"}, "warning": {"error", "warning"}}

scenarios = pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)


@cache
def scenario(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


@cache
def audited(path: Path) -> Audit:
    facts = parse(path.read_text(encoding="utf-8"), path=path.name)
    return audit(facts, purpose=scenario(path).get("for"))


def statuses(path: Path) -> dict[str, str]:
    return {one.check.id: one.verdict.status for one in audited(path).results}


def test_none_is_missing() -> None:
    assert len(SCENARIOS) == 53


@scenarios
def test_what_is_wrong_is_found(path: Path) -> None:
    found = statuses(path)
    for expected in scenario(path)["expect"]["checks"]:
        assert found.get(expected["check"]) in AT_LEAST[expected["status"]], expected["check"]


@scenarios
def test_one_cause_is_named(path: Path) -> None:
    assert audited(path).primary == scenario(path)["expect"]["primary"]


@scenarios
def test_nothing_innocent_is_accused(path: Path) -> None:
    found = statuses(path)
    accused = {name for name in scenario(path)["expect"]["not"] if found.get(name) == "error"}
    assert accused == set()


@scenarios
def test_no_check_breaks(path: Path) -> None:
    broken = [
        f"{one.check.id}: {one.verdict.message}"
        for one in audited(path).results
        if "the check itself failed" in one.verdict.message
    ]
    assert broken == []


@scenarios
def test_the_facts_are_readable(path: Path) -> None:
    assert audited(path).facts.faults == []


@scenarios
def test_errors_come_with_a_remedy_and_a_source(path: Path) -> None:
    for one in audited(path).errors:
        assert one.verdict.remedy is not None, one.check.id
        assert one.verdict.source, one.check.id


@scenarios
def test_where_it_comes_from_is_written_down(path: Path) -> None:
    told = scenario(path)
    assert told["source"].startswith("https://")
    assert len(told["story"].split()) > 8
