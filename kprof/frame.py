"""The table form of a report: one row per kernel, the same columns in pandas, CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kprof.errors import KprofError
from kprof.model import Finding, KernelReport, Launch, Report, Roofline, SharedMemory

if TYPE_CHECKING:
    import pandas as pd

Cell = str | int | float | None
Row = dict[str, Cell]

_WHOLE = {
    "index", "launches", "registers_per_thread", "shared_static_bytes", "shared_dynamic_bytes",
    "findings", "not_evaluated",
}  # fmt: skip
_TEXT = {
    "report", "name", "demangled", "device", "workload", "nvtx", "depth", "left_out", "bound",
    "limiter_metric", "limiter_resource", "grid", "block", "roof", "first_finding",
    "first_severity", "first_headline",
}  # fmt: skip


def rows(report: Report) -> list[Row]:
    """Return one flat row per kernel, in the report's order; None where a value is absent."""
    return [_row(report, kernel) for kernel in report.kernels]


def columns() -> tuple[str, ...]:
    """Return the column names, in order."""
    blank = KernelReport(0, "", "", 0, "kernel", "unknown")
    return tuple(_kernel_cells(blank, None, ""))


def frame(reports: Sequence[Report]) -> pd.DataFrame:
    """Return the rows of all reports as a pandas frame with one dtype per column."""
    import pandas as pd

    data = [row for report in reports for row in rows(report)]
    table = pd.DataFrame(data, columns=list(columns()))
    return table.astype({name: _dtype(name) for name in table.columns})


def csv_text(reports: Sequence[Report]) -> str:
    """Return the rows of all reports as CSV with a header line."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns(), lineterminator="\n")
    writer.writeheader()
    for report in reports:
        writer.writerows(rows(report))
    return out.getvalue()


def parquet_bytes(reports: Sequence[Report]) -> bytes:
    """Return the rows of all reports as a Parquet file.

    Raises:
        KprofError: pyarrow is not installed.
    """
    try:
        import pyarrow  # type: ignore[import-untyped,unused-ignore]  # noqa: F401
    except ImportError as error:
        raise KprofError(
            "Parquet needs pyarrow, which is not installed", hint="pip install 'kprof[parquet]'"
        ) from error
    buffer = io.BytesIO()
    frame(reports).to_parquet(buffer, engine="pyarrow", index=False)
    return buffer.getvalue()


def _dtype(column: str) -> str:
    if column in _WHOLE:
        return "Int64"
    return "string" if column in _TEXT else "float64"


def _row(report: Report, kernel: KernelReport) -> Row:
    known = kernel.device < len(report.devices)
    device = report.devices[kernel.device].name if known else None
    return _kernel_cells(kernel, device, report.source.path)


def _kernel_cells(kernel: KernelReport, device: str | None, path: str) -> Row:
    limiter, throughput = kernel.limiter, kernel.throughput
    return {
        "report": path,
        "index": kernel.index,
        "name": kernel.name,
        "demangled": kernel.demangled,
        "device": device,
        "workload": kernel.workload,
        "nvtx": "/".join(kernel.nvtx) or None,
        "duration_s": kernel.duration_s,
        "launches": kernel.launches,
        "total_s": kernel.total_s,
        "depth": kernel.depth,
        "left_out": kernel.left_out,
        "bound": kernel.bound,
        "limiter_metric": limiter.metric if limiter else None,
        "limiter_resource": limiter.resource if limiter else None,
        "limiter_pct": limiter.pct if limiter else None,
        "compute_pct": throughput.compute_pct,
        "memory_pct": throughput.memory_pct,
        "dram_pct": throughput.dram_pct,
        "l2_pct": throughput.l2_pct,
        "l1_pct": throughput.l1_pct,
        "occupancy_theoretical_pct": kernel.occupancy.theoretical_pct,
        "occupancy_achieved_pct": kernel.occupancy.achieved_pct,
        "l1_hit_pct": kernel.caches.l1_hit_pct,
        "l2_hit_pct": kernel.caches.l2_hit_pct,
        **_launch_cells(kernel.launch or Launch()),
        **_shared_cells(kernel.shared_memory or SharedMemory()),
        **_roofline_cells(kernel.roofline or Roofline()),
        **_finding_cells(kernel.findings),
        "not_evaluated": len(kernel.skipped),
    }


def _launch_cells(launch: Launch) -> Row:
    return {
        "grid": "x".join(map(str, launch.grid)) if launch.grid else None,
        "block": "x".join(map(str, launch.block)) if launch.block else None,
        "registers_per_thread": launch.registers_per_thread,
        "shared_static_bytes": launch.shared_static_bytes,
        "shared_dynamic_bytes": launch.shared_dynamic_bytes,
        "waves_per_sm": launch.waves_per_sm,
    }


def _shared_cells(shared: SharedMemory) -> Row:
    return {
        "shared_wavefronts": shared.wavefronts,
        "shared_ideal_wavefronts": shared.ideal,
        "shared_excess_pct": shared.excess_pct,
    }


def _roofline_cells(roofline: Roofline) -> Row:
    tensor = roofline.flops.tensor
    return {
        "fp64_flops": roofline.flops.fp64,
        "fp32_flops": roofline.flops.fp32,
        "fp16_flops": roofline.flops.fp16,
        "tensor_ops": sum(tensor.values()) if tensor else None,
        "dram_bytes": roofline.bytes.dram,
        "l2_bytes": roofline.bytes.l2,
        "l1_bytes": roofline.bytes.l1,
        "dram_flops_per_byte": roofline.intensity.dram,
        "l2_flops_per_byte": roofline.intensity.l2,
        "l1_flops_per_byte": roofline.intensity.l1,
        "flops_per_s": roofline.flops_per_s,
        "roof_flops_per_s": roofline.roof_flops_per_s,
        "roof_pct": roofline.roof_pct,
        "roof": roofline.roof,
    }


def _finding_cells(findings: Sequence[Finding]) -> Row:
    first = findings[0] if findings else None
    gain = first.estimated_speedup if first else None
    return {
        "findings": len(findings),
        "first_finding": first.rule if first else None,
        "first_severity": first.severity if first else None,
        "first_headline": first.headline if first else None,
        "estimated_speedup_low": gain.low if gain else None,
        "estimated_speedup_high": gain.high if gain else None,
    }
