from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kprof import metrics as m
from kprof.errors import BadRule, UnknownRule
from kprof.model import Finding, Kernel
from kprof.rule import registry, rule, select
from tests.kernels import kernel

SILENT = '''
from __future__ import annotations

from kprof import metrics as m
from kprof.model import Finding, Kernel
from kprof.rule import rule


@rule(requires=[m.DURATION])
def {name}(kernel: Kernel) -> Finding | None:
    """## What it detects

    Nothing.
    """
    return None
'''


def write(folder: Path, name: str, text: str | None = None) -> Path:
    path = folder / f"{name}.py"
    path.write_text(SILENT.format(name=name) if text is None else text)
    return folder


def test_a_rule_is_named_after_its_function() -> None:
    @rule(requires=[m.DURATION])
    def too_slow(kernel: Kernel) -> Finding | None:
        """## What it detects

        Slowness.
        """
        return None

    assert too_slow.name == "too-slow"
    assert too_slow.requires == (m.DURATION,)
    assert too_slow.doc == "## What it detects\n\nSlowness."
    assert too_slow.check(kernel()) is None


def test_missing_names_only_what_is_absent() -> None:
    @rule(requires=[m.DURATION, m.L1_HIT, m.DRAM_PCT])
    def hungry(kernel: Kernel) -> Finding | None:
        return None

    assert hungry.missing(kernel()) == ("l1_hit",)
    assert hungry.missing(kernel(duration_s=None, measured={})) == (
        "duration",
        "l1_hit",
        "dram_pct",
    )
    assert hungry.missing(kernel(metrics={"l1tex__t_sector_hit_rate.pct": 0.0})) == ()


def test_the_catalogue_is_sorted_and_unique() -> None:
    names = [item.name for item in registry()]
    assert names == sorted(set(names))
    assert len(names) >= 16


def test_rules_of_a_folder_join_the_catalogue(tmp_path: Path) -> None:
    extra = registry(write(tmp_path, "my_rule"))
    assert {item.name for item in extra} - {item.name for item in registry()} == {"my-rule"}


def test_an_empty_folder_adds_nothing(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("raise RuntimeError\n")
    (tmp_path / "notes.txt").write_text("no Python")
    assert registry(tmp_path) == registry()


def test_a_folder_must_exist(tmp_path: Path) -> None:
    with pytest.raises(BadRule, match="not a directory") as caught:
        registry(tmp_path / "absent")
    assert caught.value.hint


def test_a_name_of_the_catalogue_is_taken(tmp_path: Path) -> None:
    with pytest.raises(BadRule, match="two rules are named 'compute-bound'") as caught:
        registry(write(tmp_path, "compute_bound"))
    assert "compute_bound" in (caught.value.hint or "")


def test_two_files_cannot_share_a_name(tmp_path: Path) -> None:
    write(tmp_path, "one", SILENT.format(name="mine"))
    write(tmp_path, "two", SILENT.format(name="mine"))
    with pytest.raises(BadRule, match="two rules are named 'mine'"):
        registry(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def broken(:\n", "SyntaxError"),
        ("import no_such_module_at_all\n", "ModuleNotFoundError"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("x = 1\n", "declares no rule"),
        ("", "declares no rule"),
    ],
)
def test_a_bad_file_is_named_with_its_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadRule, match=message) as caught:
        registry(write(tmp_path, "bad", text))
    assert "bad.py" in caught.value.message
    assert caught.value.hint


def test_an_imported_rule_is_not_declared_again(tmp_path: Path) -> None:
    text = "from kprof.rules.compute_bound import compute_bound\n"
    with pytest.raises(BadRule, match="declares no rule"):
        registry(write(tmp_path, "borrower", text))


def test_a_rule_file_may_hold_a_data_class(tmp_path: Path) -> None:
    text = SILENT.format(name="with_class") + (
        "\n\nfrom dataclasses import dataclass\n\n\n@dataclass\nclass Seen:\n    count: int\n"
    )
    assert "with-class" in {item.name for item in registry(write(tmp_path, "with_class", text))}


def test_a_file_name_need_not_be_an_identifier(tmp_path: Path) -> None:
    write(tmp_path, "2-fast", SILENT.format(name="second"))
    assert "second" in {item.name for item in registry(tmp_path)}


def install(folder: Path, module: str) -> None:
    """Lay a distribution with a rule entry point into a folder of the import path."""
    info = folder / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[kprof.rules]\nplugged = {module}\n")


def names_in_a_new_process(folder: Path) -> subprocess.CompletedProcess[str]:
    code = "from kprof.rule import registry; print(*(r.name for r in registry()))"
    search = f"import sys; sys.path.insert(0, {str(folder)!r}); "
    return subprocess.run(
        [sys.executable, "-c", search + code], capture_output=True, text=True, check=False
    )


def test_an_installed_package_can_bring_rules(tmp_path: Path) -> None:
    install(write(tmp_path, "plugged_rule"), "plugged_rule")
    done = names_in_a_new_process(tmp_path)
    assert "plugged-rule" in done.stdout.split(), done.stderr


def test_a_broken_package_is_named(tmp_path: Path) -> None:
    install(write(tmp_path, "plugged_rule", "1 / 0\n"), "plugged_rule")
    done = names_in_a_new_process(tmp_path)
    assert "BadRule: the rule plug-in plugged_rule cannot be imported" in done.stderr


def test_select_keeps_the_order_asked_for() -> None:
    chosen = select(registry(), ("issue-bound", "compute-bound"))
    assert [item.name for item in chosen] == ["issue-bound", "compute-bound"]
    assert select(registry(), ()) == ()


def test_select_refuses_an_unknown_name() -> None:
    with pytest.raises(UnknownRule, match="'compute_bound'") as caught:
        select(registry(), ("issue-bound", "compute_bound"))
    assert caught.value.hint
