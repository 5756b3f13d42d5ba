"""PyTorch's builds: what each brings, which GPUs it has code for, which fit a machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from packaging.version import Version

from kprof.audit import table
from kprof.audit.architectures import Capability, cubin_runs
from kprof.audit.table import Fact
from kprof.audit.toolkits import branch_cuda, branch_of_cuda, min_driver

INDEX = "https://download.pytorch.org/whl/"


@dataclass(frozen=True, slots=True)
class TorchRelease:
    """A release of PyTorch and what its build on PyPI for Linux x86_64 brings.

    Attributes:
        version: ``2.11.0``.
        pypi_variant: the build's name, ``cu130``.
        pypi_cuda: its CUDA version, ``13.0``.
        cudart: the CUDA runtime it pins.
        cudnn: the cuDNN it pins.
        nccl: the NCCL it pins.
        triton: the Triton it pins.
        nvjitlink: the nvJitLink that comes with it, None where none does.
        python: the Python versions it has builds for, ``3.10``; free-threaded ones as ``3.14t``.
        aarch64_cuda: whether PyPI's build for aarch64 has CUDA.
        source: where that is written down.
        confidence: one word, see :class:`kprof.audit.table.Fact`.
    """

    version: str
    pypi_variant: str
    pypi_cuda: str
    cudart: str
    cudnn: str
    nccl: str
    triton: str
    nvjitlink: str | None
    python: tuple[str, ...]
    aarch64_cuda: bool
    source: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Host:
    """What a build must fit; None is not known and not asked for.

    Attributes:
        driver: its version.
        capability: the GPU's compute capability.
        machine: ``x86_64`` or ``aarch64``.
        python: the interpreter's version.
        system: ``linux`` or ``windows``.
    """

    driver: str | None
    capability: Capability | None
    machine: str
    python: str | None = None
    system: str = "linux"


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a build does not run on a machine.

    Attributes:
        kind: ``build`` (there is none for this machine), ``driver`` (too old), ``code`` (none for
            this GPU), ``python`` (no build for this version), or ``unsourced``: whether it runs
            is not known.
        text: the reason, a clause.
    """

    kind: Literal["build", "driver", "code", "python", "unsourced"]
    text: str

    def __str__(self) -> str:
        return self.text


@cache
def torch_releases() -> tuple[TorchRelease, ...]:
    """Return the releases of the table, oldest first.

    Source: measured from PyPI's metadata.
    """
    return tuple(
        TorchRelease(
            version=row["torch"],
            pypi_variant=row["variant"],
            pypi_cuda=cuda_of(row["variant"]) or "",
            cudart=row["cudart"],
            cudnn=row["cudnn"],
            nccl=row["nccl"],
            triton=row["triton"],
            nvjitlink=row.get("nvjitlink"),
            python=tuple(_pythons(row["python"])),
            aarch64_cuda=row["aarch64_cuda"],
            source=table.cited(row),
            confidence=row["confidence"],
        )
        for row in table.rows("torch")
    )


def torch_release(version: str) -> TorchRelease | None:
    """Return a release, ``"2.7.0+cu126"`` as ``"2.7.0"``; None for nightlies and unknown ones."""
    wanted = table.number(version)
    if wanted is None or wanted.is_prerelease:
        return None
    return next((one for one in torch_releases() if one.version == wanted.base_version), None)


def torch_variants(version: str) -> tuple[str, ...]:
    """Return the CUDA builds of a release on PyTorch's own index, ``("cu126", "cu128")``.

    Source: PyTorch's build matrix.
    """
    row = table.find("variants", torch=table.minor(version))
    return tuple(row["variants"]) if row else ()


def wheel_archs(version: str, variant: str, machine: str) -> Fact | None:
    """Return the code in a build, ``("sm_80", "sm_90")``; None where there is no such build.

    PTX is left out: the build scripts add it, wheels seen in the field lack it.

    Source: PyTorch's build scripts; measured in part with cuobjdump.
    """
    row = table.find("wheels", torch=table.minor(version), variant=variant, machine=machine)
    return None if row is None else table.of(row, tuple(row["archs"]))


def cuda_of(variant: str) -> str | None:
    """Return the CUDA version of a build's name, ``"12.6"`` of ``cu126``."""
    found = re.fullmatch(r"cu(\d{2})(\d)", variant)
    return f"{found[1]}.{found[2]}" if found else None


def index_url(variant: str) -> str:
    """Return the address to give to ``pip install --index-url``."""
    return INDEX + variant


def fitting_wheels(
    driver: str | None,
    capability: Capability | None,
    machine: str,
    python: str | None = None,
    torch: str | None = None,
    *,
    system: str = "linux",
) -> list[tuple[str, str]]:
    """Return the builds of PyTorch that run on a machine, newest first.

    What is not known is not asked for. Builds whose code is not sourced are left out.

    Args:
        driver: its version.
        capability: the GPU's.
        machine: ``x86_64`` or ``aarch64``.
        python: the interpreter's version.
        torch: the release wanted, ``2.7`` or ``2.7.1``.
        system: ``linux`` or ``windows``.

    Returns:
        pairs such as ``("2.7.1", "cu126")``.
    """
    host = Host(driver, capability, machine, python, system)
    return [
        (release.version, variant)
        for release, variant in builds(machine)
        if _wanted(release, torch) and misfit(release, variant, host) is None
    ]


def builds(machine: str) -> Iterator[tuple[TorchRelease, str]]:
    """Yield every release with every CUDA build that the table has for a machine, newest first."""
    for release, variant in all_builds():
        if wheel_archs(release.version, variant, machine) is not None:
            yield release, variant


def all_builds() -> Iterator[tuple[TorchRelease, str]]:
    """Yield every release with every CUDA build it has for any machine, newest first."""
    for release in reversed(torch_releases()):
        for variant in reversed(torch_variants(release.version)):
            yield release, variant


def misfit(release: TorchRelease, variant: str, host: Host) -> Misfit | None:
    """Return why a build does not run on a machine, None when nothing is against it."""
    archs = wheel_archs(release.version, variant, host.machine)
    if archs is None:
        return Misfit("build", f"there is no {variant} build for {host.machine}")
    return (
        _old_driver(variant, host) or _no_code(archs, host.capability) or _no_python(release, host)
    )


def _old_driver(variant: str, host: Host) -> Misfit | None:
    have, cuda = table.number(host.driver), table.number(cuda_of(variant))
    if have is None or cuda is None or _brings(have, cuda):
        return None
    needed = min_driver(cuda.major, host.system) or branch_of_cuda(f"{cuda.major}.0")
    if needed is None or have >= Version(str(needed.value)):
        return None
    return Misfit("driver", f"CUDA {cuda} needs driver {needed.value} or later")


def _brings(driver: Version, cuda: Version) -> bool:
    """Say whether a driver's branch is known to come with a CUDA version or a later one."""
    known = branch_cuda(driver.major)
    return known is not None and known.certain and Version(known.value) >= cuda


def _no_code(archs: Fact, capability: Capability | None) -> Misfit | None:
    if not archs.certain:
        return Misfit("unsourced", "which GPUs it has code for is not known")
    if capability is None or any(cubin_runs(arch, capability) for arch in archs.value):
        return None
    return Misfit("code", f"it has no code for compute capability {capability[0]}.{capability[1]}")


def _no_python(release: TorchRelease, host: Host) -> Misfit | None:
    if host.python is None or table.minor(host.python) in ("", *release.python):
        return None
    plain = [one for one in release.python if not one.endswith("t")]
    return Misfit("python", f"it has builds for Python {plain[0]} to {plain[-1]}")


def _wanted(release: TorchRelease, torch: str | None) -> bool:
    if torch is None:
        return True
    found = table.number(torch)
    if found is None:
        return False
    exact = len(found.release) > 2
    return (
        release.version == found.base_version
        if exact
        else table.minor(release.version) == table.minor(torch)
    )


def _pythons(text: str) -> Iterator[str]:
    """Yield ``3.10``, ``3.11``, ``3.13t`` of ``3.10-3.11, 3.13t``."""
    for part in text.split(", "):
        first, _, last = part.partition("-")
        if not last:
            yield part
            continue
        for number in range(int(first[2:]), int(last[2:]) + 1):
            yield f"3.{number}"
