"""``kprof samples``: list, show, build and run the sample kernels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from kprof import crew, process
from kprof.errors import BuildFailed, KprofError, UnknownSample
from kprof.samples import NATIVE, Sample, build, find_nvcc, select
from kprof.samples import samples as every_sample

_arch = click.option(
    "--arch", default=NATIVE, show_default=True, metavar="ARCH", help="nvcc's -arch, e.g. sm_90."
)


@click.group(invoke_without_command=True, short_help="List, show, build and run sample kernels.")
@click.pass_context
def samples(ctx: click.Context) -> None:
    """CUDA programs with a known verdict each. They check their own result against the CPU."""
    if ctx.invoked_subcommand is None:
        click.echo(_listing(every_sample()), nl=False)


@samples.command("list")
def list_() -> None:
    """List the samples with the verdict to expect."""
    click.echo(_listing(every_sample()), nl=False)


@samples.command()
@click.argument("name")
def show(name: str) -> None:
    """Print the source of NAME."""
    click.echo(_one(name).source, nl=False)


@samples.command("build")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@_arch
@click.option("-o", "--output", metavar="DIR", help="Folder for the programs (default: a cache).")
@click.option("--force", is_flag=True, help="Replace programs that are already in DIR.")
def build_(names: tuple[str, ...], arch: str, output: str | None, force: bool) -> None:
    """Build samples with nvcc and print the programs' paths; all of them without NAME.

    NAME is a sample (transpose/padded) or a topic (transpose).
    """
    nvcc = find_nvcc()
    folder = None if output is None else Path(output)

    def attempt(sample: Sample) -> Path | KprofError:
        try:
            return build(sample, out_dir=folder, arch=arch, nvcc=nvcc, force=force)
        except KprofError as error:
            return error

    chosen = _chosen(names)
    results = list(crew.results(attempt, chosen, jobs=os.cpu_count() or 1))
    for result in results:
        if isinstance(result, Path):
            click.echo(result)
    _raise_first([result for result in results if isinstance(result, KprofError)])


@samples.command(context_settings={"allow_interspersed_args": False})
@_arch
@click.argument("name")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def run(ctx: click.Context, arch: str, name: str, arguments: tuple[str, ...]) -> None:
    """Build NAME if need be and run it with ARGUMENTS.

    The exit status is the program's: 0 when its result matches the CPU's, 1 when it does not,
    2 when it could not run.
    """
    program = build(_one(name), arch=arch)
    try:
        child = process.start([program, *arguments])
    except OSError as error:
        raise BuildFailed(
            f"{program} cannot be started: {error.strerror}", hint="build with -o elsewhere"
        ) from error
    try:
        status = child.wait()
    except KeyboardInterrupt:
        # The terminal sent the program the same signal; it must not outlive this one.
        if not process.ended(child, 2.0):
            child.kill()
        raise
    if status < 0:
        raise BuildFailed(f"{program} was ended by signal {-status}", hint="run it in cuda-gdb")
    ctx.exit(status)


def _chosen(names: Sequence[str]) -> tuple[Sample, ...]:
    if not names:
        return every_sample()
    return tuple(dict.fromkeys(sample for name in names for sample in select(name)))


def _one(name: str) -> Sample:
    found = select(name)
    if len(found) > 1:
        raise UnknownSample(
            f"{name!r} is {len(found)} samples",
            hint=f"choose one of {', '.join(sample.name for sample in found)}",
        )
    return found[0]


def _listing(known: Sequence[Sample]) -> str:
    width = max(len(sample.name) for sample in known)
    return "".join(
        f"{sample.name:<{width}}  {sample.shows}\n{'':<{width}}  expect: {sample.expect}\n"
        for sample in known
    )


def _raise_first(errors: Sequence[KprofError]) -> None:
    if not errors:
        return
    if len(errors) == 1:
        raise errors[0]
    raise BuildFailed(f"{errors[0].message} (and {len(errors) - 1} more)", hint=errors[0].hint)
