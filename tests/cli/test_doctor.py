"""``kprof doctor`` as it is typed: options, streams, exit status, files."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from kprof import cli
from kprof.doctor_export import SCHEMA
from kprof.schema import shipped

KPROF = Path(sys.executable).with_name("kprof")
SCENARIOS = Path(__file__).resolve().parents[1] / "data" / "doctor"
BROKEN = SCENARIOS / "r01-cu121-on-r470.json"
HEALTHY = SCENARIOS / "h1-h200-bare-metal-r580.json"
HEAVY = ("pandas", "plotly", "torch", "ncu_report", "numpy")


def doctor(
    *args: str | Path, stdin: bytes | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [KPROF, "doctor", *args],
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, "COLUMNS": "100", **(env or {})},
    )
    said = subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )
    assert "Traceback" not in said.stderr, said.stderr
    return said


def document(*args: str | Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(doctor(*args, "--json").stdout)
    return loaded


# --- the result ------------------------------------------------------------------------------


def test_an_error_is_status_1_and_names_cause_and_fix() -> None:
    done = doctor("--from", BROKEN)
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert "ERROR driver.too_old_for_torch  the primary cause" in lines
    assert "470.86" in done.stdout
    assert any(line.startswith("      $ ") for line in lines)


def test_a_sound_machine_is_status_0() -> None:
    done = doctor("--from", HEALTHY)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("kprof doctor: no problem found\n")


def test_piped_output_has_no_color_and_a_terminal_has() -> None:
    assert "\x1b" not in doctor("--from", BROKEN).stdout
    assert "\x1b[1;31mERROR" in on_a_terminal("--from", BROKEN)
    assert "\x1b" not in on_a_terminal("--from", BROKEN, "--no-color")
    assert "\x1b" not in on_a_terminal("--from", BROKEN, NO_COLOR="1")


def on_a_terminal(*args: str | Path, **env: str) -> str:
    ours, theirs = pty.openpty()
    shown = b""
    with subprocess.Popen(
        [KPROF, "doctor", *args],
        stdout=theirs,
        env={"PATH": os.environ["PATH"], "TERM": "xterm", **env},
    ) as child:
        os.close(theirs)
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            shown += more
        child.wait(timeout=60)
    os.close(ours)
    return shown.decode()


def test_verbose_lists_every_check() -> None:
    shown = doctor("--from", BROKEN, "-v").stdout
    every = [item["check"] for item in document("--from", BROKEN)["checks"]]
    assert [name for name in every if name not in shown] == []


def test_the_purpose_decides_what_is_an_error() -> None:
    assert doctor("--from", BROKEN, "--for", "analyze").returncode == 0
    assert doctor("--from", BROKEN, "--for", "run").returncode == 1
    assert document("--from", BROKEN, "--for", "run")["purpose"] == "run"
    assert doctor("--from", BROKEN, "--for", "fun").returncode == 2


# --- formats and files -----------------------------------------------------------------------


def test_json_is_the_documented_form() -> None:
    for args in (("--json",), ("--format", "json")):
        found = json.loads(doctor("--from", BROKEN, *args).stdout)
        jsonschema.validate(found, shipped(SCHEMA))
        assert found["primary"] == "driver.too_old_for_torch"
        assert found["facts"] == json.loads(BROKEN.read_text())["facts"]


def test_github_annotations() -> None:
    first = doctor("--from", BROKEN, "--format", "github").stdout.splitlines()[0]
    assert first.startswith("::error title=kprof doctor%3A driver.too_old_for_torch (primary")


def test_the_page_comes_beside_the_table(tmp_path: Path) -> None:
    page = tmp_path / "machine.html"
    done = doctor("--from", BROKEN, "--html", page)
    assert done.returncode == 1
    assert "the primary cause" in done.stdout
    assert done.stderr == f"Wrote {page}\n"
    assert "driver.too_old_for_torch" in page.read_text()
    assert doctor("--from", BROKEN, "--html", page).returncode == 2
    assert doctor("--from", BROKEN, "--html", page, "--force", "-q").stderr == ""


def test_open_shows_the_page_that_was_asked_for_or_one_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def show(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", show)
    page = tmp_path / "machine.html"
    for extra in ([], ["--html", str(page)]):
        CliRunner().invoke(cli.main, ["doctor", "--from", str(BROKEN), "--open", *extra])
    own, asked = (Path(url.removeprefix("file://")) for url in opened)
    assert asked == page
    assert "driver.too_old_for_torch" in own.read_text()
    shutil.rmtree(own.parent)


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.html", "<!doctype"), ("a.json", "{"), ("a.txt", "kprof doctor: "), ("a.github", "::")],
)
def test_the_suffix_picks_the_format(tmp_path: Path, name: str, start: str) -> None:
    done = doctor("--from", BROKEN, "-o", tmp_path / name)
    assert (done.returncode, done.stdout) == (1, "")
    assert (tmp_path / name).read_text().lstrip().startswith(start)


def test_a_directory_gets_page_and_json(tmp_path: Path) -> None:
    doctor("--from", BROKEN, "-o", f"{tmp_path}/out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"doctor.html", "doctor.json"}


def test_a_snapshot_is_saved_and_judged_alike_elsewhere(tmp_path: Path) -> None:
    saved = tmp_path / "snapshot.json"
    here = document("--save", saved)
    assert json.loads(saved.read_text())["schema"] == "kprof.snapshot/1"
    there = document("--from", saved)
    assert there["taken"] == here["taken"] == json.loads(saved.read_text())["taken"]
    assert there["taken"].endswith("Z")
    assert there["primary"] == here["primary"]
    assert there["facts"] == here["facts"]
    assert [(c["check"], c["status"]) for c in there["checks"]] == [
        (c["check"], c["status"]) for c in here["checks"]
    ]


def test_a_saved_snapshot_tells_neither_home_nor_secrets(tmp_path: Path) -> None:
    saved = tmp_path / "snapshot.json"
    home = "/home/margarethe"
    env = {"HOME": home, "USER": "margarethe", "CUDA_HOME": f"{home}/cuda", "TMPDIR": home}
    doctor("--save", saved, "--html", tmp_path / "a.html", env=env)
    assert "margarethe" not in saved.read_text() + (tmp_path / "a.html").read_text()
    assert "~/cuda" in saved.read_text()


def test_nothing_that_was_seen_steers_the_terminal_a_snapshot_goes_to() -> None:
    hostile = "/x\x9b31m\u202egnp\u061c\U000e0041/lib"
    done = doctor("--save", "-", env={"CUDA_HOME": hostile})
    assert all(line.isprintable() for line in done.stdout.split("\n"))
    assert json.loads(done.stdout)["facts"]["env"]["CUDA_HOME"] == hostile


def test_a_snapshot_may_come_and_go_through_pipes() -> None:
    done = doctor("--save", "-")
    assert json.loads(done.stdout)["schema"] == "kprof.snapshot/1"
    judged = doctor("--from", "-", stdin=done.stdout.encode())
    assert judged.stdout.startswith("kprof doctor: ")
    assert judged.returncode == done.returncode


def test_the_matrix_says_where_the_machine_stands() -> None:
    done = doctor("--matrix", "--from", HEALTHY)
    assert done.returncode == 0
    marked = [line for line in done.stdout.splitlines() if line.startswith("●")]
    assert any("13.0" in line and "driver 580.159" in line for line in marked)
    assert any("NVIDIA H200" in line for line in marked)
    assert any("2.11.0" in line for line in marked)
    assert len(doctor("--matrix", "--from", HEALTHY, "-v").stdout) > 2 * len(done.stdout)


# --- what does not go together ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--from", "nothing.json"], "nothing.json cannot be read: No such file"),
        (["--from", "."], ". cannot be read: Is a directory"),
        (["--from", str(BROKEN), "--save", "x.json"], "--save looks at this machine"),
        (["--from", str(BROKEN), "--python", "python3"], "--python looks at this machine"),
        (["--from", str(BROKEN), "--import-torch"], "--import-torch looks at this machine"),
        (["--python", "nopython"], "--python nopython is not an executable file"),
        (["--python", "/bin/ls"], "--python /bin/ls is not a Python: it says "),
        (["--from", str(BROKEN), "--json", "--format", "text"], "exclude each other"),
        (["--from", str(BROKEN), "--format", "csv"], "'csv' is not one of text, html"),
        (
            ["--from", str(BROKEN), "-o", "x.xyz"],
            "use one of .txt, .html, .json, .github, or --form",
        ),
        (["--from", str(BROKEN), "-o", "x.csv"], "an audit is written as text, html"),
        (["--from", str(BROKEN), "--format", "text,json"], "several formats need a directory"),
        (["--from", str(BROKEN), "--html", "-"], "--html needs a file"),
        (["--from", str(BROKEN), "--html", "no/such/x.html"], "the folder no/such does not exist"),
        (["--save", "-", "--json"], "standard output has room for one"),
        (["--from", str(BROKEN), "--matrix", "--json"], "--matrix is text"),
        (["--matrix", "--save", "-"], "standard output has room for one"),
        (["--save", "x.json", "-o", "x.json", "--force"], "two outputs would be written to x.json"),
        (["--save", "b", "--html", "./b"], "two outputs would be written to b"),
        (["--from", str(BROKEN), "-o", "a.html", "--html", "a.html"], "two outputs would be"),
        (["--from", str(BROKEN), "-o", "d/", "--html", "d/doctor.html"], "the folder d does not"),
        (["words"], "unexpected extra argument"),
        (["--save", ""], "'--save': the name is empty"),
        (["--from", " "], "'--from': the name is empty"),
        (["--from", str(BROKEN), "--html", ""], "'--html': the name is empty"),
        (["--from", str(BROKEN), "-o", ""], "'--output': the name is empty"),
    ],
)
def test_what_cannot_be_done_is_status_2(
    args: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = doctor(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_no_two_outputs_meet_in_a_folder_or_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "d" / "doctor.json")
    others = {"--html": tmp_path / "d" / "doctor.html", "--save": tmp_path / "link.json"}
    for option, path in others.items():
        done = doctor("-o", tmp_path / "d", "--force", option, path)
        assert done.returncode == 2
        assert "two outputs would be written to" in done.stderr
    assert list((tmp_path / "d").iterdir()) == []


def test_a_device_takes_two_outputs() -> None:
    done = doctor("--from", BROKEN, "--html", "/dev/null", "-o", "/dev/null", "--format", "json")
    assert done.returncode == 1


def test_the_page_comes_beside_the_matrix_too(tmp_path: Path) -> None:
    page = tmp_path / "m.html"
    done = doctor("--matrix", "--from", HEALTHY, "--html", page)
    assert (done.returncode, done.stderr) == (0, f"Wrote {page}\n")
    assert done.stdout == doctor("--matrix", "--from", HEALTHY).stdout
    assert page.read_text() == (doctor("--from", HEALTHY, "--format", "html").stdout)


@pytest.mark.parametrize("option", ["-o", "--html"])
def test_no_output_replaces_the_snapshot(tmp_path: Path, option: str) -> None:
    source = tmp_path / "machine.json"
    source.write_bytes(BROKEN.read_bytes())
    (tmp_path / "link.html").symlink_to(source)
    done = doctor("--from", source, option, tmp_path / "link.html", "--force")
    assert done.returncode == 2
    assert "would replace the snapshot" in done.stderr
    assert source.read_bytes() == BROKEN.read_bytes()


# --- this machine ----------------------------------------------------------------------------


def test_it_looks_at_this_machine_and_says_with_which_python() -> None:
    done = doctor("--python", sys.executable)
    assert done.returncode in {0, 1}
    assert done.stderr == f"python: {sys.executable} (--python)\n"
    assert done.stdout.startswith("kprof doctor: ")
    assert doctor("-q").stderr == ""


@pytest.mark.parametrize(
    ("code", "said"), [("exec sleep 60", "did not answer in time"), ("exec yes", "without end")]
)
def test_an_interpreter_that_does_not_answer_is_said_without_verbose(
    tmp_path: Path, code: str, said: str
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n[ $1 != -c ] || exec echo kprof-python-3\n{code}\n")
    python.chmod(0o755)
    start = time.monotonic()
    done = doctor("--python", python)
    assert time.monotonic() - start < 20
    assert done.returncode in (0, 1)
    [warning] = [line for line in done.stderr.splitlines() if line.startswith("Warning: ")]
    assert said in warning
    assert warning.endswith("what is installed there is not known")


def test_it_loads_nothing_heavy() -> None:
    for args in ("[]", "['--json']", f"['--from', {str(BROKEN)!r}, '--html', '/dev/null']"):
        code = (
            f"import sys, runpy; sys.argv = ['kprof', 'doctor', *{args}]\n"
            "try: runpy.run_module('kprof', run_name='__main__')\n"
            "except SystemExit: pass\n"
            f"print('HEAVY', [m for m in {HEAVY!r} if m in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
        )
        assert "HEAVY []" in done.stdout, done.stderr


# --- before a profile ------------------------------------------------------------------------


def profile(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    (folder / "t.py").write_text("print('ran')\n")
    return subprocess.run(
        [KPROF, "profile", *args, "t.py"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        env={**os.environ, **env},
    )


def test_profile_stops_before_the_target_where_it_cannot_work(tmp_path: Path) -> None:
    # Without a GPU for the program no machine can profile, whatever else it has or lacks.
    began = time.monotonic()
    done = profile(tmp_path, CUDA_VISIBLE_DEVICES="")
    assert time.monotonic() - began < 3
    assert (done.returncode, done.stdout) == (2, "")
    error, hint = done.stderr.splitlines()
    assert re.fullmatch(r"Error: .+ \([a-z]+\.[a-z_]+\)", error)
    assert hint.startswith("Hint: ")
    assert "kprof doctor" in hint
    assert [path.name for path in tmp_path.iterdir()] == ["t.py"]


def test_profile_without_preflight_asks_ncu(tmp_path: Path) -> None:
    done = profile(tmp_path, "--no-preflight", "--ncu", "no-such-ncu", CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 2
    assert "--ncu no-such-ncu does not exist" in done.stderr
