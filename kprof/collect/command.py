"""The exact ncu command line for what the user asked."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Characters that ncu's NVTX filter language gives a meaning; a name without any of them is plain.
_NVTX_SYNTAX = frozenset("/@[],*+:")
# How the kernels of NCCL and NVSHMEM begin, after the return type that a template's name has.
# They wait for other GPUs, which ncu does not let run while it measures one kernel alone: it hangs
# (docs/decisions/0013).
_COMMUNICATION = r"(?:void |_Z\d+)?(?:nccl|nvshmem)"
# Here ncu measures a stretch of the program in which kernels run side by side.
RANGES = ("range", "app-range")
# ncu takes one filter by name: one that is handed to it stands alone.
_OWN_FILTER = ("-k", "--kernel-")


@dataclass(frozen=True, slots=True)
class Options:
    """What to collect and how.

    Attributes:
        depth: ``quick``, ``standard`` or ``full``.
        kernel: regular expression searched in the kernel's name.
        name_base: which name: ``demangled``, ``mangled`` or ``function`` (no template arguments).
        nvtx: a range's name, or a filter in ncu's own syntax.
        launch_skip: matching launches to let pass first.
        launch_count: matching launches to profile.
        clock_control: ``none`` or ``base``.
        cache_control: ``all`` or ``none``.
        replay_mode: ``kernel``, ``application``, ``range`` or ``app-range``.
        graphs: ``node`` measures the kernels of a CUDA graph, ``graph`` each graph as a whole.
        with_communication: measure the kernels of NCCL and NVSHMEM, too.
        from_start: False waits for ``cudaProfilerStart``.
        metrics: names to collect (``kprof.collect.plan`` has them for a depth).
        sections: ncu's sections to collect, where the plan could not choose metrics.
        per_config: skip and count launches of each name, grid, block and shared memory apart.
        code: keep the device code in the report; what happens per instruction needs it.
        embed_source: keep the CUDA source files in the report.
        extra: arguments handed to ncu as they are.
    """

    depth: str = "standard"
    kernel: str | None = None
    name_base: str = "demangled"
    nvtx: str | None = None
    launch_skip: int | None = None
    launch_count: int | None = None
    clock_control: str = "none"
    cache_control: str = "all"
    replay_mode: str = "kernel"
    graphs: str = "node"
    with_communication: bool = False
    from_start: bool = True
    metrics: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    per_config: bool = False
    code: bool = True
    embed_source: bool = False
    extra: tuple[str, ...] = ()


def ncu_argv(
    ncu: str, options: Options, target: Sequence[str], *, report: Path, log: Path
) -> tuple[str, ...]:
    """Return the whole command line.

    Args:
        ncu: the program.
        options: what to collect.
        target: the target's command line.
        report: where ncu writes; must not exist.
        log: where ncu's own messages go, so that standard output is the target's alone.
    """
    return (ncu, *options_argv(options, report=report, log=log), *target)


def options_argv(options: Options, *, report: Path, log: Path) -> tuple[str, ...]:
    """Return ncu's options without program and target."""
    return (
        "--export",
        str(report),
        "--log-file",
        str(log),
        *_what(options),
        "--target-processes",
        "all",
        "--nvtx",
        "--import-source",
        "yes" if options.embed_source else "no",
        *(() if options.code else ("--import-sass", "no")),
        "--clock-control",
        options.clock_control,
        "--cache-control",
        options.cache_control,
        "--replay-mode",
        options.replay_mode,
        *_how(options),
        *_which(options),
        *options.extra,
    )


def shell(argv: Sequence[str]) -> str:
    """Return the command quoted for a POSIX shell, on one line."""
    return shlex.join(argv)


def assignments(variables: Mapping[str, str]) -> str:
    """Return variables as they stand before a command, quoted for a POSIX shell."""
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())


def readable(text: str) -> str:
    """Return an argument as text that can be shown and stored.

    Bytes that are not UTF-8 reach the target as they are and show as U+FFFD.
    """
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _what(options: Options) -> tuple[str, ...]:
    # The set holds every section; the plan's own metrics are exact totals that no section has.
    chosen = ("--metrics", ",".join(options.metrics)) if options.metrics else ()
    sections = (word for name in options.sections for word in ("--section", name))
    return ("--set", "full", *chosen) if options.depth == "full" else (*sections, *chosen)


def _how(options: Options) -> tuple[str, ...]:
    # What is ncu's default is not said: older ones do not know every option.
    match = ("--app-replay-match", "grid") if options.replay_mode == "application" else ()
    graphs = ("--graph-profiling", options.graphs) if options.graphs != "node" else ()
    start = () if options.from_start else ("--profile-from-start", "off")
    return (*match, *graphs, *start)


def _which(options: Options) -> list[str]:
    argv: list[str] = []
    if options.per_config:
        argv += ["--filter-mode", "per-launch-config"]
    names = kernel_filter(options)
    if names is not None or options.per_config:
        argv += ["--kernel-name-base", _name_base(options)]
    if names is not None:
        argv += ["--kernel-name", f"regex:{names}"]
    if options.nvtx is not None:
        for configuration in nvtx_filters(options.nvtx):
            argv += ["--nvtx-include", configuration]
    if options.launch_skip is not None:
        argv += ["--launch-skip", str(options.launch_skip)]
    if options.launch_count is not None:
        argv += ["--launch-count", str(options.launch_count)]
    return argv


def _name_base(options: Options) -> str:
    # ncu 2025.3 mixes up demangled names of extern "C" kernels (docs/decisions/0012): where
    # nothing but communication is told apart, its default, the function's name, is enough.
    plain = options.kernel is None and not options.per_config
    return "function" if plain else options.name_base


def kernel_filter(options: Options) -> str | None:
    """Return the regular expression for ncu, which searches it in the demangled name.

    It is ECMAScript's there: what must not match, and what must, stand in front as look-aheads.
    Groups of the user's own keep their numbers. None measures every kernel.
    """
    if not leaves_out(options):
        return options.kernel
    wanted = "" if options.kernel is None else f"(?=.*(?:{options.kernel}))"
    return f"^(?!{_COMMUNICATION}){wanted}"


def leaves_out(options: Options) -> bool:
    """Say whether kernels for communication between GPUs are left out."""
    own = options.kernel is None and any(word.startswith(_OWN_FILTER) for word in options.extra)
    return not (options.with_communication or options.replay_mode in RANGES or own)


def communicates(name: str) -> bool:
    """Say whether a kernel is one of those that are left out for waiting for other GPUs."""
    return re.match(_COMMUNICATION, name) is not None


def nvtx_filters(text: str) -> tuple[str, ...]:
    """Return ncu's filters for a range.

    A plain name means that range however it was made: ``name/`` is the push/pop range and
    ``name`` the start/end range. Anything else is ncu's own syntax and stays as it is.
    """
    if _NVTX_SYNTAX & set(text):
        return (text,)
    return (f"{text}/", text)
