from __future__ import annotations

from pathlib import Path

import pytest

from scripts import mutate_rules
from scripts.mutate_rules import Mutant

MODULE = """
LIMIT = 10
NAMES = ("a", "b")
SWITCH = True
FEW, MANY = (1.0, 5.0)
TABLE = {"a": 7}

def check(kernel):
    if kernel.a is None or kernel.b < LIMIT:
        return None
    if kernel.c:
        return ()
    if kernel.d:
        kernel = kernel.d
        return None
    if kernel.e:
        return kernel
    else:
        return None

def gate(kernel):
    for item in kernel.items:
        if item.skipped:
            continue
        item.use(3)
    return kernel.f and kernel.g

def sure(share):
    return "high" if share > 0.0 and share >= 0.5 else "low"
"""


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Mutant]:
    (tmp_path / "a_rule.py").write_text(MODULE)
    monkeypatch.setattr(mutate_rules, "ROOT", tmp_path)
    return {mutant.what: mutant for mutant in mutate_rules.mutants("a_rule.py")}


def test_thresholds_and_guards_are_changed_and_nothing_else(found: dict[str, Mutant]) -> None:
    assert set(found) == {
        "LIMIT = 10 → 8",
        "LIMIT = 10 → 12",
        "FEW, MANY = 5 → 4",
        "FEW, MANY = 5 → 6",
        "`share >= 0.5` = 0.5 → 0.4",
        "`share >= 0.5` = 0.5 → 0.6",
        "without `item.skipped`",
        "without `kernel.a is None`",
        "without `kernel.b < LIMIT`",
        "without `kernel.c`",
        "without `kernel.f`",
        "without `kernel.g`",
    }
    assert [what for what, mutant in found.items() if mutant.narrows] == [
        "without `kernel.a is None`"
    ]


def test_a_change_is_in_the_source_and_compiles(found: dict[str, Mutant]) -> None:
    assert "LIMIT = 8.0" in found["LIMIT = 10 → 8"].source
    assert "MANY = (1.0, 6.0)" in found["FEW, MANY = 5 → 6"].source
    assert "share >= 0.4" in found["`share >= 0.5` = 0.5 → 0.4"].source
    assert "if kernel.b < LIMIT:" in found["without `kernel.a is None`"].source
    assert "if False:" in found["without `kernel.c`"].source
    assert "return kernel.g" in found["without `kernel.f`"].source
    for mutant in found.values():
        compile(mutant.source, mutant.path, "exec")


def test_the_real_rules_have_thresholds_and_guards() -> None:
    changes = [mutant.what for mutant in mutate_rules.mutants("rules/barrier_stalls.py")]
    assert "LARGE_BLOCK = 512 → 409.6" in changes
    assert "without `stall_rule.is_warp_specialised(kernel)`" in changes


def test_what_is_known_to_be_harmless_is_a_change_of_today() -> None:
    known = mutate_rules.harmless()
    changes = {(path, mutant.what) for path, _ in known for mutant in mutate_rules.mutants(path)}
    assert set(known) <= changes
    assert all(len(why.split()) > 5 for why in known.values())


def test_the_report_tells_harmless_survivors_from_surprising_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("noticed", "harmless", "surprising", "outdated")
    found = [Mutant("rules/a.py", 3, name, "", narrows=name == "surprising") for name in names]
    reasons = {("rules/a.py", name): "why" for name in ("harmless", "outdated")}
    monkeypatch.setattr(mutate_rules, "harmless", lambda: reasons)
    assert mutate_rules.report(found, found[1:3], 0) == 2
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("rules/a.py:3: surprising (a check for None")
    assert said[1] == "rules/a.py: outdated: is noticed, strike it from harmless_mutants.json"
    assert said[2] == "4 changes: 2 noticed, 1 known to be harmless, 1 survive, 0 not tried"
    assert mutate_rules.report(found[:2], found[1:2], 0) == 0
    # Of what was not tried nobody knows whether it is outdated.
    assert mutate_rules.report(found, found[1:2], 1) == 0
