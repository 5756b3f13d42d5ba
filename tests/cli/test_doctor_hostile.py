"""``kprof doctor --from`` with files that somebody made to break it, or by mistake.

Every one ends in a message or in an audit, never in a traceback; nothing in it is executed, and
nothing in it reaches a terminal or a page as anything but text.
"""

from __future__ import annotations

import codecs
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from kprof import cli
from kprof.doctor_export import SCHEMA
from kprof.schema import shipped
from tests.page_parser import Page

SCENARIOS = sorted((Path(__file__).resolve().parents[1] / "data" / "doctor").glob("*.json"))
ESCAPES = (
    "\x1b[2J\x1b]0;owned\x07",  # clears the screen, renames the window
    "\x9b31mred",  # the same in one byte
    "a\rERROR fake",  # writes over the line
    "line\nERROR second.line  fine",
    "\u202egnp.exe",  # turns the reading direction around
    "</script><script>pwned=1</script>",
    '"><img src=x onerror=pwned=1>',
    "{{ 7 * 7 }}{% raw %}",
    "$(touch pwned); `touch pwned` && touch pwned | touch pwned",
    "'; touch pwned; '",
    "[red]x[/red][/]",
    "%0A::error::injected",
    "\ud800 lone",
    "x" * 300_000,
    "",
    "\x00",
)
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1e308, 10**400, "", "text", [], [None], [[]], [1, "a", {}], {},
    {"": ""}, {"path": None}, {"a": {"b": {"c": {}}}},
)  # fmt: skip


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Audit what stands in a file; the working folder is one where nothing may appear."""
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)

    def run(content: bytes | str | dict[str, Any], *args: str) -> Result:
        if isinstance(content, dict):
            content = json.dumps({"schema": "kprof.snapshot/1", "facts": content})
        data = content.encode() if isinstance(content, str) else content
        snapshot = tmp_path / "snapshot.json"
        snapshot.write_bytes(data)
        done = CliRunner().invoke(cli.main, ["doctor", "--from", str(snapshot), *args])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
        assert list(empty.iterdir()) == []
        return done

    return run


def deep(levels: int) -> str:
    nested = '{"a":' * levels + "1" + "}" * levels
    return f'{{"schema": "kprof.snapshot/1", "facts": {{"gpus": {nested}, "os": {nested}}}}}'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (b"\x00\x01\x02\xff\xfe", "is no text"),
        (b"\x7fELF\x02\x01\x01" + bytes(500), "is not JSON"),
        (b"NVPR\x00\x00", "is not JSON"),
        (b"not json", "is not JSON"),
        (b'{"schema": "kprof.snapshot/1", "facts": {', "is not JSON"),
        (b"[]", "is no snapshot"),
        (b"17", "is no snapshot"),
        (b"null", "is no snapshot"),
        (b"{}", "is no snapshot"),
        (b'{"schema": 1}', "is no snapshot"),
        (b'{"schema": "kprof.report/1", "kernels": []}', "is no snapshot"),
        (b'{"schema": "kprof.snapshot/9", "facts": {}}', "this kprof reads kprof.snapshot/1"),
        (b'{"schema": "kprof.snapshot/1"}', "has no facts"),
        (b'{"schema": "kprof.snapshot/1", "facts": []}', "has no facts"),
        (("[" * 200_000).encode(), "is not JSON"),
        (b'{"schema": "kprof.snapshot/1", "facts": {"x": ' + b"9" * 5000 + b"}}", "is not JSON"),
    ],
)
def test_what_is_no_snapshot_is_a_message(
    audit: Callable[..., Result], content: bytes, message: str
) -> None:
    done = audit(content)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert all(line.isprintable() for line in done.stderr.splitlines())


def test_a_schema_that_steers_is_quoted(audit: Callable[..., Result]) -> None:
    done = audit('{"schema": "kprof.snapshot/\\u001b[2J", "facts": {}}')
    assert done.exit_code == 2
    assert "\x1b" not in done.stderr


def test_a_snapshot_has_an_end(
    audit: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kprof.doctor_input.MAX_BYTES", 1000)
    done = audit({"log": "x" * 2000})
    assert done.exit_code == 2
    assert "is longer than a snapshot may be" in done.stderr


def test_windows_editors_may_have_had_it(audit: Callable[..., Result]) -> None:
    text = SCENARIOS[0].read_text()
    plain = audit(text)
    assert plain.exit_code in {0, 1}
    text = text.replace("\n", "\r\n")
    utf16 = codecs.BOM_UTF16_LE + text.encode("utf-16-le")
    utf16_be = codecs.BOM_UTF16_BE + text.encode("utf-16-be")
    for content in (codecs.BOM_UTF8 + text.encode(), utf16, utf16_be):
        assert audit(content).stdout == plain.stdout
    assert "is no text" in audit(utf16[:-1]).stderr


@pytest.mark.parametrize("facts", [{}, {"driver": [1]}, {"gpus": 5, "os": "linux"}])
def test_no_facts_are_no_verdict(audit: Callable[..., Result], facts: dict[str, Any]) -> None:
    done = audit(facts)
    assert done.exit_code == 2
    assert done.stdout.startswith("kprof doctor: nothing could be judged\n")
    assert "nothing is known of the machine" in done.stdout
    *_, error, hint = done.stderr.splitlines()
    assert error.startswith("Error: nothing could be judged")
    assert hint.startswith("Hint: ")
    assert "Nothing could be judged." in audit(facts, "--format", "html").stdout
    assert audit(facts, "--for", "analyze").exit_code == 2
    found = json.loads(audit({}, "--json").stdout)["checks"]
    assert {item["status"] for item in found} <= {"unknown", "skipped"}


def test_every_fault_is_named_on_stderr_and_in_the_document(audit: Callable[..., Result]) -> None:
    facts = json.loads(SCENARIOS[0].read_text())["facts"]
    rubbish: dict[str, Any] = {
        "driver": [1], "toolkits": 7, "torch": {"version": 5}, "log": {}, "packages": {"a\x1b": 1},
        "ncu": {"chips": ["gh100", 3]}, "env": "x",
    }  # fmt: skip
    named = (
        "driver is not an object", "toolkits is not a list", "torch.version is not text",
        "log is not text", "packages.a? is not text", "ncu.chips[] is not text",
        "env is not an object",
    )  # fmt: skip
    done = audit(facts | rubbish, "--json")
    assert sorted(json.loads(done.stdout)["faults"]) == sorted(named)
    told = [f"Warning: in the snapshot, {fault}: not used" for fault in named]
    assert sorted(done.stderr.splitlines()[: len(named)]) == sorted(told)
    assert "! in the snapshot" not in audit(facts | rubbish).stdout, "once is enough"
    quiet = audit(facts | rubbish, "-q")
    assert "Warning" not in quiet.stderr
    assert "! in the snapshot, " in quiet.stdout
    assert "torch 5" not in quiet.stdout


def test_what_is_wrong_is_not_taken_for_absent(audit: Callable[..., Result]) -> None:
    driver = {"version": "580.95.05", "modules_loaded": ["nvidia"]}
    kinds: tuple[Any, ...] = ([], [5], [None], 5, {"a": 1})
    status = []
    for gpus in kinds:
        found = json.loads(audit({"gpus": gpus, "driver": driver}, "--json").stdout)["checks"]
        status += [item["status"] for item in found if item["check"] == "gpu.missing"]
    assert status == ["error", "unknown", "unknown", "unknown", "unknown"]


@pytest.mark.parametrize("levels", [5, 50, 300])
@pytest.mark.parametrize("form", ["text", "json", "html", "github"])
def test_deep_nesting(audit: Callable[..., Result], levels: int, form: str) -> None:
    assert audit(deep(levels), "--format", form).exit_code in {0, 1, 2}


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every part of a snapshot."""
    if way:
        yield way
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from places(entry, (*way, key))
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from places(entry, (*way, index))


def replaced(facts: Any, way: tuple[Any, ...], by: Any) -> dict[str, Any]:
    """Return a copy with one part replaced."""
    copy: dict[str, Any] = json.loads(json.dumps(facts))
    here: Any = copy
    for step in way[:-1]:
        here = here[step]
    here[way[-1]] = by
    return copy


def broken(done: Result) -> list[str]:
    found = json.loads(done.stdout)
    jsonschema.validate(found, shipped(SCHEMA))
    said = [f"{item['check']}: {item['message']}" for item in found["checks"]]
    return [text for text in said if "the check itself failed" in text]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_any_part_may_be_of_any_kind(audit: Callable[..., Result], path: Path) -> None:
    facts = json.loads(path.read_text())["facts"]
    ways = list(places(facts))
    chance = random.Random(path.stem)  # noqa: S311 - the same choice every time
    for _ in range(10):
        way, odd = chance.choice(ways), chance.choice(ODD)
        done = audit(replaced(facts, way, odd), "--json")
        assert done.exit_code in {0, 1, 2}
        assert broken(done) == [], (way, odd)


@pytest.mark.parametrize("path", SCENARIOS[::12], ids=lambda path: path.stem)
@pytest.mark.parametrize("escape", ESCAPES, ids=range(len(ESCAPES)))
def test_every_text_may_be_hostile(audit: Callable[..., Result], path: Path, escape: str) -> None:
    def poisoned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: poisoned(entry) for key, entry in value.items()} | {escape: escape}
        if isinstance(value, list):
            return [poisoned(entry) for entry in value]
        return f"{value}{escape}" if isinstance(value, str) else value

    facts = poisoned(json.loads(path.read_text())["facts"])
    assert broken(audit(facts, "--json")) == []
    shown = audit(facts, "-v").stdout
    assert all(line.isprintable() for line in shown.splitlines())
    assert not any(line.startswith("ERROR second.line") for line in shown.splitlines())
    assert len(shown) < 300_000
    page = Page(audit(facts, "--format", "html").stdout)
    assert page.open == []
    assert page.tags["script"] == 1
    assert page.tags["img"] == 0
    notes = audit(facts, "--format", "github").stdout.splitlines()
    assert all(line.startswith(("::error ", "::warning ")) for line in notes)
    assert all(line.isprintable() for line in notes)


def test_the_matrix_takes_anything(audit: Callable[..., Result]) -> None:
    facts = json.loads(SCENARIOS[0].read_text())["facts"]
    for way in random.Random(1).sample(list(places(facts)), 12):  # noqa: S311
        oddities: tuple[Any, ...] = ("\x1b[2J</script>", [], 1e308)
        for odd in oddities:
            shown = audit(replaced(facts, way, odd), "--matrix")
            assert shown.exit_code == 0
            assert all(line.isprintable() for line in shown.stdout.splitlines())
