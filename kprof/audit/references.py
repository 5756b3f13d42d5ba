"""Where the doctor's rules are written down that are not in the version table.

Each is a title, an address and a word for how sure it is, as in :class:`kprof.audit.table.Fact`.
"""

from __future__ import annotations

from kprof.audit import matrix

_README = "https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README"

SIGNING = f"NVIDIA driver README, installing the driver <{_README}/installdriver.html> [nvidia-doc]"
NOUVEAU = f"NVIDIA driver README, common problems <{_README}/commonproblems.html> [nvidia-doc]"
KERNEL_LOG = (
    "messages of NVIDIA's kernel module <https://github.com/NVIDIA/open-gpu-kernel-modules> "
    "[nvidia source]"
)
INITIALISATION = (
    "report of GPUs that need large PCI windows "
    "<https://github.com/NVIDIA/open-gpu-kernel-modules/issues/862> [third-party]"
)
HMM_REPORT = (
    "report of CUDA failing with HMM on <https://github.com/NVIDIA/open-gpu-kernel-modules/issues/901> "
    "[third-party]"
)
XID = "NVIDIA, XID errors <https://docs.nvidia.com/deploy/xid-errors/index.html> [nvidia-doc]"
INSTALLATION = (
    "NVIDIA driver installation guide "
    "<https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/index.html> [nvidia-doc]"
)
NVML = (
    "NVML API, return codes "
    "<https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html> [nvidia-doc]"
)
CONTAINER_TOOLKIT = (
    "NVIDIA Container Toolkit, installation and configuration "
    "<https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html> "
    "[nvidia-doc]"
)
CONTAINER_TROUBLE = (
    "NVIDIA Container Toolkit, containers losing access to GPUs "
    "<https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html> "
    "[nvidia-doc]"
)
CONTAINER_VARIABLES = (
    "NVIDIA Container Toolkit, environment variables "
    "<https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html> "
    "[nvidia-doc]"
)
WSL = "CUDA on WSL user guide <https://docs.nvidia.com/cuda/wsl-user-guide/index.html> [nvidia-doc]"
MIG = (
    "NVIDIA MIG user guide, CUDA visible devices "
    "<https://docs.nvidia.com/datacenter/tesla/mig-user-guide/index.html> [nvidia-doc]"
)
COMPUTE_MODES = (
    "CUDA programming guide, compute modes "
    "<https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#compute-modes> [nvidia-doc]"
)
FABRIC_MANAGER = (
    "Fabric Manager user guide "
    "<https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html> [nvidia-doc]"
)
GVISOR = (
    "gVisor, report of Nsight Compute in the sandbox <https://github.com/google/gvisor/issues/14146> "
    "[third-party]"
)
VGPU = (
    "NVIDIA virtual GPU client licensing "
    "<https://docs.nvidia.com/vgpu/latest/grid-licensing-user-guide/index.html> [nvidia-doc]"
)


def rule(name: str) -> str | None:
    """Return where a rule of the version table is written down."""
    found = matrix.rule(name)
    return str(found) if found else None


def cuda_error(code: int) -> str | None:
    """Return where the meaning of a CUDA error is written down."""
    known = matrix.cuda_error(code)
    return f"{known.source} [{known.confidence}]" if known else None
