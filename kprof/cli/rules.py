"""``kprof rules``: the catalogue, and one rule's documentation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from kprof.cli import options
from kprof.rule import Rule, registry, select


@click.command(short_help="List the diagnosis rules, or explain one.")
@click.argument("rule", required=False)
@options.apply(options.rules_dir, options.no_color)
def rules(rule: str | None, rules_dir: str | None, no_color: bool) -> None:
    """List the diagnosis rules, or print the documentation of RULE."""
    known = registry(Path(rules_dir) if rules_dir else None)
    if rule is None:
        click.echo(_listing(known), nl=False)
        return
    document = _document(select(known, [rule.replace("_", "-")])[0])
    if options.colored(no_color=no_color):
        document = _styled(document)
    click.echo(document, nl=False)


def _listing(rules: Sequence[Rule]) -> str:
    width = max((len(rule.name) for rule in rules), default=0)
    return "".join(f"{rule.name:<{width}}  {rule.summary}\n" for rule in rules)


def _document(rule: Rule) -> str:
    lines = [f"# {rule.name}", "", rule.doc.rstrip(), "", "## What it needs", ""]
    for quantity in rule.requires:
        ways = " or ".join(" with ".join(way.metrics) for way in quantity.ways)
        unit = f" ({quantity.unit})" if quantity.unit else ""
        lines.append(f"- `{quantity.name}`{unit}: {quantity.meaning}. From {ways}")
    if not rule.requires:
        lines.append("Nothing: it is evaluated for every kernel.")
    return "\n".join(lines) + "\n"


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
