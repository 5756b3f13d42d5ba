"""The version table, held against itself and against facts that are known for certain."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from packaging.version import Version

from kprof.audit import matrix, table

ROWS = [(name, row) for name in table.tables() for row in table.rows(name)]
# The columns that name a row within its table.
KEYS = {
    "minor_compatibility": ("major",),
    "toolkits": ("cuda",),
    "branches": ("branch",),
    "windows_branches": ("windows",),
    "lifecycles": ("branch",),
    "last_branches": ("generation",),
    "modules": ("generation",),
    "architectures": ("arch",),
    "ptx": ("cuda",),
    "compilers": ("cuda",),
    "extension_compilers": ("first",),
    "torch": ("torch",),
    "variants": ("torch",),
    "wheels": ("torch", "variant", "machine"),
    "ncu_toolkits": ("cuda",),
    "ncu_chips": ("capability", "chips"),
    "ncu_messages": ("id", "patterns"),
    "cuda_errors": ("code",),
    "chips": ("capability",),
    "names": ("pattern",),
    "rules": ("rule",),
}
# Columns whose values are versions.
VERSIONS = ("cuda", "linux", "windows", "runfile", "isa", "ncu", "first", "last", "dropped",
            "absent_below", "first_cuda", "last_cuda", "a_since", "f_since", "torch", "cudart",
            "cudnn", "nccl", "triton", "nvjitlink", "value")  # fmt: skip


def column(name: str, key: str) -> list[Version]:
    return [Version(str(row[key])) for row in table.rows(name) if key in row]


def value(fact: matrix.Fact | None) -> Any:
    assert fact is not None
    assert fact.certain
    return fact.value


def missing(fact: object) -> bool:
    return fact is None


# --- every row -------------------------------------------------------------------------------


def test_every_table_has_a_key() -> None:
    assert set(KEYS) == set(table.tables())


@pytest.mark.parametrize("name", KEYS)
def test_no_row_is_there_twice(name: str) -> None:
    keys = [tuple(str(row.get(key)) for key in KEYS[name]) for row in table.rows(name)]
    assert len(keys) == len(set(keys))


def test_every_row_says_where_it_is_from_how_sure_it_is_and_of_when() -> None:
    wrong = [
        (name, row)
        for name, row in ROWS
        if row["confidence"] not in table.confidences()
        or not re.fullmatch(r"20\d\d-[01]\d", row["date"])
        or not set(row["source"]) <= set(table.sources())
        or (not row["source"] and row["confidence"] != table.UNSOURCED)
    ]
    assert wrong == []


def test_every_source_is_used_and_has_an_address() -> None:
    used = {key for _, row in ROWS for key in row["source"]}
    assert used == set(table.sources())
    assert {url[:8] for _, url in table.sources().values()} == {"https://"}


def test_every_word_for_confidence_is_used() -> None:
    assert {row["confidence"] for _, row in ROWS} == set(table.confidences())


def test_versions_are_versions() -> None:
    told = [
        (name, key, row[key])
        for name, row in ROWS
        for key in VERSIONS
        if key in row and isinstance(row[key], str) and table.number(row[key]) is None
    ]
    assert told == []


# --- drivers and toolkits --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "key"),
    [("toolkits", "cuda"), ("toolkits", "linux"), ("branches", "branch"), ("branches", "cuda"),
     ("ptx", "cuda"), ("ptx", "isa"), ("compilers", "cuda"), ("compilers", "gcc"),
     ("compilers", "clang"), ("torch", "torch"), ("torch", "cudnn"), ("torch", "nccl"),
     ("torch", "triton"), ("torch", "cudart"), ("variants", "torch"), ("ncu_toolkits", "cuda"),
     ("ncu_toolkits", "ncu"), ("minor_compatibility", "linux")],
)  # fmt: skip
def test_later_rows_never_go_back(name: str, key: str) -> None:
    found = column(name, key)
    assert found
    assert all(before <= after for before, after in pairwise(found))


def test_windows_drivers_go_back_only_where_the_release_notes_do() -> None:
    back = [
        (before["cuda"], after["cuda"])
        for before, after in pairwise(row for row in table.rows("toolkits") if "windows" in row)
        if Version(after["windows"]) < Version(before["windows"])
    ]
    assert back == []


def test_no_minor_release_of_cuda_is_left_out() -> None:
    have = {table.minor(row["cuda"]) for row in table.rows("toolkits")}
    expected = {f"{major}.{minor}" for major, last in ((11, 8), (12, 9), (13, 5))
                for minor in range(last + 1)}  # fmt: skip
    assert expected - have == {"12.7"}  # there was none, though a driver reports it


@pytest.mark.parametrize("name", ["ptx", "compilers", "ncu_toolkits"])
def test_what_belongs_to_toolkits_has_no_gaps(name: str) -> None:
    have = {table.minor(row["cuda"]) for row in table.rows(name)}
    first = min(map(Version, have))
    expected = {table.minor(row["cuda"]) for row in table.rows("toolkits")}
    gaps = {cuda for cuda in expected - have if Version(cuda) >= first}
    assert gaps == ({"11.2"} if name == "ncu_toolkits" else set())


def test_a_branch_brings_the_cuda_whose_toolkit_ships_it() -> None:
    shipped = {
        int(str(row["linux"]).split(".")[0]): table.minor(row["cuda"])
        for row in table.rows("toolkits")
        if "linux" in row
    }
    told = {row["branch"]: row["cuda"] for row in table.rows("branches")}
    assert {branch: told.get(branch) for branch in shipped} == shipped
    assert set(told) - set(shipped) == {565}


def test_every_toolkit_runs_on_the_driver_it_ships_with() -> None:
    for row in table.rows("toolkits"):
        needed = value(matrix.min_driver(Version(row["cuda"]).major))
        if "linux" in row and table.minor(row["cuda"]) != "11.0":  # it is older than the promise
            assert Version(row["linux"]) >= Version(needed), row["cuda"]


@pytest.mark.parametrize(("major", "driver"), [(11, "450.80.02"), (12, "525.60.13"), (13, "580")])
def test_the_first_driver_of_each_cuda(major: int, driver: str) -> None:
    assert value(matrix.min_driver(major)) == driver


def test_cuda_13_does_not_run_on_the_driver_of_12_2() -> None:
    driver = value(matrix.toolkit_driver("12.2"))
    assert driver == "535.54.03"
    assert Version(driver) < Version(value(matrix.min_driver(13)))
    assert Version(driver) >= Version(value(matrix.min_driver(12)))
    assert all(variant not in ("cu130", "cu132")
               for _, variant in matrix.fitting_wheels(driver, (9, 0), "x86_64"))  # fmt: skip


def test_numbers_that_nvidia_does_not_give_are_not_made_up() -> None:
    assert matrix.min_driver(10) is None
    assert matrix.min_driver(14) is None
    assert matrix.min_driver(13, "windows") is None
    assert value(matrix.min_driver(12, "windows")) == "528.33"
    assert matrix.toolkit_driver("13.5") is None
    assert matrix.toolkit_driver("12.7") is None
    assert matrix.branch_cuda(574) is None


def test_a_toolkit_version_of_two_numbers_is_the_first_release() -> None:
    assert value(matrix.toolkit_driver("12.4")) == "550.54.14"
    assert value(matrix.toolkit_driver("12.4.1")) == "550.54.15"
    assert value(matrix.toolkit_driver("12.4.131")) == "550.54.15"  # as nvcc numbers its builds


def test_branches_and_their_cuda() -> None:
    told = {branch: value(matrix.branch_cuda(branch)) for branch in (450, 535, 580, 595, 615)}
    assert told == {450: "11.0", 535: "12.2", 580: "13.0", 595: "13.2", 615: "13.4"}
    assert value(matrix.branch_of_cuda("13.0")) == 580
    assert value(matrix.branch_of_cuda("12.7")) == 570  # 565 is not sourced
    assert matrix.branch_of_cuda("13.5") is None
    windows = matrix.branch_cuda(591)
    assert value(windows) == "13.1"
    assert windows is not None
    assert windows.confidence == "derived"
    assert value(matrix.branch_kind(580)) == "long-term"
    assert value(matrix.branch_end(580)) == "2028-06"


def test_ptx_is_read_up_to_the_version_the_driver_knows() -> None:
    assert matrix.ptx_accepted("12.8", "13.0") is True
    assert matrix.ptx_accepted("12.6", "12.5") is True  # both write 8.5
    assert matrix.ptx_accepted("13.2", "13.0") is False
    assert matrix.ptx_accepted("12.9", "12.8") is False
    assert matrix.ptx_accepted("13.9", "13.5") is None
    assert matrix.ptx_accepted("new", "13.5") is None
    assert value(matrix.ptx_isa("12.4.1")) == "8.4"


def test_host_compilers() -> None:
    assert value(matrix.host_gcc("12.5")) == 13
    assert value(matrix.host_gcc("13.0.2")) == 15
    assert value(matrix.host_clang("12.5")) == 17
    assert value(matrix.extension_gcc("12.3")) == 13  # torch is laxer there than nvcc
    assert value(matrix.host_gcc("12.3")) == 12
    assert matrix.extension_gcc("11.8") is None


# --- architectures ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arch", "capability", "runs"),
    [
        ("sm_80", (8, 6), True),
        ("sm_80", (8, 9), True),
        ("sm_86", (8, 9), True),
        ("sm_89", (8, 6), False),
        ("sm_86", (9, 0), False),
        ("sm_80", (8, 7), False),  # Orin
        ("sm_87", (8, 7), True),
        ("sm_87", (8, 9), False),
        ("sm_70", (7, 2), False),  # Xavier
        ("sm_72", (7, 5), False),
        ("sm_60", (6, 1), True),
        ("sm_60", (6, 2), False),
        ("sm_90a", (9, 0), True),
        ("sm_90a", (10, 0), False),
        ("sm_100a", (10, 3), False),
        ("sm_100", (10, 3), True),
        ("sm_100f", (10, 3), True),
        ("sm_100f", (11, 0), False),
        ("sm_103f", (10, 0), False),
        ("sm_120", (12, 1), True),
        ("sm_120f", (12, 1), True),
        ("sm_121a", (12, 0), False),
        ("sm_121", (12, 0), False),
        ("sm_101", (11, 0), True),  # the same chip under its later name
        ("sm_110", (11, 0), True),
        ("sm_100", (11, 0), False),
        ("compute_80", (8, 6), False),
        ("gfx90a", (9, 0), False),
        ("", (9, 0), False),
    ],
)
def test_machine_code_runs_where_it_does(
    arch: str, capability: tuple[int, int], runs: bool
) -> None:
    assert matrix.cubin_runs(arch, capability) is runs


@pytest.mark.parametrize(
    ("arch", "capability", "runs"),
    [
        ("compute_90", (12, 0), True),
        ("compute_75", (8, 7), True),
        ("compute_90", (8, 9), False),
        ("compute_90", (9, 0), True),
        ("compute_90a", (9, 0), True),
        ("compute_90a", (10, 0), False),
        ("compute_120f", (12, 1), True),
        ("compute_120f", (13, 0), False),
        ("compute_120", (11, 0), False),
        ("sm_90", (12, 0), False),
    ],
)
def test_ptx_compiles_forward(arch: str, capability: tuple[int, int], runs: bool) -> None:
    assert matrix.ptx_runs(arch, capability) is runs


def test_every_device_runs_its_own_code() -> None:
    for known in matrix.architectures():
        assert matrix.cubin_runs(known.arch, known.capability)
        assert matrix.cubin_runs(f"{known.arch}a", known.capability)
        family = matrix.cubin_runs(f"{known.arch}f", known.capability)
        assert family is (known.f_since is not None)


def test_architectures_begin_and_end_with_toolkits() -> None:
    for known in matrix.architectures():
        begin = Version(known.first_cuda)
        for later in (known.last_cuda, known.a_since, known.f_since):
            assert later is None or Version(later) >= begin
    last = {known.arch: known.last_cuda for known in matrix.architectures()}
    assert {last[arch] for arch in ("sm_35", "sm_37")} == {"11.8"}
    assert {last[arch] for arch in ("sm_50", "sm_52", "sm_60", "sm_61", "sm_70")} == {"12.9"}
    assert {last[arch] for arch in ("sm_75", "sm_80", "sm_90", "sm_120")} == {None}


def test_pascal_ends_with_580_and_cuda_12_9() -> None:
    pascal = matrix.architecture((6, 1))
    assert pascal is not None
    assert (pascal.generation, pascal.last_cuda) == ("Pascal", "12.9")
    assert value(matrix.last_branch("Pascal")) == 580
    assert value(matrix.branch_supports(580, (6, 1))) is True
    assert value(matrix.branch_supports(590, (6, 1))) is False
    assert value(matrix.branch_supports(590, "Pascal")) is False


def test_branches_that_are_too_old_for_a_gpu() -> None:
    assert value(matrix.branch_supports(565, (12, 0))) is False
    assert value(matrix.branch_supports(570, (12, 0))) is True
    assert value(matrix.branch_supports(570, (12, 1))) is False
    assert value(matrix.branch_supports(575, (12, 1))) is True
    assert value(matrix.branch_supports(570, "Blackwell")) is True  # its first members
    assert value(matrix.branch_supports(615, (7, 5))) is True
    assert value(matrix.first_branch((9, 0))) == 520


def test_boards_and_unknown_gpus_have_no_branch() -> None:
    assert matrix.branch_supports(540, (8, 7)) is None
    assert matrix.branch_supports(580, (14, 0)) is None
    assert matrix.branch_supports(580, "Voodoo") is None
    assert matrix.first_branch((8, 7)) is None
    assert matrix.first_branch((7, 5)) is None  # before the table begins
    assert value(matrix.first_branch((8, 0))) == 450


def test_kernel_modules() -> None:
    told = {row["generation"]: row["flavor"] for row in table.rows("modules")}
    assert set(told) == {known.generation for known in matrix.architectures()}
    assert value(matrix.modules_needed("Blackwell")) == "open"
    assert value(matrix.modules_needed("Pascal")) == "proprietary"
    assert value(matrix.modules_needed("Ada")) == "either"


@pytest.mark.parametrize(
    ("name", "generation", "capability"),
    [
        ("NVIDIA Corporation GP104GL [Tesla P4]", "Pascal", (6, 1)),
        ("NVIDIA GA102 [GeForce RTX 3090]", "Ampere", (8, 6)),
        ("NVIDIA Corporation GV100GL [Tesla V100 PCIe 16GB]", "Volta", (7, 0)),
        ("NVIDIA Corporation GB202 [GeForce RTX 5090]", "Blackwell", (12, 0)),
        ("NVIDIA Corporation TU106BM [GeForce RTX 2070 Mobile / Max-Q]", "Turing", (7, 5)),
        ("NVIDIA Corporation GK110BGL [Tesla K40m]", "Kepler", (3, 5)),
        ("NVIDIA Corporation GA107 [CMP 30HX]", "Ampere", (8, 6)),
        ("Quadro RTX 5000", "Turing", (7, 5)),
        ("Quadro P1000", "Pascal", (6, 1)),
        ("Tesla P100-PCIE-16GB", "Pascal", (6, 0)),
        ("NVIDIA RTX 4000 SFF Ada Generation", "Ada", (8, 9)),
        ("NVIDIA RTX 6000 Ada Generation", "Ada", (8, 9)),
        ("NVIDIA RTX A4000", "Ampere", (8, 6)),
        ("NVIDIA A10G", "Ampere", (8, 6)),
        ("NVIDIA A100-SXM4-80GB", "Ampere", (8, 0)),
        ("NVIDIA L4", "Ada", (8, 9)),
        ("NVIDIA H100 80GB HBM3", "Hopper", (9, 0)),
        ("NVIDIA GH200 480GB", "Hopper", (9, 0)),
        ("NVIDIA GB200", "Blackwell", (10, 0)),
        ("NVIDIA B300 SXM6 AC", "Blackwell", (10, 3)),
        ("NVIDIA GB10", "Blackwell", (12, 1)),
        ("NVIDIA Thor", "Blackwell", (11, 0)),
        ("Orin", "Ampere", (8, 7)),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "Blackwell", (12, 0)),
        ("GeForce GTX 1650", "Turing", (7, 5)),
        ("NVIDIA GeForce RTX 2070 SUPER", "Turing", (7, 5)),
        ("NVIDIA TITAN X (Pascal)", "Pascal", (6, 1)),
        ("NVIDIA GeForce GTX TITAN X", "Maxwell", (5, 2)),
        ("AMD Instinct MI300X", None, None),
        ("", None, None),
    ],
)
def test_names_tell_the_gpu(
    name: str, generation: str | None, capability: tuple[int, int] | None
) -> None:
    assert matrix.generation_of_name(name) == generation
    assert matrix.capability_of_name(name) == capability


def test_names_tell_the_chip() -> None:
    assert matrix.chip_of_name("NVIDIA GeForce RTX 5090") == "gb202"
    assert matrix.chip_of_name("NVIDIA GeForce RTX 5090 Laptop GPU") == "gb203"
    assert matrix.chip_of_name("GB207M [GeForce RTX 5050 Mobile]") == "gb207"
    assert matrix.chip_of_name("NVIDIA A10G") is None


def test_chips_and_names_agree_with_the_architectures() -> None:
    for name in ("chips", "names"):
        for row in table.rows(name):
            major, minor = map(int, row["capability"].split("."))
            known = matrix.generation((major, minor)) or "Kepler"  # 3.0 is not in the table
            assert row["generation"] == known, row


# --- PyTorch ---------------------------------------------------------------------------------


def test_the_builds_on_pypi() -> None:
    told = {one.version: one.pypi_variant for one in matrix.torch_releases()}
    assert (told["2.0.1"], told["2.7.1"], told["2.10.0"]) == ("cu117", "cu126", "cu128")
    assert (told["2.11.0"], told["2.15.0"]) == ("cu130", "cu132")
    release = matrix.torch_release("2.7.0+cu126")
    assert release is not None
    assert (release.pypi_cuda, release.cudnn, release.nccl) == ("12.6", "9.5.1.17", "2.26.2")
    assert release.python == ("3.9", "3.10", "3.11", "3.12", "3.13", "3.13t")


@pytest.mark.parametrize("version", ["2.10.0.dev20250915+cu130", "1.13.0", "9.9.9", "", "x"])
def test_releases_that_are_not_known(version: str) -> None:
    assert matrix.torch_release(version) is None


def test_every_release_has_its_builds() -> None:
    for release in matrix.torch_releases():
        variants = matrix.torch_variants(release.version)
        assert release.pypi_variant in variants, release.version
        for variant in variants:
            assert matrix.wheel_archs(release.version, variant, "x86_64"), (release, variant)


def test_builds_hold_code_that_their_compiler_can_make() -> None:
    for row in table.rows("wheels"):
        cuda = Version(matrix.cuda_of(row["variant"]) or "0")
        for arch in row["archs"]:
            known = next(one for one in matrix.architectures() if one.arch == arch)
            assert Version(known.first_cuda) <= cuda, row
            assert known.last_cuda is None or cuda <= Version(known.last_cuda), row


def test_builds_that_fit_are_found_newest_first() -> None:
    builds = matrix.fitting_wheels("570.195.03", (8, 9), "x86_64", "3.11.7")
    assert builds[0] == ("2.14.1", "cu126")  # cu13x needs 580
    order = [(Version(torch), variant) for torch, variant in builds]
    assert order == sorted(order, reverse=True)


@pytest.mark.parametrize(
    ("driver", "capability", "machine", "first"),
    [
        ("580.95.05", (6, 1), "x86_64", ("2.14.1", "cu126")),  # the last with Pascal
        ("470.86", (8, 6), "x86_64", ("2.7.1", "cu118")),
        ("580.95.05", (9, 0), "aarch64", ("2.15.0", "cu132")),
        ("580.00", (11, 0), "aarch64", ("2.15.0", "cu132")),
        (None, None, "x86_64", ("2.15.0", "cu132")),
        ("540.4.0", (8, 7), "aarch64", None),  # Orin's come from NVIDIA
        ("580.95.05", (14, 0), "x86_64", None),
        ("580.95.05", (9, 0), "riscv64", None),
    ],
)
def test_the_newest_build_for_a_machine(
    driver: str | None,
    capability: tuple[int, int] | None,
    machine: str,
    first: tuple[str, str] | None,
) -> None:
    assert next(iter(matrix.fitting_wheels(driver, capability, machine)), None) == first


def test_a_wanted_release_and_python_narrow_the_builds() -> None:
    only = matrix.fitting_wheels("580.95.05", (9, 0), "x86_64", torch="2.8")
    assert only == [("2.8.0", "cu129"), ("2.8.0", "cu128"), ("2.8.0", "cu126")]
    assert matrix.fitting_wheels(None, None, "x86_64", "3.8", "2.8.0") == []
    assert matrix.fitting_wheels(None, None, "x86_64", torch="nightly") == []
    assert matrix.fitting_wheels("580.95.05", (9, 0), "x86_64", "3.9")[0][0] == "2.8.0"


@pytest.mark.parametrize(
    ("torch", "variant", "host", "kind"),
    [
        ("2.9.1", "cu130", matrix.Host("570.1", (8, 9), "x86_64"), "driver"),
        ("2.9.1", "cu128", matrix.Host("570.1", (6, 1), "x86_64"), "code"),
        ("2.9.1", "cu128", matrix.Host("570.1", (8, 9), "x86_64", "3.9"), "python"),
        ("2.5.1", "cu118", matrix.Host("570.1", (9, 0), "aarch64"), "build"),
        ("2.7.1", "cu128", matrix.Host("570.1", (9, 0), "aarch64"), "unsourced"),
        ("2.9.1", "cu130", matrix.Host("591.74", (8, 9), "x86_64", system="windows"), None),
        ("2.9.1", "cu128", matrix.Host("570.1", (8, 9), "x86_64", "3.10"), None),
        ("2.9.1", "cu128", matrix.Host("not a version", None, "x86_64", "?"), None),
    ],
)
def test_what_is_against_a_build(
    torch: str, variant: str, host: matrix.Host, kind: str | None
) -> None:
    release = matrix.torch_release(torch)
    assert release is not None
    found = matrix.misfit(release, variant, host)
    assert (found.kind if found else None) == kind


def test_the_index_of_a_build() -> None:
    assert matrix.index_url("cu126") == "https://download.pytorch.org/whl/cu126"
    assert matrix.cuda_of("cu126") == "12.6"
    assert matrix.cuda_of("cpu") is None


# --- Nsight Compute --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ncu", "capability", "chip", "supported"),
    [
        ("2019.5", (6, 1), None, True),
        ("2020.1", (6, 1), None, False),
        ("2019.5", (6, 0), None, False),
        ("2018.3", (6, 1), None, None),
        ("2024.3.2", (7, 0), None, True),
        ("2025.1.1", (7, 0), None, False),
        ("2020.1.0", (8, 6), None, False),
        ("2021.1.0", (8, 0), None, True),
        ("2022.2.1", (9, 0), None, False),
        ("2022.3.0", (9, 0), None, True),
        ("2024.3.0", (10, 0), None, False),
        ("2025.1.0", (10, 0), None, True),
        ("2024.3.0", (12, 0), None, False),
        ("2025.1.0", (12, 0), None, None),  # depends on the chip
        ("2025.1.0", (12, 0), "gb202", True),
        ("2025.1.0", (12, 0), "GB207", False),
        ("2025.2.0", (12, 0), "gb207", None),
        ("2025.3.1", (12, 0), "gb207", True),
        ("2022.3.0", (8, 9), "ad104", False),
        ("2022.3.0", (8, 9), "ad102", True),
        ("2024.1.1", (8, 9), None, True),
        ("2026.3", (10, 7), None, None),  # Rubin is in no list
        ("2026.1", (5, 2), None, None),  # never a verdict: not sourced
        ("odd", (9, 0), None, None),
    ],
)
def test_which_ncu_profiles_which_gpu(
    ncu: str, capability: tuple[int, int], chip: str | None, supported: bool | None
) -> None:
    found = matrix.ncu_supports(ncu, capability, chip)
    assert (found.value if found and found.certain else None) is supported


def test_which_ncu_a_gpu_needs() -> None:
    assert value(matrix.ncu_needed_for((10, 0))) == "2025.1"
    assert value(matrix.ncu_needed_for((12, 0))) == "2025.1"
    assert value(matrix.ncu_needed_for((12, 0), "gb207")) == "2025.3"
    assert value(matrix.ncu_dropped((6, 1))) == "2020.1"
    assert matrix.ncu_needed_for((14, 0)) is None
    assert matrix.ncu_dropped((9, 0)) is None
    assert value(matrix.ncu_never((6, 0))) is True
    assert matrix.ncu_never((9, 0)) is None


def test_which_ncu_comes_with_a_toolkit() -> None:
    assert value(matrix.ncu_for_cuda("12.4.1")) == "2024.1.1"
    assert value(matrix.ncu_for_cuda("12.4")) == "2024.1.0"
    assert value(matrix.ncu_for_cuda("12.6.3")) == "2024.3.2"
    assert value(matrix.ncu_for_cuda("11.8.0")) == "2022.3.0"
    assert matrix.ncu_for_cuda("12.7") is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
         "Performance Counters on the target device 0.", "ncu.perm"),
        ("==ERROR== The user does not have permission to access NVIDIA GPU Performance Counters "
         "on the target vGPU device 0.", "ncu.vgpu_perm"),
        ("Profiling failed because a driver resource was unavailable. Ensure that no other tool "
         "(like DCGM) is concurrently collecting profiling data.", "ncu.resource_busy"),
        ("Profiling failed because a driver resource was unavailable or the user does not have "
         "permission to access NVIDIA GPU Performance Counters", "ncu.resource_or_perm"),
        ("Profiling is not supported on device 0. To find out supported GPUs refer --list-chips "
         "option.", "ncu.chip_unsupported"),
        ("Profiling is not supported on device 0 as it uses the Windows Subsystem for Linux "
         "(WSL).", "ncu.wsl_unsupported"),
        ("Failed to open/create lock file /tmp/nsight-compute-lock. Please check that this "
         "process has write permissions on this file.", "ncu.lock_file"),
        ("InterprocessLockFailed", "ncu.lock_file"),
        ("Target process 41 terminated before first instrumented API call.", "ncu.early_exit"),
        ("Nsight Compute failed to connect to the CUDA driver (stub libcuda.so[.1] on path?).",
         "env.stub_libcuda"),
        ("Could not deploy stock rule files to /home", "ncu.home_unwritable"),
        ("==WARNING== No kernels were profiled.", "ncu.no_kernels"),
        ("Insufficient driver version to profile on the device.", "ncu.driver_too_old"),
    ],
)  # fmt: skip
def test_messages_are_recognised(text: str, name: str) -> None:
    found = [one.id for one in matrix.ncu_messages() if one.pattern and one.pattern.search(text)]
    assert found[:1] == [name]


def test_messages_tell_what_to_do() -> None:
    for one in matrix.ncu_messages():
        assert one.cause
        assert one.fixes
        assert one.severity in ("error", "warning")
        assert re.fullmatch(r"[a-z]+\.[a-z_]+", one.id)


def test_error_codes() -> None:
    found = matrix.cuda_error(804)
    assert found is not None
    assert found.name == "cudaErrorCompatNotSupportedOnDevice"
    for asked in ("100", "cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "cuda_error_no_device"):
        error = matrix.cuda_error(asked)
        assert error is not None
        assert error.code == 100
    assert matrix.cuda_error("") is None
    assert matrix.cuda_error(1) is None


# --- what is not sourced ---------------------------------------------------------------------


def test_what_is_not_sourced_is_never_certain() -> None:
    unsure = [matrix.branch_cuda(565), matrix.wheel_archs("2.7.1", "cu128", "aarch64"),
              matrix.ncu_for_cuda("13.5"), matrix.ncu_supports("2026.1", (5, 2)),
              matrix.rule("ncu_driver"), matrix.branch_cuda(566)]  # fmt: skip
    for fact in unsure:
        assert fact is not None
        assert not fact.certain


def test_a_row_without_a_source_decides_nothing() -> None:
    unsure = {(row["torch"], row["variant"], row["machine"])
              for row in table.rows("wheels") if row["confidence"] == table.UNSOURCED}  # fmt: skip
    assert unsure
    for torch, variant, machine in unsure:
        fitting = matrix.fitting_wheels("615.1", (9, 0), machine, torch=torch)
        assert variant not in {fit for _, fit in fitting}
    assert matrix.branch_of_cuda("12.7") != matrix.branch_cuda(565)


def test_sources_read_as_titles_with_addresses() -> None:
    fact = matrix.min_driver(13)
    assert fact is not None
    assert "CUDA Toolkit release notes" in fact.source
    assert "<https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html>" in fact.source
    assert str(fact).endswith(f"[nvidia-doc, {matrix.table_date()}]")
    assert value(matrix.rule_value("cap_perfmon")) == "565"


@pytest.mark.parametrize("text", ["", "x" * 10_000, "9" * 10_000, "1.2.3;rm", "٣.٤", "-1"])
def test_versions_from_anywhere_do_no_harm(text: str) -> None:
    answers = [matrix.toolkit_driver(text), matrix.ptx_isa(text), matrix.host_gcc(text),
               matrix.ncu_for_cuda(text), matrix.ncu_supports(text, (9, 0)),
               matrix.torch_release(text), matrix.branch_of_cuda(text),
               matrix.extension_gcc(text), matrix.ptx_accepted(text, text)]  # fmt: skip
    assert all(map(missing, answers))
    assert matrix.torch_variants(text) == ()
    assert matrix.generation_of_name(text) is None
