from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kprof.collect.target import check_python, choose_python, resolve, short_name
from kprof.errors import TargetNotFound

PYTHON = sys.executable


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def executable(name: str, content: str = "#!/bin/sh\n") -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(0o755)
    return path


def test_script_runs_under_python_even_when_executable() -> None:
    executable("train.py", "#!/bin/false\n")
    target = resolve(["train.py", "--lr", "3"], python=PYTHON)
    assert target.argv == (PYTHON, "train.py", "--lr", "3")
    assert target.name == "train"


def test_module() -> None:
    target = resolve(["-v", "x"], module="json.tool", python=PYTHON)
    assert target.argv == (PYTHON, "-m", "json.tool", "-v", "x")
    assert target.name == "json.tool"


def test_module_is_looked_for_in_the_working_folder_without_running_it() -> None:
    Path("pkg").mkdir()
    Path("pkg/__init__.py").write_text("raise SystemExit(9)")
    assert resolve([], module="pkg.deep", python=PYTHON).argv[-1] == "pkg.deep"


def test_missing_module() -> None:
    with pytest.raises(TargetNotFound, match="no module named absent"):
        resolve([], module="absent.deep", python=PYTHON)
    assert resolve([], module="absent", python=PYTHON, check_module=False).argv[2] == "absent"


def test_program_on_path_by_name() -> None:
    executable("bin/tool")
    environ = {"PATH": str(Path("bin").resolve())}
    target = resolve(["tool", "-x"], environ=environ)
    assert target.argv == (str(Path("bin/tool").resolve()), "-x")
    assert target.python is None


def test_program_in_this_folder_by_bare_name() -> None:
    executable("a.out")
    assert resolve(["a.out"], environ={"PATH": ""}).argv == ("./a.out",)
    assert resolve(["./a.out"]).argv == ("./a.out",)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent", "absent does not exist"),
        ("absent.py", "absent.py does not exist"),
        ("folder", "folder is a directory"),
        ("plain", "plain is not executable"),
        ("data", "data is neither a program nor a script"),
        ("script", "script asks for /no/such/sh, which does not exist"),
    ],
)
def test_what_cannot_be_started(name: str, message: str) -> None:
    Path("folder").mkdir()
    Path("plain").write_text("#!/bin/sh\n")
    executable("data", "just text\n")
    executable("script", "#!/no/such/sh -e\n")
    with pytest.raises(TargetNotFound, match=message) as caught:
        resolve([name], environ={"PATH": ""})
    assert caught.value.hint


def test_a_near_miss_is_suggested() -> None:
    Path("train.sh").write_text("")
    with pytest.raises(TargetNotFound) as caught:
        resolve(["train.py"])
    assert caught.value.hint == "did you mean train.sh?"


def test_python_rule_in_order(tmp_path: Path) -> None:
    venv, conda, usr = (executable(f"{name}/bin/python") for name in ("venv", "conda", "usr"))
    plain = executable("usr/bin/python3")
    environ = {
        "VIRTUAL_ENV": str(tmp_path / "venv"),
        "CONDA_PREFIX": str(tmp_path / "conda"),
        "PATH": str(tmp_path / "usr/bin"),
    }
    assert choose_python(str(usr), environ) == (str(usr), "--python")
    assert choose_python(None, environ)[0] == str(tmp_path / venv)
    del environ["VIRTUAL_ENV"]
    assert choose_python(None, environ)[0] == str(tmp_path / conda)
    del environ["CONDA_PREFIX"]
    assert choose_python(None, environ) == (str(tmp_path / plain), "python3 on PATH")
    assert choose_python(None, {"PATH": ""}) == (sys.executable, "kprof's own")


def test_missing_python() -> None:
    with pytest.raises(TargetNotFound, match="--python nopython"):
        choose_python("nopython", dict(os.environ))


def test_a_python_answers_as_one() -> None:
    check_python(sys.executable)
    shim = executable("shim", f'#!/bin/sh\necho hello\nexec {sys.executable} "$@"\n')
    check_python(str(shim.absolute()))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#!/bin/sh\necho cannot open -c >&2\nexit 2\n", "is not a Python: it says cannot open -c"),
        ('#!/bin/sh\necho "$@"\n', "is not a Python$"),
        ("#!/bin/sh\n", "is not a Python$"),
        ("#!/no/such/interpreter\n", "cannot be started: No such file"),
        ("no program", "cannot be started: "),
    ],
)
def test_what_is_no_python(text: str, said: str) -> None:
    with pytest.raises(TargetNotFound, match=said) as caught:
        check_python(f"./{executable('other', text).name}")
    assert "python program" in (caught.value.hint or "")


def test_a_python_that_is_too_slow_is_left_to_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kprof.collect.target._ANSWER_TIMEOUT_S", 0.2)
    check_python(str(executable("slow", "#!/bin/sh\nsleep 30\n").absolute()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a b/c", "a-b-c"), ("tést", "tést"), ("..", "target"), ("x" * 200, "x" * 60)],
)
def test_short_name(text: str, expected: str) -> None:
    assert short_name(text) == expected
