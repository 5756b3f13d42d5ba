"""Programs that behave badly, with the real ncu on a real GPU; all of it takes about a minute."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import kprof

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).with_name("faults.cu")
REPORT = {"report.html", "report.json", "report.ncu-rep"}
KEPT = "the report holds what was measured until then"


@pytest.fixture(scope="module")
def built(nvcc: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the program and the library; skips where they cannot be built or run."""
    folder = tmp_path_factory.mktemp("built")
    common = [nvcc, "-arch=native", "-lineinfo", str(SOURCE)]
    subprocess.run([*common, "-o", str(folder / "faults")], check=True)
    library = ["-shared", "-Xcompiler", "-fPIC", "-o", str(folder / "libfaults.so")]
    subprocess.run([*common, *library], check=True)
    return folder


@pytest.fixture
def faults(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The program, from a working folder of its own."""
    monkeypatch.chdir(tmp_path)
    if subprocess.run([str(built / "faults"), "tiny", "1"], check=False).returncode != 0:
        pytest.skip("no GPU to run on")
    return str(built / "faults")


def profiled(
    *args: str, data: bytes = b"", limit_s: float = 60
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "profile", "--depth", "quick", *args],
        input=data, capture_output=True, timeout=limit_s, check=False,
    )  # fmt: skip
    err = done.stderr.decode(errors="replace")
    assert "Traceback" not in err, err
    out = done.stdout.decode(errors="replace")
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def report(folder: str = "kprof-faults") -> Any:
    assert {path.name for path in Path(folder).iterdir()} == REPORT
    return json.loads(Path(folder, "report.json").read_text())


def names(folder: str = "kprof-faults") -> list[str]:
    return [kernel["name"] for kernel in report(folder)["kernels"]]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def assert_gone(done: subprocess.CompletedProcess[str]) -> None:
    time.sleep(0.5)
    assert not alive(int(done.stdout.split()[1])), "the target lives on"


# Kernels that ncu cannot replay ------------------------------------------------------------------


def test_kernels_that_wait_for_each_other_hang_and_are_named(faults: str) -> None:
    plain = time.monotonic()
    subprocess.run([faults, "concurrent"], check=True, timeout=60)
    assert time.monotonic() - plain < 30, "without ncu they do not hang"
    done = profiled("--kernel-timeout", "5", faults, "concurrent")
    assert done.returncode == 2, done.stderr
    assert "ncu got no further with wait_for_flag, and was stopped" in done.stderr
    assert KEPT in done.stderr
    assert names()[:2] == ["tiny", "tiny"]
    assert_gone(done)


def test_what_hangs_can_be_left_out(faults: str) -> None:
    done = profiled("--kernel", "^(?!.*_flag)", "--kernel-timeout", "10", faults, "concurrent")
    assert done.returncode == 0, done.stderr
    assert names() == ["tiny", "tiny"]


def test_what_waits_for_a_kernel_left_out_hangs_as_well(faults: str) -> None:
    """ncu lets all earlier work end before it measures one."""
    left_out = "^(?!.*wait_for_flag)"
    done = profiled("--kernel", left_out, "--kernel-timeout", "5", faults, "concurrent")
    assert done.returncode == 2, done.stderr
    assert names() == ["tiny", "tiny"]
    assert_gone(done)


def test_the_cpu_may_compute_between_kernels(faults: str) -> None:
    done = profiled("--kernel-timeout", "2", faults, "computes", "5")
    assert done.returncode == 0, done.stderr
    assert names() == ["tiny", "tiny"]


def test_communication_is_left_out_unless_asked_for(faults: str) -> None:
    assert profiled(faults, "communicates").returncode == 0
    assert names() == ["tiny"]
    done = profiled("--with-communication", faults, "communicates")
    assert done.returncode == 0, done.stderr
    assert names("kprof-faults-2") == ["ncclDevKernel_Pretended", "tiny", "nvshmem_pretended"]


def test_communication_alone_is_said_to_be_left_out(faults: str) -> None:
    done = profiled(faults, "communicates", "1")
    assert done.returncode == 2
    assert "only communication between GPUs was there to measure" in done.stderr
    assert "ncclDevKernel_Pretended" in done.stderr


# Programs that hang, fork, spawn, end early ------------------------------------------------------


def test_hangs_before_the_first_kernel(faults: str) -> None:
    done = profiled("--timeout", "4", faults, "hangs")
    assert done.returncode == 2
    assert "stopped before the first kernel was measured" in done.stderr
    assert not Path("kprof-faults").exists()
    assert_gone(done)


def test_ignores_sigterm(faults: str) -> None:
    done = profiled("--timeout", "8", faults, "deaf")
    assert done.returncode == 2
    assert f"by --timeout; {KEPT}" in done.stderr
    assert names() == ["tiny", "tiny"]
    assert_gone(done)


@pytest.mark.parametrize("how", ["forks", "spawns"])
def test_children_are_followed(faults: str, how: str) -> None:
    done = profiled(faults, how)
    assert done.returncode == 0, done.stderr
    assert names() == ["tiny", "tiny"]


def test_exits_early(faults: str) -> None:
    assert "the target did no CUDA work" in profiled(faults, "exits", "0").stderr
    assert "status 7 before its first kernel" in profiled(faults, "exits", "7").stderr


def test_launches_nothing(faults: str) -> None:
    done = profiled(faults, "nothing")
    assert done.returncode == 2
    assert "launched no kernel" in done.stderr or "did no CUDA work" in done.stderr


def test_segmentation_fault_after_ten_kernels(faults: str) -> None:
    done = profiled(faults, "crashes", "10")
    assert done.returncode == 2
    assert f"status 11, as after SIGSEGV (segmentation fault); {KEPT}" in done.stderr
    assert names() == ["tiny"] * 10
    assert report()["source"]["target_exit"] == 11


# Programs that do something to their surroundings ------------------------------------------------


def test_changes_directory(faults: str) -> None:
    assert profiled(faults, "elsewhere").returncode == 0
    assert names() == ["tiny", "tiny"]


def test_deletes_itself(faults: str) -> None:
    shutil.copy(faults, "mortal")
    done = profiled("./mortal", "deletes")
    assert done.returncode == 0, done.stderr
    assert not Path("mortal").exists()
    assert names("kprof-mortal") == ["tiny", "tiny"]


def test_a_script_that_deletes_itself(faults: str) -> None:
    Path("t.py").write_text(
        f"import ctypes, os; os.remove(__file__); "
        f"ctypes.CDLL({str(Path(faults).with_name('libfaults.so'))!r}).launch_tiny(2)"
    )
    assert profiled("t.py").returncode == 0
    assert names("kprof-t") == ["tiny", "tiny"]


def test_fifty_thousand_tiny_launches(faults: str) -> None:
    began = time.monotonic()
    done = profiled("--launch-count", "3", faults, "tiny", "50000")
    assert done.returncode == 0, done.stderr
    assert names() == ["tiny"] * 3
    assert time.monotonic() - began < 40


def test_fifty_thousand_launches_that_all_are_measured_end_in_time(faults: str) -> None:
    done = profiled("--survey", "never", "--timeout", "6", faults, "tiny", "50000")
    assert done.returncode == 2
    assert f"by --timeout; {KEPT}" in done.stderr
    assert len(names()) > 10
    assert len(done.stderr.splitlines()) < 60
    assert_gone(done)


# Attached or not, the program does the same ------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "data"),
    [
        (("loud",), b""),
        (("echoes",), bytes(range(256)) * 16384),
        (("exits", "77"), b""),
        (("tiny", "5"), b""),
    ],
    ids=["loud", "echoes", "fails", "plain"],
)
def test_output_and_exit_status_are_those_of_a_plain_run(
    faults: str, args: tuple[str, ...], data: bytes
) -> None:
    plain = subprocess.run([faults, *args], input=data, capture_output=True, check=False)
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "profile", "-q", "--depth", "quick", faults, *args],
        input=data, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    # The first line holds the process id.
    expected = plain.stdout.partition(b"\n")[2]
    got = done.stdout.partition(b"\n")[2][: len(expected)]
    assert hashlib.sha256(got).digest() == hashlib.sha256(expected).digest()
    if args[0] != "exits":
        assert report()["source"]["target_exit"] == plain.returncode == 0
        assert done.stderr == plain.stderr
    else:
        assert b"status 77" in done.stderr


# Ways to measure ---------------------------------------------------------------------------------


def test_the_kernels_of_a_graph_or_each_graph_as_a_whole(faults: str) -> None:
    assert profiled(faults, "graph").returncode == 0
    assert names() == ["tiny"] * 6
    done = profiled("--graphs", "graph", faults, "graph")
    assert done.returncode == 0, done.stderr
    assert [kernel["workload"] for kernel in report("kprof-faults-2")["kernels"]] == ["graph"] * 2


def test_between_profiler_start_and_stop(faults: str) -> None:
    assert profiled("--no-from-start", faults, "starts").returncode == 0
    assert names() == ["inside"]
    done = profiled("--no-from-start", faults, "tiny", "2")
    assert done.returncode == 2
    assert "cudaProfilerStart" in done.stderr


def test_as_in_app_finds_in_l2_what_the_program_left_there(faults: str) -> None:
    flushed = profiled(faults, "l2")
    assert flushed.returncode == 0, flushed.stderr
    cold = report()["kernels"][-1]
    assert "cold-caches" in [note["check"] for note in cold["quality"]]
    done = profiled("--as-in-app", faults, "l2")
    assert done.returncode == 0, done.stderr
    assert "the program run again for every pass" in done.stdout
    found = report("kprof-faults-2")
    assert found["collection"]["replay_mode"] == "application"
    assert found["collection"]["cache_control"] == "none"
    assert [kernel["name"] for kernel in found["kernels"]] == ["read_again"] * 3
    warm = found["kernels"][-1]
    assert warm["roofline"]["bytes"]["dram"] < 0.5 * cold["roofline"]["bytes"]["dram"]
    assert warm["caches"]["l2_hit_pct"] > cold["caches"]["l2_hit_pct"]


# Regions, in every way they can speak ------------------------------------------------------------

REGIONS = """
import ctypes, sys, threading
{before}
import kprof
launch = ctypes.CDLL({library!r}).launch_tiny
launch(1)
with kprof.region("part"):
    launch(2)
    helper = threading.Thread(target=launch, args=(3,))
    helper.start()
    helper.join()
launch(4)
"""
WAYS = {
    "directly": "sys.modules['nvtx'] = None\nfrom kprof import regions as r; r._library = r._torch",
    "library": "sys.modules['nvtx'] = None",
    "nvtx": "import nvtx",
    "torch": "sys.modules['nvtx'] = None; import torch",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_region_selects_its_kernels_of_all_threads(
    faults: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = f"import sys\n{WAYS[way]}"
    probe = subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT, capture_output=True)
    if probe.returncode != 0:
        pytest.skip(f"no {way} here: {probe.stderr.decode().splitlines()[-1]}")
    here = str(Path(kprof.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", here, prepend=os.pathsep)
    library = str(Path(faults).with_name("libfaults.so"))
    Path("t.py").write_text(REGIONS.format(before=WAYS[way], library=library))
    done = profiled("--python", sys.executable, "--nvtx", "part", "t.py")
    assert done.returncode == 0, done.stderr
    kernels = report("kprof-t")["kernels"]
    assert [kernel["name"] for kernel in kernels] == ["tiny"] * 5
    assert [kernel["nvtx"] for kernel in kernels[:2]] == [["part"]] * 2
