"""The estimates that ship are those of the recordings."""

from __future__ import annotations

from pathlib import Path

import pytest

from kprof import calibration
from kprof.model import Report
from tests.golden import recordings


class Known:
    """What reads a recording that other tests have read as well: once for all of them."""

    def of(self, path: Path) -> Report:
        return recordings.report(path.parent.name, path.name.split(".")[0])


def test_what_ships_is_what_the_recordings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "Analysis", Known)
    measured = calibration.to_json(calibration.measure(recordings.DATA / "plan"))
    assert calibration.to_json(calibration.stored()) == measured, "run: make docs"


def test_a_recording_is_read_from_its_file() -> None:
    (first, *_) = (pair for pair in calibration.stored() if not pair.missing)
    slug = first.bad.replace("/", "-")
    kernel, gpu = calibration._diagnosed(recordings.path("plan", slug))
    assert kernel == recordings.diagnosed("plan", slug)
    assert gpu == first.gpu
