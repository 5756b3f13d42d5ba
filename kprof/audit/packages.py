"""How each Linux distribution installs NVIDIA's driver and rebuilds its initial file system.

Sources: NVIDIA driver installation guide, kernel modules
<https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/kernel-modules.html> and driver
helper script <https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/driver-assistant.html>;
Ubuntu's packages <https://packages.ubuntu.com/noble/nvidia-driver-580-open>; Arch Linux news of
2025-12 on the 580 branch <https://archlinux.org/news/>.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kprof.audit import derive, repository
from kprof.audit.facts import Facts

_APT = "sudo apt-get install -y"
START_FABRICMANAGER = "sudo systemctl enable --now nvidia-fabricmanager"
_OWN_PACKAGES = ("ubuntu", "arch")  # their drivers are in their own repositories
_FAMILIES = {
    "ubuntu": r"ubuntu|pop\b|linuxmint|mint|neon|zorin|elementary",
    "debian": r"debian|raspbian|kali|proxmox|devuan",
    "rhel": r"rhel|red ?hat|rocky|alma|centos|oracle|ol\b|amzn|amazon",
    "fedora": r"fedora|azurelinux|nobara",
    "suse": r"sles|sled|suse|opensuse",
    "arch": r"arch\b|manjaro|endeavouros|cachyos",
    "appliance": r"truenas|unraid|nixos|talos|cos\b|flatcar|bottlerocket|hiveos",
}


def host_distro(facts: Facts) -> str | None:
    """Return the distribution of the machine itself; None in a container, whose host is not seen.

    One that is not known here goes by the first one that it is said to be like.
    """
    if derive.in_container(facts):
        return None
    distro, like = facts.text("os.distro"), facts.text("os.distro_like") or ""
    if family(distro) is not None:
        return distro
    release = _major(distro)
    return next((f"{one} {release}" for one in like[:200].split() if family(one)), distro)


def family(distro: str | None) -> str | None:
    """Return ``ubuntu``, ``debian``, ``rhel``, ``fedora``, ``suse``, ``arch`` or ``appliance``.

    An appliance ships its driver with its own image; None is a distribution not known here.
    """
    words = (distro or "")[:80].lower()
    for name, pattern in _FAMILIES.items():
        if re.match(pattern, words):
            return name
    return None


def driver_commands(
    distro: str | None, branch: int, flavor: str, machine: str | None = None
) -> tuple[str, ...]:
    """Return the commands that install a driver branch, the reboot last; none for an appliance.

    They add NVIDIA's repository first where the packages come from there.

    Args:
        distro: name and release, ``ubuntu 24.04``; None where it is not known.
        branch: the driver branch.
        flavor: ``open`` or ``proprietary`` kernel modules.
        machine: ``x86_64`` or ``aarch64``, None where it is not known.
    """
    kind = family(distro)
    if kind == "appliance":
        return ()
    first = () if kind in _OWN_PACKAGES else repository.add(distro, machine)
    install = _INSTALL.get(kind or "", _assistant)
    return (*first, *install(_major(distro), branch, flavor == "open"), "sudo reboot")


def needs_assistant(distro: str | None) -> bool:
    """Say whether the driver is installed by NVIDIA's helper, which its repository has to bring."""
    return family(distro) is None


def appliance(distro: str, branch: int, flavor: str) -> str:
    """Return the advice for a system whose driver comes with its image."""
    if "nixos" in distro.lower():
        answer = "true" if flavor == "open" else "false"
        return (
            f"Set hardware.nvidia.open = {answer} and a hardware.nvidia.package of branch {branch} "
            "in the NixOS configuration, then run nixos-rebuild switch and reboot."
        )
    return (
        f"This system brings its driver with its own image: install a release that carries R{branch} "
        f"with the {flavor} kernel modules (or its driver add-on), then reboot."
    )


def initramfs(distro: str | None) -> str:
    """Return the command that rebuilds the initial file system, where module options are kept."""
    kind = family(distro)
    if kind in ("ubuntu", "debian"):
        return "sudo update-initramfs -u"
    if kind in ("rhel", "fedora", "suse"):
        return "sudo dracut --regenerate-all -f"
    if kind == "arch":
        return "sudo mkinitcpio -P"
    return "sudo update-initramfs -u || sudo dracut --regenerate-all -f"


def compute_libraries(distro: str | None, branch: int) -> tuple[str, ...]:
    """Return the commands that install the driver's user-space libraries for CUDA."""
    kind = family(distro)
    if kind == "debian":
        return (f"{_APT} libcuda1 nvidia-smi",)
    if kind in ("rhel", "fedora"):
        return ("sudo dnf install -y nvidia-driver-cuda",)
    if kind == "arch":
        return ("sudo pacman -S nvidia-utils",)
    if kind == "suse":
        return ("sudo zypper install -y nvidia-compute-G06 nvidia-compute-utils-G06",)
    if kind == "ubuntu":
        return (f"{_APT} libnvidia-compute-{branch} nvidia-utils-{branch}",)
    return ()


def fabricmanager(distro: str | None, branch: int, version: str | None) -> tuple[str, ...]:
    """Return the commands that install the driver's own fabric manager and start it.

    Where the distribution is not known, only the start.

    Args:
        distro: name and release.
        branch: the driver's branch.
        version: the driver's version, which the fabric manager's must be; None takes the newest.
    """
    exact = version if version and re.fullmatch(r"\d{3}(?:\.\d{1,4}){1,3}", version) else None
    kind, install = family(distro), ""
    if kind in ("rhel", "fedora"):
        install = f"sudo dnf install -y 'nvidia-fabricmanager{f'-{exact}*' if exact else ''}'"
    elif kind == "suse":
        install = "sudo zypper install -y nvidia-fabricmanager"
    elif kind in ("ubuntu", "debian"):
        install = f"{_APT} 'nvidia-fabricmanager-{branch}{f'={exact}*' if exact else ''}'"
    return (*filter(None, [install]), START_FABRICMANAGER)


def rebuild_module(distro: str | None) -> tuple[str, ...]:
    """Return the commands that build the driver's module for the running kernel."""
    kind = family(distro)
    if kind in ("rhel", "fedora"):
        headers = 'sudo dnf install -y "kernel-devel-$(uname -r)"'
    elif kind == "arch":
        headers = "sudo pacman -S linux-headers"
    elif kind in ("ubuntu", "debian"):
        headers = f'{_APT} "linux-headers-$(uname -r)"'
    else:
        return ("sudo dkms autoinstall", "sudo modprobe nvidia")
    return (headers, "sudo dkms autoinstall", "sudo modprobe nvidia")


def signing_key(distro: str | None) -> str:
    """Return the public key with which the distribution signs modules that it builds."""
    kind = family(distro)
    if kind == "ubuntu":
        return "/var/lib/shim-signed/mok/MOK.der"
    if kind == "fedora":
        return "/etc/pki/akmods/certs/public_key.der"
    return "/var/lib/dkms/mok.pub"


def _major(distro: str | None) -> str:
    found = re.search(r"\d{1,3}", distro or "")
    return found[0] if found else ""


def _ubuntu(_release: str, branch: int, is_open: bool) -> tuple[str, ...]:
    return ("sudo apt-get update", f"{_APT} nvidia-driver-{branch}{'-open' if is_open else ''}")


def _debian(_release: str, branch: int, is_open: bool) -> tuple[str, ...]:
    return (
        f"{_APT} nvidia-driver-pinning-{branch}",
        f"{_APT} {'nvidia-open' if is_open else 'cuda-drivers'}",
    )


def _rhel(release: str, branch: int, is_open: bool) -> tuple[str, ...]:
    if release == "10":
        return _fedora(release, branch, is_open)
    return (
        "sudo dnf module reset -y nvidia-driver",
        f"sudo dnf module enable -y nvidia-driver:{branch}-{'open' if is_open else 'dkms'}",
        f"sudo dnf install -y {'nvidia-open' if is_open else 'cuda-drivers'}",
    )


def _fedora(_release: str, branch: int, is_open: bool) -> tuple[str, ...]:
    return (
        f"sudo dnf versionlock add '*nvidia*{branch}*'",
        f"sudo dnf install -y {'nvidia-open' if is_open else 'cuda-drivers'}",
    )


def _arch(_release: str, branch: int, is_open: bool) -> tuple[str, ...]:
    if is_open:
        return ("sudo pacman -Syu nvidia-open",)
    return (f"yay -S nvidia-{branch}xx-dkms nvidia-{branch}xx-utils",)


def _assistant(_release: str, branch: int, is_open: bool) -> tuple[str, ...]:
    flavor = "open" if is_open else "closed"
    return (f"sudo nvidia-driver-assistant --install --branch {branch} --module-flavor {flavor}",)


def _suse(release: str, branch: int, is_open: bool) -> tuple[str, ...]:
    helper = "sudo zypper install -y nvidia-driver-assistant"
    return (helper, *_assistant(release, branch, is_open))


_INSTALL: dict[str, Callable[[str, int, bool], tuple[str, ...]]] = {
    "ubuntu": _ubuntu,
    "debian": _debian,
    "rhel": _rhel,
    "fedora": _fedora,
    "suse": _suse,
    "arch": _arch,
}
