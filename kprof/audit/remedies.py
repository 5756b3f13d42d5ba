"""Exact commands for the machine that a snapshot describes.

A command holds text from a snapshot only through :func:`quoted`. Nothing here runs anything.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Sequence
from typing import Literal

from kprof.audit import derive, matrix, packages, repository, windows
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy

Flavor = Literal["open", "proprietary"]

# The long-term branch that drives everything from Maxwell to Blackwell and offers CUDA 13.
LTS_BRANCH = 580
_PATH = re.compile(r"(?:[~.]{0,2}/|\w)[^\n\r\0]{0,299}")
_MODULES = "nvidia_drm nvidia_modeset nvidia_uvm nvidia"
# Source: NVIDIA driver installation guide, kernel modules.
NEWER_GPU = "a GPU of Turing or later (RTX, GTX 16, T4 and newer)"
OLDER_GPU = "a GPU before Turing (GTX 10, P100, V100 and older)"
_HELPER = (
    " nvidia-driver-assistant is a package of NVIDIA's repository, which its guide says how to "
    f"add: {repository.GUIDE}"
)


def quoted(path: str, otherwise: str = "python") -> str:
    """Return a snapshot's path as one word of a shell command; ``~/`` still means the home folder.

    Args:
        path: the text, from anywhere.
        otherwise: what to write where it is no path that anybody would type.
    """
    if not _PATH.fullmatch(path) or not path.isprintable():
        return otherwise
    if path.startswith("~/"):
        return "~/" + shlex.quote(path[2:])
    return shlex.quote(path)


def python(facts: Facts) -> str:
    """Return the target's interpreter as a word of a command."""
    path = facts.text("python.executable") or "python"
    return windows.quoted(path) if derive.native_windows(facts) else quoted(path)


def either(first: Remedy, *others: Remedy | None) -> Remedy:
    """Return a remedy with other ways beside it, on one level; None is no way."""
    ways = [*first.alternatives]
    for one in others:
        if one is not None:
            ways += [dataclasses.replace(one, alternatives=()), *one.alternatives]
    return dataclasses.replace(first, alternatives=tuple(ways))


def letter(request: str, commands: Sequence[str] = ()) -> Remedy:
    """Return a remedy that only the host's admin can carry out, with a text ready to send.

    Args:
        request: what is wrong on the host, with the values that prove it, in whole sentences.
        commands: what to run on the host.
    """
    please = " Please run the commands below on the host." if commands else ""
    text = (
        "Inside this container nothing can change this. Send this to the host's admin, or run it "
        "there yourself: "
        f'"{request}{please} Thank you!"'
    )
    return Remedy(text, tuple(commands), "host")


def on_host(facts: Facts, advice: str, commands: Sequence[str], *, request: str) -> Remedy:
    """Return a remedy for root, or a letter where the machine is a container.

    Args:
        facts: the snapshot.
        advice: what root of this machine should know.
        commands: what to run as root.
        request: the same for the admin of the host.
    """
    if derive.in_container(facts):
        return letter(request, commands)
    return Remedy(advice, tuple(commands), "root")


def install_driver(
    facts: Facts,
    branch: int,
    *,
    least: int = 0,
    flavor: Flavor | None = None,
    because: str = "",
) -> Remedy:
    """Return how to get a driver branch onto this machine, ending in a reboot.

    Args:
        facts: the snapshot.
        branch: the driver branch, 580.
        least: the first branch that would do, where the GPUs' last one is before ``branch``.
        flavor: of the kernel modules; None takes the one that the GPUs need.
        because: a sentence with the values that make it necessary, for the admin's letter.
    """
    if derive.wsl(facts):
        return windows_driver(branch)
    if derive.native_windows(facts):
        return windows.install_driver(branch)
    if derive.jetson(facts):
        return Remedy(
            "A Jetson's driver is part of JetPack: install a JetPack release whose CUDA is new "
            "enough, or use a torch built for this JetPack.",
            ("sudo apt-get update", "sudo apt-get install -y nvidia-jetpack"),
            "root",
        )
    last = last_branch(facts)
    if last is not None and last < least:
        return Remedy(
            f"R{last} is the last driver for this GPU, and it is too old: use software built for an "
            "older CUDA version, or another GPU."
        )
    branch = min(branch, last or branch)
    known = flavor or fitting_flavor(facts)
    if known is not None:
        return _driver(facts, branch, known, because)
    older = _driver(facts, branch, "proprietary", because, f" for {OLDER_GPU}")
    newer = _driver(facts, branch, "open", because, f" for {NEWER_GPU}")
    return dataclasses.replace(newer, alternatives=(older,))


def _driver(facts: Facts, branch: int, flavor: Flavor, because: str, which: str = "") -> Remedy:
    distro = packages.host_distro(facts)
    commands = packages.driver_commands(distro, branch, flavor, derive.machine(facts))
    helper = _HELPER if packages.needs_assistant(distro) else ""
    if derive.in_container(facts):
        request = (
            f"The host needs NVIDIA driver R{branch} ({flavor} kernel modules{which}). {because}"
        )
        return letter(f"{request.strip()}{helper}", commands)
    advice = f"Install driver R{branch} with the {flavor} kernel modules{which}, then reboot."
    if not commands:
        return Remedy(packages.appliance(distro or "", branch, flavor) + which, (), "root")
    return Remedy(advice + helper, commands, "root")


def fitting_driver(facts: Facts) -> Remedy:
    """Return how to install a driver that fits the GPUs on the bus."""
    return install_driver(facts, LTS_BRANCH)


def last_branch(facts: Facts) -> int | None:
    """Return the last driver branch that drives all GPUs here, None while the newest does."""
    ends = (matrix.last_branch(one) for one in _generations(facts))
    return min((int(end.value) for end in ends if end is not None), default=None)


def fitting_flavor(facts: Facts) -> Flavor | None:
    """Return the flavour of kernel modules for the GPUs here, the open one where both will do.

    Where no GPU is known it is the flavour that is loaded, None where that is not known either.
    """
    needed = {
        str(one.value) for one in map(matrix.modules_needed, _generations(facts)) if one is not None
    }
    if not needed:
        loaded = facts.text("driver.module_flavor")
        return "open" if loaded == "open" else "proprietary" if loaded == "proprietary" else None
    return "proprietary" if needed == {"proprietary"} else "open"


def _generations(facts: Facts) -> list[str]:
    listed = [gpu.name for gpu in derive.gpus(facts) or ()]
    bus = derive.own_bus(facts) or facts.texts("lspci_gpus") or ()
    names = listed or [name[:200] for name in bus]
    return [one for one in map(matrix.generation_of_name, names[:64]) if one]


def windows_driver(branch: int | None = None) -> Remedy:
    """Return how to update the driver that WSL borrows from Windows."""
    which = f" of the R{branch} family or newer" if branch else ""
    return Remedy(
        f"WSL uses the driver of Windows: install a current one{which} there from "
        "https://www.nvidia.com/drivers (never a Linux driver inside WSL), then restart WSL.",
        ("wsl --shutdown",),
        "windows",
    )


def without_mig(facts: Facts) -> Remedy:
    """Return how to turn MIG off, which takes every instance away: never a step among others."""
    return Remedy(
        "Turn MIG off: this destroys every instance, so only where nobody else uses the GPU",
        ("sudo nvidia-smi -mig 0",),
        "host" if derive.in_container(facts) else "root",
    )


def reload_uvm() -> tuple[str, ...]:
    """Return the commands that load the unified-memory module afresh; no CUDA program may run."""
    return ("sudo rmmod nvidia_uvm", "sudo modprobe nvidia_uvm")


def reload_driver() -> tuple[str, ...]:
    """Return the commands that load all modules afresh; nothing may use the GPU, no desktop."""
    return (f"sudo rmmod {_MODULES}", "sudo modprobe nvidia", "sudo modprobe nvidia_uvm")


def module_option(facts: Facts, option: str) -> tuple[str, ...]:
    """Return the commands that set a module option for good: written, into the initramfs, reboot.

    Args:
        facts: the snapshot.
        option: ``nvidia_uvm uvm_disable_hmm=1``, fixed text of a check.
    """
    return (
        f"echo 'options {option}' | sudo tee /etc/modprobe.d/kprof-{option.split()[0]}.conf",
        packages.initramfs(packages.host_distro(facts)),
        "sudo reboot",
    )
