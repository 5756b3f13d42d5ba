"""The data of the page's source views: everything once, compressed, for the page's script.

Texts of files, the code of a function and chains of inlined calls repeat from kernel to kernel
and are kept once each; a kernel has its numbers as columns beside them.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kprof import units
from kprof.model import Heat, KernelReport, Report, SassLine, SourceLine, SourceView, Spot
from kprof.words import spoken, stall_meaning

# In the order in which they stand; what each means is in docs/source.md.
COLUMNS: dict[str, tuple[str, str]] = {
    "samples": ("Samples", "warp samples taken there, of any state"),
    "stalled": ("Stalls", "samples of warps that waited"),
    "excess_wavefronts": ("Exc. wavefr.", "shared-memory wavefronts beyond the ideal"),
    "excess_sectors": ("Exc. sectors", "global 32-byte sectors beyond the ideal"),
    "executed": ("Executed", "executions per warp"),
    "active_threads": ("Threads", "active threads of 32, mean"),
    "local_sectors": ("Local sect.", "32-byte sectors of local memory"),
    "divergent_branches": ("Diverged", "branches at which threads of a warp parted"),
}
# How to get line information, by what builds the code. It changes no instruction. From: CUDA
# compiler driver and NVRTC manuals, Triton's README, torch.utils.cpp_extension, CuTe DSL's guide.
LINE_INFO = (
    ("nvcc", "`-lineinfo` (not `-G`, which turns optimisation off)"),
    ("NVRTC", "`-lineinfo` among the options of `nvrtcCompileProgram`"),
    ("Triton, torch.compile", "built in; unset `TRITON_DISABLE_LINE_INFO` if it is set"),
    ("torch extensions", '`extra_cuda_cflags=["-lineinfo"]` for `load` and `load_inline`; '
     '`extra_compile_args={"nvcc": ["-lineinfo"]}` for `CUDAExtension`'),
    ("CuTe DSL", "`CUTE_DSL_LINEINFO=1` in the environment"),
)  # fmt: skip
TOP_ROWS = 12  # for readers without JavaScript and for paper
_TOLD_STALLS = 4  # reasons of one line or instruction


def column(heat: Heat, name: str) -> float | None:
    """Return the value of one of :data:`COLUMNS`, None where it was not measured."""
    if name == "stalled":
        return sum(heat.stalls.values()) if heat.stalls else None
    value: float | None = getattr(heat, name)
    return value


def columns(view: SourceView) -> tuple[str, ...]:
    """Return the columns in which a kernel has anything: a total of 0 says it in words."""
    return tuple(name for name in COLUMNS if column(view.total, name))


def nothing(view: SourceView) -> tuple[str, ...]:
    """Return the columns that were measured and are 0 all over."""
    return tuple(name for name in COLUMNS if column(view.total, name) == 0)


@dataclass(slots=True)
class _Once:
    """Values by number, each once."""

    values: list[Any] = field(default_factory=list)
    numbers: dict[Hashable, int] = field(default_factory=dict)

    def number(self, key: Hashable, make: Callable[[], Any]) -> int:
        if key not in self.numbers:
            self.numbers[key] = len(self.values)
            self.values.append(make())
        return self.numbers[key]


class _Pack:
    def __init__(self, texts: Mapping[str, tuple[str, str]]) -> None:
        self._texts = texts
        self.files, self.chains, self.codes, self.reasons = _Once(), _Once(), _Once(), _Once()

    def file(self, name: str | None) -> int:
        return -1 if name is None else self.files.number(name, lambda: self._entry(name))

    def _entry(self, name: str) -> dict[str, str | None]:
        origin, text = self._texts.get(name, (None, None))
        return {"name": name, "origin": origin, "text": text}

    def _chain(self, spots: tuple[Spot, ...]) -> int:
        if not spots:
            return -1
        return self.chains.number(spots, lambda: [[self.file(s.file), s.line] for s in spots])

    def kernel(self, view: SourceView) -> dict[str, Any]:
        shown = columns(view)
        lines, code = view.lines, view.instructions
        files = [self.file(line.file) for line in lines]
        return {
            "code": self._code(view),
            "file": files,
            "line": [line.line for line in lines],
            "total": {name: _short(column(view.total, name)) for name in shown},
            "nothing": [COLUMNS[name][1] for name in nothing(view)],
            "lines": self._heats([line.heat for line in lines], shown),
            "sass": self._heats([item.heat for item in code], shown),
            "complete": view.complete,
            "left_out": [view.lines_total - len(lines), view.instructions_total - len(code)],
        }

    def _code(self, view: SourceView) -> int:
        rows = view.instructions
        key = tuple((row.pc, row.function, row.sass, row.file, row.line, row.chain) for row in rows)
        return self.codes.number(
            key,
            lambda: {
                "pc": [row.pc for row in rows],
                "function": [row.function for row in rows],
                "text": "\n".join(row.sass for row in rows),
                "file": [self.file(row.file) for row in rows],
                "line": [row.line or 0 for row in rows],
                "chain": [self._chain(row.chain) for row in rows],
            },
        )

    def _heats(self, heats: Sequence[Heat], shown: Iterable[str]) -> dict[str, Any]:
        found: dict[str, Any] = {
            name: [_short(column(heat, name)) for heat in heats] for name in shown
        }
        return found | {"reasons": [self._stalls(heat) for heat in heats]}

    def _stalls(self, heat: Heat) -> list[float]:
        """Return the largest reasons: number, amount, number, amount, ..."""
        told = list(heat.stalls.items())[:_TOLD_STALLS]
        return [part for name, amount in told for part in (self._reason(name), _whole(amount))]

    def _reason(self, name: str) -> int:
        return self.reasons.number(name, lambda: [spoken(name), stall_meaning(name)])


def packed(report: Report, kernels: Iterable[KernelReport]) -> str | None:
    """Return the data for these kernels' views, gzip then base64; None where no kernel has any."""
    pack = _Pack({item.file: (item.origin, item.text) for item in report.files})
    views = {
        str(kernel.index): pack.kernel(kernel.source)
        for kernel in kernels
        if kernel.source is not None and has_view(kernel)
    }
    if not views:
        return None
    data = {
        "columns": COLUMNS,
        "files": pack.files.values,
        "chains": pack.chains.values,
        "codes": pack.codes.values,
        "reasons": pack.reasons.values,
        "kernels": views,
    }
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=9, mtime=0)).decode("ascii")


def has_view(kernel: KernelReport) -> bool:
    """Say whether there is any line or instruction to show."""
    return kernel.source is not None and bool(kernel.source.lines or kernel.source.instructions)


def _short(value: float | None) -> float | None:
    return None if value is None else _whole(value)


def _whole(value: float) -> float:
    """Return a number with as many digits as the page shows, whole ones without a point."""
    rounded = float(f"{value:.5g}")
    return int(rounded) if rounded.is_integer() else rounded


def texts(report: Report) -> dict[str, list[str]]:
    """Return the lines of every source file."""
    return {item.file: item.text.split("\n") for item in report.files}


def line_of(found: Mapping[str, Sequence[str]], row: SourceLine) -> str:
    """Return the text of a source line, empty where it is not known."""
    lines = found.get(row.file, ())
    return lines[row.line - 1].strip() if 0 < row.line <= len(lines) else ""


def top_rows(view: SourceView) -> Sequence[SourceLine] | Sequence[SassLine]:
    """Return the rows for a reader without scripts: lines, or instructions where there are none."""
    if view.lines:
        return view.lines[:TOP_ROWS]
    leading = next((name for name in columns(view)), "samples")
    order = sorted(view.instructions, key=lambda row: -(column(row.heat, leading) or 0.0))
    return order[:TOP_ROWS]


def cost(heat: Heat, name: str) -> str:
    """Write one number of a row, nothing where there is none."""
    value = column(heat, name)
    if value is None:
        return units.UNKNOWN if name in {"executed", "active_threads"} else ""
    return units.count(value) if float(value).is_integer() else f"{value:,.1f}"


def amount(value: float) -> str:
    """Write warps or samples."""
    return units.count(value) if float(value).is_integer() else f"{value:,.2f}"


def unplaced_share(unplaced: Heat, total: Heat) -> str:
    """Say how much of the samples, else of the executions, is at instructions without a line."""
    for name, noun in (("samples", "the samples"), ("executed", "the executed instructions")):
        whole, part = column(total, name), column(unplaced, name)
        if whole and part is not None:
            return f"{units.share(part / whole)} of {noun}"
    return "Some instructions"
