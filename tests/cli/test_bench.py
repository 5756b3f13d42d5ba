"""``kprof bench`` on a CPU, with torch: what is right, wrong, hangs or dies."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from kprof import schema
from kprof.cli import main
from tests.profiling import assert_no_traceback, wait_for
from tests.torch_python import torch_python

HEAD = """
import os, time
import torch
from kprof import bench

bench.shapes("5000", "70000")

@bench.inputs
def inputs(shape, generator):
    return tuple(torch.rand(*shape, device=generator.device, generator=generator) for _ in "ab")

@bench.output
def output(a, b):
    return torch.empty_like(a)

@bench.cost
def cost(a, b):
    return bench.Cost(bytes=12 * a.numel(), flops=a.numel())

@bench.reference
def reference(a, b):
    assert a.dtype == torch.float64
    return a + b

@bench.variant
def plain(a, b, out):
    torch.add(a, b, out=out)
"""

Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def bench(variants: str, *args: str, head: str = HEAD) -> Done:
        Path("mine.py").write_text(head + variants)
        argv = [sys.executable, "-m", "kprof", "bench", "mine.py", "--python", torch_python()]
        done = subprocess.run(
            [*argv, "--device", "cpu", "--runs", "20", "--warmup", "1", *args],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert_no_traceback(done.stderr)
        return done

    return bench


def variants(arguments: str, bodies: Mapping[str, str]) -> str:
    """Return variants of two inputs by name and body."""
    return "".join(
        f"\n@bench.variant\ndef {name}({arguments}):\n    {body}\n" for name, body in bodies.items()
    )


def document(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(found, schema.shipped("kprof.bench/1"))
    return found


def statuses(found: dict[str, Any]) -> dict[str, set[str]]:
    every: dict[str, set[str]] = {}
    for shape in found["shapes"]:
        for unit in shape["units"]:
            every.setdefault(unit["unit"], set()).add(unit["status"])
            assert (unit["timing"] is not None) == (unit["status"] == "ok")
    return every


def messages(found: dict[str, Any], unit: str) -> str:
    return " ".join(
        item["message"] or ""
        for s in found["shapes"]
        for item in s["units"]
        if item["unit"] == unit
    )


def test_right_variants_are_timed_and_compared(run: Run) -> None:
    done = run(
        """
@bench.variant(times=(1, 40))
def often(a, b, times):
    for _ in range(times):
        c = a + b
    return c
""",
        "--format", "json", "--seed", "5",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = document(done)
    assert statuses(found) == {"plain": {"ok"}, "often[times=1]": {"ok"}, "often[times=40]": {"ok"}}
    assert (found["conditions"]["seed"], found["conditions"]["baseline"]) == (5, "plain")
    large = found["shapes"][1]
    assert (large["shape"], large["bytes"], large["flops"]) == ("70000", 840_000, 70_000)
    assert large["copy_s"] > 0
    plain, _, slow = (unit["timing"] for unit in large["units"])
    assert plain["comparison"] is None
    assert (plain["method"], plain["runs"]) == ("clock", 20)
    assert plain["min_s"] <= plain["p50_s"] <= plain["p95_s"]
    assert plain["bytes_per_s"] == pytest.approx(840_000 / plain["p50_s"])
    assert slow["comparison"]["speedup"] < 0.7
    checked = [check["shape"] for check in found["checks"][0]["checks"]]
    assert checked == ["1", "65536", "100003", "5000", "70000"]


WRONG = {
    "not_written": ("torch.add(a[1:], b[1:], out=out[1:])", "not written"),
    "half_precision": ("out.copy_((a.half() + b.half()).float())", "instead of"),
    "changes_inputs": ("torch.add(a, b, out=out); a.zero_()", "changed its inputs"),
    "writes_outside": (
        "torch.add(a, b, out=out)\n"
        "    out.as_strided((1,), (1,), out.storage_offset() + out.numel()).fill_(1)",
        "outside its output",
    ),
    "reads_outside": (
        "torch.add(a, b, out=out)\n"
        "    out[-1] += 0 * a.as_strided((1,), (1,), a.storage_offset() + a.numel())[0]",
        "NaN",
    ),
    "wrong_when_ragged": ("torch.add(a, b, out=out); out[-1] += a.numel() % 2", "at 1: "),
}


def test_a_wrong_result_is_named_and_has_no_timing(run: Run) -> None:
    bodies = {name: body for name, (body, _) in WRONG.items()}
    done = run(variants("a, b, out", bodies), "--format", "json")
    labels = {name: name.replace("_", "-") for name in WRONG}
    found = document(done)
    assert done.returncode == 1
    assert statuses(found) == {"plain": {"ok"}, **{label: {"wrong"} for label in labels.values()}}
    for name, (_, said) in WRONG.items():
        assert f"Error: {labels[name]} gives a wrong result" in done.stderr
        assert said in messages(found, labels[name])


@pytest.mark.parametrize("number", ["a", "a.long()", "a.expand(2, -1).t()"])
def test_what_one_variant_does_to_its_inputs_does_not_reach_the_next(run: Run, number: str) -> None:
    head = HEAD.replace(
        'for _ in "ab")\n', f'for _ in "ab")\n\nmake = inputs\nbench.api.current.inputs = '
        f"lambda s, g: tuple({number} for a in make(s, g))\n",
    ).replace("assert a.dtype == torch.float64", "pass")  # fmt: skip
    done = run(
        "\n@bench.variant\ndef changes(a, b):\n    c = a + b\n    a.mul_(0).add_(7)\n    return c\n"
        "\n@bench.variant\ndef after(a, b):\n    return a + b\n",
        "--format", "json", "--check-only", "--variants", "changes,after", head=head,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    every = {
        unit["unit"]: {check["status"] for check in unit["checks"]}
        for unit in document(done)["checks"]
    }
    assert every == {"changes": {"wrong"}, "after": {"ok"}}


KINDS = {
    "shorter": ("return a[:0]", "its result is 0, the reference's"),
    "nothing": ("return None", "it returned NoneType"),
    "double": ("return (a + b).double() + 1e-7", "instead of"),
}


def test_a_result_of_another_kind_is_wrong(run: Run) -> None:
    bodies = {name: body for name, (body, _) in KINDS.items()}
    done = run(variants("a, b", bodies), "--format", "json")
    assert done.returncode == 1
    for name, (_, said) in KINDS.items():
        assert said in messages(document(done), name)


def test_the_tolerance_can_be_chosen(run: Run) -> None:
    variant = "\n@bench.variant\ndef rough(a, b):\n    return (a.half() + b.half()).float()\n"
    assert run(variant, "--check-only").returncode == 1
    done = run(variant, "--check-only", "--tolerance", "0.01")
    assert done.returncode == 0, done.stdout
    assert "10 of 10 results on 5 shapes are right" in done.stdout


BREAKS = {
    "raises": ("raise ValueError('boom')", "failed", "ValueError: boom"),
    "ends": ("os._exit(3)", "failed", "exit status 3"),
    "aborts": ("os.abort()", "failed", "SIGABRT"),
    "hangs": ("time.sleep(60)", "timeout", "no end after"),
    "hangs_later": (
        "state.append(1); time.sleep(60 if len(state) > 13 else 0); return a + b",
        "timeout",
        "no end after",
    ),
}


@pytest.mark.parametrize("status", ["failed", "timeout"])
def test_a_variant_that_breaks_loses_only_itself(run: Run, status: str) -> None:
    names = [name for name in BREAKS if BREAKS[name][1] == status]
    bodies: dict[str, str] = {}
    for name in names:
        bodies |= {name: BREAKS[name][0], f"after_{name}": "return b + a"}
    limit = "4" if status == "timeout" else "60"
    done = run(
        "\nstate = []\n" + variants("a, b", bodies),
        "--format", "json", "--timeout", limit,
    )  # fmt: skip
    assert done.returncode == 2
    found = document(done)
    expected = {"plain": {"ok"}}
    for name in names:
        label = name.replace("_", "-")
        expected.update({label: {status}, f"after-{label}": {"ok"}})
        assert f"Error: {label} could not be run" in done.stderr
        assert BREAKS[name][2] in messages(found, label)
    assert statuses(found) == expected


def test_a_shape_that_a_variant_does_not_do_is_no_fault(run: Run) -> None:
    done = run(
        """
@bench.variant
def even(a, b):
    if a.numel() != 5000:
        raise NotImplementedError("only 5000 elements")
    return a + b
""",
        "--format", "json",
    )  # fmt: skip
    assert done.returncode == 0
    found = document(done)
    assert statuses(found)["even"] == {"ok", "unsupported"}
    assert "only 5000 elements" in messages(found, "even")


def test_variants_parameters_baseline_and_shapes_are_chosen(run: Run) -> None:
    done = run(
        "\n@bench.variant(block=(1, 2))\ndef tiled(a, b, block):\n    return a + b\n"
        "\n@bench.variant\ndef bad(a, b):\n    return a\n",
        "--format", "json", "--variants", "tiled,plain", "--baseline", "plain",
        "--set", "block=3,4", "--shape", "16x3", "--shape", "8x8,kernel=5",
        head=HEAD.replace("    return tuple(torch.rand", '    shape.get("kernel", 3)\n    return tuple(torch.rand'),
    )  # fmt: skip
    found = document(done)
    assert done.returncode == 0, done.stderr
    assert list(statuses(found)) == ["plain", "tiled[block=3]", "tiled[block=4]"]
    assert [shape["shape"] for shape in found["shapes"]] == ["16x3", "8x8,kernel=5"]


def test_the_environment_chooses_variants_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KPROF_BENCH_VARIANTS", "plain")
    done = run("\n@bench.variant\ndef bad(a, b):\n    return a\n", "--format", "json")
    assert done.returncode == 0
    assert list(statuses(document(done))) == ["plain"]


@pytest.mark.parametrize(
    ("more", "args", "said"),
    [
        ("\nraise RuntimeError('no')", (), "mine.py cannot be used: line 29: RuntimeError: no"),
        ("\nx = (", (), "SyntaxError"),
        ("\nexit(4)", (), "ended itself with 4"),
        ("\nbench.variant(name='plain')(plain)", (), "two variants are named plain"),
        ("", ("--variants", "plane"), "there is no variant 'plane'"),
        ("", ("--baseline", "x"), "there is no variant 'x'"),
        ("", ("--shape", "1xx"), "'1xx' is no shape"),
        ("\nbench.shapes()", (), "names no shapes"),
    ],
)
def test_a_file_or_a_wish_that_cannot_be_is_refused(
    run: Run, more: str, args: tuple[str, ...], said: str
) -> None:
    done = run(more, *args)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Hint: " in done.stderr
    assert done.stdout == ""


def test_without_a_gpu_it_says_so_and_how_to_go_on(run: Run) -> None:
    done = run("", "--device", "cuda")
    if done.returncode == 0:
        pytest.skip("there is a GPU")
    assert done.returncode == 2
    assert "sees no GPU" in done.stderr
    assert "--device cpu" in done.stderr


def test_what_the_file_prints_disturbs_nothing(run: Run) -> None:
    done = run(
        "\nprint('{\"event\": \"lost\"}')\nimport sys\nprint('x', file=sys.stderr)",
        "--format",
        "json",
    )
    assert done.returncode == 0, done.stderr
    assert statuses(document(done)) == {"plain": {"ok"}}


def test_files_are_written_and_the_table_is_still_printed(run: Run) -> None:
    done = run("", "-o", "out", "--format", "html,json,csv,text")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "bench.csv", "bench.html", "bench.json", "bench.txt",
    ]  # fmt: skip
    assert "plain" in done.stdout
    again = run("", "-o", "out")
    assert again.returncode == 2
    assert "already exists" in again.stderr


@pytest.mark.parametrize(
    ("signum", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_whatever_ends_kprof_ends_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signum: int, status: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        HEAD + "\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-m", "kprof", "bench", "mine.py", "--python", torch_python()],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    wait_for(lambda: Path("pid").is_file() and bool(Path("pid").read_text()))
    child.send_signal(signum)
    child.communicate(timeout=30)
    assert child.returncode == status
    worker = int(Path("pid").read_text())
    wait_for(lambda: not Path(f"/proc/{worker}").exists())


def test_an_interpreter_without_torch_is_told_from_a_bad_file(run: Run) -> None:
    done = run("\nimport no_such_module\n")
    assert done.returncode == 2
    assert "mine.py cannot be used: " in done.stderr
    assert "No module named 'no_such_module'" in done.stderr
    assert "--python" in done.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), "Missing argument 'TARGET'"),
        (("none.py",), "none.py is no file"),
        (("nothing",), "there is no operator 'nothing'"),
        (("x.py", "--set", "block"), "is not NAME=VALUE"),
        (("x.py", "--set", "1=2"), "is not NAME=VALUE"),
        (("x.py", "--variants", ","), "names nothing"),
        (("x.py", "--runs", "0"), "--runs"),
        (("x.py", "--tolerance", "nan"), "--tolerance"),
        (("x.py", "--format", "sarif"), "'sarif' is not one of"),
    ],
)
def test_usage(args: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(main, ["bench", *args])
    assert done.exit_code == 2
    assert said in done.output


def test_profiling_on_a_cpu_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("")
    done = CliRunner().invoke(
        main, ["bench", str(tmp_path / "x.py"), "--device", "cpu", "--profile"]
    )
    assert done.exit_code == 2
    assert "--profile needs a GPU" in done.output


def test_units_with_several_parameters_can_be_named() -> None:
    from kprof.cli.bench import split

    assert split("a,b[x=1,y=2], c ,,") == ("a", "b[x=1,y=2]", "c")


@pytest.mark.parametrize(
    ("result", "off"),
    [
        ("(a * 1e18).long()", "+ 1"),  # one more than float64 tells apart
        ("torch.complex(a, a)", "+ 0.5j"),
        ("a > 0.5", "^ True"),
    ],
)
def test_types_are_compared_to_their_last_digit(run: Run, result: str, off: str) -> None:
    head = HEAD.split("@bench.output")[0]
    variants = f"""
@bench.reference(double=False)
def reference(a, b):
    return {result}

@bench.variant
def fine(a, b):
    return {result}

@bench.variant
def off(a, b):
    return ({result}) {off}
"""
    done = run(variants, "--check-only", "--format", "json", head=head)
    found = document(done)
    assert done.returncode == 1
    assert {unit["unit"]: {c["status"] for c in unit["checks"]} for unit in found["checks"]} == {
        "fine": {"ok"},
        "off": {"wrong"},
    }


def test_a_reference_that_is_no_tensor_is_said(run: Run) -> None:
    head = HEAD.replace("return a + b", "return (a, b)")
    done = run("", "--check-only", head=head)
    assert done.returncode == 2
    assert "the reference returned tuple, not a tensor" in " ".join(done.stdout.split())


def test_a_variant_that_fails_when_it_is_timed_loses_only_itself(run: Run) -> None:
    done = run(
        """
calls = []

@bench.variant
def tires(a, b):
    calls.append(a.numel())
    if a.numel() == 5000 and calls.count(5000) > 6:
        raise ValueError("tired")
    return a + b
""",
        "--format",
        "json",
    )
    assert done.returncode == 2
    first, second = document(done)["shapes"]
    assert [(u["unit"], u["status"], bool(u["timing"])) for u in first["units"]] == [
        ("plain", "ok", True),
        ("tires", "failed", False),
    ]
    assert "ValueError: tired" in first["units"][1]["message"]
    assert [u["status"] for u in second["units"]] == ["ok", "ok"]


def test_a_shape_that_cannot_be_timed_is_no_success(run: Run) -> None:
    head = HEAD.replace("bytes=12 * a.numel()", "bytes=float('nan')")
    done = run("", head=head)
    assert done.returncode == 2
    assert "Error: 5000 could not be timed" in done.stderr
