from __future__ import annotations

from pathlib import Path

import pytest

from scripts import mutate_rules
from scripts.mutate_rules import Mutant

MODULE = """
LIMIT = 10
NAMES = ("a", "b")
SWITCH = True

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
    return kernel.f and kernel.g
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
    assert "if kernel.b < LIMIT:" in found["without `kernel.a is None`"].source
    assert "if False:" in found["without `kernel.c`"].source
    assert "return kernel.g" in found["without `kernel.f`"].source
    for mutant in found.values():
        compile(mutant.source, mutant.path, "exec")


def test_the_real_rules_have_thresholds_and_guards() -> None:
    changes = [mutant.what for mutant in mutate_rules.mutants("rules/barrier_stalls.py")]
    assert "LARGE_BLOCK = 512 → 409.6" in changes
    assert "without `stall_rule.is_warp_specialised(kernel)`" in changes
