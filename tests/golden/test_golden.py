"""What kprof says of every recording, word for word: a changed verdict shows as a diff.

``pytest tests/golden --update-golden`` writes the files anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.recordings import DEPTHS, diagnosed, every, names
from tests.golden.verdict import verdict

EXPECTED = Path(__file__).parent / "expected"


@pytest.mark.parametrize(("depth", "name"), every(), ids="-".join)
def test_the_verdict_is_the_one_on_file(
    depth: str, name: str, request: pytest.FixtureRequest
) -> None:
    file = EXPECTED / depth / f"{name}.txt"
    said = verdict(diagnosed(depth, name))
    if request.config.getoption("--update-golden"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(said, encoding="utf-8")
    assert file.is_file(), "new recording: run pytest tests/golden --update-golden and review it"
    assert said == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("depth", DEPTHS)
def test_there_is_no_verdict_without_a_recording(depth: str) -> None:
    assert {file.stem for file in (EXPECTED / depth).glob("*")} == set(names(depth))
