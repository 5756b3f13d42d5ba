from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest

from kprof import schema
from kprof.export import to_dict
from kprof.model import Report
from tests.report_fixture import WHOLE


def test_the_shipped_schema_is_the_model_as_it_is() -> None:
    assert schema.shipped() == schema.generate(), "run: python -m kprof.schema"


def test_the_schema_is_a_valid_2020_12_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema.shipped())


def test_a_report_fits(report: Report) -> None:
    jsonschema.validate(to_dict(report), schema.shipped())
    jsonschema.validate(to_dict(WHOLE), schema.shipped())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "kprof.report/2"),
        (("kernels", 0, "bound"), "gpu"),
        (("kernels", 0, "duration_s"), "1 ms"),
        (("kernels", 0, "launch", "grid"), [1, 2]),
        (("kernels", 0, "findings", 0, "severity"), "fatal"),
        (("kernels", 0, "stalls", "barrier"), None),
        (("source", "truncated"), 1),
        (("devices", 0, "name"), None),
    ],
)
def test_a_wrong_value_is_refused(report: Report, path: tuple[Any, ...], value: object) -> None:
    broken = copy.deepcopy(to_dict(report))
    place: Any = broken
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema.shipped())


def test_what_came_later_may_be_absent_and_what_comes_next_may_be_there(report: Report) -> None:
    older = to_dict(report)
    del older["notes"]
    older["kernels"][0]["something_new"] = 1
    jsonschema.validate(older, schema.shipped())


def test_a_key_that_was_always_there_is_required(report: Report) -> None:
    broken = to_dict(report)
    del broken["kernels"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema.shipped())


def test_fields_are_described() -> None:
    evidence = schema.shipped()["$defs"]["Evidence"]["properties"]
    assert evidence["unit"]["description"].startswith("e.g. ``%``")
    assert "for context" in evidence["threshold"]["description"]
