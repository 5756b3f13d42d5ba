"""A diagnosis as one self-contained HTML page: no fetch, readable without JavaScript."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import PurePath
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from kprof import finding_text, page, source_page, templating, units, words
from kprof.collection_text import REPLAYS, timed_first
from kprof.curve_sketch import curve_sketches
from kprof.figures import plotly_script, roofline_figure, timed
from kprof.model import KernelReport, Report, Roofline
from kprof.names import printable, short
from kprof.own_code import named, own
from kprof.plane import LEVELS, Plane, planes
from kprof.ranking import gpu_time
from kprof.sketch import sketch
from kprof.survey_text import Rest, cut_off, durations, launched, left_out, program, rests
from kprof.unplaced import Unplaced, without_arithmetic, without_traffic
from kprof.version import __version__

_PAGE = "report.html.j2"
OPEN_KERNELS = 3  # sections unfolded when the page opens
TABLE_ROWS = 15  # of the ranked table before "Show all"; without JavaScript all are shown
REST_ROWS = 300  # of the kernels that were only timed; the JSON has all
SOURCE_ROWS = 24  # rows of a per-instruction table; the JSON has all
FULL_NAME = 300  # characters of a name that has no section to stand in
LISTED = 200  # kernels named under a roofline; the table has all


def render(report: Report) -> str:
    """Render a diagnosis as HTML.

    The page is complete in itself and the same bytes for the same report.
    """
    shown, rest = page.entries(report), page.unprofiled(report)
    rooflines = planes(report, shown)
    total = gpu_time(report.kernels)
    template = _environment().get_template(_PAGE)
    return template.render(
        report=report,
        title=PurePath(report.source.path.replace("\\", "/")).name or report.source.path,
        version=__version__,
        entries=shown,
        rest=rest,
        rests=rests(entry.group for entry in rest),
        rest_kernels=Rest(None, tuple(entry.group for entry in rest)).kernels,
        rest_rows=REST_ROWS,
        survey=report.collection.survey,
        program=program(report),
        cut_off=cut_off(report),
        replays=REPLAYS,
        total_s=total,
        untimed=sum(kernel.duration_s is None for kernel in report.kernels),
        bounds=page.by_bound(report),
        starters=page.starters(shown, total),
        least=page.LEAST,
        tally=page.tally(report),
        names={kernel.index: called(kernel, 48) for kernel in report.kernels},
        rooflines=[(plane, sketch(plane)) for plane in rooflines],
        levels=LEVELS,
        homeless=_homeless(shown, rooflines),
        data=_data(rooflines),
        sources=source_page.packed(report, [entry.kernel for entry in shown if entry.detailed]),
        texts=source_page.texts(report),
        column_titles=source_page.COLUMNS,
        line_info=source_page.LINE_INFO,
        plotly=plotly_script() if rooflines else None,
        open_kernels=OPEN_KERNELS,
        table_rows=TABLE_ROWS,
        source_rows=SOURCE_ROWS,
        listed=LISTED,
    )


def prepare() -> None:
    """Do ahead of time what is the same for every page: compile the templates, pack the script."""
    environment = _environment()
    for name in environment.list_templates():
        if name == _PAGE or name.startswith("partials/"):
            environment.get_template(name)
    plotly_script()


def _homeless(shown: tuple[page.Entry, ...], rooflines: tuple[Plane, ...]) -> list[Unplaced]:
    """Entries of GPUs that have no chart at all."""
    drawn = {plane.device for plane in rooflines}
    rest = [entry for entry in shown if entry.kernel.device not in drawn]
    # They have no place at any level, so the first one speaks for all.
    return [*without_arithmetic(rest), *without_traffic(rest, LEVELS[0])]


def _data(rooflines: tuple[Plane, ...]) -> dict[str, Any]:
    return {"rooflines": {str(plane.device): roofline_figure(plane) for plane in rooflines}}


@cache
def _environment() -> Environment:
    environment = templating.environment()
    for number in (
        whole_bytes,
        units.si,
        units.percent,
        units.share,
        units.count,
        units.ratio,
        units.quantity,
    ):
        environment.filters[number.__name__] = _marking_unknown(number)
    for text in (
        words.bound_label,
        words.limit,
        words.roof_label,
        words.traffic_label,
        words.unit_label,
        words.spoken,
        words.stall_meaning,
        words.verdict,
        words.standstill,
        words.unexplained,
        words.occupancy_limit,
        words.standing,
        words.at_the_limit,
        timed,
        timed_first,
        durations,
        launched,
        left_out,
        named,
        own,
        finding_text.threshold,
        finding_text.whole,
        source_page.has_view,
        source_page.columns,
        source_page.top_rows,
        source_page.line_of,
        source_page.cost,
        source_page.amount,
        source_page.unplaced_share,
        curve_sketches,
        page.doubts,
        page.remarks,
        units.speedup,
        clip,
        called,
        configured,
        place,
        fold,
        rate,
        measured,
        ceiling,
        biggest,
    ):
        environment.filters[text.__name__] = text
    return environment


def _marking_unknown(number: Callable[..., str]) -> Callable[..., str]:
    def marked(*args: Any, **kwargs: Any) -> str:
        text = number(*args, **kwargs)
        return Markup('<span class="unknown">unknown</span>') if text == units.UNKNOWN else text

    return marked


def clip(text: str, length: int = 90) -> str:
    """Shorten a name in the middle: its start says what it is, its end which one."""
    if len(text) <= length:
        return text
    head = length * 2 // 3
    return f"{text[:head]}…{text[head + 1 - length :]}"


def called(kernel: KernelReport, width: int = 70) -> str:
    """Return a kernel's short name, its most telling part kept."""
    return short(kernel.demangled or kernel.name, width)


def configured(kernel: KernelReport) -> str:
    """Return what tells a kernel from those of the same short name: its full name and shape."""
    launch = kernel.launch
    shape = (("grid", launch.grid), ("block", launch.block)) if launch else ()
    told = (f"{name} {' × '.join(map(str, size))}" for name, size in shape if size)
    return ", ".join([clip(printable(kernel.demangled or kernel.name), FULL_NAME), *told])


def place(file: str | None, line: int | None) -> str:
    """Name a source line by file name alone; the full path is the caller's to show."""
    if not file:
        return "no line information"
    name = PurePath(file.replace("\\", "/")).name
    return name if line is None else f"{name}:{line}"


def fold(wavefronts: float, ideal: float) -> str:
    """Say how many times more wavefronts an access needed than ideal: ``32-way``."""
    if not ideal:
        return units.UNKNOWN
    return f"{units.ratio(wavefronts / ideal).removesuffix('.00').removesuffix('.0')}-way"


def whole_bytes(value: int | None) -> str:
    """Write a size a programmer chose to the byte: ``49,152 B``."""
    return units.UNKNOWN if value is None else f"{value:,} B"


def measured(roofline: Roofline | None) -> bool:
    """Tell whether any traffic or arithmetic of a kernel is known."""
    if roofline is None:
        return False
    flops, moved = roofline.flops, roofline.bytes
    parts = (flops.fp64, flops.fp32, flops.fp16, moved.dram, moved.l2, moved.l1)
    return bool(flops.tensor) or any(part is not None for part in parts)


def rate(kernel: KernelReport, level: str) -> float | None:
    """Return a memory level's traffic in byte/s over the kernel's duration."""
    moved = getattr(kernel.roofline.bytes, level) if kernel.roofline else None
    return moved / kernel.duration_s if moved is not None and kernel.duration_s else None


def ceiling(report: Report, kernel: KernelReport, name: str) -> float | None:
    """Return a roof at the kernel's own clocks, else at the device's."""
    own = kernel.roofline.ceilings.get(name) if kernel.roofline else None
    if own is not None or kernel.device >= len(report.devices):
        return own
    return report.devices[kernel.device].ceilings.get(name)


def biggest(parts: Mapping[str, float]) -> list[tuple[str, float]]:
    """List named numbers, largest first, equals by name."""
    return sorted(parts.items(), key=lambda item: (-item[1], item[0]))
