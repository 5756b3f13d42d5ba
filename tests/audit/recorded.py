"""Machines made of recorded files and outputs: what the probes of the system get to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kprof.audit.probes.machine import Machine
from kprof.process import Completed

UUID = "GPU-5c2f6d0e-1f5b-7a9d-3c44-0d6f6e1b2a38"
MIG_UUIDS = (
    "MIG-1b7b5d5c-9a0a-5e0f-8f5d-5a3f1c8b7d21",
    "MIG-2c8c6e6d-0b1b-5f10-9a6e-6b402d9c8e32",
)

_FRAME = (
    "+-----------------------------------------------------------------------------------------+"
)
_SPLIT = (
    "+-----------------------------------------+------------------------+----------------------+"
)
_HEADINGS = """\
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|"""
_PROCESSES = f"""\

{_FRAME}
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A         2210183      C   ...me/alice/venv/bin/python3        1042MiB |
{_FRAME}
"""

SMI_H200 = f"""\
Mon Nov 23 09:41:12 2026       
{_FRAME}
| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |
{_SPLIT}
{_HEADINGS}
|   0  NVIDIA H200                    On  |   00000000:8D:00.0 Off |                    0 |
| N/A   31C    P0             76W /  700W |       0MiB / 143771MiB |      0%      Default |
|                                         |                        |             Disabled |
{_SPLIT}
{_PROCESSES}"""  # noqa: W291 - as nvidia-smi writes it

SMI_R610 = f"""\
Wed Sep 30 21:53:38 2026       
{_FRAME}
| NVIDIA-SMI 610.57.04              KMD Version: 610.57.04     CUDA UMD Version: 13.3     |
{_SPLIT}
{_HEADINGS}
|   0  NVIDIA GeForce RTX 4090        Off |   00000000:01:00.0  On |                  Off |
|  0%   44C    P8             17W /  450W |     580MiB /  24564MiB |      2%      Default |
|                                         |                        |                  N/A |
{_SPLIT}
"""  # noqa: W291

SMI_R470 = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.103.01   Driver Version: 470.103.01   CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
|   0  NVIDIA GeForce ...  Off  | 00000000:01:00.0  On |                  N/A |
| 27%   41C    P8    13W / 215W |    345MiB /  7979MiB |      3%      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+
"""
SMI_MISMATCH = """\
Failed to initialize NVML: Driver/library version mismatch
NVML library version: 550.107
"""
SMI_NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that "
    "the latest NVIDIA driver is installed and running.\n\n"
)

PROC_VERSION_OPEN = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  \
(dvs-builder@U22-I3-B17-02-5)  Tue Jun 16 09:55:41 UTC 2026
GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04) 
"""  # noqa: W291
PROC_VERSION_PROPRIETARY = """\
NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024
GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04) 
"""  # noqa: W291
PARAMS = """\
ResmanDebugLevel: 4294967295
RmLogonRC: 1
ModifyDeviceFiles: 1
DeviceFileMode: 438
RmProfilingAdminOnly: 1
PreserveVideoMemoryAllocations: 0
TemporaryFilePath: "/var/tmp"
ExcludedGpus: ""
"""
PROC_MODULES = """\
nvidia_uvm 2121728 4 - Live 0x0000000000000000 (OE)
nvidia_drm 139264 2 - Live 0x0000000000000000 (OE)
nvidia_modeset 1814528 1 nvidia_drm, Live 0x0000000000000000 (OE)
nvidia 14381056 62 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (OE)
ext4 1089536 3 - Live 0x0000000000000000
"""
MODINFO = """\
filename:       /lib/modules/6.8.0-45-generic/updates/dkms/nvidia.ko.zst
alias:          char-major-195-*
version:        580.173.02
supported:      external
license:        Dual MIT/GPL
firmware:       nvidia/580.173.02/gsp_tu10x.bin
"""
LSPCI = """\
0000:01:00.0 "VGA compatible controller [0300]" "NVIDIA Corporation [10de]" \
"AD102 [GeForce RTX 4090] [2684]" -ra1 -p00 "ASUSTeK Computer Inc. [1043]" "Device [889c]"
0000:01:00.1 "Audio device [0403]" "NVIDIA Corporation [10de]" \
"AD102 High Definition Audio Controller [22ba]" -ra1 "ASUSTeK Computer Inc. [1043]" "Device [889c]"
0000:05:00.0 "Bridge [0680]" "NVIDIA Corporation [10de]" "GH100 [H100 NVSwitch] [22a3]" -ra1 \
"NVIDIA Corporation [10de]" "Device [1796]"
0000:41:00.0 "3D controller [0302]" "NVIDIA Corporation [10de]" "Device [3182]" -ra1 \
"NVIDIA Corporation [10de]" "Device [1796]"
"""
PCI_IDS = """\
# a comment
10dd  Enhanced Graphics
\t0100  Something
10de  NVIDIA Corporation
\t2335  GH100 [H200 SXM 141GB]
\t\t10de 18be  a board
\t2684  AD102 [GeForce RTX 4090]
10df  Emulex Corporation
\t3182  A card of theirs
"""
DMESG = """\
[    0.000000] Linux version 6.8.0-45-generic (buildd@lcy02-amd64-115)
[    3.101234] nvidia-nvlink: Nvlink Core is being initialized, major device number 236
[    3.204567] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.159.04
[    9.000000] EXT4-fs (sda1): mounted filesystem
[   11.500000] audit: type=1400 apparmor="ALLOWED" name="/proc/driver/nvidia/params"
[ 4000.100000] PM: suspend entry (deep)
[ 4009.200000] PM: suspend exit
[ 5000.000001] NVRM: Xid (PCI:0000:8d:00): 79, GPU has fallen off the bus.
"""
QUERY_RTX4090 = f"550.54.14, NVIDIA GeForce RTX 4090, {UUID}, 24564, Default, [N/A], 8.9\n"
QUERY_A100_MIG = f"535.183.01, NVIDIA A100-SXM4-80GB, {UUID}, 81920, Exclusive_Process, Enabled\n"
SYSTEMCTL = """\
Id=nvidia-fabricmanager.service
LoadState=loaded
ActiveState=failed

Id=nvidia-persistenced.service
LoadState=loaded
ActiveState=active

Id=dcgm.service
LoadState=not-found
ActiveState=inactive

Id=nvidia-dcgm.service
LoadState=loaded
ActiveState=inactive
"""


def written(text: str = "", *, status: int = 0, stderr: str = "") -> Completed:
    """Return a program that ended."""
    return Completed(status, text.encode(), stderr.encode())


HUNG = Completed(-9, b"", b"", timed_out=True)


class Programs:
    """Runs nothing: answers with what is recorded, and remembers what was asked for.

    Attributes:
        asked: every command line, and the environment that it got.
    """

    def __init__(self, answers: Mapping[str, Completed]) -> None:
        self._answers = answers
        self.asked: list[tuple[list[str], Mapping[str, str]]] = []

    def __call__(
        self, argv: Sequence[str], environ: Mapping[str, str], timeout_s: float
    ) -> Completed | None:
        assert timeout_s > 0
        self.asked.append((list(argv), environ))
        names = [Path(argv[0]).name, *(Path(part).name for part in argv[1:])]
        joined = " ".join(names)
        best = max((key for key in self._answers if key in joined), key=len, default=None)
        return None if best is None else self._answers[best]


def machine(
    root: Path,
    files: Mapping[str, str | bytes] | None = None,
    programs: Mapping[str, Completed] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Machine:
    """Return a machine of these files, programs and variables alone.

    A program's key is its name, with a part of its arguments where they matter; the longest fits.
    """
    for name, content in (files or {}).items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Machine(root, dict(environ or {}), "/usr/bin/python3", Programs(programs or {}))
