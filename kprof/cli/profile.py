"""``kprof profile``: run a program under ncu, diagnose its kernels, write the report."""

from __future__ import annotations

import os
from typing import Any

import click
from click.core import ParameterSource

from kprof.audit.probes.machine import Runner
from kprof.cli import early, options
from kprof.cli.arguments import TargetCommand, finite, regex
from kprof.collect.command import Options

_DEPTHS = ("quick", "standard", "full")
_COLLECTED = (
    "depth", "kernel", "nvtx", "launch_skip", "launch_count",
    "clock_control", "cache_control", "replay_mode", "graphs", "with_communication", "from_start",
    "embed_source", "extra",
)  # fmt: skip
_SURVEYED = ("survey", "coverage", "top", "follow_up")
_REPLAY = ("kernel", "application", "range", "app-range")
# What --as-in-app stands for: every pass in a run of its own, in which nobody touches the caches.
_AS_IN_APP = {"replay_mode": "application", "cache_control": "none"}


@click.command(cls=TargetCommand, context_settings={"allow_interspersed_args": False})
@click.option(
    "--depth",
    type=click.Choice(_DEPTHS),
    default="standard",
    show_default=True,
    help="How much to measure: quick for durations and traffic, standard for every rule, full for ncu's whole set too.",
)
@click.option(
    "--kernel",
    callback=regex,
    metavar="REGEX",
    help="Only kernels whose demangled name matches.",
)
@click.option(
    "--nvtx",
    metavar="RANGE",
    help="Only kernels inside this NVTX range (a name, or ncu's own filter syntax); kprof.region makes one.",
)
@click.option(
    "--from-start/--no-from-start",
    default=True,
    help="Measure from the start, or only between cudaProfilerStart and cudaProfilerStop.",
)
@click.option(
    "--with-communication",
    is_flag=True,
    help="Measure the kernels of NCCL and NVSHMEM, too; with several GPUs they hang under ncu.",
)
@click.option(
    "--graphs",
    type=click.Choice(["node", "graph"]),
    default="node",
    show_default=True,
    help="Measure each kernel of a CUDA graph, or every graph as a whole.",
)
@click.option(
    "--launch-skip",
    type=click.IntRange(min=0),
    metavar="N",
    help="Let N matching launches pass first.",
)
@click.option(
    "--launch-count", type=click.IntRange(min=1), metavar="N", help="Measure at most N launches."
)
@click.option(
    "--survey",
    type=click.Choice(["auto", "first", "never"]),
    default="auto",
    show_default=True,
    help="Time every launch before measuring in depth: auto does so for a program with many launches, which then runs more than once.",
)
@click.option(
    "--coverage",
    type=click.FloatRange(min=0, max=1, min_open=True),
    default=0.95,
    show_default=True,
    callback=finite,
    metavar="SHARE",
    help="After a survey, measure the kernels that make up this share of the GPU time.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help="After a survey, measure at most N kernels.",
)
@click.option(
    "--follow-up/--no-follow-up",
    default=True,
    help="Run the program once more where what limits a kernel stays open, for the counters that decide; never with --survey never.",
)
@click.option(
    "--clock-control",
    type=click.Choice(["none", "base"]),
    default="none",
    show_default=True,
    help="Lock the GPU to its base clock, or measure at the clocks it runs at.",
)
@click.option(
    "--cache-control",
    type=click.Choice(["all", "none"]),
    default="all",
    show_default=True,
    help="Flush the caches before every pass, or leave them warm.",
)
@click.option(
    "--replay-mode",
    type=click.Choice(_REPLAY),
    default="kernel",
    show_default=True,
    help="What is repeated to collect several passes.",
)
@click.option(
    "--as-in-app",
    is_flag=True,
    help="Measure with the caches as the program leaves them: it runs once per pass (--replay-mode application --cache-control none).",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    callback=finite,
    metavar="SECONDS",
    help="Stop the run after this long; what was measured is kept.",
)
@click.option(
    "--kernel-timeout",
    type=click.FloatRange(min=0),
    default=600,
    show_default=True,
    callback=finite,
    metavar="SECONDS",
    help="Stop the run when ncu gets no further with one kernel for this long, 0 for never; what was measured is kept.",
)
@click.option("--ncu", metavar="PATH", help="The ncu to use.")
@click.option(
    "--ncu-arg",
    "extra",
    multiple=True,
    metavar="ARG",
    help="Hand ARG to ncu as it is; repeatable.",
)
@click.option("--python", metavar="PY", help="Interpreter for a Python target.")
@click.option(
    "-m",
    "--module",
    metavar="MODULE",
    help="Run MODULE as python -m does; the rest of the line is its own.",
)
@click.option(
    "-o", "--output", metavar="DIR", help="Where the report goes.  [default: kprof-<target>]"
)
@options.apply(
    options.force,
    options.open_page,
    options.fail_on,
    options.rules,
    options.rules_dir,
    options.source_dir,
    options.source_map,
)
@click.option(
    "--embed-source", is_flag=True, help="Keep the CUDA source files in the .ncu-rep, too."
)
@click.option(
    "--compress/--no-compress",
    default=False,
    help="Keep the .ncu-rep as .ncu-rep.xz, a twentieth of the size; every command of kprof reads it, ncu-ui does not.",
)
@click.option("--plan", is_flag=True, help="Run the survey, print what would be measured, stop.")
@click.option("--dry-run", is_flag=True, help="Print the exact ncu command and run nothing.")
@click.option(
    "--no-preflight",
    is_flag=True,
    help="Start even when the checks before say that it cannot work.",
)
@options.apply(options.quiet, options.verbose, options.no_color)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="TARGET [ARGS]...")
@click.pass_context
def profile(
    ctx: click.Context,
    /,
    command: tuple[str, ...],
    module: str | None,
    *,
    dry_run: bool,
    **given: Any,
) -> None:
    """Run TARGET under Nsight Compute and say why its kernels are slow.

    TARGET is script.py, a program, or -m MODULE. Everything after it belongs to it.

    \b
      kprof profile train.py --steps 3
      kprof profile --kernel softmax -m mypackage.bench
      kprof profile ./vector_add
    """  # noqa: D301 - click keeps the lines of a paragraph that starts with a backspace
    if not command and module is None:
        raise click.UsageError("Missing argument 'TARGET'.")
    if module is not None and (not module or module.startswith("-")):
        raise click.UsageError("Option '-m' needs the name of a module.")
    if given.pop("as_in_app"):
        given.update(_as_in_app(ctx))
    asks = not (dry_run or given["no_preflight"] or given["ncu"])
    with early.asking_ncu(needed=asks) as asking:
        _profile(ctx, command, module, given, dry_run=dry_run, asking=asking)


def _profile(
    ctx: click.Context,
    command: tuple[str, ...],
    module: str | None,
    given: dict[str, Any],
    *,
    dry_run: bool,
    asking: Runner,
) -> None:
    from kprof.cli import session, staged  # rich and the reader stay out of --help

    wanted = Options(**{name: given.pop(name) for name in _COLLECTED})
    survey = staged.Wanted(
        plan_only=given.pop("plan"), **{name: given.pop(name) for name in _SURVEYED}
    )
    settings = session.Settings(wanted=survey, **given)
    if dry_run:
        # As bytes: an argument need not be text.
        click.echo(os.fsencode(session.dry_run(command, module, wanted, settings)))
    else:
        ctx.exit(session.run(command, module, wanted, settings, asking=asking))


def _as_in_app(ctx: click.Context) -> dict[str, str]:
    for name, value in _AS_IN_APP.items():
        said = ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
        if said and ctx.params[name] != value:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(
                f"Option '--as-in-app' means {option} {value}; drop {option} {ctx.params[name]}."
            )
    return _AS_IN_APP
