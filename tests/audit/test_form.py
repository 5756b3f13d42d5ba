"""The form of a snapshot: what is of a wrong type is named and taken out, whoever would ask."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kprof.audit import Facts, audit, form, parse
from kprof.audit.form import ANY, FLAG, NUMBER, SNAPSHOT, TEXT, Form, checked
from kprof.audit.standing import standing

DATA = Path(__file__).resolve().parents[1] / "data"
MACHINES = sorted([*(DATA / "doctor").glob("*.json"), *(DATA / "machines").glob("*.json")])
KINDS: dict[str, Form] = {
    "text": TEXT, "need_text": TEXT, "number": NUMBER, "flag": FLAG, "texts": [TEXT],
    "items": [{}], "sub": {}, "entries": {},
}  # fmt: skip


def form_of(name: str) -> Form | None:
    here: Any = SNAPSHOT
    for part in re.split(r"\.|(?=\[)", name):
        if part == "[]":
            here = here[0]
        else:
            here = here.get(part, here.get(ANY)) if isinstance(here, dict) else None
        if here is None:
            return None
    found: Form = here
    return found


def like(form: Form | None, asked: Any) -> bool:
    if isinstance(asked, list):
        return isinstance(form, list) and like(form[0], asked[0])
    return isinstance(form, dict) if isinstance(asked, dict) else form == asked


@pytest.mark.parametrize("kind", KINDS)
def test_what_checks_read_is_in_the_form(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()
    real: Callable[..., Any] = getattr(Facts, kind)

    def noted(self: Facts, name: str) -> Any:
        asked.add(re.sub(r"\[\d+\]", "[]", f"{self._prefix}{name}"))
        return real(self, name)

    monkeypatch.setattr(Facts, kind, noted)
    for path in MACHINES:
        facts = parse(path.read_text())
        audit(facts)
        standing(facts)
    # The names of files hold dots, and a library's entry is read without its way there.
    own = {name for name in asked if not name.startswith("files.") and name not in ("path",)}
    own.discard("version")
    assert own
    assert {name for name in own if not like(form_of(name), KINDS[kind])} == set()


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.stem)
def test_sound_snapshots_are_left_as_they_are(path: Path) -> None:
    facts = parse(path.read_text()).raw()
    assert checked(facts) == (facts, [])


def wrong_for(form: Form) -> Iterator[Any]:
    yield from (value for value in ("x", 1, True, {"a": 1}, [{"a": 1}]) if not fits(value, form))


def fits(value: Any, form: Form) -> bool:
    if isinstance(form, dict | list):
        return isinstance(value, type(form))
    return type(value) is {TEXT: str, NUMBER: int, FLAG: bool}[form]


@pytest.mark.parametrize("name", SNAPSHOT)
def test_top_level_facts_of_a_wrong_type_are_named_and_taken_out(name: str) -> None:
    values = list(wrong_for(SNAPSHOT[name]))
    assert len(values) >= 3
    for value in values:
        kept, faults = checked({name: value, "unknown_name": value})
        assert kept == {"unknown_name": value}
        assert [fault.startswith(f"{name} is not ") for fault in faults] == [True]


@pytest.mark.parametrize(
    ("facts", "kept", "fault"),
    [
        ({"torch": {"version": 5, "cuda": "12.1"}}, {"torch": {"cuda": "12.1"}},
         "torch.version is not text"),
        ({"gpus": [{"name": 1}, {"name": "A"}]}, {"gpus": [{}, {"name": "A"}]},
         "gpus[0].name is not text"),
        ({"gpus": [5, {"name": "A"}]}, {"gpus": [{"name": "A"}]}, "gpus[] is not an object"),
        ({"lspci_gpus": [None]}, {}, "lspci_gpus[] is not text"),
        ({"os": {"wsl": True}}, {"os": {}}, "os.wsl is not a number"),
        ({"process": {"euid": 10**400}}, {"process": {}}, "process.euid is not a number"),
        ({"driver": {"dmesg": "x"}}, {"driver": {}}, "driver.dmesg is not a list"),
        ({"env": {"PATH": ["x"], "A": "b"}}, {"env": {"A": "b"}}, "env.PATH is not text"),
        ({"files": {"/a.b": {"exists": 1}}}, {"files": {"/a.b": {}}},
         "files./a.b.exists is not true or false"),
        ({"loaded_libraries": {"x": [{"path": 1}]}}, {"loaded_libraries": {"x": [{}]}},
         "loaded_libraries.x[0].path is not text"),
    ],
)  # fmt: skip
def test_a_part_of_a_wrong_type(facts: Any, kept: Any, fault: str) -> None:
    assert checked(facts) == (kept, [fault])


@pytest.mark.parametrize("absent", [None, [], ""])
def test_what_stands_for_absent_is_of_every_type(absent: Any) -> None:
    facts = dict.fromkeys(SNAPSHOT, absent)
    assert checked(facts) == (facts, [])
    read = Facts(facts)
    assert all(read.absent(name) for name in facts)
    audit(read)
    assert read.faults == []


def test_faults_have_an_end() -> None:
    _, faults = checked({"packages": {f"{n}{'x' * 1000}": n for n in range(3000)}})
    assert len(faults) == form.NAMED + 1
    assert faults[-1] == "2800 more facts are of a wrong type"
    assert max(map(len, faults)) < 2 * form.NAME


def test_long_lists_and_objects_are_read_in_part_and_named() -> None:
    lines = [f"line {n}" for n in range(form.ENTRIES + 5)]
    kept, faults = checked(
        {
            "driver": {"dmesg": lines},
            "lspci_gpus": lines,
            "env": {f"A{n}": "" for n in range(form.NAMES + 1)},
            "loaded_libraries": {"libcublas": [{"path": one} for one in lines]},
            "ncu": {"chips": ["x" * (form.TEXT_IN_LIST + 1)]},
        }
    )
    assert kept["driver"]["dmesg"] == lines[5:], "of a log the newest lines count"
    assert kept["lspci_gpus"] == lines[:-5]
    assert list(kept["env"])[-1] == f"A{form.NAMES - 1}"
    assert len(kept["loaded_libraries"]["libcublas"]) == form.ENTRIES
    assert kept["ncu"]["chips"] == ["x" * form.TEXT_IN_LIST]
    assert faults == [
        "driver.dmesg has 1005 entries: the last 1000 are read",
        "lspci_gpus has 1005 entries: the first 1000 are read",
        "env has 4001 names: the first 4000 are read",
        "loaded_libraries.libcublas has 1005 entries: the first 1000 are read",
        "ncu.chips[] is longer than 4096 characters: the rest is not read",
    ]
