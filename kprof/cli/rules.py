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
@options.apply(options.no_color)
def rules(rule: str | None, rules_dir: str | None, verbose: int, no_color: bool) -> None:
    """List the diagnosis rules, or print the documentation of RULE."""
    known = registry(Path(rules_dir) if rules_dir else None)
    if rule is None:
        click.echo(_listing(known), nl=False)
        return
    document = _document(select(known, [rule.replace("_", "-")])[0], verbose)
    if options.colored(no_color=no_color):
        document = _styled(document)
    click.echo(document, nl=False)


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
