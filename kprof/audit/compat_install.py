"""The forward-compatibility package: a newer libcuda over the driver that is there.

Source: CUDA Compatibility, forward compatibility
<https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html>.
"""

from __future__ import annotations

from kprof.audit import derive, gpustate, packages, repository
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy

GUIDE = "https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html"
_INSTALL = {
    "ubuntu": "sudo apt-get install -y",
    "debian": "sudo apt-get install -y",
    "rhel": "sudo dnf install -y",
    "fedora": "sudo dnf install -y",
    "suse": "sudo zypper install -y",
}


def install_compat(facts: Facts, cuda: tuple[int, int]) -> Remedy | None:
    """Return how to run a CUDA version over an older driver; None where the GPUs do not allow it.

    Only data-center GPUs do. Which driver branches the package runs on is in NVIDIA's table.
    """
    elsewhere = derive.jetson(facts) or derive.driver_system(facts) == "windows"
    if elsewhere or gpustate.forward_compatible(facts) is not True or not derive.gpus(facts):
        return None
    if gpustate.compat_library(facts):
        return None
    name = f"cuda-compat-{cuda[0]}-{cuda[1]}"
    distro = facts.text("os.distro")
    installer = _INSTALL.get(packages.family(distro) or "")
    text = (
        f"On a data-center GPU {name} can stand in for a newer driver, without a reboot "
        f"({GUIDE} lists the driver branches it runs on)"
    )
    if installer is None:
        return Remedy(f"{text}. It is a package of NVIDIA's repository")
    path = f"export LD_LIBRARY_PATH=/usr/local/cuda-{cuda[0]}.{cuda[1]}/compat:$LD_LIBRARY_PATH"
    commands = (*repository.add(distro, derive.machine(facts)), f"{installer} {name}", path)
    return Remedy(text, commands, "root")
