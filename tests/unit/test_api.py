from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

import kprof
from kprof.api import Diagnosis
from kprof.errors import KprofError, OutputExists, OutputNotWritable
from kprof.export import to_json
from kprof.model import Report

HEAVY = ("pandas", "plotly", "torch", "ncu_report", "jinja2", "rich", "numpy")


@pytest.fixture
def diagnosis(report: Report) -> Diagnosis:
    return Diagnosis(**{f.name: getattr(report, f.name) for f in dataclasses.fields(report)})


def test_the_public_names() -> None:
    assert kprof.__all__ == sorted(kprof.__all__)
    assert set(kprof.__all__) == {
        "Checkup", "Diagnosis", "KprofError", "__version__", "diagnose", "doctor", "load",
        "region", "render",
    }  # fmt: skip
    for name in kprof.__all__:
        assert getattr(kprof, name) is not None
        assert name in dir(kprof)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'explain'"):
        _ = kprof.explain


def test_public_functions_are_documented() -> None:
    for name in ("load", "diagnose", "doctor", "render", "Diagnosis", "Checkup"):
        assert getattr(kprof, name).__doc__


def test_a_diagnosis_is_a_report_that_exports(diagnosis: Diagnosis, report: Report) -> None:
    assert isinstance(diagnosis, Report)
    assert diagnosis.to_json() == to_json(report)
    assert list(diagnosis.to_frame()["bound"]) == ["shared", "unknown"]
    assert "HIGH shared-bank-conflicts" in str(diagnosis)


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(diagnosis: Diagnosis) -> None:
    shown = diagnosis._repr_html_()
    assert shown.startswith('<iframe srcdoc="')
    assert shown.count("<") == 2, "everything of the page is escaped into the attribute"
    assert "allow-same-origin" not in shown


def test_render_follows_the_suffix(diagnosis: Diagnosis, tmp_path: Path) -> None:
    assert kprof.render(diagnosis, tmp_path / "a.json") == tmp_path / "a.json"
    assert (tmp_path / "a.json").read_text() == diagnosis.to_json()
    page = kprof.render(diagnosis, str(tmp_path / "a.html"))
    assert page.read_text().lstrip().lower().startswith("<!doctype html>")


def test_render_overwrites_only_when_told(diagnosis: Diagnosis, tmp_path: Path) -> None:
    kprof.render(diagnosis, tmp_path / "a.csv")
    with pytest.raises(OutputExists):
        kprof.render(diagnosis, tmp_path / "a.csv")
    kprof.render(diagnosis, tmp_path / "a.csv", force=True)


def test_render_refuses_a_suffix_without_format(diagnosis: Diagnosis, tmp_path: Path) -> None:
    with pytest.raises(OutputNotWritable, match="says no format"):
        kprof.render(diagnosis, tmp_path / "a.pdf")


def test_load_of_what_is_missing_is_a_kprof_error(tmp_path: Path) -> None:
    with pytest.raises(KprofError):
        kprof.load(tmp_path / "no.ncu-rep")


@pytest.mark.parametrize(
    "code", ["import kprof", "import kprof.cli", "from kprof.cli import main; main(['--help'])"]
)
def test_the_start_is_light(code: str) -> None:
    program = (
        "import sys\ntry:\n    "
        + code
        + f"\nfinally:\n    print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"


def test_ctrl_c_while_the_command_is_loaded_shows_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from kprof import __main__ as entry

    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("importlib.import_module", interrupted)
    with pytest.raises(SystemExit) as ended:
        entry.run()
    assert ended.value.code == 130
