"""What every test shares: a terminal of 80 columns and reports made by hand."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kprof.model import (
    Caches,
    ClockHz,
    Collection,
    DeviceReport,
    Evidence,
    Finding,
    Flops,
    KernelReport,
    Launch,
    Levels,
    Limiter,
    Occupancy,
    Place,
    QualityNote,
    Report,
    Roofline,
    SharedLine,
    SharedMemory,
    Skipped,
    Source,
    Speedup,
    Throughput,
    WhatIf,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that accepts new verdicts."""
    parser.addoption(
        "--update-golden", action="store_true", help="write tests/golden/expected anew"
    )


def pytest_configure() -> None:
    """Hear signals again that are ignored in the background (nohup, &).

    Every program that a test starts would inherit that, and the tests of Ctrl-C wait for ever.
    """
    for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
        signum = getattr(signal, name, None)
        if signum is not None and signal.getsignal(signum) is signal.SIG_IGN:
            signal.signal(signum, handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each file to one process, and to one of them all that read the recordings.

    A process reads a recording once (``tests.golden.recordings``); spread over the processes,
    those files would read each once more, which is a tenth of all the time that tests take.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped] # it has no types

    class Scheduling(LoadFileScheduling):  # type: ignore[misc] # whose base, then, is Any
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return "tests/golden" if file.startswith("tests/golden/") else file

    return Scheduling(config, log)


SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(autouse=True)
def _narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def shared() -> Path:
    """The folder of recorded reports beside the repository."""
    if not SHARED.is_dir():
        pytest.skip("the shared reports are not beside the repository")
    return SHARED


@pytest.fixture
def conflicts() -> Finding:
    """A finding with every part filled in."""
    return Finding(
        rule="shared-bank-conflicts",
        severity="high",
        confidence="high",
        headline="Shared-memory loads conflict 32-way: 93.9 % of the wavefronts are excess",
        detail="Every warp's 32 addresses fall into one bank, so the banks serve them in turn.",
        estimated_speedup=Speedup(1.6, 2.4),
        resource="shared",
        evidence=(
            Evidence("shared_wavefronts", 34603008.0, "wavefront", 2097152.0, "ideal"),
            Evidence("shared_excess_pct", 93.94, "%", 10.0, "kprof"),
        ),
        refuted_by="The time does not change when the tile is padded to [32][33].",
        source=(Place("/src/transpose.cu", 42, "LDS R0, [R2]", 0x1A0, 0.98),),
        advice=("Pad the tile by one column: __shared__ float tile[32][33].",),
    )


@pytest.fixture
def transpose(conflicts: Finding) -> KernelReport:
    """A kernel with every part of the model filled in."""
    return KernelReport(
        index=0,
        name="transpose_tiled",
        demangled="void transpose_tiled<float, 32>(float const*, float*, int)",
        device=0,
        workload="kernel",
        bound="shared",
        launch=Launch((256, 256, 1), (32, 32, 1), 16, 4096, 0, 1024, 7, 30.3),
        nvtx=("forward", "attention"),
        duration_s=1.21e-3,
        limiter=Limiter("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak", "shared", 94.1),
        depth="standard",
        throughput=Throughput(None, None, 48.9, 31.0, 94.1),
        occupancy=Occupancy(100.0, 88.2, ("registers",), (WhatIf("registers -8", 3, 75.0),)),
        caches=Caches(0.0, 51.3),
        stalls={"mio_throttle": 0.61, "barrier": 0.12},
        pipes={"lsu": 41.0, "fma": 0.4},
        shared_memory=SharedMemory(
            34603008.0,
            2097152.0,
            93.94,
            (SharedLine("/src/transpose.cu", 42, "LDS R0, [R2]", 0x1A0, 33554432.0, 1048576.0),),
        ),
        roofline=Roofline(
            flops=Flops(0.0, 0.0, 0.0, {"fp16": 0.0}),
            bytes=Levels(2.7e9, 2.9e9, 4.3e9),
            intensity=Levels(0.0, 0.0, 0.0),
            flops_per_s=0.0,
            roof_pct=48.9,
            roof="dram",
            ceilings={"dram": 4.8e12},
        ),
        findings=(conflicts,),
        clear=("fp64-usage",),
        skipped=(Skipped("thread-divergence", ("threads_per_instruction",)),),
        quality=(QualityNote("short-kernel", "Too short for steady clocks."),),
    )


@pytest.fixture
def unmeasured() -> KernelReport:
    """A kernel of which almost nothing is known, with a name that means trouble."""
    return KernelReport(
        index=1,
        name="k<&>",
        demangled="void k<</script>&\x1b[31m>(int)",
        device=0,
        workload="kernel",
        bound="unknown",
    )


@pytest.fixture
def report(transpose: KernelReport, unmeasured: KernelReport) -> Report:
    """Two kernels of one truncated file: one fully known, one unknown."""
    ceilings = {"dram": 4.8e12, "fp32": 66.9e12}
    return Report(
        source=Source("runs/tile.ncu-rep", "ab" * 32, "2025.3.1", True, ("python", "t.py"), 0),
        collection=Collection(8, "standard", "kernel", "none", "all"),
        devices=(DeviceReport("NVIDIA H200", "9.0", 132, ClockHz(1.98e9, 3.2e9), ceilings),),
        kernels=(transpose, unmeasured),
        notes=("The file is cut off after 2 complete kernels.",),
    )


@pytest.fixture
def many(report: Report, transpose: KernelReport) -> Callable[[int], Report]:
    """Make a report of that many launches, each 1 % shorter than the one before."""

    def make(launches: int) -> Report:
        kernels = tuple(
            replace(transpose, index=place, duration_s=1e-3 * 0.99**place)
            for place in range(launches)
        )
        return replace(report, kernels=kernels)

    return make
