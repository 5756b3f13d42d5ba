"""kprof's numbers beside NVIDIA's for the same recording, and beside arithmetic on paper."""

from __future__ import annotations

import json
import lzma
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kprof.model import KernelReport
from tests.golden import nvidia, recordings
from tests.golden.recordings import DEPTHS, diagnosed, names

# The full set has rates instead of counts: rate x clock x time is the count up to rounding.
EXACT = 1e-12
ELAPSED = "pct_of_peak_sustained_elapsed"
every_sample = pytest.mark.parametrize("name", names("full"))
every_depth = pytest.mark.parametrize("depth", DEPTHS)
Values = dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Values:
    """Every sample's metrics as NVIDIA's library reads them."""
    folder = tmp_path_factory.mktemp("full")
    files = [folder / f"{name}.ncu-rep" for name in names("full")]
    for file in files:
        file.write_bytes(lzma.decompress(recordings.path("full", file.stem).read_bytes()))
    done = subprocess.run(
        [sys.executable, str(Path(nvidia.__file__)), *map(str, files)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return dict(zip(names("full"), json.loads(done.stdout), strict=True))


@every_sample
def test_duration_is_exactly_theirs(theirs: Values, name: str) -> None:
    duration = diagnosed("full", name).duration_s
    assert duration is not None
    assert round(duration * 1e9) == theirs[name]["gpu__time_duration.sum"]


@every_sample
def test_throughput_is_theirs(theirs: Values, name: str) -> None:
    shown = diagnosed("full", name).throughput
    for ours, metric in (
        (shown.compute_pct, f"sm__throughput.avg.{ELAPSED}"),
        (shown.memory_pct, f"gpu__compute_memory_throughput.avg.{ELAPSED}"),
        (shown.dram_pct, f"gpu__dram_throughput.avg.{ELAPSED}"),
    ):
        assert ours == pytest.approx(theirs[name][metric], abs=0.1), metric


@every_sample
def test_occupancy_is_theirs(theirs: Values, name: str) -> None:
    shown = diagnosed("full", name).occupancy
    values = theirs[name]
    achieved = values["sm__warps_active.avg.pct_of_peak_sustained_active"]
    assert shown.achieved_pct == pytest.approx(achieved, abs=0.1)
    theoretical = values["sm__maximum_warps_per_active_cycle_pct"]
    assert shown.theoretical_pct == pytest.approx(theoretical, abs=0.1)


@every_sample
def test_caches_and_registers_are_theirs(theirs: Values, name: str) -> None:
    report, values = diagnosed("full", name), theirs[name]
    assert report.caches.l1_hit_pct == values["l1tex__t_sector_hit_rate.pct"]
    assert report.caches.l2_hit_pct == values["lts__t_sector_hit_rate.pct"]
    assert report.launch is not None
    assert report.launch.registers_per_thread == values["launch__registers_per_thread"]


SAID = re.compile(
    r"achieved (?:close to )?(\d+)% of this device's FP32 peak performance "
    r"and (?:close to )?(\d+)% of its FP64 peak"
)


def of_peak(report: KernelReport, precision: str) -> float:
    """Return kprof's percent of peak from operations, time and roof."""
    roof = report.roofline
    assert roof is not None
    assert report.duration_s
    work = getattr(roof.flops, precision)
    return float(100.0 * work / report.duration_s / roof.ceilings[precision])


@every_sample
def test_percent_of_the_arithmetic_peaks_is_what_their_rule_says(name: str) -> None:
    report = diagnosed("full", name)
    (said,) = (found for o in report.opinions if (found := SAID.search(o.message)))
    fp32, fp64 = (float(number) for number in said.groups())
    assert of_peak(report, "fp32") == pytest.approx(fp32, abs=1.0)
    assert of_peak(report, "fp64") == pytest.approx(fp64, abs=1.0)


ELEMENTS = 2**26  # of vector_add, unless told otherwise


@every_depth
@pytest.mark.parametrize("variant", ["simple", "grid_stride", "float4"])
def test_vector_add_moves_three_arrays(depth: str, variant: str) -> None:
    roof = diagnosed(depth, f"vector_add-{variant}").roofline
    assert roof is not None
    assert roof.bytes.dram == pytest.approx(3 * 4 * ELEMENTS, rel=0.06)
    assert roof.flops.fp32 == pytest.approx(ELEMENTS, rel=EXACT)
    assert roof.intensity.dram == pytest.approx(1 / 12, rel=0.06)


@every_depth
def test_operations_of_the_fused_multiply_adds(depth: str) -> None:
    """132 x 2048 x 2 threads, 8 chains of 1024 steps, 8 additions before and after."""
    roof = diagnosed(depth, "compute-bound-bad").roofline
    assert roof is not None
    threads = 132 * 2048 * 2
    assert roof.flops.fp32 == pytest.approx(threads * 8 * 1024 * 2, rel=0.01)
    assert roof.flops.fp32 == pytest.approx(threads * (8 * 1024 * 2 + 16), rel=EXACT)
    assert roof.flops.fp64 == 0.0


@every_depth
def test_operations_of_the_tensor_cores(depth: str) -> None:
    roof = diagnosed(depth, "tensor-core-bound-bad").roofline
    assert roof is not None
    assert roof.flops.tensor["fp16"] > 100 * sum((roof.flops.fp32 or 0.0, roof.flops.fp64 or 0.0))
    assert roof.roof == "tensor_fp16_mma"
    assert roof.roof_pct == pytest.approx(94.0, abs=3.0)


# Which SM gets the long blocks, or the near half of L2, differs from launch to launch.
CHANGES_FROM_RUN_TO_RUN = {"partition-camping-good"}
# What the GPU writes beside the kernel: more than a kernel moves that works in caches.
BESIDE_BYTES = 3e6
# Start and end of a launch: all of the shortest ones.
BESIDE_S = 0.5e-6


@pytest.mark.parametrize("name", sorted(set(names("plan")) - CHANGES_FROM_RUN_TO_RUN))
def test_the_plan_measures_what_the_full_set_measures(name: str) -> None:
    plan, full = diagnosed("plan", name), diagnosed("full", name)
    assert plan.duration_s == pytest.approx(full.duration_s, rel=0.06, abs=BESIDE_S)
    assert plan.roofline is not None
    assert full.roofline is not None
    moved = full.roofline.bytes.dram
    assert plan.roofline.bytes.dram == pytest.approx(moved, rel=0.03, abs=BESIDE_BYTES)
    assert plan.limiter is not None
    assert full.limiter is not None
    assert plan.limiter.resource == full.limiter.resource
    assert plan.limiter.pct == pytest.approx(full.limiter.pct, abs=6.0)


# How often a retry loop turns is a matter of luck.
RETRIES = {"shared-atomic-contention-bad", "shared-atomic-contention-good"}


@pytest.mark.parametrize("name", sorted(set(names("plan")) - RETRIES))
def test_counts_do_not_depend_on_the_depth(name: str) -> None:
    """Executed instructions are the program's, not the run's."""
    plan, full = diagnosed("plan", name).roofline, diagnosed("full", name).roofline
    assert plan is not None
    assert full is not None
    assert plan.flops.fp64 == pytest.approx(full.flops.fp64, rel=EXACT)
    assert plan.flops.fp32 == pytest.approx(full.flops.fp32, rel=EXACT)
    assert plan.flops.tensor == pytest.approx(full.flops.tensor, rel=EXACT)
