"""Windows itself: what is said there fits Windows, or is left out."""

from __future__ import annotations

from typing import Any

import pytest

from kprof.audit import matrix, windows
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy
from tests.audit.snapshots import errors, gpu, judged

PYTHON = "C:\\Users\\bob\\venv\\Scripts\\python.exe"


def on_windows(driver: str, cuda: str, **parts: Any) -> dict[str, Any]:
    return {
        "os": {"system": "windows", "arch": "x86_64", "wsl": None, "container": None},
        "gpus": [gpu("NVIDIA GeForce RTX 4070", "8.9")],
        "driver": {"version": driver, "cuda_version": cuda},
        "python": {"executable": PYTHON, "version": "3.12.3"},
        **parts,
    }


TORCH_130 = {"version": "2.13.0+cu130", "cuda": "13.0", "cuda_available": False}


@pytest.mark.parametrize(
    ("driver", "cuda", "fits"),
    [("511.23", "11.6", "11.8"), ("566.36", "12.7", "12.6"), ("576.80", "12.9", "12.6")],
)
def test_a_torch_is_offered_that_the_driver_runs(driver: str, cuda: str, fits: str) -> None:
    remedy = judged("driver.too_old_for_torch", on_windows(driver, cuda, torch=TORCH_130)).remedy
    assert remedy is not None
    assert f"CUDA {fits} " in remedy.text
    assert remedy.commands[0].startswith(f"{PYTHON} -m pip install")
    (driver_remedy,) = remedy.alternatives
    assert windows.DRIVERS in driver_remedy.text
    assert driver_remedy.commands == ()


@pytest.mark.parametrize("system", ["linux", "windows"])
def test_no_driver_before_cuda_13_runs_its_builds(system: str) -> None:
    found = matrix.fitting_wheels("576.80", (8, 9), "x86_64", system=system)
    assert found
    assert not [variant for _, variant in found if variant.startswith("cu13")]


def test_the_counters_are_opened_in_the_control_panel() -> None:
    ncu = {"path": "C:\\Program Files\\ncu.exe", "version": "2025.2.1", "error": "ERR_NVGPUCTRPERM"}
    facts = on_windows("576.80", "12.9", ncu=ncu)
    assert errors(facts) == ["ncu.perm"]
    remedy = judged("ncu.perm", facts).remedy
    assert remedy is not None
    assert "NVIDIA Control Panel" in remedy.text
    assert remedy.commands == ()


def test_whether_the_counters_are_open_is_not_known_from_linux_facts() -> None:
    facts = on_windows("576.80", "12.9", process={"euid": 1000, "capabilities": []})
    assert judged("ncu.perm", facts).status == "unknown"


def test_commands_of_linux_are_left_out() -> None:
    remedy = Remedy(
        "Do it.",
        ("sudo reboot", f"{PYTHON} -m pip install x", "unset LD_LIBRARY_PATH", "nvidia-smi -L"),
        alternatives=(Remedy("Or so.", ("export TMPDIR=/tmp",)),),
    )
    found = windows.portable(Facts(on_windows("576.80", "12.9")), remedy)
    assert found.commands == (f"{PYTHON} -m pip install x", "nvidia-smi -L")
    assert "this is Windows" in found.text
    assert found.alternatives[0].commands == ()
    assert windows.portable(Facts({"os": {"system": "linux"}}), remedy) is remedy


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (PYTHON, PYTHON),
        ("C:\\Program Files\\Python\\python.exe", "& 'C:\\Program Files\\Python\\python.exe'"),
        ("C:\\x'; rm -r *", "python"),
        ("a\nb", "python"),
        ("C:\\$(calc)\\python.exe", "python"),
    ],
)
def test_a_path_is_one_word_of_the_shell(path: str, shown: str) -> None:
    assert windows.quoted(path) == shown
