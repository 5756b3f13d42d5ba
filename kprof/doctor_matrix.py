"""The version table with this machine in it, for ``kprof doctor --matrix`` and the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kprof.audit.matrix_rows import (
    BranchRow,
    BuildRow,
    CudaRow,
    GpuRow,
    Machine,
    Runs,
    Standing,
)
from kprof.names import one_line
from kprof.terminal import NARROWEST, drawn
from kprof.units import UNKNOWN

BUILDS = 8  # of PyTorch that fit, without -v
BRANCHES = 8  # the newest ones, without -v
HERE = "●"

_RUNS: dict[Runs, str] = {
    "native": "yes",
    "minor-version compatibility": "compat",
    "no": "no",
    "unknown": UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Attributes:
        cells: one per column, printable.
        here: whether it is about what is on this machine.
    """

    cells: tuple[str, ...]
    here: bool


@dataclass(frozen=True, slots=True)
class Section:
    """One of the tables.

    Attributes:
        title: what it answers.
        heads: the columns.
        rows: what is shown.
        note: what has to be known to read it, "" for nothing.
        left: how many rows are left out.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""
    left: int = 0


def sections(standing: Standing, *, every: bool = False) -> tuple[Section, ...]:
    """Return the tables: those that answer for this machine, or every row.

    Args:
        standing: the version table with the machine in it.
        every: leave nothing out.
    """
    return (_cudas(standing), _gpus(standing, every), _builds(standing, every),
            _branches(standing, every))  # fmt: skip


def machine_line(machine: Machine) -> str:
    """Say in one line what of the machine the table is read for."""
    gpus = ", ".join(str(gpu) for gpu in machine.gpus)
    cuda = f" (CUDA {machine.cuda})" if machine.cuda else ""
    parts = (
        f"driver {machine.driver or UNKNOWN}{cuda}",
        f"GPU {gpus or UNKNOWN}",
        f"{machine.system} {machine.arch or 'of unknown architecture'}",
        f"torch {machine.torch or UNKNOWN}",
        f"nvcc {machine.nvcc or UNKNOWN}",
        f"ncu {machine.ncu or UNKNOWN}",
    )
    return one_line("; ".join(parts))


def matrix_text(
    standing: Standing, *, width: int = 80, color: bool = False, verbose: int = 0
) -> str:
    """Return the version table as text that ends in a newline.

    Args:
        standing: the version table with the machine in it.
        width: columns to fill, at least 40.
        color: whether to write terminal escapes.
        verbose: 0 for what matters to this machine, 1 for every row.
    """
    parts = _parts(standing, every=verbose > 0)
    return drawn(parts, width=max(width, NARROWEST), color=color)


def _parts(standing: Standing, *, every: bool) -> Iterator[RenderableType]:
    yield Text(f"Versions that work together, as of {standing.date}", style="bold")
    yield Text(f"{machine_line(standing.machine)}. {HERE} marks what is here.", style="dim")
    for section in sections(standing, every=every):
        yield Text("")
        yield Text(section.title, style="bold")
        yield _table(section)
        if section.left:
            yield Text(f"and {section.left} more (-v lists all)", style="dim")
        if section.note:
            yield Text(section.note, style="dim")


def _table(section: Section) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("", width=1)
    for head in section.heads:
        table.add_column(head, overflow="fold")
    for row in section.rows:
        style = "bold" if row.here else ""
        table.add_row(HERE if row.here else "", *map(Text, row.cells), style=style)
    return table


def _cudas(standing: Standing) -> Section:
    return Section(
        "What this driver runs, and what comes with each CUDA",
        ("CUDA", "needs driver", "runs", "PTX", "nvcc for GPU", "GCC up to", "ncu", "here"),
        tuple(map(_cuda, standing.cudas)),
        "compat: by minor-version compatibility, which new PTX is not part of. nvcc for GPU: "
        "whether this CUDA's nvcc compiles for the GPU here.",
    )


def _cuda(row: CudaRow) -> Row:
    cells = (row.cuda, row.needs, _RUNS[row.runs], row.ptx, row.compiles, row.gcc, row.ncu)
    return Row((*_told(cells), one_line(", ".join(row.here))), bool(row.here))


def _gpus(standing: Standing, every: bool) -> Section:
    rows = [row for row in standing.gpus if row.here or every]
    return Section(
        "What this GPU needs" if any(row.here for row in rows) else "What each GPU needs",
        ("GPU", "cc", "CUDA", "driver", "modules", "ncu", "ncu here"),
        tuple(map(_gpu, rows or standing.gpus)),
        "ncu by 2026.1: the list of 2026.1 has it; when it came is not written down.",
        left=len(standing.gpus) - len(rows) if rows else 0,
    )


def _gpu(row: GpuRow) -> Row:
    names = ", ".join(row.here) or row.name
    cells = (
        names,
        row.capability,
        _span(row.first_cuda, row.last_cuda),
        _span(row.first_branch, row.last_branch),
        row.modules,
        _ncu(row),
        row.ncu_here,
    )
    return Row(_told(cells), bool(row.here))


def _ncu(row: GpuRow) -> str | None:
    if row.ncu_never:
        return "none"
    if row.ncu_first is None and row.ncu_dropped is None and row.ncu_listed:
        return f"by {row.ncu_listed}"  # an earlier one may do, too
    return _span(row.ncu_first, row.ncu_dropped, "before")


def _builds(standing: Standing, every: bool) -> Section:
    fitting = [row for row in standing.builds if row.fits == "yes"][:BUILDS]
    chosen = [row for row in standing.builds if every or row.here or row in fitting]
    rows = chosen or list(standing.builds[:BUILDS])
    return Section(
        "Which builds of PyTorch fit, newest first",
        ("torch", "build", "fits", "why"),
        tuple(map(_build, rows)),
        "pip install torch==VERSION --index-url https://download.pytorch.org/whl/BUILD",
        left=len(standing.builds) - len(rows),
    )


def _build(row: BuildRow) -> Row:
    variant = f"{row.variant} (PyPI)" if row.pypi else row.variant
    return Row(_told((row.torch, variant, row.fits, row.reason or " ")), row.here)


def _branches(standing: Standing, every: bool) -> Section:
    newest = standing.branches[-BRANCHES:]
    rows = [row for row in standing.branches if every or row.here or row in newest]
    return Section(
        "Driver branches",
        ("branch", "CUDA", "kind", "support ends", "drives the GPU here"),
        tuple(map(_branch, rows)),
        left=len(standing.branches) - len(rows),
    )


def _branch(row: BranchRow) -> Row:
    cells = (f"R{row.branch}", row.cuda, row.kind, row.end, row.drives)
    return Row(_told(cells), row.here)


def _told(cells: Iterable[object]) -> tuple[str, ...]:
    return tuple(UNKNOWN if cell is None else one_line(str(cell)) for cell in cells)


def _span(first: object, last: object, before: str = "to") -> str | None:
    """Return from when to when: ``11.8 to 12.9``; None where neither is known."""
    if last is None:
        return None if first is None else f"{first} on"
    return f"{before} {last}" if first is None else f"{first} {before} {last}"
