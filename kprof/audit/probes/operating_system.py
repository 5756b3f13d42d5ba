"""What kind of system this is: distribution, kernel, container, WSL, Jetson, sandbox."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from typing import Any

from kprof.audit.probes.machine import Machine

_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}

# The first byte after four of attributes: 1 when the firmware checks signatures (UEFI
# specification 2.10, section 3.3, <https://uefi.org/specs/UEFI/2.10/03_Boot_Manager.html>).
_SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

# Jetson Linux major release -> JetPack major release (NVIDIA, Jetson Linux archive,
# <https://developer.nvidia.com/embedded/jetson-linux-archive>).
_JETPACK = {"32": "4", "34": "5", "35": "5", "36": "6", "38": "7"}

# gVisor's build time, which it has in place of a kernel's (gVisor, pkg/sentry/syscalls/linux,
# <https://github.com/google/gvisor>); newer releases name themselves too.
_GVISOR = re.compile(r"gvisor|Sun Jan 10 15:06:54 PST 2016", re.IGNORECASE)

_CONTAINER_PATHS = (
    ("kubernetes", re.compile(r"kubepods|kubelet")),
    ("podman", re.compile(r"libpod|containers/storage")),
    ("docker", re.compile(r"docker")),
    ("containerd", re.compile(r"containerd")),
    ("lxc", re.compile(r"\blxc\b")),
)


def operating_system(machine: Machine) -> dict[str, Any]:
    """Look at the system: every fact under ``os`` but the sandbox."""
    facts: dict[str, Any] = {
        "system": platform.system().lower(),
        "arch": _architecture(),
        "kernel": _kernel(machine),
        "wsl": _wsl(machine),
        "jetson": _jetson(machine),
        "container": container(machine),
        **_distribution(machine),
    }
    secure = _secure_boot(machine)
    return {"os": facts if secure is None else {**facts, "secure_boot": secure}}


def gvisor(text: str) -> bool:
    """Say whether a kernel's version line or log is gVisor's."""
    return _GVISOR.search(text) is not None


def container(machine: Machine) -> str | None:
    """Return the kind of container this runs in, None outside one."""
    environ = machine.environ
    if "APPTAINER_CONTAINER" in environ or "SINGULARITY_CONTAINER" in environ:
        return "apptainer"
    if machine.exists("/.singularity.d"):
        return "apptainer"
    if "KUBERNETES_SERVICE_HOST" in environ:
        return "kubernetes"
    if machine.exists("/var/run/secrets/kubernetes.io"):
        return "kubernetes"
    if machine.exists("/run/.containerenv"):
        return "podman"
    return _from_paths(machine) or ("docker" if machine.exists("/.dockerenv") else None)


def _from_paths(machine: Machine) -> str | None:
    text = "\n".join(_control_groups(machine))
    return next((kind for kind, pattern in _CONTAINER_PATHS if pattern.search(text)), None)


def _control_groups(machine: Machine) -> Iterator[str]:
    # This process' own groups, and where its root file system comes from: with version 2 of
    # control groups a container sees "0::/" alone. Other mounts say nothing: a host that runs
    # docker has its overlays mounted too.
    yield machine.read("/proc/self/cgroup") or ""
    for line in (machine.read("/proc/self/mountinfo") or "").splitlines():
        fields = line.split(" ")
        if len(fields) > 4 and fields[4] == "/":
            yield line


def _architecture() -> str:
    machine = platform.machine().lower()
    return _ARCHITECTURES.get(machine, machine)


def _kernel(machine: Machine) -> str:
    return (machine.read("/proc/sys/kernel/osrelease") or platform.release()).strip()


def _distribution(machine: Machine) -> dict[str, str]:
    text = machine.read("/etc/os-release") or machine.read("/usr/lib/os-release") or ""
    found = dict(re.findall(r"^(\w+)=[\"']?(.*?)[\"']?\s*$", text, re.MULTILINE))
    if "ID" not in found:
        return {}
    facts = {"distro": f"{found['ID']} {found.get('VERSION_ID', '')}".strip()}
    if found.get("ID_LIKE"):
        facts["distro_like"] = found["ID_LIKE"]
    return facts


def _wsl(machine: Machine) -> int | None:
    kernel = machine.read("/proc/sys/kernel/osrelease") or ""
    if "microsoft" not in kernel.lower():
        # A kernel of one's own keeps the device and the libraries.
        own = machine.exists("/dev/dxg") and machine.exists("/usr/lib/wsl/lib")
        return 2 if own else None
    # 4.4.0-19041-Microsoft is version 1; 5.15.90.1-microsoft-standard-WSL2 is version 2.
    return 1 if kernel.startswith("4.4.") else 2


def _jetson(machine: Machine) -> str | None:
    release = machine.read("/etc/nv_tegra_release")
    compatible = machine.read("/proc/device-tree/compatible") or ""
    if release is None and "nvidia,tegra" not in compatible:
        return None
    return _jetpack(machine, release or "") or _board(machine)


def _jetpack(machine: Machine, release: str) -> str | None:
    found = re.search(r"#\s*R(\d+)\s*\(release\),\s*REVISION:\s*([\d.]+)", release)
    if found is None:
        return None
    linux = f"L4T {found[1]}.{found[2]}"
    jetpack = _installed_jetpack(machine) or _JETPACK.get(found[1])
    return f"JetPack {jetpack} ({linux})" if jetpack else linux


def _installed_jetpack(machine: Machine) -> str | None:
    # The meta-package is optional; where it is installed, its version is JetPack's.
    packages = machine.read("/var/lib/dpkg/status", limit=16 * 2**20) or ""
    found = re.search(
        r"^Package: nvidia-jetpack\n(?:\S.*\n| .*\n)*?Version: (\d+(?:\.\d+)*)",
        packages,
        re.MULTILINE,
    )
    return found[1] if found else None


def _board(machine: Machine) -> str:
    model = (machine.read("/proc/device-tree/model") or "").strip("\0\n ")
    return model or "Jetson"


def _secure_boot(machine: Machine) -> bool | None:
    if not machine.exists("/sys/firmware/efi"):
        # Without UEFI there is none. Containers hide the folder: then it is not known.
        return False if machine.names("/sys/firmware") else None
    variable = machine.read_bytes(_SECURE_BOOT)
    return variable[4] == 1 if variable is not None and len(variable) == 5 else None
