"""An audited environment in the terminal: the cause and its fix first, then what else there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kprof.audit.facts import Facts
from kprof.audit.moment import shown
from kprof.audit.verdict import Status
from kprof.doctor_result import ORDER, CheckResult, DoctorReport, Fix
from kprof.doctor_words import STATUS, WHO, failures, headline, machine, rest
from kprof.names import one_line
from kprof.terminal import NARROWEST, drawn
from kprof.units import UNKNOWN

FAULTS = 5  # named without -v
WIDE = 72  # columns from which on a check's name and message stand side by side

_STYLES: dict[Status, str] = {
    "error": "bold red",
    "warning": "yellow",
    "unknown": "dim",
    "ok": "green",
    "skipped": "dim",
}


def summary(report: DoctorReport, *, width: int = 80, color: bool = False, verbose: int = 0) -> str:
    """Return what a person needs to know of an audit, as text that ends in a newline.

    Args:
        report: what was found.
        width: columns to fill, at least 40.
        color: whether to write terminal escapes.
        verbose: 0 for the problems, one line each, and the fix of every error that follows from
            no other; 1 for every check with its evidence, fix and source.
    """
    width = max(width, NARROWEST)
    return drawn(_parts(report, width, verbose), width=width, color=color)


def _parts(report: DoctorReport, width: int, verbose: int) -> Iterator[RenderableType]:
    yield Text.assemble(("kprof doctor: ", "bold"), (headline(report), "bold"))
    known = [f"{name} {value}" for name, value in machine(Facts(report.facts)) if value != UNKNOWN]
    known += [f"seen {shown(report.taken)}"] if known and report.taken else []
    # Indented, as all that quotes a snapshot: a line that begins at the margin is kprof's own.
    yield _indented(Text("; ".join(known) or "nothing is known of the machine", style="dim"))
    yield from _faults(report, verbose)
    for item in report.roots:
        yield Text("")
        yield from _root(item, verbose, primary=item is report.cause)
    others = [item for status in ORDER[:2] for item in report.of(status) if not item.root]
    if others:
        yield Text("")
        yield from _listed(others, width, verbose)
    if verbose:
        yield Text("")
        yield from _listed([item for s in ORDER[2:] for item in report.of(s)], width, 0)
    yield Text("")
    yield from _closing(report, verbose)


def _faults(report: DoctorReport, verbose: int) -> Iterator[RenderableType]:
    shown = report.faults if verbose else report.faults[:FAULTS]
    lines = [f"! in the snapshot, {fault}: not used" for fault in shown]
    if len(shown) < len(report.faults):
        lines.append(f"! and {len(report.faults) - len(shown)} more (-v)")
    lines += [f"! {failure}" for failure in failures(Facts(report.facts))] if verbose else []
    yield from (_indented(Text(line, style="yellow")) for line in lines)


def _root(item: CheckResult, verbose: int, *, primary: bool) -> Iterator[RenderableType]:
    said = "the primary cause" if primary else "a cause of its own"
    yield Text.assemble(("ERROR", _STYLES["error"]), (f" {item.check}", "bold"), f"  {said}")
    yield _indented(Text(item.message))
    if item.remedy:
        # A second cause is told in brief: the other ways to fix it are for -v.
        whole = primary or verbose
        yield from _fix(item.remedy if whole else replace(item.remedy, alternatives=()))
    yield from _proof(item, verbose)


def _fix(fix: Fix, label: str = "fix") -> Iterator[RenderableType]:
    yield _labelled(label, one_line(fix.text))
    yield _labelled("who", WHO[fix.who])
    yield from _commands(fix)
    for other in fix.alternatives:
        yield from _fix(other, "or")


def _commands(fix: Fix) -> Iterator[RenderableType]:
    # Never wrapped, however narrow the terminal: a command is there to be copied.
    for command in fix.commands:
        text = command.replace("\n", "\n        ")
        whole = Text(f"      $ {text}", style="bold", no_wrap=True, overflow="ignore")
        yield Group(whole)  # a bare text would lose what was said about wrapping


def _proof(item: CheckResult, verbose: int) -> Iterator[RenderableType]:
    if not verbose:
        return
    yield from (_labelled("saw", line) for line in item.evidence)
    if item.source:
        yield _labelled("rule", item.source)


def _listed(items: Sequence[CheckResult], width: int, verbose: int) -> Iterator[RenderableType]:
    if not verbose:
        yield _table(items, width)
        return
    for place, item in enumerate(items):
        if place:
            yield Text("")
        yield _table([item], width)
        if item.remedy:
            yield from _fix(item.remedy)
        yield from _proof(item, verbose)


def _table(items: Sequence[CheckResult], width: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    if width >= WIDE:
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for item in items:
        status = Text(STATUS[item.status].upper(), style=_STYLES[item.status])
        message = Text(item.message)
        if item.follows:
            message.append(" (follows from the primary cause)", style="dim")
        if width >= WIDE:
            table.add_row(status, Text(item.check, style="bold"), message)
        else:
            table.add_row(status, Text.assemble((item.check, "bold"), ": ", message))
    return table


def _closing(report: DoctorReport, verbose: int) -> Iterator[Text]:
    more = "" if verbose else " (-v lists them, with evidence and every fix)"
    yield Text(f"{rest(report)}{more}", style="dim")


def _labelled(label: str, value: str) -> Padding:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=4, style="dim")
    grid.add_column(overflow="fold")
    grid.add_row(label, Text(value))
    return _indented(grid)


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, 2))
