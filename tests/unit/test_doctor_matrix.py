from __future__ import annotations

import json
from pathlib import Path

import pytest

from kprof.audit import Facts, parse
from kprof.audit.matrix_rows import Standing
from kprof.audit.standing import standing
from kprof.doctor_matrix import BRANCHES, BUILDS, HERE, matrix_text, sections

MACHINES = Path(__file__).resolve().parents[1] / "data" / "doctor"


def of(name: str) -> Standing:
    return standing(parse((MACHINES / f"{name}.json").read_text()))


H200 = of("h1-h200-bare-metal-r580")
OLD_DRIVER = of("r01-cu121-on-r470")
NOTHING = standing(Facts({}))


def marked(shown: str) -> list[str]:
    return [" ".join(line.split()) for line in shown.splitlines() if line.startswith(HERE)]


def test_it_says_where_the_machine_stands() -> None:
    rows = marked(matrix_text(H200, width=160))
    assert any(row.startswith("● 13.0 580 yes yes yes") and "nvcc 13.0" in row for row in rows)
    assert any(row.startswith("● NVIDIA H200 9.0") for row in rows)
    assert any(row.startswith("● 2.11.0 cu130") for row in rows)
    assert any(row.startswith("● R580 13.0 long-term") for row in rows)


def test_it_says_what_the_driver_runs_and_how() -> None:
    rows = {row.cells[0]: row.cells for row in sections(OLD_DRIVER)[0].rows}
    assert rows["11.4"][2] == "yes"
    assert rows["11.8"][2] == "compat"
    assert rows["12.1"][1:3] == ("525.60.13", "no")
    assert rows["12.1"][-1] == "torch 2.1.0+cu121"


def test_builds_that_fit_come_first_and_the_installed_one_is_there() -> None:
    rows = sections(OLD_DRIVER)[2].rows
    assert [row.cells[2] for row in rows] == ["yes"] * BUILDS + ["no"]
    assert rows[-1].here
    assert "525.60.13" in rows[-1].cells[3]


def test_what_is_left_out_is_counted_and_shown_on_demand() -> None:
    for brief, whole in zip(sections(H200), sections(H200, every=True), strict=True):
        assert len(brief.rows) + brief.left == len(whole.rows)
        assert whole.left == 0
        assert brief.heads == whole.heads
        assert {len(row.cells) for row in whole.rows} == {len(whole.heads)}
    assert len(sections(H200)[3].rows) <= BRANCHES + 1
    assert "(-v lists all)" not in matrix_text(H200, verbose=1)


def test_an_unknown_machine_gets_the_table_and_no_verdict() -> None:
    cudas, gpus, builds, _ = sections(NOTHING)
    assert not marked(matrix_text(NOTHING))
    assert {row.cells[2] for row in cudas.rows} == {"unknown"}
    assert gpus.title == "What each GPU needs"
    assert len(gpus.rows) > 10
    assert {row.cells[2] for row in builds.rows} == {"unknown"}


@pytest.mark.parametrize("width", [1, 40, 80, 160])
@pytest.mark.parametrize("verbose", [0, 1])
def test_no_line_is_wider_than_the_terminal(width: int, verbose: int) -> None:
    shown = matrix_text(H200, width=width, verbose=verbose)
    assert max(map(len, shown.splitlines())) <= max(width, 40)


def test_names_from_a_snapshot_steer_nothing() -> None:
    facts = json.loads((MACHINES / "h1-h200-bare-metal-r580.json").read_text())["facts"]
    facts["gpus"][0]["name"] = "NVIDIA H200\x1b[2J\nERROR"
    facts["toolkits"][0]["root"] = "/opt/[red]x[/red]\x9b"
    shown = matrix_text(standing(Facts(facts)), width=200)
    assert all(line.isprintable() for line in shown.splitlines())
    assert "[red]x[/red]" in shown


def test_an_ncu_that_lists_a_gpu_is_not_shown_as_the_first() -> None:
    section = next(one for one in sections(NOTHING, every=True) if "ncu here" in one.heads)
    column, capability = section.heads.index("ncu"), section.heads.index("cc")
    shown = {row.cells[capability]: row.cells[column] for row in section.rows}
    assert (shown["12.1"], shown["10.3"], shown["11.0"]) == ("by 2026.1",) * 3
    assert (shown["9.0"], shown["7.0"]) == ("2022.3 on", "before 2025.1")
