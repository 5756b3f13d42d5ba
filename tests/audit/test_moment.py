from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from kprof.audit import moment, parse


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-11-29T22:00:00Z", "2026-11-29T22:00:00Z"),
        ("2026-11-29 22:00", "2026-11-29T22:00:00Z"),
        ("2026-11-29", "2026-11-29T00:00:00Z"),
        ("2026-11-29T22:00:00.123456+05:30", "2026-11-29T16:30:00Z"),
        ("2026-11-29T22:00:00-08:00", "2026-11-30T06:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00+05:00", None),
        ("2026-02-30", None),
        ("2026-11-29T25:00", None),
        ("yesterday", None),
        ("2026-11-29T22:00:00Z\x1b[2J", None),
        ("\u0662026-11-29", None),
        ("", None),
        (1790000000, None),
        (None, None),
    ],
)
def test_a_moment_is_read_as_utc(text: object, utc: str | None) -> None:
    assert moment.read(text) == utc


def test_now_is_a_moment() -> None:
    told = moment.now()
    assert moment.read(told) == told
    then = datetime.fromisoformat(told.replace("Z", "+00:00"))
    assert abs(datetime.now(timezone.utc) - then) < timedelta(minutes=5)


def test_people_read_it_to_the_minute() -> None:
    assert moment.shown("2026-11-29T22:00:59Z") == "2026-11-29 22:00 UTC"


@pytest.mark.parametrize(
    ("given", "taken", "faults"),
    [
        ({}, None, []),
        ({"taken": None}, None, []),
        ({"taken": "2026-11-29T23:00:00+01:00"}, "2026-11-29T22:00:00Z", []),
        ({"taken": "soon"}, None, ["taken is not a time such as 2026-11-29T22:00:00Z"]),
        ({"taken": {"a": 1}}, None, ["taken is not a time such as 2026-11-29T22:00:00Z"]),
    ],
)
def test_a_snapshot_tells_when(given: object, taken: str | None, faults: list[str]) -> None:
    assert isinstance(given, dict)
    facts = parse(json.dumps({"schema": "kprof.snapshot/1", "facts": {}, **given}))
    assert (facts.taken, facts.faults) == (taken, faults)
