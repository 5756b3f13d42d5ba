"""How a profile starts: by what the script's text leads to expect."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kprof.collect import stages
from kprof.collect.command import Options
from kprof.collect.target import Target


def strategy(script: Path | str, *rest: str, python: str | None = "python") -> str:
    head = () if python is None else (python,)
    argv = (*head, str(script), *rest)
    target = Target(argv, "t", python="python (--python)" if python else None)
    return stages.strategy(Options(), target, "auto")


def written(folder: Path, line: str) -> Path:
    script = folder / "t.py"
    script.write_text(f"import torch\n{line}\n")
    return script


@pytest.fixture(autouse=True)
def _standard_input_can_be_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "stdin_position", lambda: None)


@pytest.mark.parametrize(
    "line",
    [
        "loss.backward()",
        "model = torch.compile(model)",
        "out = model.generate(ids)",
        "for batch in DataLoader(data):",
        "start = torch.cuda.Event(enable_timing=True)",
        "ms = triton.testing.do_bench(run)",
        "from time import perf_counter",
        "timer = benchmark.Timer('f(x)', globals=globals())",
        "for _ in range(40):",
        "for _ in range( 1000 ):",
    ],
)
def test_what_launches_many_is_surveyed_at_once(tmp_path: Path, line: str) -> None:
    script = written(tmp_path, line)
    assert strategy(script) == "survey"
    assert strategy(script, python=None) == "trial"  # a program, not a script


@pytest.mark.parametrize(
    "line",
    [
        "y = layer(x)",
        "for _ in range(39):",
        "for i in range(3, 4096):",  # indices, not rounds
        "x = arange(4096)",
        "cuda_Event(1)",
        "def backward(ctx):",
    ],
)
def test_what_may_launch_few_is_tried(tmp_path: Path, line: str) -> None:
    assert strategy(written(tmp_path, line)) == "trial"


def test_a_module_and_a_script_that_is_not_there_are_tried() -> None:
    assert strategy("-m", "train") == "trial"
    assert strategy("/not/there.py") == "trial"


def test_a_script_from_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.py")
    assert strategy(tmp_path / "t.py") == "trial"
