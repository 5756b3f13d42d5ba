"""NVIDIA's package repository: a fresh machine does not have it, and most packages come from it.

Source: CUDA installation guide for Linux, network repositories
<https://docs.nvidia.com/cuda/cuda-installation-guide-linux/index.html>.
"""

from __future__ import annotations

import re
from collections.abc import Callable

GUIDE = "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/index.html"
NOTE = "The first commands add NVIDIA's package repository, in case it is not there yet."
_ROOT = "https://developer.download.nvidia.com/compute/cuda/repos"
_ARCH = {"x86_64": "x86_64", "aarch64": "sbsa"}


def add(distro: str | None, machine: str | None = "x86_64") -> tuple[str, ...]:
    """Return the commands that add the repository; () where NVIDIA has none for the system.

    Args:
        distro: name and release, ``ubuntu 24.04``; None where it is not known.
        machine: ``x86_64`` or ``aarch64``; None, not known, goes by the former.
    """
    arch = _ARCH.get(machine or "x86_64")
    for pattern, commands in _SYSTEMS:
        found = re.match(pattern, (distro or "")[:80].lower())
        if found and arch:
            return commands(found.group(1), arch)
    return ()


def _ubuntu(release: str, arch: str) -> tuple[str, ...]:
    return _keyring(f"ubuntu{release}04", arch)


def _debian(release: str, arch: str) -> tuple[str, ...]:
    return _keyring(f"debian{release}", arch)


def _keyring(system: str, arch: str) -> tuple[str, ...]:
    return (
        f"wget {_ROOT}/{system}/{arch}/cuda-keyring_1.1-1_all.deb",
        "sudo dpkg -i cuda-keyring_1.1-1_all.deb",
        "sudo apt-get update",
    )


def _rhel(release: str, arch: str) -> tuple[str, ...]:
    return (f"sudo dnf config-manager --add-repo {_repo(f'rhel{release}', arch)}",)


def _amazon(release: str, arch: str) -> tuple[str, ...]:
    return (f"sudo dnf config-manager --add-repo {_repo(f'amzn{release}', arch)}",)


def _fedora(release: str, arch: str) -> tuple[str, ...]:
    return (f"sudo dnf config-manager addrepo --from-repofile={_repo(f'fedora{release}', arch)}",)


def _sles(release: str, arch: str) -> tuple[str, ...]:
    return (f"sudo zypper addrepo {_repo(f'sles{release}', arch)}",)


def _opensuse(release: str, arch: str) -> tuple[str, ...]:
    return (f"sudo zypper addrepo {_repo(f'opensuse{release}', arch)}",)


def _repo(system: str, arch: str) -> str:
    return f"{_ROOT}/{system}/{arch}/cuda-{system}.repo"


_SYSTEMS: tuple[tuple[str, Callable[[str, str], tuple[str, ...]]], ...] = (
    (r"(?:ubuntu|pop|neon|zorin)\D{0,9}(\d\d)\.04\b", _ubuntu),
    (r"debian\D{0,20}(\d\d)\b", _debian),
    (r"(?:rhel|red ?hat|rocky|alma|centos|oracle|ol\b)\D{0,30}(8|9|10)\b", _rhel),
    (r"(?:amzn|amazon)\D{0,20}(2023)\b", _amazon),
    (r"fedora\D{0,20}(\d\d)\b", _fedora),
    (r"sle[sd]\D{0,9}(15|16)\b", _sles),
    (r"opensuse\D{0,20}(15|16)\b", _opensuse),
)
