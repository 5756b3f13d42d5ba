from __future__ import annotations

import json
from importlib.metadata import version

import pytest

from kprof.collect import chips
from scripts import query_chips
from scripts.metrics_library import Library

TABLE = json.loads(query_chips.TABLE.read_text(encoding="utf-8"))
# What ncu counts by patching the code, knows from the launch or makes itself.
NOT_HARDWARE = (
    "device__", "group:", "inst_executed", "kprof__", "launch__", "memory_", "profiler__", "sass__",
    "sm__maximum_warps", "smsp__pcsamp_", "thread_inst_executed",
)  # fmt: skip
# On none of the chips: of GPUs before the oldest one.
# Of no chip: replaced, and a spelling that sampled stalls have and averages do not.
GONE = {
    "sm__pipe_fp16_cycles_active",
    "smsp__average_warps_issue_stalled_no_instructions_per_issue_active",
}


def test_a_chip_by_its_capability() -> None:
    hopper = chips.chip_of("9.0")
    assert hopper == chips.chip_of((9, 0)) == chips.Chip("GH100", "9.0")
    assert chips.chip_of("9.1") is None
    assert chips.chip_of((12, 1)) == chips.Chip("GB20B", "12.1", inferred=True)


@pytest.mark.parametrize(
    ("capability", "metric", "there"),
    [
        ("9.0", "dram__bytes.sum", True),
        ("8.7", "dram__bytes.sum.peak_sustained", False),
        ("8.7", "lts__t_sectors.avg.pct_of_peak_sustained_elapsed", True),
        ("12.0", "dram__bytes_read.sum", False),
        ("12.0", "dram__bytes_op_read.sum", True),
        ("7.0", "sass__inst_executed_per_opcode", True),  # in no table
    ],
)
def test_what_a_chip_has(capability: str, metric: str, there: bool) -> None:
    chip = chips.chip_of(capability)
    assert chip is not None
    assert chip.has(metric) is there


@pytest.mark.parametrize(
    ("ncu", "old"),
    [("2024.1.0", False), ("2026.3.1.0 (build 7)", False), ("2023.3.1.0", True), ("2022.4", True)],
)
def test_an_ncu_older_than_the_table(ncu: str, old: bool) -> None:
    assert chips.too_old(ncu) is old


def test_the_table_judges_every_hardware_counter_that_is_read() -> None:
    names = query_chips.read_by_kprof(TABLE["chips"])
    assert len(names) > 100
    unjudged = {n for n in names if not n.startswith(NOT_HARDWARE) and not chips.is_judged(n)}
    assert unjudged == GONE, "run: python -m scripts.query_chips"


def test_the_table_is_as_the_library_says() -> None:
    path = query_chips.installed()
    if path is None or version("ncu-report") != TABLE["ncu_report"]:
        pytest.skip("the table was made with another version of ncu-report")
    library = Library(path)
    assert query_chips.renewed(TABLE, library, TABLE["ncu_report"]) == TABLE
    assert library.having("GB20B", ["dram__bytes", "lts__t_sectors"]) == {"lts__t_sectors"}
    assert library.having("GV100", ["dram__bytes"]) is None
    assert library.passes("GV100", ["dram__bytes.sum"]) is None
    assert library.passes("GH100", ["dram__bytes.sum", "no__such_thing.sum"]) == 1
    assert library.passes("GH100", ["lts__t_sector_hit_rate.pct"]) == 2
