"""The version table with a machine in it, as plain values; :mod:`kprof.audit.standing` fills them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kprof.audit.devices import Device

Answer = Literal["yes", "no", "unknown"]
Runs = Literal["native", "minor-version compatibility", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Machine:
    """What is known of the machine; None is unknown.

    Attributes:
        driver: the kernel driver's version.
        branch: its branch.
        cuda: the CUDA version that it brings itself; a compat libcuda does not raise it.
        gpus: the kinds of GPU, () for unknown.
        arch: ``x86_64`` or ``aarch64``.
        system: ``linux``, or ``windows`` where the driver is Windows' (WSL too).
        python: the target interpreter's version.
        torch: the version of torch in it.
        torch_variant: its build, ``cu126``.
        toolkits: the toolkits found, version and place.
        nvcc: the version of the nvcc that is found first.
        ncu: the version of the ncu that is found first.
    """

    driver: str | None
    branch: int | None
    cuda: str | None
    gpus: tuple[Device, ...]
    arch: str | None
    system: str
    python: str | None
    torch: str | None
    torch_variant: str | None
    toolkits: tuple[tuple[str, str], ...]
    nvcc: str | None
    ncu: str | None

    @property
    def missing(self) -> tuple[str, ...]:
        """What would have to be known to say which builds of torch fit."""
        known = {"driver": self.driver, "GPU": self.gpus, "machine": self.arch}
        return tuple(name for name, value in known.items() if not value)


@dataclass(frozen=True, slots=True)
class BranchRow:
    """A driver branch.

    Attributes:
        branch: its number.
        cuda: the CUDA version that it brings, None where that is not sourced.
        kind: ``long-term``, ``production`` or ``new feature``, None where not known.
        end: the month in which its support ends, None where not known.
        drives: whether it drives this machine's GPUs.
        here: whether it is installed.
        confidence: of ``cuda``.
    """

    branch: int
    cuda: str | None
    kind: str | None
    end: str | None
    drives: Answer
    here: bool
    confidence: str


@dataclass(frozen=True, slots=True)
class CudaRow:
    """A minor release of CUDA.

    Attributes:
        cuda: ``12.4``.
        driver: the driver that its first release ships with, None where not known.
        needs: the oldest driver that runs what it builds.
        runs: how the driver here runs what it builds.
        ptx: whether the driver here compiles its PTX.
        compiles: whether its nvcc compiles for this machine's GPUs.
        gcc: the highest major version of GCC that its nvcc takes.
        ncu: the Nsight Compute that its first release comes with.
        here: what of it is on this machine: ``driver``, ``torch 2.7.1``, ``nvcc``,
            ``toolkit /usr/local/cuda-12.4``, ``ncu 2024.1.1``.
    """

    cuda: str
    driver: str | None
    needs: str | None
    runs: Runs
    ptx: Answer
    compiles: Answer
    gcc: int | None
    ncu: str | None
    here: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GpuRow:
    """What a GPU architecture needs.

    Attributes:
        capability: ``8.9``.
        name: ``Ada``.
        generation: its generation.
        first_cuda: the first toolkit that compiles for it.
        last_cuda: the last one, None while the newest does.
        first_branch: the driver branch of that first toolkit, None before the table begins.
        last_branch: the last driver branch, None while the newest drives it.
        modules: the kernel modules it takes: ``open``, ``proprietary`` or ``either``.
        ncu_first: the Nsight Compute it needs at least, None where that is not sourced.
        ncu_listed: one whose list has it, where the first that has is not sourced.
        ncu_dropped: the one that no longer profiles it, None while the newest does.
        ncu_never: whether no Nsight Compute ever did.
        ncu_here: whether the ncu here profiles it.
        here: the names of this machine's GPUs of this architecture.
    """

    capability: str
    name: str
    generation: str
    first_cuda: str
    last_cuda: str | None
    first_branch: int | None
    last_branch: int | None
    modules: str | None
    ncu_first: str | None
    ncu_listed: str | None
    ncu_dropped: str | None
    ncu_never: bool
    ncu_here: Answer
    here: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BuildRow:
    """A build of PyTorch.

    Attributes:
        torch: the release, ``2.7.1``.
        variant: the build, ``cu126``.
        pypi: whether it is what PyPI has for Linux x86_64.
        index_url: where pip finds it.
        fits: whether it runs on this machine.
        kind: of the reason against it, see :class:`kprof.audit.wheels.Misfit`.
        reason: a clause: what is against it, what is missing, or by which rule it runs.
        here: whether it is installed.
    """

    torch: str
    variant: str
    pypi: bool
    index_url: str
    fits: Answer
    kind: str | None
    reason: str
    here: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """The version table with this machine in it; every list is oldest first, builds newest first.

    Attributes:
        machine: what is known of it.
        branches: driver branches.
        cudas: CUDA's minor releases.
        gpus: GPU architectures.
        builds: builds of PyTorch.
        date: when the table was put together.
        sources: where its rows are from, title and address.
    """

    machine: Machine
    branches: tuple[BranchRow, ...]
    cudas: tuple[CudaRow, ...]
    gpus: tuple[GpuRow, ...]
    builds: tuple[BuildRow, ...]
    date: str
    sources: tuple[tuple[str, str], ...]

    @property
    def newest_fit(self) -> BuildRow | None:
        """The newest release of PyTorch that runs here, None where none is known to.

        Among its builds one that the driver runs natively comes first.
        """
        fitting = [row for row in self.builds if row.fits == "yes"]
        newest = [row for row in fitting if row.torch == fitting[0].torch]
        return min(newest, key=lambda row: bool(row.reason), default=None)
