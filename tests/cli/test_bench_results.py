"""What ``kprof bench`` calls right and wrong, on a CPU with torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kprof import schema
from tests.profiling import assert_no_traceback
from tests.torch_python import torch_python

HEAD = """
import math
import torch
from kprof import bench

bench.shapes("20000")
bench.check_shapes("7000")

def rand(shape, generator, kind=torch.float32):
    return torch.rand(*shape, device=generator.device, generator=generator, dtype=kind) - 0.5
"""
Outcomes = dict[str, set[str]]


def bench(folder: Path, text: str, *args: str) -> tuple[dict[str, Any], str]:
    """Run a bench file and return its document and what it said on standard error."""
    (folder / "mine.py").write_text(HEAD + text)
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "bench", "mine.py", "--python", torch_python(),
         "--device", "cpu", "--runs", "20", "--seed", "3", "--format", "json", *args],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert_no_traceback(done.stderr)
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(found, schema.shipped("kprof.bench/1"))
    return found, done.stderr


def checked(folder: Path, text: str, *args: str) -> Outcomes:
    """Return what the checks of each variant came out as."""
    found, _ = bench(folder, text, "--check-only", *args)
    return {unit["unit"]: {check["status"] for check in unit["checks"]} for unit in found["checks"]}


def variants(**bodies: str) -> str:
    """Return variants of one input, each an expression."""
    return "".join(
        f"\n@bench.variant\ndef {name}(a):\n    return {body}\n" for name, body in bodies.items()
    )


ONE_INPUT = """
@bench.inputs
def inputs(shape, generator):
    return rand(shape, generator)
"""


def shapes(count: int) -> str:
    """Name as many shapes to check, apart by an option."""
    return f"""
bench.check_shapes(*(f"7000,kind={{n}}" for n in range({count})))
bench.shapes("7000,kind=0")
"""


def right_by_kind(folder: Path, text: str) -> set[tuple[str, str]]:
    """Return each variant that is right, with the kind of result for which it is."""
    found, _ = bench(folder, text, "--check-only")
    return {
        (unit["unit"], list(UNWRITTEN)[int(check["shape"][-1])])
        for unit in found["checks"]
        for check in unit["checks"]
        if check["status"] == "ok"
    }


SPECIAL = ("math.inf", "-math.inf", "math.nan", "complex(0, math.inf)")


def test_where_the_reference_is_not_finite_its_very_value_counts(tmp_path: Path) -> None:
    others = {
        "inf": "math.inf", "minus": "-math.inf", "nan": "math.nan", "finite": "5.0", "huge": "3e38",
    }  # fmt: skip
    text = f"""
{shapes(len(SPECIAL))}
special = ({", ".join(SPECIAL)})

@bench.inputs
def inputs(shape, generator):
    return rand(shape, generator), special[shape.get("kind", 0)]

def put(a, kind, value):
    made = a + 0j if isinstance(kind, complex) else a
    return torch.where(a > 0, torch.full_like(made, value), made)

@bench.reference(double=False)
def reference(a, kind):
    return put(a, kind, kind)

@bench.variant(put=("kind", {", ".join(map(repr, others.values()))}))
def puts(a, kind, put):
    return globals()["put"](a, kind, eval(put))
"""
    found, _ = bench(tmp_path, text, "--check-only", "--tolerance", "0.5")
    right = {
        (SPECIAL[int(check["shape"][-1])], unit["unit"])
        for unit in found["checks"]
        for check in unit["checks"]
        if check["status"] == "ok"
    }
    assert right == {
        *((special, "puts[put=kind]") for special in SPECIAL),
        *((special, f"puts[put={special}]") for special in SPECIAL[:3]),
    }


KINDS = {
    "@bench.reference": ("torch.float64", "torch.int64", "torch.complex128", "torch.float32"),
    "@bench.reference(double=False)": ("torch.float32",),
}


@pytest.mark.parametrize("decorator", KINDS)
def test_a_reference_that_works_in_place_keeps_to_itself(tmp_path: Path, decorator: str) -> None:
    kinds = KINDS[decorator]
    text = f"""
{shapes(len(kinds))}
kinds = ({", ".join(kinds)},)

@bench.inputs
def inputs(shape, generator):
    a = (100 * rand(shape, generator)).to(kinds[shape.get("kind", 0)])
    return a, [a.clone()]

{decorator}
def reference(a, more):
    return a.sub_(7).add_(more[0].sub_(7))

@bench.variant
def right(a, more):
    return a + more[0] - 14

@bench.variant
def nothing(a, more):
    return a + more[0]
"""
    assert checked(tmp_path, text) == {"right": {"ok"}, "nothing": {"wrong"}}


def test_a_reference_may_give_the_same_memory_every_time(tmp_path: Path) -> None:
    text = """
place = {}

@bench.reference(double=False)
def reference(a):
    return torch.mul(a, 2, out=place.setdefault(a.numel(), torch.empty_like(a)))
"""
    assert checked(tmp_path, ONE_INPUT + text + variants(right="a * 2")) == {"right": {"ok"}}


# Inputs by what they are made of, and a change of them that no result shows.
INPUTS = {
    "complex NaN": ("torch.complex(a, a * math.nan)", "x[0] = complex(math.nan, 1)"),
    "NaN": ("torch.where(a > 0, a, a * math.nan)", "x[0] = 9"),
    "float8": ("a.to(torch.float8_e4m3fn)", "x.view(torch.uint8)[0] ^= 1"),
    "scalar": ("a[0]", "x.add_(1)"),
    "conjugate": ("torch.complex(a, a).conj()", "x[0] = 9"),
    "list": ("[a.clone(), 'x', [a.clone()]]", "x[2][0].zero_()"),
    "dict": ("{'k': (a.clone(), {'l': a.clone()})}", "x['k'][1]['l'].zero_()"),
    "shorter": ("[a.clone(), a.clone()]", "x.pop()"),
    "named": ("Pair(a.clone(), 3)", "x.one.zero_()"),
}


def test_inputs_of_every_kind_are_guarded(tmp_path: Path) -> None:
    makers = "\n".join(f"    lambda a: {made}," for made, _ in INPUTS.values())
    changers = "\n".join(f"def change_{n}(x):\n    {c}" for n, (_, c) in enumerate(INPUTS.values()))
    text = f"""
{shapes(len(INPUTS))}
from collections import namedtuple
Pair = namedtuple("Pair", "one two")
seen = []
makers = (
{makers}
)
{changers}

@bench.inputs
def inputs(shape, generator):
    a = rand(shape, generator)
    kind = shape.get("kind", 0)
    return a, makers[kind](a), kind

@bench.reference(double=False)
def reference(a, x, kind):
    return a * 2

def digest(x):
    items = x.values() if isinstance(x, dict) else x
    return [digest(i) for i in items] if isinstance(x, (list, tuple, dict)) else repr(x)

@bench.variant
def first(a, x, kind):
    seen.append(digest(x))
    return a * 2

@bench.variant
def changes(a, x, kind):
    globals()[f"change_{{kind}}"](x)
    return a * 2

@bench.variant
def after(a, x, kind):
    seen.append(digest(x))
    return a * (2 if seen[-1] == seen[-3] else 3)  # both see two kinds of inputs, in turn
"""
    found, _ = bench(tmp_path, text, "--check-only")
    got = {
        (unit["unit"], list(INPUTS)[int(check["shape"][-1])]): check["message"]
        for unit in found["checks"]
        for check in unit["checks"]
    }
    changed = "it changed its inputs"
    assert got == {
        (unit, kind): changed if unit == "changes" else None
        for unit in ("first", "changes", "after")
        for kind in INPUTS
    }


def test_what_is_wrong_once_stays_wrong(tmp_path: Path) -> None:
    text = """
@bench.reference
def reference(a):
    return a * 2

calls = {}
def again(key):
    calls[key] = calls.get(key, 0) + 1
    return calls[key] > 1

@bench.variant
def refuses(a):
    if again(("refuses", a.numel())):
        raise NotImplementedError("no more")
    return a * 3

@bench.variant
def fails(a):
    if again(("fails", a.numel())):
        raise ValueError("no more")
    return a * 3

@bench.variant
def dies(a):
    if again(("dies", a.numel())):
        import os
        os._exit(9)
    return a * 3
"""
    expected = {name: {"wrong"} for name in ("refuses", "fails", "dies")}
    assert checked(tmp_path, ONE_INPUT + text) == expected


UNWRITTEN = {
    "torch.int64": "a", "torch.int32": "a.int()", "torch.uint8": "a.to(torch.uint8)",
    "torch.float64": "a.double()", "torch.bfloat16": "a.bfloat16()", "torch.complex64": "a + 0j",
    "torch.complex128": "a.double() + 0j", "torch.bool": "a > 1", "torch.float32": "a.float()",
}  # fmt: skip


def test_what_nobody_writes_is_wrong_whatever_its_type(tmp_path: Path) -> None:
    """Nothing but right results of the same size was in memory before."""
    text = f"""
{shapes(len(UNWRITTEN))}
results = ({", ".join(f"lambda a: {result}" for result in UNWRITTEN.values())})

@bench.inputs
def inputs(shape, generator):
    # The same every time: what is left of an earlier result is right.
    return torch.arange(20000) % 3, results[shape.get("kind", 0)]

@bench.reference(double=False)
def reference(a, result):
    return result(a)

@bench.variant
def right(a, result):
    return result(a)

def place(a, result, count=20000):
    return torch.empty(count, dtype=result(a[:1]).dtype)

@bench.variant
def empty(a, result):
    return place(a, result)

@bench.variant
def half(a, result):
    made = place(a, result)
    made[:10000] = result(a[:10000])
    return made

@bench.variant
def sliced(a, result):
    return place(a, result, 60000)[:20000]
"""
    assert right_by_kind(tmp_path, text) == {("right", kind) for kind in UNWRITTEN}


def test_outputs_of_every_type_are_guarded(tmp_path: Path) -> None:
    text = f"""
{shapes(len(UNWRITTEN))}
results = ({", ".join(f"lambda a: {result}" for result in UNWRITTEN.values())})

@bench.inputs
def inputs(shape, generator):
    return torch.arange(7000) % 3, results[shape.get("kind", 0)]

@bench.output
def output(a, result):
    return torch.empty_like(result(a))

@bench.reference(double=False)
def reference(a, result):
    return result(a)

@bench.variant
def right(a, result, out):
    out.copy_(result(a))

@bench.variant
def empty(a, result, out):
    pass

@bench.variant
def half(a, result, out):
    out[:5000] = result(a[:5000])

@bench.variant
def beyond(a, result, out):
    out.copy_(result(a))
    out.as_strided((1,), (1,), out.storage_offset() + out.numel()).fill_(0)
"""
    assert right_by_kind(tmp_path, text) == {("right", kind) for kind in UNWRITTEN}


def test_an_option_that_nothing_reads_is_refused(tmp_path: Path) -> None:
    text = """
@bench.inputs
def inputs(shape, generator):
    scale = dict(shape.options).get("scale", 1) + shape.get("more", 0)
    return rand(shape, generator) * scale

@bench.reference
def reference(a):
    return a * 2
"""
    wanted = ("--shape", "20000,scale=2", "--shape", "20000,more=1")
    found, _ = bench(tmp_path, text + variants(right="a * 2"), "--check-only", *wanted)
    assert {unit["status"] for shape in found["shapes"] for unit in shape["units"]} == {"ok"}
    assert {check["status"] for unit in found["checks"] for check in unit["checks"]} == {"ok"}
    text = text.replace('dict(shape.options).get("scale", 1) + ', "1 + ")
    found, _ = bench(tmp_path, text + variants(right="a * 2"), "--check-only", *wanted)
    (unit,) = found["shapes"][0]["units"]
    assert unit["status"] == "failed"
    assert "no option of a shape is named scale; its inputs read more" in unit["message"]


COSTS = {
    20000: ("bench.Cost(bytes=math.inf)", "cost: bytes=inf is no finite number from 0 on"),
    20001: ("(8, 2)", "cost returned (8, 2), not a bench.Cost"),
    20002: ("{}['key']", "cost failed: line "),
    20003: ("bench.Cost(bytes=1e30)", "copying as many bytes as cost says"),
}


def test_a_cost_that_cannot_be_is_named(tmp_path: Path) -> None:
    lines = "".join(
        f"    if a.numel() == {size}:\n        return {cost}\n" for size, (cost, _) in COSTS.items()
    )
    text = f"""
bench.shapes(*{[str(size) for size in COSTS]})

@bench.reference
def reference(a):
    return a * 2

@bench.cost
def cost(a):
{lines}
"""
    found, errors = bench(tmp_path, ONE_INPUT + text + variants(right="a * 2"))
    for shape in found["shapes"]:
        _, said = COSTS[int(shape["shape"])]
        assert said in shape["problem"]
        assert [line for line in errors.splitlines() if said in line] == [
            f"Error: {shape['shape']} could not be timed: {shape['problem']}"
        ]
        assert [(unit["status"], unit["timing"]) for unit in shape["units"]] == [("skipped", None)]
    assert len(found["shapes"]) == len(COSTS)


def test_numbers_of_other_libraries_are_costs_too(tmp_path: Path) -> None:
    text = """
@bench.reference
def reference(a):
    return a * 2

@bench.cost
def cost(a):
    return bench.Cost(bytes=torch.tensor(8), flops=torch.tensor(2.5))
"""
    found, _ = bench(tmp_path, ONE_INPUT + text + variants(right="a * 2"))
    (shape,) = found["shapes"]
    assert (shape["bytes"], shape["flops"], shape["problem"]) == (8, 2.5, None)


def test_no_tolerance_at_all_can_be_asked_for(tmp_path: Path) -> None:
    text = """
bench.tolerance(0.5)

@bench.reference
def reference(a):
    return a * 2
"""
    text = ONE_INPUT + text + variants(right="a * 2", off="a * 2.0001")
    got = checked(tmp_path, text, "--tolerance", "0")
    assert got == {"right": {"ok"}, "off": {"wrong"}}
