"""``kprof rules``: the catalogue, and one rule's documentation."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import click

from kprof.cli import options
from kprof.quantity import Quantity
from kprof.rule import Rule, registry, select

METRICS = 4  # of a quantity, shown without -v


@click.command(short_help="List the diagnosis rules, or explain one.")
@click.argument("rule", required=False)
@options.apply(options.rules_dir)
@click.option("-v", "--verbose", count=True, help="Every metric a rule can be evaluated from.")
@click.option(
    "--calibration", is_flag=True, help="Estimated against measured speed-ups of the samples."
)
@click.option("--json", "as_json", is_flag=True, help="With --calibration: as JSON.")
@click.option(
    "--recordings",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="With --calibration: from your own recordings, named <sample>.ncu-rep.",
)
@options.apply(options.no_color)
def rules(
    *,
    rule: str | None,
    rules_dir: str | None,
    verbose: int,
    calibration: bool,
    as_json: bool,
    recordings: Path | None,
    no_color: bool,
) -> None:
    """List the diagnosis rules, or print the documentation of RULE."""
    if calibration:
        click.echo(_calibration(rule, recordings, as_json=as_json), nl=False)
        return
    if as_json or recordings is not None:
        raise click.UsageError("--json and --recordings belong to --calibration")
    known = registry(Path(rules_dir) if rules_dir else None)
    if rule is None:
        click.echo(_listing(known), nl=False)
        return
    document = _document(select(known, [rule.replace("_", "-")])[0], verbose)
    if options.colored(no_color=no_color):
        document = _styled(document)
    click.echo(document, nl=False)


def _calibration(rule: str | None, folder: Path | None, *, as_json: bool) -> str:
    from kprof import calibration

    compared = calibration.stored() if folder is None else calibration.measure(folder)
    if rule is not None:
        name = select(registry(), [rule.replace("_", "-")])[0].name
        compared = tuple(pair for pair in compared if pair.rule == name)
    if as_json:
        return calibration.to_json(compared)
    if not compared:
        return f"No pair of samples is planted for {rule}.\n"
    return f"{_columns(tuple(calibration.table(compared)))}\n{calibration.summary(compared)}\n"


def _columns(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _listing(rules: Sequence[Rule]) -> str:
    width = max((len(rule.name) for rule in rules), default=0)
    return "".join(f"{rule.name:<{width}}  {rule.summary}\n" for rule in rules)


def _document(rule: Rule, verbose: int) -> str:
    lines = [f"# {rule.name}", "", rule.doc.rstrip(), "", "## What it needs", ""]
    lines.extend(_need(quantity, verbose) for quantity in rule.requires)
    if not rule.requires:
        lines.append("Nothing: it is evaluated for every kernel.")
    return "\n".join(lines) + "\n"


def _need(quantity: Quantity, verbose: int) -> str:
    unit = f" ({quantity.unit})" if quantity.unit else ""
    item = f"- `{quantity.name}`{unit}: {quantity.meaning}. From {_metrics(quantity, verbose)}"
    # A metric's name stays in one piece, to be copied.
    return textwrap.fill(
        item,
        options.terminal_width(),
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _metrics(quantity: Quantity, verbose: int) -> str:
    """Name the metrics of a quantity, alternatives joined by ``or``; the first few, or all."""
    names = [
        f"{'with' if place else 'or'} {metric}"
        for way in quantity.ways
        for place, metric in enumerate(way.metrics)
    ]
    shown = names if verbose else names[:METRICS]
    left = len(names) - len(shown)
    more = f" ... and {left} more (-v, or docs/metrics.md)" if left else ""
    return " ".join(shown).removeprefix("or ") + more


def _styled(document: str) -> str:
    import io

    from rich.console import Console
    from rich.markdown import Markdown

    out = io.StringIO()
    console = Console(
        file=out, width=options.terminal_width(), force_terminal=True, legacy_windows=False
    )
    console.print(Markdown(document))
    return out.getvalue()
