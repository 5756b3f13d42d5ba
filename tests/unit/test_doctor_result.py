from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kprof.audit import Facts, audit, parse
from kprof.audit.verdict import Remedy, Status, Verdict
from kprof.doctor_result import DEPTH, EVIDENCE, MESSAGE, plain, result
from tests.doctor_fixture import CLEAN, COMMAND, DRIVER, HOSTILE, LETTER, REPORT, audited

SCENARIOS = sorted((Path(__file__).resolve().parents[1] / "data" / "doctor").glob("*.json"))


def named(check: str) -> Any:
    return next(item for item in REPORT.checks if item.check == check)


def test_the_cause_is_the_error_that_explains_the_others() -> None:
    assert REPORT.cause is named("driver.too_old_for_torch")
    assert [item.check for item in REPORT.of("error")] == [
        "driver.too_old_for_torch", "torch.import_error", "torch.slow",
    ]  # fmt: skip
    assert CLEAN.cause is None
    assert CLEAN.primary is None


def test_what_follows_from_the_cause_is_marked_over_several_steps() -> None:
    assert [item.check for item in REPORT.checks if item.follows] == [
        "torch.import_error", "torch.slow",
    ]  # fmt: skip


def statuses(middle: Status) -> dict[str, bool]:
    """Return what follows where the check between cause and last error found this."""
    found: tuple[tuple[str, Verdict], ...] = (
        ("driver.too_old_for_torch", Verdict("error", "old")),
        ("torch.import_error", Verdict(middle, "between")),
        ("torch.slow", Verdict("error", "slow")),
    )
    return {item.check: item.follows for item in result(audited(found)).checks}


@pytest.mark.parametrize("middle", ["ok", "skipped", "unknown", "warning"])
def test_what_is_no_error_explains_nothing(middle: Status) -> None:
    assert not any(statuses(middle).values())
    assert statuses("error")["torch.slow"]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_what_follows_is_explained_by_an_error_that_follows_or_is_the_cause(path: Path) -> None:
    judged = audit(parse(path.read_text()))
    follows = {item.check for item in result(judged).checks if item.follows}
    explaining = [one.check for one in judged.errors if one.check.id in {judged.primary, *follows}]
    reached = {name for check in explaining for name in check.explains}
    errors = {one.check.id for one in judged.errors}
    assert follows == (reached & errors) - {judged.primary}


def test_checks_stay_in_the_order_of_causes() -> None:
    assert [item.status for item in REPORT.checks] == [
        "ok", "error", "error", "error", "warning", "unknown", "skipped",
    ]  # fmt: skip
    assert REPORT.tally() == {"ok": 1, "error": 3, "warning": 1, "unknown": 1, "skipped": 1}


def test_nothing_said_can_steer_a_terminal_or_break_a_line() -> None:
    item = named("torch.import_error")
    for text in (item.message, *item.evidence):
        assert text.isprintable()
        assert "ERROR fake" in text
    assert HOSTILE.splitlines()[0][:31] in item.message, "markup is for the page to escape"


def test_commands_stay_whole_and_keep_their_lines() -> None:
    long = f"echo {'x' * 5000}\nsudo reboot\x1b[2J"
    verdict = Verdict("error", "m", (), Remedy(LETTER, (COMMAND, long)))
    (item,) = result(audited((("a.b", verdict),))).checks
    assert item.remedy is not None
    assert item.remedy.text == LETTER
    assert item.remedy.commands == (COMMAND, f"echo {'x' * 5000}\nsudo reboot?[2J")


def test_alternatives_are_fixes_with_their_own_commands() -> None:
    remedy = named("torch.import_error").remedy
    (other,) = remedy.alternatives
    assert remedy.commands == (COMMAND,)
    assert (other.text, other.commands, other.who) == (DRIVER.text, DRIVER.commands, "root")
    steering = Remedy("a", (), alternatives=(Remedy("b\x1b", ("c\x9b",)),))
    (item,) = result(audited((("a.b", Verdict("error", "m", (), steering)),))).checks
    assert item.remedy is not None
    assert item.remedy.alternatives[0].text == "b?"
    assert item.remedy.alternatives[0].commands == ("c?",)


def test_long_messages_and_much_evidence_are_cut() -> None:
    verdict = Verdict("error", "m" * 10**6, ("e" * 10**6,) * 1000)
    (item,) = result(audited((("a.b", verdict),))).checks
    assert len(item.message) == MESSAGE
    assert item.message.endswith("m…")
    assert len(item.evidence) == EVIDENCE
    assert {len(line) for line in item.evidence} == {MESSAGE}


def test_faults_of_the_snapshot_are_told() -> None:
    facts = Facts({"gpus": 7})
    facts.items("gpus")
    assert result(audited(facts=facts)).faults == ("gpus is not a list",)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"a": [1, 2.5, True, None, "é"]}, {"a": [1, 2.5, True, None, "é"]}),
        (float("inf"), None),
        (float("nan"), None),
        ("\ud800", "?"),
        ({"\ud800": 1}, {"?": 1}),
        (object(), None),
        (0, 0),
        (False, False),
    ],
)
def test_facts_become_what_json_can_hold(value: object, kept: object) -> None:
    assert plain(value) == kept
    json.dumps(plain(value), allow_nan=False).encode()


@pytest.mark.parametrize(
    ("verdict", "judged"),
    [
        (Verdict("unknown", "not known: gpus"), False),
        (Verdict("skipped", "this is no WSL"), False),
        (Verdict("ok", "fine"), True),
        (Verdict("warning", "odd"), True),
        (Verdict("skipped", "does not matter for run: broken", (), Remedy("Mend it.")), True),
    ],
)
def test_unknown_and_not_applying_is_no_judgement(verdict: Verdict, judged: bool) -> None:
    assert result(audited((("a.b", verdict), ("c.d", Verdict("unknown", "x"))))).judged is judged


def test_facts_nested_without_end_are_cut() -> None:
    deep: Any = "end"
    for _ in range(900):
        deep = [deep]
    shown = json.dumps(plain(deep))
    assert shown == "[" * DEPTH + "null" + "]" * DEPTH
