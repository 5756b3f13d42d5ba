"""Where a machine stands in the version table: what ``kprof doctor --matrix`` shows.

The whole table is there in every case; what is not known of the machine is ``unknown`` in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from packaging.version import Version

from kprof.audit import derive, matrix, table
from kprof.audit.devices import devices, dotted
from kprof.audit.facts import Facts
from kprof.audit.matrix_rows import (
    Answer,
    BranchRow,
    BuildRow,
    CudaRow,
    GpuRow,
    Machine,
    Runs,
    Standing,
)

__all__ = ["Standing", "machine_of", "standing"]

MARKS = 20  # of one kind in a row: a snapshot may list any number of toolkits
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def standing(facts: Facts) -> Standing:
    """Return where a machine stands in the version table."""
    machine = machine_of(facts)
    return Standing(
        machine=machine,
        branches=tuple(_branch(branch, machine) for branch in matrix.branches()),
        cudas=tuple(_cuda(cuda, machine) for cuda in _minors()),
        gpus=tuple(_gpu(known, machine) for known in matrix.architectures()),
        builds=tuple(_build(*build, machine) for build in matrix.all_builds()),
        date=matrix.table_date(),
        sources=tuple(matrix.sources().values()),
    )


def machine_of(facts: Facts) -> Machine:
    """Return what the table asks of a machine."""
    number = derive.driver_branch(facts)
    branch = None if number is None else matrix.own_branch(number)
    arch = (facts.text("os.arch") or "").lower()
    ours = derive.wsl(facts) or facts.text("os.system") == "windows"
    return Machine(
        driver=_short(derive.driver_version(facts)),
        branch=branch,
        cuda=_own_cuda(facts, branch),
        gpus=devices(facts),
        arch=_short(_MACHINES.get(arch, arch)),
        system="windows" if ours else "linux",
        python=_short(facts.text("python.version")),
        torch=_short(facts.text("torch.version")),
        torch_variant=_variant(facts),
        toolkits=tuple(_toolkits(facts)),
        nvcc=_short(facts.text("nvcc.version")),
        ncu=_short(facts.text("ncu.version")),
    )


def _short(text: str | None) -> str | None:
    return derive.brief(text, 60) if text else None


def _own_cuda(facts: Facts, branch: int | None) -> str | None:
    """Return the branch's CUDA version; what the driver reports only where that is not known."""
    known = matrix.branch_cuda(branch) if branch is not None else None
    if known is not None and known.certain:
        return str(known.value)
    reported = derive.release(derive.reported_cuda(facts))
    return f"{reported[0]}.{reported[1]}" if reported else None


def _variant(facts: Facts) -> str | None:
    cuda = derive.torch_cuda(facts)
    return f"cu{cuda[0]}{cuda[1]}" if cuda else None


def _toolkits(facts: Facts) -> Iterator[tuple[str, str]]:
    for found in (facts.items("toolkits") or ())[:MARKS]:
        version = _short(found.text("version"))
        if version:
            yield version, _short(found.text("root")) or "?"


def _every(answers: Iterable[bool | None]) -> Answer:
    """Return whether all of them are yes; unknown where there is none."""
    found = list(answers)
    if False in found:
        return "no"
    return "unknown" if None in found or not found else "yes"


def _value(fact: matrix.Fact | None) -> bool | None:
    return fact.value if fact is not None and fact.certain else None


def _text(fact: matrix.Fact | None) -> str | None:
    return str(fact.value) if fact is not None and fact.certain else None


def _number(fact: matrix.Fact | None) -> int | None:
    return int(fact.value) if fact is not None and fact.certain else None


def _branch(branch: int, machine: Machine) -> BranchRow:
    known = matrix.branch_cuda(branch)
    return BranchRow(
        branch=branch,
        cuda=_text(known),
        kind=_text(matrix.branch_kind(branch)),
        end=_text(matrix.branch_end(branch)),
        drives=_every(
            _value(matrix.branch_supports(branch, gpu.capability)) for gpu in machine.gpus
        ),
        here=branch == machine.branch,
        confidence=known.confidence if known else matrix.UNSOURCED,
    )


def _minors() -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(table.minor, matrix.toolkits())))


def _cuda(cuda: str, machine: Machine) -> CudaRow:
    major = Version(cuda).major
    return CudaRow(
        cuda=cuda,
        driver=_text(matrix.toolkit_driver(cuda)),
        needs=_text(matrix.min_driver(major)),
        runs=_runs(cuda, machine),
        ptx=_every([matrix.ptx_accepted(cuda, machine.cuda) if machine.cuda else None]),
        compiles=_every(_compiles(cuda, gpu.capability) for gpu in machine.gpus),
        gcc=_number(matrix.host_gcc(cuda)),
        ncu=_text(matrix.ncu_for_cuda(cuda)),
        here=tuple(_marks(cuda, machine)),
    )


def _runs(cuda: str, machine: Machine) -> Runs:
    if machine.cuda is not None and Version(machine.cuda) >= Version(cuda):
        return "native"
    needed = matrix.min_driver(Version(cuda).major, machine.system)
    have = table.number(machine.driver)
    if needed is None or have is None:
        return "unknown"
    return "minor-version compatibility" if have >= Version(needed.value) else "no"


def _compiles(cuda: str, capability: matrix.Capability) -> bool | None:
    known = matrix.architecture(capability)
    if known is None:
        return None
    begun = Version(known.first_cuda) <= Version(cuda)
    return begun and (known.last_cuda is None or Version(cuda) <= Version(known.last_cuda))


def _marks(cuda: str, machine: Machine) -> Iterator[str]:
    if machine.cuda == cuda:
        yield f"driver {machine.driver}" if machine.driver else "driver"
    if machine.torch and machine.torch_variant and matrix.cuda_of(machine.torch_variant) == cuda:
        yield f"torch {machine.torch}"
    if machine.nvcc and table.minor(machine.nvcc) == cuda:
        yield f"nvcc {machine.nvcc}"
    for version, root in machine.toolkits:
        if table.minor(version) == cuda:
            yield f"toolkit {root}"
    comes_with = _text(matrix.ncu_for_cuda(cuda))
    if machine.ncu and comes_with and table.minor(machine.ncu) == table.minor(comes_with):
        yield f"ncu {machine.ncu}"


def _gpu(known: matrix.Architecture, machine: Machine) -> GpuRow:
    mine = [gpu for gpu in machine.gpus if gpu.capability == known.capability]
    chips = [gpu.chip for gpu in mine] or [None]
    ncu = [_profiles(machine.ncu, known.capability, chip) for chip in chips]
    return GpuRow(
        capability=dotted(known.capability),
        name=known.name,
        generation=known.generation,
        first_cuda=known.first_cuda,
        last_cuda=known.last_cuda,
        first_branch=_number(matrix.first_branch(known.capability)),
        last_branch=None if known.tegra else _number(matrix.last_branch(known.generation)),
        modules=None if known.tegra else _text(matrix.modules_needed(known.generation)),
        ncu_first=_text(matrix.ncu_needed_for(known.capability, chips[0])),
        ncu_listed=_text(matrix.ncu_listed_in(known.capability, chips[0])),
        ncu_dropped=_text(matrix.ncu_dropped(known.capability)),
        ncu_never=_value(matrix.ncu_never(known.capability)) is True,
        ncu_here=_every(ncu),
        here=tuple(derive.brief(gpu.name, 60) for gpu in mine[:MARKS]),
    )


def _profiles(ncu: str | None, capability: matrix.Capability, chip: str | None) -> bool | None:
    return _value(matrix.ncu_supports(ncu, capability, chip)) if ncu else None


def _build(release: matrix.TorchRelease, variant: str, machine: Machine) -> BuildRow:
    fits, kind, reason = _fit(release, variant, machine)
    return BuildRow(
        torch=release.version,
        variant=variant,
        pypi=variant == release.pypi_variant,
        index_url=matrix.index_url(variant),
        fits=fits,
        kind=kind,
        reason=reason,
        here=_installed(machine) == (release.version, variant),
    )


def _installed(machine: Machine) -> tuple[str, str] | None:
    release = matrix.torch_release(machine.torch or "")
    return (release.version, machine.torch_variant or "") if release else None


def _fit(
    release: matrix.TorchRelease, variant: str, machine: Machine
) -> tuple[Answer, str | None, str]:
    """Return whether a build runs here, the kind of what is against it, and the reason."""
    if machine.arch is not None:
        against = _against(release, variant, machine)
        if against is not None:
            doubt = against.kind == "unsourced"
            return ("unknown" if doubt else "no"), against.kind, against.text
    if machine.missing:
        return "unknown", None, f"not known here: {', '.join(machine.missing)}"
    return "yes", None, _how(variant, machine)


def _against(release: matrix.TorchRelease, variant: str, machine: Machine) -> matrix.Misfit | None:
    capabilities: list[matrix.Capability | None] = [gpu.capability for gpu in machine.gpus]
    for capability in capabilities or [None]:
        host = matrix.Host(
            machine.driver, capability, machine.arch or "", machine.python, machine.system
        )
        found = matrix.misfit(release, variant, host)
        if found is not None:
            return found
    return None


def _how(variant: str, machine: Machine) -> str:
    cuda = matrix.cuda_of(variant) or ""
    if _runs(cuda, machine) != "minor-version compatibility":
        return ""
    if machine.cuda is None or matrix.ptx_accepted(cuda, machine.cuda):
        return "by minor-version compatibility"
    return f"by minor-version compatibility; PTX of CUDA {cuda} is too new for this driver"
