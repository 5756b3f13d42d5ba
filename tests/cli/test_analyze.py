from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from kprof.schema import shipped

KPROF = Path(sys.executable).with_name("kprof")


def kprof(*args: object, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command."""
    return subprocess.run(
        [str(KPROF), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=cwd,
        env={**os.environ, **env},
    )


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small real report, uncompressed."""
    folder = Path(__file__).resolve().parents[2] / "sample_kernels" / "recordings"
    path = tmp_path_factory.mktemp("recorded") / "demo.ncu-rep"
    path.write_bytes(lzma.decompress((folder / "demo.ncu-rep.xz").read_bytes()))
    return path


def test_text_by_default_on_stdout_without_escapes(recorded: Path) -> None:
    done = kprof("analyze", recorded)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("demo.ncu-rep: ")
    assert "NVIDIA H200" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_json_fits_the_shipped_schema(recorded: Path) -> None:
    done = kprof("analyze", recorded, "--format", "json")
    document = json.loads(done.stdout)
    jsonschema.validate(document, shipped())
    assert document["kernels"]
    assert document["source"]["path"] == str(recorded)


@pytest.mark.parametrize("suffix", [".xz", ".gz"])
def test_compressed_reports_say_the_same(recorded: Path, tmp_path: Path, suffix: str) -> None:
    pack = lzma.compress if suffix == ".xz" else gzip.compress
    packed = tmp_path / f"demo.ncu-rep{suffix}"
    packed.write_bytes(pack(recorded.read_bytes()))
    plain, unpacked = (
        json.loads(kprof("analyze", path, "--format", "json").stdout)["kernels"]
        for path in (recorded, packed)
    )
    assert plain == unpacked


def test_a_directory_gives_several_reports_in_order(recorded: Path, tmp_path: Path) -> None:
    for name in ("b.ncu-rep", "a.ncu-rep"):
        shutil.copy(recorded, tmp_path / name)
    one_by_one, together = (
        json.loads(kprof("analyze", tmp_path, "--format", "json", "--jobs", jobs).stdout)
        for jobs in (1, 2)
    )
    assert one_by_one == together
    assert together["schema"] == "kprof.reports/1"
    assert [Path(r["source"]["path"]).name for r in together["reports"]] == [
        "a.ncu-rep",
        "b.ncu-rep",
    ]


def test_a_failing_file_costs_the_others_nothing(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.ncu-rep").write_text("not a report")
    done = kprof("analyze", tmp_path / "bad.ncu-rep", tmp_path / "no", recorded, "--format", "json")
    assert done.returncode == 2
    document = json.loads(done.stdout)
    assert len(document["reports"]) == 1
    assert [Path(error["path"]).name for error in document["errors"]] == ["bad.ncu-rep", "no"]
    assert done.stderr.count("Error: ") == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("content", "word"), [(b"", "empty"), (b"hello\n", "text"), (b"<html></html>", "HTML")]
)
def test_one_bad_file_is_one_line_and_a_hint(tmp_path: Path, content: bytes, word: str) -> None:
    (tmp_path / "x.ncu-rep").write_bytes(content)
    done = kprof("analyze", tmp_path / "x.ncu-rep")
    assert (done.returncode, done.stdout) == (2, "")
    error, hint = done.stderr.splitlines()
    assert error.startswith("Error: ")
    assert word in error
    assert hint.startswith("Hint: ")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("no.ncu-rep",), "no.ncu-rep does not exist"),
        ((".",), "no report in the directory"),
        (("x", "--kernel", "("), "is not a regular expression"),
        (("x", "--format", "pdf"), "'pdf' is not one of"),
        (("x", "--format", "html,json"), "-o DIR"),
        (("x", "-o", "x.pdf"), "says no format"),
        (("x", "-o", "no/x.json"), "the folder no does not exist"),
        (("x", "--rules", "no-such-rule"), "no rule is named 'no-such-rule'"),
        (("x", "--rules-dir", "no"), "no is not a directory"),
        (("x", "--jobs", "0"), "--jobs"),
        ((), "Missing argument"),
    ],
)
def test_what_cannot_be_done_says_why(tmp_path: Path, args: tuple[str, ...], message: str) -> None:
    done = kprof("analyze", *args, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_existing_output_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("mine")
    (tmp_path / "dir").mkdir()
    for args in (("-o", "x.json"), ("-o", "dir"), ("-o", "dir", "--format", "html,json")):
        done = kprof("analyze", "missing.ncu-rep", *args, cwd=tmp_path)
        assert done.returncode == 2
        assert "already exists" in done.stderr
    assert (tmp_path / "x.json").read_text() == "mine"


@pytest.mark.parametrize("suffix", ["html", "json", "csv", "md", "txt", "sarif", "parquet"])
def test_the_suffix_picks_the_format(recorded: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    done = kprof("analyze", recorded, "-o", path)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"Wrote {path}" in done.stderr
    begins = {"html": b"<!doctype html>", "json": b'{\n "schema": "kprof.report/1"', "csv": b"report,",
              "md": b"## ", "txt": b"demo.ncu-rep: ", "sarif": b'{\n "$schema"', "parquet": b"PAR1"}  # fmt: skip
    assert path.read_bytes().lstrip().lower().startswith(begins[suffix].lower())
    again = kprof("analyze", recorded, "-o", path)
    assert again.returncode == 2
    assert kprof("analyze", recorded, "-o", path, "--force", "-q").stderr == ""


def test_a_directory_takes_several_formats(recorded: Path, tmp_path: Path) -> None:
    done = kprof("analyze", recorded, "-o", tmp_path / "out", "--format", "html,json,csv")
    assert done.returncode == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["report.csv", "report.html", "report.json"]


def test_several_reports_in_a_directory_get_names_of_their_own(
    recorded: Path, tmp_path: Path
) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    shutil.copy(recorded, tmp_path / "in" / "a.ncu-rep")
    shutil.copy(recorded, tmp_path / "in" / "deep" / "a.ncu-rep")
    done = kprof("analyze", tmp_path / "in", "-o", tmp_path / "out")
    assert done.returncode == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["a-2.html", "a-2.json", "a.html", "a.json"]


def test_csv_of_several_reports_is_one_table(recorded: Path, tmp_path: Path) -> None:
    shutil.copy(recorded, tmp_path / "other.ncu-rep")
    done = kprof("analyze", recorded, tmp_path / "other.ncu-rep", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["report"] for row in rows} == {str(recorded), str(tmp_path / "other.ncu-rep")}


def test_kernel_filter_searches_the_demangled_name_and_says_so(recorded: Path) -> None:
    whole = json.loads(kprof("analyze", recorded, "--format", "json").stdout)
    name = whole["kernels"][0]["name"]
    part = json.loads(
        kprof("analyze", recorded, "--format", "json", "--kernel", f"^.*{name}\\b").stdout
    )
    assert 0 < len(part["kernels"]) < len(whole["kernels"])
    assert all(name in kernel["demangled"] for kernel in part["kernels"])
    assert "kernels are shown" in part["notes"][-1]


def test_a_filter_that_matches_nothing_is_an_error(recorded: Path) -> None:
    done = kprof("analyze", recorded, "--kernel", "no such kernel")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no kernel's name matches 'no such kernel'" in done.stderr


def test_only_the_rules_named_are_run(recorded: Path) -> None:
    done = kprof("analyze", recorded, "--format", "json", "--rules", "shared-bank-conflicts")
    for kernel in json.loads(done.stdout)["kernels"]:
        spoken = [finding["rule"] for finding in kernel["findings"]]
        spoken += kernel["clear"] + [skip["rule"] for skip in kernel["skipped"]]
        assert spoken == ["shared-bank-conflicts"]


def test_a_threshold_that_is_reached_is_status_1(recorded: Path) -> None:
    document = json.loads(kprof("analyze", recorded, "--format", "json").stdout)
    severities = {f["severity"] for k in document["kernels"] for f in k["findings"]}
    assert "high" in severities
    for level in ("high", "medium", "low"):
        assert kprof("analyze", recorded, "--fail-on", level).returncode == 1
    assert kprof("analyze", recorded, "--fail-on", "never").returncode == 0


def test_a_threshold_that_is_reached_says_by_what(recorded: Path, tmp_path: Path) -> None:
    document = json.loads(kprof("analyze", recorded, "--format", "json").stdout)
    kernels = [
        k for k in document["kernels"] if any(f["severity"] == "high" for f in k["findings"])
    ]
    (first, *_) = kernels
    rule = next(f["rule"] for f in first["findings"] if f["severity"] == "high")
    done = kprof("analyze", recorded, "--fail-on", "high", "--format", "json", "-q")
    (line,) = done.stderr.splitlines()
    assert re.match(r"Failing: \d+ findings? of severity high: ", line)
    assert f"{rule} in #{first['index']} " in line
    assert json.loads(done.stdout) == document
    (lower,) = kprof("analyze", recorded, "--fail-on", "low").stderr.splitlines()
    assert " of severity low or above: " in lower
    several = tmp_path / "several"
    several.mkdir()
    for name in ("one", "two"):
        shutil.copy(recorded, several / f"{name}{''.join(recorded.suffixes)}")
    (both,) = kprof("analyze", several, "--fail-on", "high").stderr.splitlines()
    assert " of one, " in both
    assert "of two" in both


def test_a_threshold_that_is_not_reached_says_nothing(recorded: Path) -> None:
    done = kprof("analyze", recorded, "--fail-on", "high", "--rules", "fp64-usage")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_failed_input_outweighs_a_threshold(recorded: Path, tmp_path: Path) -> None:
    assert kprof("analyze", recorded, tmp_path / "no", "--fail-on", "low").returncode == 2


def test_a_truncated_report_keeps_its_complete_kernels_and_says_so(
    recorded: Path, tmp_path: Path
) -> None:
    whole = json.loads(kprof("analyze", recorded, "--format", "json").stdout)
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(recorded.read_bytes()[:-100])
    done = kprof("analyze", cut, "--format", "json")
    assert done.returncode == 0
    assert "Warning: " in done.stderr
    document = json.loads(done.stdout)
    assert document["source"]["truncated"] is True
    assert 0 < len(document["kernels"]) <= len(whole["kernels"])


def test_output_to_a_closed_pipe_is_no_traceback(recorded: Path) -> None:
    script = '"$0" analyze "$1" -v | head -n 1'
    done = subprocess.run(
        ["/bin/sh", "-c", script, KPROF, recorded], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("demo.ncu-rep")
    assert done.stderr == ""


def test_stdout_as_an_explicit_output(recorded: Path) -> None:
    dash = kprof("analyze", recorded, "--format", "json", "-o", "-").stdout
    assert json.loads(dash)["schema"] == "kprof.report/1"


@pytest.mark.parametrize("named", ["x.json", "./x.json", "link.json"])
def test_an_output_never_replaces_an_input(recorded: Path, tmp_path: Path, named: str) -> None:
    report = tmp_path / "x.json"  # a report is taken whatever its name
    shutil.copy(recorded, report)
    (tmp_path / "link.json").symlink_to(report)
    options = ("--format", "json", "--force")
    for where in (named, "."):
        done = kprof("analyze", "x.json", "-o", where, *options, cwd=tmp_path)
        assert done.returncode == 2
        assert "would replace the report x.json" in done.stderr
    assert report.read_bytes() == recorded.read_bytes()


def test_an_unreadable_input_costs_the_others_nothing(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "loop.ncu-rep").symlink_to("loop.ncu-rep")
    shutil.copy(recorded, tmp_path / "good.ncu-rep")
    for inputs in (["loop.ncu-rep", "good.ncu-rep", ""], ["."]):
        done = kprof("analyze", *inputs, "--format", "json", cwd=tmp_path)
        assert done.returncode == 2
        found = json.loads(done.stdout)
        assert [r["source"]["path"] for r in found["reports"]] == ["good.ncu-rep"]
        assert found["errors"][0]["path"] == "loop.ncu-rep"
        assert "symbolic links" in found["errors"][0]["cause"]
        assert found["errors"][0]["hint"]
        assert len(found["errors"]) == len(inputs) - (len(inputs) > 1)


def test_sources_are_found_where_the_user_says(tmp_path: Path, recorded: Path) -> None:
    plain = json.loads(kprof("analyze", recorded, "--format", "json").stdout)
    assert {item["origin"] for item in plain["files"]} == {"report"}
    for wrong in ("no-equals", "=x", f"/opt={tmp_path / 'absent'}"):
        done = kprof("analyze", recorded, "--source-map", wrong)
        assert (done.returncode, done.stdout) == (2, "")
        assert "--source-map" in done.stderr
    assert kprof("analyze", recorded, "--source-dir", tmp_path / "absent").returncode == 2
    done = kprof("analyze", recorded, "--source-dir", tmp_path, "--format", "json")
    assert json.loads(done.stdout)["files"] == plain["files"]  # the report's own text goes first
