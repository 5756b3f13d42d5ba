"""How to get an older GCC beside the present one, and how nvcc is told of it.

Sources: the distributions' package lists <https://packages.debian.org/>,
<https://packages.ubuntu.com/>; CUDA installation guide for Linux, Fedora
<https://docs.nvidia.com/cuda/cuda-installation-guide-linux/index.html>.
"""

from __future__ import annotations

import re

from kprof.audit import packages
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy

# Distribution -> how it installs an older GCC beside its own, and where that one's g++ is.
_OLDER_GCC = {
    "ubuntu": ("sudo apt-get install -y g++-{gcc}", "/usr/bin/g++-{gcc}"),
    "debian": ("sudo apt-get install -y g++-{gcc}", "/usr/bin/g++-{gcc}"),
    "rhel": (
        "sudo dnf install -y gcc-toolset-{gcc}-gcc-c++",
        "/opt/rh/gcc-toolset-{gcc}/root/usr/bin/g++",
    ),
    "fedora": ("sudo dnf install -y gcc{gcc}-c++", "/usr/bin/g++-{gcc}"),
    "suse": ("sudo zypper install -y gcc{gcc}-c++", "/usr/bin/g++-{gcc}"),
    "arch": ("sudo pacman -S gcc{gcc}", "/usr/bin/g++-{gcc}"),
}
# Release -> the versions of GCC that it has packages of, first and last.
_PACKAGED = {
    "debian 11": (9, 10), "debian 12": (11, 12), "debian 13": (12, 14),
    "ubuntu 20": (7, 10), "ubuntu 22": (9, 12), "ubuntu 24": (9, 14),
}  # fmt: skip


def older_compiler(facts: Facts, gcc: int | None) -> Remedy:
    """Return how to build with a GCC that is not newer than ``gcc``, None where nobody knows."""
    if gcc is None:
        return Remedy("Name an older compiler", ("export NVCC_CCBIN=/path/to/older/g++",))
    conda = Remedy(
        f"Install GCC {gcc} into this conda environment",
        (f"conda install -y -c conda-forge gxx={gcc}", "export NVCC_CCBIN=$CONDA_PREFIX/bin/g++"),
    )
    if facts.text("python.environment") == "conda":
        return conda
    distro = facts.text("os.distro")
    kind, packaged = packages.family(distro), _packaged(distro, gcc)
    if kind not in _OLDER_GCC or packaged is None:
        return Remedy(
            f"Install GCC {gcc} beside the present one, as this system does it, and name its g++ "
            "to nvcc",
            (f"g++-{gcc} --version", f"export NVCC_CCBIN=g++-{gcc}"),
            alternatives=(Remedy(f"Take conda's GCC {gcc}", conda.commands),),
        )
    install, path = (one.format(gcc=packaged) for one in _OLDER_GCC[kind])
    return Remedy(
        f"Install GCC {packaged} beside the present one, and name it to nvcc",
        (install, f"export NVCC_CCBIN={path}"),
        "root",
    )


def _packaged(distro: str | None, gcc: int) -> int | None:
    """Return the newest GCC up to a version that the release packages, None where it has none.

    A release that is not in the table is taken to have the one that is asked for.
    """
    found = re.match(r"(debian|ubuntu)\D{0,20}(\d\d)", (distro or "").lower())
    span = _PACKAGED.get(f"{found[1]} {found[2]}") if found else None
    if span is None:
        return gcc
    return min(gcc, span[1]) if gcc >= span[0] else None
