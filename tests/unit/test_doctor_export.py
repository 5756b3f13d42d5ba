from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema
import pytest

from kprof import schema
from kprof.doctor_export import SCHEMA, github, to_dict, to_json
from kprof.version import __version__
from tests.doctor_fixture import CLEAN, COMMAND, DRIVER, FACTS, REPORT


def test_the_document_is_as_documented() -> None:
    document = json.loads(to_json(REPORT))
    assert document["schema"] == SCHEMA == "kprof.doctor/1"
    assert document["kprof_version"] == __version__
    assert document["primary"] == "driver.too_old_for_torch"
    assert document["facts"] == FACTS
    assert document["taken"] == "2026-11-29T22:00:00Z"
    cause = next(item for item in document["checks"] if item["check"] == document["primary"])
    assert cause["status"] == "error"
    assert cause["evidence"] == ["driver.version = 470.86", "torch.cuda = 12.1"]
    assert cause["remedy"]["commands"][-1] == "sudo reboot"
    assert cause["remedy"]["who"] == "host"
    assert cause["hurts"] == ["profile", "run"]
    assert cause["source"].startswith("CUDA release notes")
    assert document == to_dict(REPORT)


def test_absent_is_null() -> None:
    document = to_dict(CLEAN)
    assert document["primary"] is None
    assert document["purpose"] is None
    assert document["checks"][0]["remedy"] is None


def test_nothing_in_it_steers_a_terminal() -> None:
    assert "\\u202e" in to_json(REPORT)
    assert all(line.isprintable() for line in to_json(REPORT).splitlines())


def test_it_fits_the_schema_that_ships() -> None:
    assert schema.shipped(SCHEMA) == schema.generate(SCHEMA), "run: python -m kprof.schema"
    jsonschema.Draft202012Validator.check_schema(schema.shipped(SCHEMA))
    for report in (REPORT, CLEAN):
        jsonschema.validate(to_dict(report), schema.shipped(SCHEMA))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "kprof.report/1"),
        (("primary",), 3),
        (("checks", 0, "status"), "fine"),
        (("checks", 2, "remedy", "who"), "nobody"),
        (("checks", 2, "remedy", "commands"), "rm"),
        (("facts",), []),
    ],
)
def test_a_wrong_value_is_refused(path: tuple[Any, ...], value: object) -> None:
    broken = copy.deepcopy(to_dict(REPORT))
    place: Any = broken
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema.shipped(SCHEMA))


def test_annotations_name_the_cause_first_and_carry_its_fix() -> None:
    first, *more = github(REPORT).splitlines()
    assert first.startswith(
        "::error title=kprof doctor%3A driver.too_old_for_torch (primary cause)::torch 2.1.0+cu121 "
    )
    assert first.endswith(
        "outside this container):%0Asudo apt-get install nvidia-driver-580%0Asudo reboot"
    )
    assert [line.split(" ")[0] for line in more] == ["::error", "::error", "::warning"]
    assert github(CLEAN) == ""


def test_an_annotation_has_alternatives_apart() -> None:
    second = github(REPORT).splitlines()[1]
    assert second.endswith(
        f"%0AInstall another torch:%0A{COMMAND}%0AOr: Install driver R580, then reboot "
        "(by root on this machine):%0Asudo apt-get install -y nvidia-driver-580-open"
        "%0Asudo reboot now"
    )


def test_the_document_has_alternatives() -> None:
    item = next(one for one in to_dict(REPORT)["checks"] if one["check"] == "torch.import_error")
    (other,) = item["remedy"]["alternatives"]
    assert other["commands"] == list(DRIVER.commands)
    assert other["who"] == "root"
    assert other["alternatives"] == []


def test_an_annotation_is_one_command_whatever_it_quotes() -> None:
    assert len(github(REPORT).splitlines()) == 4
    assert all(line.isprintable() for line in github(REPORT).splitlines())
