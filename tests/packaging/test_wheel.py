"""The wheel: what is in it, and that it works in an environment of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"kprof": "kprof", "rules": "kprof/rules", "reports": "kprof/reports",
            "sample_kernels": "kprof/sample_kernels"}  # fmt: skip
RECORDING = "sample_kernels/recordings/demo.ncu-rep.xz"
BESIDE = ("pyproject.toml", "README.md", "LICENSE")

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy, so that leftovers of the working tree stay out."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in PACKAGES:
        clean = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(ROOT / name, source / name, ignore=clean)
    for name in BESIDE:
        shutil.copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(out), str(source)]
    subprocess.run(pip, check=True, timeout=600)
    (built,) = out.glob("kprof-*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a new environment that holds the wheel and nothing else.

    Dependencies come from this environment's folder by path, where no .pth file is read: the
    editable kprof beside them stays invisible.
    """
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python")]
    subprocess.run([*pip, "install", "-q", "--no-deps", str(wheel)], check=True, timeout=600)
    (site_packages,) = home.glob("lib/python*/site-packages")
    gained = {path.name for path in site_packages.iterdir()}
    assert gained == {"kprof", f"{wheel.name.split('-py3')[0]}.dist-info"}
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def run(program: Path, *args: object, cwd: Path) -> str:
    done = subprocess.run(
        [program, *map(str, args)], capture_output=True, text=True, cwd=cwd, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_package_is_listed() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        listed = set(tomllib.load(file)["tool"]["setuptools"]["packages"])
    there = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "kprof").rglob("__init__.py")
    }
    content = {f"kprof.{name}" for name in PACKAGES if name != "kprof"}
    assert listed == there | content


def test_rules_are_flat() -> None:
    deeper = [path for path in (ROOT / "rules").rglob("*.py") if path.parent != ROOT / "rules"]
    assert deeper == []


@pytest.mark.parametrize("folder", PACKAGES)
def test_every_file_ships(wheel: Path, folder: str) -> None:
    source = ROOT / folder
    there = {
        f"{PACKAGES[folder]}/{path.relative_to(source).as_posix()}"
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        missing = there - set(archive.namelist())
    assert missing == set()


def test_nothing_else_ships(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        top = {name.split("/")[0] for name in archive.namelist()}
    assert top == {"kprof", f"{wheel.name.split('-py3')[0]}.dist-info"}


def test_the_installed_program_is_the_wheel_and_starts(installed: Path, tmp_path: Path) -> None:
    where = run(installed / "python", "-c", "import kprof; print(kprof.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert run(installed / "kprof", "--version", cwd=tmp_path).startswith("kprof ")
    assert "shared-bank-conflicts" in run(installed / "kprof", "rules", cwd=tmp_path)


def test_the_installed_program_renders_a_report(installed: Path, tmp_path: Path) -> None:
    run(installed / "kprof", "analyze", ROOT / RECORDING, "-o", "page.html", cwd=tmp_path)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "transpose" in page


def test_the_installed_demo_brings_its_recording(installed: Path, tmp_path: Path) -> None:
    page = run(installed / "kprof", "demo", cwd=tmp_path).splitlines()[-1]
    assert (tmp_path / page).is_file()


def test_python_started_in_a_checkout_finds_the_content_beside_the_package(
    installed: Path, tmp_path: Path
) -> None:
    machine = ROOT / "tests" / "data" / "doctor" / "h1-h200-bare-metal-r580.json"
    code = f"""
import kprof, kprof.rule, kprof.samples
print(kprof.__file__)
print(len(kprof.doctor({str(machine)!r})._repr_html_()) > 10_000)
print(len(kprof.rule.registry()) > 10, len(kprof.samples.samples()) > 10)
"""
    python = installed / "python"
    outside = run(python, "-B", "-c", code, cwd=tmp_path).splitlines()
    assert Path(outside[0]).is_relative_to(installed.parent)
    inside = run(python, "-B", "-c", code, cwd=ROOT).splitlines()
    assert Path(inside[0]).parent == ROOT / "kprof", "the checkout shadows the installed one"
    assert inside[1:] == outside[1:] == ["True", "True True"]


def test_a_package_that_is_whole_looks_nowhere_else(installed: Path, tmp_path: Path) -> None:
    # A package called rules beside an installed kprof is somebody else's.
    code = "import kprof; print(len(list(kprof.__path__)))"
    assert run(installed / "python", "-c", code, cwd=tmp_path) == "1\n"


def test_the_installed_doctor_brings_table_and_templates(installed: Path, tmp_path: Path) -> None:
    machine = ROOT / "tests" / "data" / "doctor" / "h1-h200-bare-metal-r580.json"
    run(installed / "kprof", "doctor", "--from", machine, "--html", "page.html", cwd=tmp_path)
    assert "Versions that work together" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "12.9" in run(installed / "kprof", "doctor", "--from", machine, "--matrix", cwd=tmp_path)
