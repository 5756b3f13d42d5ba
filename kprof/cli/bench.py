"""``kprof bench``: check and time the variants of an operator."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kprof import output
from kprof.cli import delivery, options
from kprof.cli.arguments import finite

if TYPE_CHECKING:
    from kprof.bench.engine import Found, Request
    from kprof.bench.profiling import Explained, Profiler
    from kprof.bench.result import Bench

FORMATS = ("text", "html", "json", "csv")
WRONG, BROKEN, SIGNALLED = 1, 2, 128
VARIANTS = "KPROF_BENCH_VARIANTS"
_SEEDS = 2**31


def split(text: str) -> tuple[str, ...]:
    """Split names at commas, but not at those between the brackets of a unit's name."""
    names, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            names.append("")
        else:
            names[-1] += letter
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def _names(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    found = None if value is None else split(value)
    if found == ():
        raise click.BadParameter("names nothing")
    return found


def _settings(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> dict[str, tuple[Any, ...]]:
    found: dict[str, tuple[Any, ...]] = {}
    for text in value:
        name, equals, values = text.partition("=")
        words = [word.strip() for word in values.split(",") if word.strip()]
        if not equals or not name.strip().isidentifier() or not words:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE,...")
        found[name.strip()] = tuple(map(_value, words))
    return found


def _value(word: str) -> Any:
    """Return a number or a truth value where the word is one."""
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(word)
    return word


@click.command(short_help="Check and time kernel variants.")
@click.argument("target", required=False)
@click.option("--list", "listing", is_flag=True, help="List the operators that ship with kprof.")
@click.option(
    "--variants",
    callback=_names,
    envvar=VARIANTS,
    show_envvar=True,
    metavar="NAME,...",
    help="Only these variants.",
)
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="SHAPE",
    help="Time this shape, 1x64x128x128 or 1x12x128x128,kernel=5; repeatable.",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    callback=_settings,
    metavar="NAME=VALUE,...",
    help="Try these values of a parameter; repeatable.",
)
@click.option(
    "--baseline", metavar="NAME", help="Compare with this variant.  [default: the first one]"
)
@click.option(
    "--warmup",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="Calls before the timed ones.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="Timed runs of each variant and shape.",
)
@click.option("--warm-l2", is_flag=True, help="Do not flush the L2 cache before each run.")
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    callback=finite,
    metavar="ERROR",
    help="Relative and absolute error that counts as right.  [default: 1e-4 for float32]",
)
@click.option(
    "--seed",
    type=click.IntRange(0, _SEEDS - 1),
    metavar="N",
    help="Of the inputs; random by default.",
)
@click.option("--check-only", is_flag=True, help="Check the results, time nothing.")
@click.option(
    "--profile",
    "profiled",
    is_flag=True,
    help="Run every variant under Nsight Compute as well, and say what limits it.",
)
@click.option("--ncu", metavar="PATH", help="The ncu to use with --profile.")
@click.option(
    "--timeout",
    "step_s",
    type=click.FloatRange(min=0, min_open=True),
    default=120.0,
    show_default=True,
    callback=finite,
    metavar="SECONDS",
    help="Leave out a variant when one step of it takes longer.",
)
@click.option(
    "--device",
    type=click.Choice(["cuda", "cpu"]),
    default="cuda",
    show_default=True,
    help="Where to run; on a CPU, variants that need a GPU fail.",
)
@click.option("--python", metavar="PY", help="Interpreter that has torch.")
@options.apply(
    options.output,
    options.formats_of(FORMATS),
    options.force,
    options.open_page,
    options.quiet,
    options.verbose,
    options.no_color,
)
@click.pass_context
def bench(ctx: click.Context, /, target: str | None, *, listing: bool, **given: Any) -> None:
    """Check the variants of an operator against a reference, time them, say which is faster.

    TARGET is a bench file, my_file.py, or the name of an operator that ships with kprof. Exit
    status 1 means that a variant's result is wrong; it has no timing then.

    \b
      kprof bench vector-add
      kprof bench depthwise-conv --variants naive,tiled --shape 1x64x128x128
      kprof bench my_file.py --profile -o result.html
    """  # noqa: D301 - click keeps the lines of a paragraph that starts with a backspace
    from kprof.bench import definitions

    if listing:
        click.echo("".join(f"{name}\n" for name in definitions.names()), nl=False)
        return
    if target is None:
        raise click.UsageError("Missing argument 'TARGET'; --list shows the operators there are.")
    ctx.exit(_run(target, given))


def _run(target: str, given: dict[str, Any]) -> int:
    from kprof.bench import assemble, definitions, engine

    to = delivery.destination(
        given["formats"], given["output"], force=given["force"], known=FORMATS
    )
    quiet = given["quiet"]
    say = _silent if quiet else _say
    request = _request(definitions.resolve(target), given, say)
    profiler = _profiler(request, given) if given["profiled"] else None
    found = engine.run(request, say)
    why = _explained(profiler, request, found, say)
    result = assemble.bench(target, request, found, why.told, why.notes)
    _deliver(result, to, given)
    status = _status(result)
    signum = found.signum or why.signum
    if signum is None:
        return status
    click.echo("Interrupted", err=True)
    return SIGNALLED + signum


def _explained(
    profiler: Profiler | None, request: Request, found: Found, say: Callable[[str], None]
) -> Explained:
    from kprof.bench import profiling

    if profiler is None or found.signum is not None:
        return profiling.Explained()
    say("profiling with ncu")
    return profiling.explain(profiler, request, found)


def _profiler(request: Request, given: dict[str, Any]) -> Profiler:
    """Return what to profile with, before anything has run for nothing."""
    from kprof.bench.profiling import Profiler
    from kprof.cli import preflight

    if request.device != "cuda":
        raise click.UsageError("--profile needs a GPU: drop --device cpu")
    ready = preflight.ready(given["ncu"], python=request.python, quiet=given["quiet"])
    return Profiler(str(ready.ncu.path), ready.ncu.version, ready.capability)


def _request(file: Any, given: dict[str, Any], say: Callable[[str], None]) -> Request:
    from kprof.bench.engine import Request
    from kprof.collect.target import choose_python

    python, why = choose_python(given["python"], os.environ)
    say(f"python: {python} ({why})")
    return Request(
        file=file,
        python=python,
        device=given["device"],
        shapes=given["shapes"] or None,
        variants=given["variants"],
        overrides=given["overrides"],
        baseline=given["baseline"],
        warmup=given["warmup"],
        runs=given["runs"],
        cold=not given["warm_l2"],
        seed=secrets.randbelow(_SEEDS) if given["seed"] is None else given["seed"],
        tolerance=given["tolerance"],
        step_s=given["step_s"],
        timed=not given["check_only"],
    )


def _deliver(result: Bench, to: delivery.Destination, given: dict[str, Any]) -> None:
    def content(kind: str) -> str:
        return _rendered(kind, result, given, whole=to.path is not None)

    written = delivery.bring(content, to, "bench", quiet=given["quiet"])
    if to.path is not None and not given["quiet"]:
        click.echo(_text(result, given, whole=False), nl=False)
    if given["open_page"]:
        delivery.open_in_browser(_page(written, content), quiet=given["quiet"])


def _page(written: list[Path], content: Callable[[str], str]) -> Path:
    pages = [path for path in written if output.format_of(path) == "html"]
    if pages:
        return pages[0]
    page = Path(tempfile.mkdtemp(prefix="kprof-")) / "bench.html"
    output.write(page, content("html"))
    return page


def _rendered(kind: str, result: Bench, given: dict[str, Any], *, whole: bool) -> str:
    if kind == "json":
        from kprof.bench_export import to_json

        return to_json(result)
    if kind == "csv":
        from kprof.bench_export import to_csv

        return to_csv(result)
    if kind == "html":
        from kprof.bench_html import render

        return render(result)
    return _text(result, given, whole=whole)


def _text(result: Bench, given: dict[str, Any], *, whole: bool) -> str:
    from kprof.bench_text import summary

    color = not whole and options.colored(no_color=given["no_color"])
    width = options.terminal_width()
    return summary(result, width=width, color=color, verbose=given["verbose"])


def _status(result: Bench) -> int:
    for name in result.wrong:
        click.echo(f"Error: {name} gives a wrong result", err=True)
    for name in result.broken:
        click.echo(f"Error: {name} could not be run", err=True)
    untimed = [shape for shape in result.shapes if shape.problem is not None]
    for shape in untimed:
        click.echo(f"Error: {shape.shape} could not be timed: {shape.problem}", err=True)
    if result.wrong:
        return WRONG
    return BROKEN if result.broken or untimed else 0


def _say(line: str) -> None:
    click.echo(line, err=True)


def _silent(line: str) -> None:
    """Say nothing."""
