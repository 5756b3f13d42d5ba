"""Print metrics of uncompressed reports with NVIDIA's library alone: ``nvidia.py FILE...``.

Started in a process of its own, so that nothing of kprof's reader takes part.
"""

from __future__ import annotations

import json
import sys

import ncu_report

WANTED = (
    "gpu__time_duration.sum",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__maximum_warps_per_active_cycle_pct",
    "l1tex__t_sector_hit_rate.pct",
    "lts__t_sector_hit_rate.pct",
    "launch__registers_per_thread",
)


def metrics(path: str) -> dict[str, float]:
    """Return the wanted values of a report's only kernel."""
    report = ncu_report.load_report(path)
    action = report.range_by_idx(0).action_by_idx(0)
    return {name: float(action.metric_by_name(name).value()) for name in WANTED}


if __name__ == "__main__":
    print(json.dumps([metrics(path) for path in sys.argv[1:]]))
