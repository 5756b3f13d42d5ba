"""How to get an ncu that fits this machine."""

from __future__ import annotations

from collections.abc import Sequence

from kprof.audit import derive, matrix, packages, repository
from kprof.audit.devices import Device
from kprof.audit.devices import devices as known_devices
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy

DOWNLOAD = "https://developer.nvidia.com/tools-overview/nsight-compute/get-started"

_INSTALLERS = {
    "ubuntu": "sudo apt-get install -y",
    "debian": "sudo apt-get install -y",
    "rhel": "sudo dnf install -y",
    "fedora": "sudo dnf install -y",
    "suse": "sudo zypper install -y",
}


def other_install(facts: Facts) -> tuple[str, str] | None:
    """Return the path and version of a working ncu besides the first, None where there is none."""
    first = facts.text("ncu.path")
    for install in facts.items("ncu.installs") or ():
        path, version = install.text("path"), install.text("version")
        if path and version and path != first:
            return path, version
    return None


def install_ncu(facts: Facts, devices: Sequence[Device] | None = None) -> Remedy:
    """Return how to install the ncu that suits the driver's CUDA version and profiles the GPUs.

    Args:
        facts: the snapshot.
        devices: the GPUs that it must know, None for those of the machine.
    """
    devices = known_devices(facts) if devices is None else devices
    version = suitable(facts, devices)
    if version is None and any(map(_beyond_reach, devices)):
        return _without_ncu(devices)
    name = f"Nsight Compute {version}" if version else "Nsight Compute"
    advice = f"Install {name} ({DOWNLOAD}); several versions can stand side by side"
    if facts.text("python.environment") == "conda":
        pin = f"={version}" if version else ""
        return Remedy(advice, (f"conda install -y -c conda-forge nsight-compute{pin}",))
    distro = facts.text("os.distro")
    installer = _INSTALLERS.get(packages.family(distro) or "")
    if installer is None or version is None:
        return Remedy(advice)
    first = repository.add(distro, derive.machine(facts))
    note = repository.NOTE if first else "The package comes from NVIDIA's repository."
    return Remedy(f"{advice}. {note}", (*first, f"{installer} nsight-compute-{version}"), "root")


def suitable(facts: Facts, devices: Sequence[Device]) -> str | None:
    """Return the newest ncu for the driver's CUDA version that profiles every GPU.

    Where none is both, the first that profiles them all; None where none is known to.
    """
    driver = derive.driver_cuda(facts)
    known = [(derive.release(cuda), matrix.ncu_for_cuda(cuda)) for cuda in matrix.toolkits()]
    fits = [
        (cuda, fact.value)
        for cuda, fact in known
        if fact is not None and fact.certain and all(_profiles(fact.value, one) for one in devices)
    ]
    belongs = [value for cuda, value in fits if driver is None or (cuda and cuda <= driver)]
    if belongs:
        return str(belongs[-1])
    return str(fits[0][1]) if fits else None


def _beyond_reach(device: Device) -> bool:
    """Say whether no ncu of the toolkits of today profiles a GPU: none does, or none does now."""
    ends = (matrix.ncu_never(device.capability), matrix.ncu_dropped(device.capability))
    return any(one is not None and one.certain for one in ends)


def _without_ncu(devices: Sequence[Device]) -> Remedy:
    """Return what is left for a GPU that no current ncu profiles.

    Source: CUDA Profiler User's Guide, nvprof is for devices before compute capability 8.0 and
    part of the toolkits up to CUDA 12
    <https://docs.nvidia.com/cuda/archive/12.9.1/profiler-users-guide/index.html>.
    """
    device = next(one for one in devices if _beyond_reach(one))
    dropped = matrix.ncu_dropped(device.capability)
    which = f"No Nsight Compute from {dropped.value} on" if dropped else "No Nsight Compute"
    return Remedy(
        f"{which} profiles {device}. Profile on a newer GPU (Turing or later), or use nvprof of a "
        "toolkit up to CUDA 12 on this one; kprof reads reports of Nsight Compute only",
        ("nvprof --print-gpu-trace TARGET",),
    )


def _profiles(version: str, device: Device) -> bool:
    fact = matrix.ncu_supports(version, device.capability, device.chip)
    return fact is not None and fact.certain and fact.value is True
