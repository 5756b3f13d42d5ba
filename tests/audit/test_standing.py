"""Where a machine stands in the version table."""

from __future__ import annotations

from typing import Any

import pytest

from kprof.audit import Facts
from kprof.audit.matrix_rows import BranchRow, BuildRow, CudaRow, GpuRow, Standing
from kprof.audit.standing import standing

RTX_4090: dict[str, Any] = {
    "os": {"system": "linux", "arch": "x86_64"},
    "gpus": [{"name": "NVIDIA GeForce RTX 4090", "compute_capability": "8.9"}],
    "driver": {"version": "550.90.07", "cuda_version": "12.4"},
    "toolkits": [
        {"root": "/usr/local/cuda-12.1", "version": "12.1.105", "source": "CUDA_HOME"},
        {"root": "/opt/cuda", "version": "12.6", "source": "PATH"},
    ],
    "nvcc": {"path": "/opt/cuda/bin/nvcc", "version": "12.6"},
    "python": {"version": "3.11.7"},
    "torch": {"version": "2.7.0+cu126", "cuda": "12.6"},
    "ncu": {"path": "/opt/cuda/bin/ncu", "version": "2024.3.0"},
}


def stand(changed: dict[str, Any] | None = None) -> Standing:
    return standing(Facts({**RTX_4090, **(changed or {})}))


def branch(of: Standing, number: int) -> BranchRow:
    return next(row for row in of.branches if row.branch == number)


def cuda(of: Standing, version: str) -> CudaRow:
    return next(row for row in of.cudas if row.cuda == version)


def gpu(of: Standing, capability: str) -> GpuRow:
    return next(row for row in of.gpus if row.capability == capability)


def build(of: Standing, torch: str, variant: str) -> BuildRow:
    return next(row for row in of.builds if (row.torch, row.variant) == (torch, variant))


# --- what the driver runs --------------------------------------------------------------------


def test_what_a_driver_runs_natively_by_compatibility_and_not() -> None:
    here = stand()
    runs = {row.cuda: row.runs for row in here.cudas}
    assert runs["11.0"] == runs["12.4"] == "native"
    assert runs["12.5"] == runs["12.9"] == "minor-version compatibility"
    assert runs["13.0"] == runs["13.5"] == "no"
    ptx = {row.cuda: row.ptx for row in here.cudas}
    assert (ptx["12.4"], ptx["12.5"], ptx["13.0"]) == ("yes", "no", "no")


def test_a_compat_libcuda_does_not_raise_what_the_driver_brings() -> None:
    here = stand({"driver": {"version": "580.126.09", "cuda_version": "13.1"}})
    assert here.machine.cuda == "13.0"
    assert cuda(here, "13.1").runs == "minor-version compatibility"


def test_a_branch_without_a_source_is_taken_at_its_word() -> None:
    here = stand({"driver": {"version": "565.57.01", "cuda_version": "12.7"}})
    assert here.machine.cuda == "12.7"
    assert branch(here, 565).cuda is None
    assert cuda(here, "12.6").runs == "native"
    silent = stand({"driver": {"version": "565.57.01"}})
    assert silent.machine.cuda is None
    assert cuda(silent, "12.6").runs == "minor-version compatibility"
    assert cuda(silent, "12.6").ptx == "unknown"


def test_windows_numbers_stand_for_their_branch() -> None:
    system = {"system": "linux", "arch": "x86_64", "wsl": 2}
    here = stand({"os": system, "driver": {"version": "591.74"}})
    assert here.machine.system == "windows"
    assert branch(here, 590).here
    assert cuda(here, "13.1").runs == "native"
    assert cuda(here, "13.2").runs == "unknown"  # no Windows number is given for 13
    assert build(here, "2.15.0", "cu130").fits == "yes"


def test_the_installed_branch_is_marked() -> None:
    assert [row.branch for row in stand().branches if row.here] == [550]
    long_term = branch(stand(), 580)
    assert (long_term.kind, long_term.end, long_term.drives) == ("long-term", "2028-06", "yes")


@pytest.mark.parametrize(
    ("gpus", "drives"),
    [
        (["6.1"], {565: "yes", 580: "yes", 590: "no"}),
        (["12.0"], {565: "no", 570: "yes", 615: "yes"}),
        (["6.1", "12.0"], {565: "no", 580: "yes", 590: "no"}),
        (["8.7"], {580: "unknown"}),
        ([], {580: "unknown"}),
    ],
)
def test_branches_drive_every_gpu_or_not(gpus: list[str], drives: dict[int, str]) -> None:
    here = stand({"gpus": [{"name": f"GPU {one}", "compute_capability": one} for one in gpus]})
    assert {number: branch(here, number).drives for number in drives} == drives


# --- what is on the machine ------------------------------------------------------------------


def test_what_is_here_is_marked_at_its_cuda() -> None:
    marks = {row.cuda: row.here for row in stand().cudas if row.here}
    assert marks == {
        "12.1": ("toolkit /usr/local/cuda-12.1",),
        "12.4": ("driver 550.90.07",),
        "12.6": ("torch 2.7.0+cu126", "nvcc 12.6", "toolkit /opt/cuda", "ncu 2024.3.0"),
    }


def test_toolkits_compile_for_the_gpu_or_not() -> None:
    pascal = stand({"gpus": [{"name": "NVIDIA GeForce GTX 1070", "compute_capability": "6.1"}]})
    compiles = {row.cuda: row.compiles for row in pascal.cudas}
    assert (compiles["12.9"], compiles["13.0"]) == ("yes", "no")
    ada = {row.cuda: row.compiles for row in stand().cudas}
    assert (ada["11.7"], ada["11.8"], ada["13.5"]) == ("no", "yes", "yes")


def test_numbers_of_a_toolkit() -> None:
    row = cuda(stand(), "12.4")
    assert (row.driver, row.needs, row.gcc, row.ncu) == ("550.54.14", "525.60.13", 13, "2024.1.0")
    newest = cuda(stand(), "13.5")
    assert (newest.driver, newest.ncu) == (None, None)  # neither is sourced


def test_what_the_gpu_needs() -> None:
    row = gpu(stand(), "8.9")
    assert row.here == ("NVIDIA GeForce RTX 4090",)
    assert (row.first_cuda, row.last_cuda, row.modules) == ("11.8", None, "either")
    assert (row.first_branch, row.last_branch) == (520, None)
    assert (row.ncu_first, row.ncu_here) == ("2022.3", "yes")
    assert [other.capability for other in stand().gpus if other.here] == ["8.9"]


def test_an_ncu_that_does_not_know_the_gpu() -> None:
    blackwell = [{"name": "NVIDIA GeForce RTX 5050", "compute_capability": "12.0"}]
    row = gpu(stand({"gpus": blackwell}), "12.0")
    assert (row.ncu_here, row.ncu_first, row.modules) == ("no", "2025.3", "open")
    late = gpu(stand({"gpus": blackwell, "ncu": {"version": "2025.2.0"}}), "12.0")
    assert late.ncu_here == "unknown"


def test_boards_get_their_driver_elsewhere() -> None:
    row = gpu(stand(), "8.7")
    assert (row.modules, row.first_branch) == (None, None)
    assert gpu(stand(), "7.2").last_branch is None


def test_gpus_that_ncu_left_behind_or_never_knew() -> None:
    assert (gpu(stand(), "7.0").ncu_dropped, gpu(stand(), "7.0").ncu_never) == ("2025.1", False)
    assert gpu(stand(), "6.0").ncu_never
    assert not gpu(stand(), "5.2").ncu_never  # not sourced


def test_a_gpu_that_only_the_bus_shows_is_taken_from_its_name() -> None:
    here = stand({"gpus": [], "lspci_gpus": ["NVIDIA Corporation GP104GL [Tesla P4]"]})
    assert gpu(here, "6.1").here == ("NVIDIA Corporation GP104GL [Tesla P4]",)
    assert gpu(here, "6.1").modules == "proprietary"


# --- builds of PyTorch -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "torch", "variant", "fits", "kind"),
    [
        ({}, "2.7.1", "cu118", "yes", None),
        ({}, "2.9.1", "cu130", "no", "driver"),
        ({}, "2.15.0", "cu130", "no", "driver"),
        ({"gpus": [{"compute_capability": "6.1"}]}, "2.9.1", "cu128", "no", "code"),
        ({"gpus": [{"compute_capability": "6.1"}]}, "2.9.1", "cu126", "yes", None),
        ({"python": {"version": "3.14.0"}}, "2.7.1", "cu126", "no", "python"),
        ({"os": {"arch": "aarch64"}}, "2.7.1", "cu118", "no", "build"),
        ({"os": {"arch": "ARM64"}}, "2.7.1", "cu128", "unknown", "unsourced"),
        ({"driver": {}}, "2.9.1", "cu130", "unknown", None),
        ({"driver": {}, "gpus": [{"compute_capability": "6.1"}]}, "2.9.1", "cu130", "no", "code"),
        ({"gpus": []}, "2.7.1", "cu118", "unknown", None),
        ({"os": {}}, "2.7.1", "cu118", "unknown", None),
    ],
)
def test_builds_fit_or_say_why_not(
    changed: dict[str, Any], torch: str, variant: str, fits: str, kind: str | None
) -> None:
    row = build(stand(changed), torch, variant)
    assert (row.fits, row.kind) == (fits, kind)
    assert bool(row.reason) or row.fits == "yes"


def test_reasons_name_the_numbers() -> None:
    assert build(stand(), "2.9.1", "cu130").reason == "CUDA 13.0 needs driver 580 or later"
    assert build(stand(), "2.7.1", "cu118").reason == ""
    assert build(stand(), "2.7.1", "cu126").reason == (
        "by minor-version compatibility; PTX of CUDA 12.6 is too new for this driver"
    )
    nothing = standing(Facts({}))
    assert build(nothing, "2.7.1", "cu126").reason == "not known here: driver, GPU, machine"


def test_every_gpu_of_the_machine_must_be_served() -> None:
    both = [{"compute_capability": "6.1"}, {"compute_capability": "8.9"}]
    row = build(stand({"gpus": both}), "2.9.1", "cu128")
    assert (row.fits, row.reason) == ("no", "it has no code for compute capability 6.1")


def test_the_installed_build_is_marked() -> None:
    assert [(row.torch, row.variant) for row in stand().builds if row.here] == [("2.7.0", "cu126")]
    plain = stand({"torch": {"version": "2.9.1", "cuda": "12.8"}})
    assert [(row.torch, row.variant) for row in plain.builds if row.here] == [("2.9.1", "cu128")]


def test_the_newest_release_that_fits_prefers_a_native_build() -> None:
    best = stand({"driver": {"version": "580.95.05"}}).newest_fit
    assert best is not None
    assert (best.torch, best.variant, best.reason) == ("2.15.0", "cu130", "")
    older = stand().newest_fit
    assert older is not None
    assert (older.torch, older.variant) == ("2.14.1", "cu126")
    orin = [{"name": "Orin", "compute_capability": "8.7"}]
    assert stand({"gpus": orin, "os": {"arch": "aarch64"}}).newest_fit is None


def test_builds_are_newest_first_and_pypi_has_one_of_each_release() -> None:
    rows = stand().builds
    assert (rows[0].torch, rows[0].variant) == ("2.15.0", "cu132")
    releases = [row.torch for row in rows]
    assert [row.torch for row in rows if row.pypi] == list(dict.fromkeys(releases))


# --- without facts, and with bad ones --------------------------------------------------------


def test_without_facts_the_whole_table_is_there_and_the_machine_is_unknown() -> None:
    here = standing(Facts({}))
    assert [len(rows) for rows in (here.branches, here.cudas, here.gpus, here.builds)] == [
        len(rows) for rows in (stand().branches, stand().cudas, stand().gpus, stand().builds)
    ]
    assert {row.drives for row in here.branches} == {"unknown"}
    assert {row.runs for row in here.cudas} == {"unknown"}
    assert {row.ptx for row in here.cudas} == {"unknown"}
    assert {row.ncu_here for row in here.gpus} == {"unknown"}
    assert {row.fits for row in here.builds} == {"unknown"}
    assert not any(row.here for row in here.branches)
    assert not any(row.here for row in here.builds)
    assert {row.here for row in here.cudas} == {row.here for row in here.gpus} == {()}
    assert here.newest_fit is None
    assert here.date == "2026-11"
    assert here.sources


@pytest.mark.parametrize(
    "bad", [None, 7, "9" * 100_000, ["x"], {"version": {}}, {"version": "x" * 100_000}, True]
)
@pytest.mark.parametrize("name", sorted(RTX_4090))
def test_facts_of_any_kind_do_no_harm(name: str, bad: object) -> None:
    here = stand({name: bad})
    assert all(len(mark) < 100 for row in here.cudas for mark in row.here)


def test_any_number_of_toolkits_is_bounded() -> None:
    many = [{"root": f"/opt/{number}", "version": "12.4"} for number in range(10_000)]
    assert len(cuda(stand({"toolkits": many}), "12.4").here) <= 21
