from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import click
import pytest

from kprof.cli.arguments import end_options_at_module, regex
from kprof.cli.profile import profile
from kprof.collect.command import (
    Options,
    communicates,
    kernel_filter,
    ncu_argv,
    nvtx_filters,
    shell,
)

OPTIONS = Options(metrics=("a.sum", "b.avg"))


def argv(options: Options) -> tuple[str, ...]:
    return ncu_argv("ncu", options, ("./a.out", "-x"), report=Path("o/r.ncu-rep"), log=Path("o/l"))


def value(options: Options, name: str) -> str | None:
    words = argv(options)
    return words[words.index(name) + 1] if name in words else None


def test_the_plain_command() -> None:
    assert argv(OPTIONS) == (
        "ncu", "--export", "o/r.ncu-rep", "--log-file", "o/l", "--metrics", "a.sum,b.avg",
        "--target-processes", "all", "--nvtx", "--import-source", "no", "--clock-control", "none",
        "--cache-control", "all", "--replay-mode", "kernel", "--kernel-name-base", "function",
        "--kernel-name", "regex:^(?!(?:void |_Z\\d+)?(?:nccl|nvshmem))", "./a.out", "-x",
    )  # fmt: skip


def test_full_is_the_whole_set_and_the_plan() -> None:
    assert value(replace(OPTIONS, depth="full"), "--set") == "full"
    assert value(replace(OPTIONS, depth="full"), "--metrics") == "a.sum,b.avg"
    assert value(OPTIONS, "--set") is None


def test_sections_stand_in_for_metrics_that_could_not_be_chosen() -> None:
    words = argv(Options(sections=("SpeedOfLight", "Occupancy")))
    place = words.index("--section")
    assert words[place : place + 4] == ("--section", "SpeedOfLight", "--section", "Occupancy")
    assert "--metrics" not in words
    assert "--section" not in argv(Options(depth="full", sections=("SpeedOfLight",)))


def test_kernel_filter_searches_the_demangled_name() -> None:
    options = replace(OPTIONS, kernel="gemm.*<32>", with_communication=True)
    assert value(options, "--kernel-name") == "regex:gemm.*<32>"
    assert value(options, "--kernel-name-base") == "demangled"


NAMES = (
    "void gemm<float, 32>(float const*)",
    "vector_add(float*, int)",
    "reduce_before_nccl(int)",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)",
    "void ncclKernel<float>(ncclDevComm*)",
    "nvshmemi_proxy_quiet_entrypoint(int)",
    "void nvshmem_put<double>(double*)",
)


def measured(options: Options) -> list[str]:
    """Return the kernels whose names the filter finds; its grammar is common to re and ECMAScript."""
    names = kernel_filter(options)
    return [name for name in NAMES if names is None or re.search(names, name)]


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (None, [0, 1, 2]),
        ("nccl", [2]),
        ("gemm|add", [0, 1]),
        ("^vec", [1]),
        (r"int\)$", [1, 2]),
        (r"(float).*\1", [0]),
        ("^nccl", []),
    ],
)
def test_communication_is_left_out_whatever_else_is_asked(
    kernel: str | None, expected: list[int]
) -> None:
    assert measured(Options(kernel=kernel)) == [NAMES[number] for number in expected]


@pytest.mark.parametrize("kernel", [None, "nccl", "^void", r"(float).*\1", "a|b"])
def test_with_communication_the_filter_is_the_users_own(kernel: str | None) -> None:
    assert kernel_filter(Options(kernel=kernel, with_communication=True)) == kernel


@pytest.mark.parametrize("mode", ["range", "app-range"])
def test_ranges_are_measured_whole(mode: str) -> None:
    assert kernel_filter(Options(replay_mode=mode)) is None
    assert kernel_filter(Options(replay_mode="application")) is not None


@pytest.mark.parametrize("word", ["-k", "--kernel-name", "--kernel-id=::gemm:2"])
def test_a_name_filter_handed_to_ncu_stands_alone(word: str) -> None:
    assert kernel_filter(Options(extra=(word, "x"))) is None
    assert kernel_filter(Options(extra=("--kill", "yes"))) is not None


def test_communication_is_known_by_name() -> None:
    assert [communicates(name) for name in NAMES] == [False] * 3 + [True] * 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (Options(graphs="graph"), ("--graph-profiling", "graph")),
        (Options(from_start=False), ("--profile-from-start", "off")),
        (Options(replay_mode="application"), ("--app-replay-match", "grid")),
    ],
)
def test_what_differs_from_the_default_is_said(options: Options, words: tuple[str, str]) -> None:
    assert value(options, words[0]) == words[1]
    assert words[0] not in argv(OPTIONS)


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
