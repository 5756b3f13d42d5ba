from __future__ import annotations

import json
from typing import Any

import pytest

from kprof import bench
from kprof.bench import api, choice
from kprof.bench.units import units
from kprof.errors import BadBench


@pytest.fixture(autouse=True)
def suite(monkeypatch: pytest.MonkeyPatch) -> api.Suite:
    fresh = api.Suite()
    monkeypatch.setattr(api, "current", fresh)
    return fresh


@pytest.mark.parametrize(
    ("text", "sizes", "options", "written"),
    [
        ("4096", (4096,), {}, "4096"),
        ("1x64x128x128", (1, 64, 128, 128), {}, "1x64x128x128"),
        (" 1 × 12 × 128 , kernel=5, pad = -1", (1, 12, 128), {"kernel": 5, "pad": -1}, "1x12x128,kernel=5,pad=-1"),
    ],
)  # fmt: skip
def test_shapes_are_understood(
    text: str, sizes: tuple[int, ...], options: dict[str, int], written: str
) -> None:
    shape = bench.Shape.parse(text)
    assert (tuple(shape), dict(shape.options), str(shape)) == (sizes, options, written)
    assert bench.Shape.parse(str(shape)) == shape
    assert (shape.get("kernel", 3), shape[0], len(shape)) == (
        options.get("kernel", 3),
        sizes[0],
        len(sizes),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1x",
        "1y2",
        "0",
        "1x0",
        "-1",
        "4,kernel",
        "4,=3",
        "9" * 20,
        "9" * 5000,
        "4,a=" + "9" * 5000,
    ],
)
def test_what_is_no_shape_is_refused(text: str) -> None:
    with pytest.raises(bench.DefinitionError):
        bench.Shape.parse(text)


@pytest.mark.parametrize("name", ["(twin)", "(copy)", "a,b", "a[b=1]", "a\nb", " a", "\ud800", 5])
def test_names_that_mean_something_else_are_refused(name: str) -> None:
    with pytest.raises(bench.DefinitionError, match="no variant can be called"):
        bench.variant(name=name)(lambda a: a)


def test_every_value_of_a_parameter_can_be_told(suite: api.Suite) -> None:
    bench.variant(name="odd", value=(float("nan"), float("inf"), "\ud800", (1, 2)))(lambda a: a)
    told = [unit.described() for unit in units(suite, {})]
    assert [unit["parameters"]["value"] for unit in told] == ["nan", "inf", "?", "(1, 2)"]
    json.dumps(told, ensure_ascii=False, allow_nan=False).encode()


def test_values_for_a_parameter_that_nothing_has_are_refused() -> None:
    offered = [{"label": "a[block=1]", "variant": "a", "parameters": {"block": 1}}]
    choice.known_settings(offered, ["block"])
    with pytest.raises(BadBench, match="no variant has a parameter 'blokc'") as refused:
        choice.known_settings(offered, ["blokc"])
    assert refused.value.hint == "there are block"


def test_a_file_is_what_it_marks(suite: api.Suite) -> None:
    @bench.variant
    def torch_add(a: int, b: int) -> int:
        return a + b

    @bench.variant(name="tiled", block=(64, 128), rows=(1, 2))
    def other(a: int, out: object, *, block: int, rows: int) -> None: ...

    assert list(suite.variants) == ["torch-add", "tiled"]
    assert [unit.label for unit in units(suite, {})] == [
        "torch-add",
        "tiled[block=64,rows=1]", "tiled[block=64,rows=2]",
        "tiled[block=128,rows=1]", "tiled[block=128,rows=2]",
    ]  # fmt: skip
    assert [unit.label for unit in units(suite, {"block": [7], "rows": [1]})] == [
        "torch-add",
        "tiled[block=7,rows=1]",
    ]
    assert (suite.variants["torch-add"].takes_out, suite.variants["tiled"].takes_out) == (
        False,
        True,
    )
    assert torch_add(1, 2) == 3, "the marked function is still itself"


def test_a_unit_binds_its_inputs_and_its_output(suite: api.Suite) -> None:
    @bench.variant(scale=(3,))
    def fill(a: int, out: list[int], scale: int) -> None:
        out.append(a * scale)

    @bench.variant
    def give(a: int) -> int:
        return a

    fills, gives = units(suite, {})
    place: list[int] = []
    assert fills.bound((2,), place)() is place
    assert (place, gives.bound((2,), None)()) == ([6], 2)


def test_what_cannot_be_is_refused(suite: api.Suite) -> None:
    bench.variant(name="a")(lambda: None)
    bench.inputs(lambda: None)
    bench.reference(lambda: None)
    bench.output(lambda: None)
    bench.cost(lambda: bench.Cost(1))
    for again in (
        lambda: bench.variant(name="a")(lambda: None),
        lambda: bench.inputs(lambda: None),
        lambda: bench.reference(double=False)(lambda: None),
        lambda: bench.output(lambda: None),
        lambda: bench.cost(lambda: bench.Cost(1)),
        lambda: bench.variant(name="b", block=())(lambda: None),
        lambda: bench.variant(name="b", block="64")(lambda: None),
        lambda: bench.tolerance(-1),
        lambda: bench.tolerance(float("nan")),
        lambda: bench.tolerance(float("inf")),
    ):
        with pytest.raises(bench.DefinitionError):
            again()
    suite.check()


@pytest.mark.parametrize(
    "offered",
    [
        {"block": (1, "1", 2)},
        {"block": (2, 2)},
        {"x": ("1,y=2", "1"), "y": ("3", "2,y=3")},
    ],
)
def test_two_choices_that_are_written_alike_are_refused(
    suite: api.Suite, offered: dict[str, tuple[object, ...]]
) -> None:
    bench.variant(name="a", **offered)(lambda **_: None)
    with pytest.raises(bench.DefinitionError, match=r"two choices of parameters are named a\["):
        units(suite, {})


def test_two_choices_of_the_command_lines_are_refused_too(suite: api.Suite) -> None:
    bench.variant(name="a", block=(1, 2))(lambda **_: None)
    with pytest.raises(bench.DefinitionError, match=r"named a\[block=64\]"):
        units(suite, {"block": [64, 64]})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"bytes": float("inf")}, "cost: bytes=inf is no finite number from 0 on"),
        ({"bytes": float("nan")}, "cost: bytes=nan"),
        ({"bytes": -1}, "cost: bytes=-1"),
        ({"bytes": "12"}, "cost: bytes='12'"),
        ({"bytes": None}, "cost: bytes=None"),
        ({"bytes": 10**400}, "cost: bytes=1000"),
        ({"bytes": 8, "flops": -2.5}, "cost: flops=-2.5"),
        ({"bytes": 8, "flops": "x"}, "cost: flops='x'"),
        ({"bytes": 8, "precision": 32}, "cost: precision=32 is no name"),
    ],
)
def test_a_cost_that_cannot_be_names_itself_and_the_value(given: dict[str, Any], said: str) -> None:
    with pytest.raises(bench.DefinitionError) as refused:
        bench.Cost(**given)
    assert str(refused.value).startswith(said)
    assert len(str(refused.value)) < 120


@pytest.mark.parametrize("missing", ["variants", "inputs", "reference"])
def test_a_file_that_says_too_little_is_refused(suite: api.Suite, missing: str) -> None:
    bench.variant(name="a")(lambda: None)
    bench.inputs(lambda: None)
    bench.reference(lambda: None)
    setattr(suite, missing, {} if missing == "variants" else None)
    with pytest.raises(bench.DefinitionError, match=missing[:5]):
        suite.check()


UNITS = [
    {"label": "naive", "variant": "naive"},
    {"label": "tiled[block=64]", "variant": "tiled"},
    {"label": "tiled[block=128]", "variant": "tiled"},
]


def test_units_are_chosen_by_variant_and_by_label() -> None:
    assert list(choice.chosen(UNITS, None)) == [unit["label"] for unit in UNITS]
    assert list(choice.chosen(UNITS, ["tiled[block=128]", "naive"])) == [
        "tiled[block=128]",
        "naive",
    ]
    assert len(choice.chosen(UNITS, ["tiled"])) == 2
    with pytest.raises(BadBench, match="no variant 'tilde'") as refusal:
        choice.chosen(UNITS, ["tilde"])
    assert "tiled" in str(refusal.value.hint)


def test_the_baseline_comes_first() -> None:
    every = choice.chosen(UNITS, None)
    assert list(choice.baseline_first(every, "tiled")) == [
        "tiled[block=64]",
        "naive",
        "tiled[block=128]",
    ]
    with pytest.raises(BadBench):
        choice.baseline_first(every, "cudnn")


def test_shapes_to_check_are_one_element_full_tiles_and_ragged() -> None:
    assert choice.check_shapes(["1x64x128x128", "2x64x128x128"]) == [
        "1x1x1x1",
        "2x2x64x64",
        "3x3x37x61",
    ]
    assert choice.check_shapes(["4096"]) == ["1", "65536", "100003"]
    assert choice.check_shapes(["8x8,kernel=5"]) == [
        "1x1,kernel=5", "64x128,kernel=5", "67x131,kernel=5",
    ]  # fmt: skip
