from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import click
import pytest

from kprof.cli.arguments import end_options_at_module, regex
from kprof.cli.profile import profile
from kprof.collect.command import Options, ncu_argv, nvtx_filters, shell

OPTIONS = Options(metrics=("a.sum", "b.avg"))


def argv(options: Options) -> tuple[str, ...]:
    return ncu_argv("ncu", options, ("./a.out", "-x"), report=Path("o/r.ncu-rep"), log=Path("o/l"))


def value(options: Options, name: str) -> str | None:
    words = argv(options)
    return words[words.index(name) + 1] if name in words else None


def test_the_plain_command() -> None:
    assert argv(OPTIONS) == (
        "ncu", "--export", "o/r.ncu-rep", "--log-file", "o/l", "--metrics", "a.sum,b.avg",
        "--target-processes", "all", "--nvtx", "--import-source", "yes", "--clock-control", "none",
        "--cache-control", "all", "--replay-mode", "kernel", "./a.out", "-x",
    )  # fmt: skip


def test_full_is_the_whole_set_and_the_plan() -> None:
    assert value(replace(OPTIONS, depth="full"), "--set") == "full"
    assert value(replace(OPTIONS, depth="full"), "--metrics") == "a.sum,b.avg"
    assert value(OPTIONS, "--set") is None


def test_kernel_filter_searches_the_demangled_name() -> None:
    options = replace(OPTIONS, kernel="gemm.*<32>")
    assert value(options, "--kernel-name") == "regex:gemm.*<32>"
    assert value(options, "--kernel-name-base") == "demangled"


def test_skip_of_zero_is_given() -> None:
    options = replace(OPTIONS, launch_skip=0, launch_count=5)
    assert value(options, "--launch-skip") == "0"
    assert value(options, "--launch-count") == "5"


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("forward", ("forward/", "forward")),
        ("my range", ("my range/", "my range")),
        ("outer/inner", ("outer/inner",)),
        ("domain@name", ("domain@name",)),
        ("[bottom", ("[bottom",)),
    ],
)
def test_nvtx_name_means_both_kinds_of_range(text: str, filters: tuple[str, ...]) -> None:
    assert nvtx_filters(text) == filters


def test_extra_arguments_come_last_before_the_target() -> None:
    words = argv(replace(OPTIONS, extra=("--section", "Occupancy")))
    assert words[-4:] == ("--section", "Occupancy", "./a.out", "-x")


def test_shell_quotes() -> None:
    words = ("ncu", "a b", "$x", "it's")
    assert shlex.split(shell(words)) == list(words)


TAKES: dict[str, bool] = {
    name: not (param.is_flag or param.count)
    for param in profile.params
    if isinstance(param, click.Option)
    for name in param.opts
}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-m mod --lr 3", "-m mod -- --lr 3"),
        ("--depth quick -m mod --depth 7", "--depth quick -m mod -- --depth 7"),
        ("--depth=quick -q -m mod -m x", "--depth=quick -q -m mod -- -m x"),
        ("-mmod -q", "-mmod -- -q"),
        ("-qm mod -v", "-qm mod -- -v"),
        ("--module mod a", "--module mod -- a"),
        ("--module=mod a", "--module=mod -- a"),
        ("-o -m -m mod -x", "-o -m -m mod -- -x"),
        ("-omod -m mod -x", "-omod -m mod -- -x"),
        ("train.py -m mod", "train.py -m mod"),
        ("-q train.py -m mod", "-q train.py -m mod"),
        ("-- -m mod", "-- -m mod"),
        ("-m", "-m"),
        ("", ""),
    ],
)
def test_options_end_at_the_module(line: str, expected: str) -> None:
    assert end_options_at_module(line.split(), TAKES) == expected.split()


@pytest.mark.parametrize(
    "pattern", ["gemm", "a{2,3}", r"\{", "[{]", "[^]{]x", r"[\]{]", "operator\\(\\)"]
)
def test_regular_expressions_pass_unchanged(pattern: str) -> None:
    assert regex(click.Context(profile), profile.params[0], pattern) == pattern


@pytest.mark.parametrize("pattern", ["(", "[a", "a)", "*", "a{", "a}", r"\\{", "[a]{"])
def test_broken_regular_expressions_are_refused(pattern: str) -> None:
    with pytest.raises(click.BadParameter, match=re.escape(repr(pattern))):
        regex(click.Context(profile), profile.params[0], pattern)
