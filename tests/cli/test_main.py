from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kprof import cli
from kprof.errors import KprofError
from kprof.version import __version__

HEAVY = ("pandas", "plotly", "torch", "ncu_report", "jinja2", "rich")


def kprof(*args: str, code: str | None = None) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "kprof"] if code is None else [sys.executable, "-c", code]
    return subprocess.run([*argv, *args], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Let a test put a command of its own into the group."""

    def add(function):  # type: ignore[no-untyped-def]
        monkeypatch.setitem(sys.modules, "kprof_test_command", Module(click.command()(function)))
        monkeypatch.setitem(cli.COMMANDS, "x", ("kprof_test_command:run", "test"))

    return add


class Module:
    def __init__(self, run: click.Command) -> None:
        self.run = run


def test_version() -> None:
    done = kprof("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"kprof {__version__}\n", "")


def test_help_names_every_command() -> None:
    done = kprof("--help")
    assert done.returncode == 0
    for name in cli.COMMANDS:
        assert f"\n  {name} " in done.stdout


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys, runpy; sys.argv = ['kprof', '--help']\n"
        "try: runpy.run_module('kprof', run_name='__main__')\n"
        "except SystemExit: pass\n"
        f"print('HEAVY', [m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert "HEAVY []" in kprof(code=code).stdout


def test_help_is_fast() -> None:
    assert median_s(lambda: kprof("--help")) <= 3 * median_s(lambda: kprof(code="import click"))


def median_s(run) -> float:  # type: ignore[no-untyped-def]
    times = []
    for _ in range(5):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return sorted(times)[2]


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_every_command_in_the_table_loads_and_helps(name: str) -> None:
    done = CliRunner().invoke(cli.main, [name, "--help"])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("Usage:")


def test_unknown_command_suggests_the_right_one() -> None:
    done = kprof("profil")
    assert done.returncode == 2
    assert "Did you mean 'profile'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_unknown_option_is_status_2() -> None:
    assert kprof("--frobnicate").returncode == 2


def test_known_failure_is_cause_and_hint(command) -> None:  # type: ignore[no-untyped-def]
    def run() -> None:
        raise KprofError("it broke", hint="mend it")

    command(run)
    done = CliRunner().invoke(cli.main, ["x"])
    assert done.exit_code == 2
    assert done.stderr == "Error: it broke\nHint: mend it\n"
    assert done.stdout == ""


def test_failure_without_hint_is_one_line(command) -> None:  # type: ignore[no-untyped-def]
    def run() -> None:
        raise KprofError("it broke")

    command(run)
    assert CliRunner().invoke(cli.main, ["x"]).stderr == "Error: it broke\n"


def test_ctrl_c_is_130(command) -> None:  # type: ignore[no-untyped-def]
    def run() -> None:
        raise KeyboardInterrupt

    command(run)
    done = CliRunner().invoke(cli.main, ["x"])
    assert done.exit_code == 130
    assert done.stderr.strip() == "Interrupted"


@pytest.mark.parametrize("status", [0, 1, 2, 130])
def test_a_command_chooses_its_status(command, status: int) -> None:  # type: ignore[no-untyped-def]
    def run() -> None:
        click.get_current_context().exit(status)

    command(run)
    assert CliRunner().invoke(cli.main, ["x"]).exit_code == status


def test_a_bug_is_not_hidden(command) -> None:  # type: ignore[no-untyped-def]
    def run() -> None:
        raise ZeroDivisionError

    command(run)
    assert isinstance(CliRunner().invoke(cli.main, ["x"]).exception, ZeroDivisionError)


def test_closed_pipe_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "big.py").write_text(
        "import click\n@click.command()\ndef run():\n    for _ in range(20_000): click.echo('some line')\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from kprof import cli;"
        "cli.COMMANDS['x'] = ('big:run', 'test'); cli.main(['x'])"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.read(5)
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait(timeout=30) == 141
