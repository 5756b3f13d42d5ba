"""Drivers and toolkits: what ships with what, what runs on what, which compiler fits."""

from __future__ import annotations

from packaging.version import Version

from kprof.audit import table
from kprof.audit.table import Fact


def min_driver(cuda_major: int, system: str = "linux") -> Fact | None:
    """Return the first driver that runs every CUDA of a major version.

    That is minor-version compatibility; PTX is outside it (``table.rule("ptx_limit")``). None for
    a major version, or a system, that NVIDIA gives no number for.

    Source: CUDA Toolkit release notes, table 2; CUDA Compatibility.
    """
    return table.fact(table.find("minor_compatibility", major=cuda_major), system)


def branch_cuda(branch: int) -> Fact | None:
    """Return the highest CUDA version that a driver branch brings, ``"13.0"`` for 580.

    Windows' numbers are mapped to their branch with the confidence ``derived``.

    Source: the toolkit that ships with the branch, and nvidia-smi's header.
    """
    row = table.find("branches", branch=branch)
    if row is not None:
        return table.fact(row, "cuda")
    windows = table.find("windows_branches", windows=branch)
    return None if windows is None else _of_windows(windows["branch"], windows)


def _of_windows(branch: int, windows: table.Row) -> Fact | None:
    known = branch_cuda(branch)
    if known is None or not known.certain:
        return known
    return table.of(windows, known.value)


def own_branch(number: int) -> int:
    """Return the branch that a driver's first number stands for: 590 for Windows' 591."""
    windows = table.find("windows_branches", windows=number)
    return number if windows is None else int(windows["branch"])


def branches() -> tuple[int, ...]:
    """Return the driver branches of the table, oldest first."""
    return tuple(row["branch"] for row in table.rows("branches"))


def branch_of_cuda(cuda: str) -> Fact | None:
    """Return the first driver branch that brings a CUDA version, 580 for ``"13.0"``."""
    wanted = table.number(table.minor(cuda))
    for row in table.rows("branches"):
        if (
            wanted is not None
            and Version(row["cuda"]) >= wanted
            and row["confidence"] != "UNSOURCED"
        ):
            return table.fact(row, "branch")
    return None


def branch_end(branch: int) -> Fact | None:
    """Return the month in which support of a driver branch ends, ``"2028-06"``."""
    return table.fact(table.find("lifecycles", branch=branch), "end")


def branch_kind(branch: int) -> Fact | None:
    """Return what kind of branch it is: ``long-term``, ``production`` or ``new feature``."""
    return table.fact(table.find("lifecycles", branch=branch), "kind")


def toolkits() -> tuple[str, ...]:
    """Return the toolkit releases of the table, ``"12.4.1"``, oldest first."""
    return tuple(row["cuda"] for row in table.rows("toolkits"))


def toolkit_driver(cuda: str, system: str = "linux") -> Fact | None:
    """Return the driver that ships with a toolkit, ``"550.54.14"`` for 12.4.

    It is no minimum: :func:`min_driver` is. None where it is not known (13.4.2 and later).

    Source: CUDA Toolkit release notes, table 3.
    """
    return table.fact(table.at_most("toolkits", "cuda", cuda), system)


def ptx_isa(cuda: str) -> Fact | None:
    """Return the newest PTX version that a CUDA version writes and reads, ``"8.4"`` for 12.4.

    Source: measured with ptxas of every nvcc wheel.
    """
    return table.fact(table.find("ptx", cuda=table.minor(cuda)), "isa")


def ptx_accepted(cuda: str, driver_cuda: str) -> bool | None:
    """Say whether a driver of one CUDA version compiles the PTX that a toolkit's nvcc writes.

    A driver reads every PTX version up to its own; 12.6 writes the same one as 12.5. None where
    the PTX version of a later toolkit is not known.
    """
    wanted, have = table.number(table.minor(cuda)), table.number(table.minor(driver_cuda))
    if wanted is None or have is None:
        return None
    if wanted <= have:
        return True
    written, read = ptx_isa(cuda), ptx_isa(driver_cuda)
    if written is None or read is None:
        return None
    return Version(written.value) <= Version(read.value)


def host_gcc(cuda: str) -> Fact | None:
    """Return the highest major version of GCC that a toolkit's nvcc accepts, 13 for 12.4.

    Source: measured in crt/host_config.h; before 11.7 Spack's recipes.
    """
    return table.fact(table.find("compilers", cuda=table.minor(cuda)), "gcc")


def host_clang(cuda: str) -> Fact | None:
    """Return the highest major version of Clang that a toolkit's nvcc accepts."""
    return table.fact(table.find("compilers", cuda=table.minor(cuda)), "clang")


def extension_gcc(cuda: str) -> Fact | None:
    """Return the highest major version of GCC that torch accepts for building an extension.

    None where torch only warns.

    Source: torch 2.13, torch/utils/cpp_extension.py.
    """
    wanted = table.number(table.minor(cuda))
    for row in table.rows("extension_compilers"):
        if wanted is not None and Version(row["first"]) <= wanted <= Version(row["last"]):
            return table.fact(row, "gcc")
    return None
