from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kprof import calibration
from kprof.cli.rules import rules
from kprof.rule import registry, select

KPROF = Path(sys.executable).with_name("kprof")
OWN = '''
from kprof.model import Finding, Kernel
from kprof.quantity import plain
from kprof.rule import rule

GRID = plain("grid", "launch__grid_size", "blocks of the launch", "")


@rule(requires=[GRID])
def odd_grid(kernel: Kernel) -> Finding | None:
    """## What it detects

    A grid of an odd number of blocks. Nothing more.
    """
    return None
'''


@pytest.fixture
def own_rules(tmp_path: Path) -> Path:
    (tmp_path / "odd_grid.py").write_text(OWN)
    return tmp_path


def test_every_rule_is_listed_with_one_line() -> None:
    done = CliRunner().invoke(rules, [])
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert [line.split("  ")[0].strip() for line in lines] == [rule.name for rule in registry()]
    assert all(len(line) <= 100 for line in lines)
    assert all(len(line.split("  ", 1)[1].strip()) > 10 for line in lines)


def test_one_rule_is_explained_with_what_it_needs() -> None:
    rule = registry()[0]
    done = CliRunner().invoke(rules, [rule.name])
    assert done.exit_code == 0
    assert done.output.startswith(f"# {rule.name}\n")
    assert rule.doc in done.output
    for quantity in rule.requires:
        assert f"- `{quantity.name}`" in done.output
        assert quantity.ways[0].metrics[0] in done.output


def test_long_lists_of_metrics_are_cut_and_fit_the_terminal() -> None:
    named = ["shared-bank-conflicts"]
    (quantity,) = (q for q in select(registry(), named)[0].requires if q.name == "l1_data_pct")
    short, full = (CliRunner().invoke(rules, [*named, *more]).output for more in ([], ["-v"]))
    needs = short[short.index("## What it needs") :]
    assert [name in needs for name in quantity.names] == [n < 4 for n in range(len(quantity.names))]
    left = len(quantity.names) - 4
    assert f"... and {left} more (-v, or docs/metrics.md)" in " ".join(needs.split())
    assert all(name in full for name in quantity.names)
    assert "more (-v" not in full
    for text in (needs, full[full.index("## What it needs") :]):
        assert max(map(len, text.splitlines())) <= 80


def test_underscores_are_forgiven() -> None:
    name = registry()[0].name
    assert CliRunner().invoke(rules, [name.replace("-", "_")]).output.startswith(f"# {name}")


def test_own_rules_are_listed_and_explained(own_rules: Path) -> None:
    listed = CliRunner().invoke(rules, ["--rules-dir", str(own_rules)]).output
    assert "A grid of an odd number of blocks." in listed
    told = CliRunner().invoke(rules, ["odd-grid", "--rules-dir", str(own_rules)]).output
    assert "- `grid`: blocks of the launch. From launch__grid_size" in told


@pytest.mark.parametrize(
    ("args", "message"),
    [(("no-such",), "no rule is named 'no-such'"), (("--rules-dir", "no"), "is not a directory")],
)
def test_what_is_not_there_is_named(args: tuple[str, ...], message: str) -> None:
    done = subprocess.run([KPROF, "rules", *args], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Hint: " in done.stderr


def test_a_broken_rule_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def (")
    done = subprocess.run(
        [KPROF, "rules", "--rules-dir", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "broken.py" in done.stderr
    assert "Traceback" not in done.stderr


# --- calibration -------------------------------------------------------------------------------


def test_the_calibration_is_a_table_with_a_verdict_per_pair() -> None:
    done = CliRunner().invoke(rules, ["--calibration"])
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["rule", "bad", "good", "estimated", "measured", "as", "promised"]
    assert {line.split()[0] for line in lines[1:-2]} == {pair[0] for pair in calibration.pairs()}
    assert "came out as promised" in lines[-1]


def test_the_calibration_of_one_rule_as_json() -> None:
    done = CliRunner().invoke(rules, ["thread_divergence", "--calibration", "--json"])
    document = json.loads(done.stdout)
    assert document["schema"] == "kprof.calibration/1"
    (pair,) = document["pairs"]
    assert pair["rule"] == "thread-divergence"
    assert pair["measured_speedup"] == pytest.approx(pair["bad_s"] / pair["good_s"], rel=1e-3)


def test_a_rule_without_a_pair_says_so() -> None:
    done = CliRunner().invoke(rules, ["compute-bound", "--calibration"])
    assert done.exit_code == 0
    assert done.stdout == "No pair of samples is planted for compute-bound.\n"


def test_own_recordings_are_compared(tmp_path: Path) -> None:
    done = CliRunner().invoke(rules, ["--calibration", "--recordings", str(tmp_path), "--json"])
    pairs = json.loads(done.stdout)["pairs"]
    assert pairs
    assert all(pair["missing"] == [pair["bad"], pair["good"]] for pair in pairs)
    assert all(pair["within"] is None for pair in pairs)


def test_recordings_that_are_nowhere_are_a_known_failure(tmp_path: Path) -> None:
    argv = [str(KPROF), "rules", "--calibration", "--recordings", str(tmp_path / "none")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is not a folder" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", [["--json"], ["--recordings", "."]])
def test_options_of_the_calibration_need_it(option: list[str]) -> None:
    done = CliRunner().invoke(rules, option)
    assert done.exit_code == 2
    assert "belong to --calibration" in done.stderr
