"""How far the driver got: installed, loaded, listing GPUs, bringing CUDA up.

Like :mod:`kprof.audit.derive`, every function returns None where nothing is known.
"""

from __future__ import annotations

import re

from kprof.audit import derive, matrix
from kprof.audit.facts import Facts

# Products NVIDIA sells for data centers, which may load forward-compatibility libraries.
_DATA_CENTER = re.compile(
    r"\b(?:Tesla|A(?:2|10|10G|10M|16|30|40|100|800)|H(?:20|100|200|800)|L(?:2|4|20|40|40S)|"
    r"GH200|GB200|GB300|B(?:100|200|300)|[KMPTV](?:4|40|60|80|100))\b"
)
_CONSUMER = re.compile(r"\b(?:GeForce|TITAN)\b", re.IGNORECASE)
# Boards that hang on an NVSwitch when there are eight of them; PCIe and NVL cards do not, and
# SXM2 boards (V100, P100) are linked without one.
_SWITCHED = re.compile(r"SXM(?!2)|\b(?:H100 80GB HBM3|H200|H800|H20|B200|B300)\s*$")
_NAME, _GPUS = 200, 256  # characters of a name and GPUs of a machine that are looked at
_OTHER_DRIVERS = ("nouveau", "nova_core", "nvidiafb", "rivafb")
_COMPAT = re.compile(r"/(?:cuda-)?compat(?:[-_.][\w.-]{1,40})?/")
_SMI_RAN = (
    r"couldn't communicate with the NVIDIA driver|Failed to initialize NVML|No devices were found"
)
_CUDA_FAILED = (
    r"CUDA (?:initialization:|driver error|error:|unknown error|driver initialization failed)|"
    r"cudaError[A-Z]|CUDA_ERROR_[A-Z]|no CUDA-capable device|No CUDA GPUs are available|"
    r"Unexpected error from cudaGetDeviceCount|cuInit\S{0,20} (?:failed|returned)"
)


def listed(facts: Facts) -> int | None:
    """Return how many GPUs the driver lists, None when not asked."""
    found = derive.gpus(facts)
    return None if found is None else len(found)


def module_loaded(facts: Facts) -> bool | None:
    """Say whether the driver's kernel module is loaded, by the module list or by its effects."""
    if listed(facts) or facts.text("driver.module_version"):
        return True
    modules = facts.texts("driver.modules_loaded")
    if modules is None:
        return None
    return not {"nvidia", "nvgpu"}.isdisjoint(modules)


def no_driver(facts: Facts) -> bool:
    """Say whether it is known that no driver runs here: none is loaded and none has answered."""
    gone = facts.absent("driver.module_version") or module_loaded(facts) is False
    return gone and derive.driver_version(facts) is None and not module_loaded(facts)


def driverless(facts: Facts) -> bool:
    """Say whether no driver can be judged: none runs, or libcuda is gone and none has answered."""
    if works(facts) or listed(facts):
        return False
    libraries_gone = facts.absent("libcuda") and derive.driver_version(facts) is None
    return no_driver(facts) or libraries_gone


def no_gpu(facts: Facts) -> bool:
    """Say whether it is known that there is no GPU: none on the bus, none listed."""
    return on_bus(facts) == () and not listed(facts) and not derive.wsl(facts)


def libraries_installed(facts: Facts) -> bool | None:
    """Say whether the driver's user-space half is there: its libcuda, or an nvidia-smi that runs."""
    answered = facts.text("driver.version") or facts.text("driver.nvidia_smi_text")
    if listed(facts) or answered or derive.logged(facts, _SMI_RAN):
        return True
    if facts.absent("libcuda"):
        return False
    if facts.text("libcuda.kind") in ("stub", "compat"):
        return None
    return True if facts.text("libcuda.path") else None


def installed_branch(facts: Facts) -> int | None:
    """Return the driver's branch, also where only its libcuda is there and no module is loaded."""
    branch = derive.driver_branch(facts)
    if branch is None and facts.text("libcuda.kind") in (None, "driver"):
        found = derive.release(facts.text("libcuda.version"), 1)
        branch = found[0] if found else None
    return branch


def other_driver(facts: Facts) -> str | None:
    """Return a loaded driver for NVIDIA GPUs that is not NVIDIA's, None for none or not known."""
    bound = facts.texts("pci_drivers") or ()
    modules = facts.texts("driver.modules_loaded") or ()
    return next((name for name in _OTHER_DRIVERS if name in bound or name in modules), None)


def on_bus(facts: Facts) -> tuple[str, ...] | None:
    """Return the NVIDIA GPUs that the PCI bus shows, None when not looked for."""
    listed = facts.texts("lspci_gpus")
    return None if listed is None else tuple(name[:_NAME] for name in listed[:_GPUS])


def unlisted(facts: Facts) -> tuple[str, ...] | None:
    """Return the GPUs on the bus that the driver does not list; None when the bus is not known.

    Where the driver lists some, the ones it leaves out are told by their generation. Those that a
    virtual machine holds are not the driver's to list.
    """
    bus = derive.own_bus(facts)
    known = {generation(gpu) for gpu in derive.gpus(facts) or ()}
    if bus is None or not known:
        return bus
    if None in known or len(bus) <= (listed(facts) or 0):
        return ()
    return tuple(name for name in bus if matrix.generation_of_name(name) not in known)


def generation(gpu: derive.Gpu) -> str | None:
    """Return a listed GPU's generation, by its capability or name; None where it is not known."""
    return (
        matrix.generation(gpu.capability) if gpu.capability else None
    ) or matrix.generation_of_name(gpu.name)


def cuda_failure(facts: Facts) -> str | None:
    """Return the line that proves that CUDA does not come up, None where nothing says so."""
    line = derive.logged(facts, _CUDA_FAILED)
    if line is not None:
        return line
    if facts.flag("torch.cuda_available") is False and derive.torch_cuda(facts) is not None:
        return "torch.cuda_available = false"
    return None


def works(facts: Facts) -> bool:
    """Say whether CUDA is known to come up: cuInit found a GPU, or torch did.

    The driver's own libcuda comes up under any CUDA version: this says nothing of a newer one.
    """
    return derive.cuda_up(facts)


def runs_torch(facts: Facts) -> bool:
    """Say whether torch, with the CUDA that it brings, comes up: programs that use it run."""
    return facts.flag("torch.cuda_available") is True and derive.torch_cuda(facts) is not None


def runs_cuda(facts: Facts, major: int) -> bool:
    """Say whether the libcuda that is loaded comes up and offers a CUDA major version."""
    offered = derive.release(facts.text("libcuda.cuda_version"))
    counted = facts.number("libcuda.device_count") or 0
    return counted >= 1 and offered is not None and offered[0] >= major


def error_logged(facts: Facts, code: int, more: str = "") -> str | None:
    """Return the line in which a program reports a CUDA error, by name, message or number.

    A bare number counts only near the word CUDA: other programs have errors 3 and 100 too.

    Args:
        facts: the snapshot.
        code: the number, 802; its names come from the version table.
        more: a pattern for its message.
    """
    known = matrix.cuda_error(code)
    names = [rf"\b{name}\b" for name in (known.name, known.driver_name) if name] if known else []
    words = "|".join([*names, *([more] if more else [])])
    said = derive.logged(facts, words) if words else None
    return said or _numbered(facts, code)


def _numbered(facts: Facts, code: int) -> str | None:
    number = rf"\b(?:error(?: code)?[ :=(]{{0,3}}|code=){code}\b"
    if derive.logged(facts, number) is None:
        return None
    near = (rf"\bcu(?:da|Init).{{0,200}}{number}", rf"{number}.{{0,200}}\bcuda")
    return derive.logged(facts, "|".join(near))


def compat_library(facts: Facts) -> str | None:
    """Return what shows that a forward-compatibility libcuda is loaded, None where nothing does.

    The signs: its kind, its directory, or a CUDA version above the driver branch's own (Jetson's
    and Windows' drivers are numbered differently and are left out of that).
    """
    path = facts.text("libcuda.path") or ""
    if facts.text("libcuda.kind") == "compat" or _COMPAT.search(path):
        return f"libcuda is {derive.brief(path) or 'a compat library'}"
    return _raised_version(facts)


def _raised_version(facts: Facts) -> str | None:
    branch, reported = derive.driver_branch(facts), derive.release(derive.reported_cuda(facts))
    if branch is None or reported is None or derive.wsl(facts) or derive.jetson(facts):
        return None
    own = matrix.branch_cuda(branch)
    if own is None or not own.certain or reported <= (derive.release(own.value) or reported):
        return None
    shown = ".".join(map(str, reported))
    version = derive.brief(derive.driver_version(facts) or "", 30)
    return f"CUDA {shown} is reported where driver {version} brings {own.value}"


def forward_compatible(facts: Facts) -> bool | None:
    """Say whether all GPUs may load forward-compatibility libraries; None where it is not known."""
    names = [gpu.name for gpu in derive.gpus(facts) or ()] or list(on_bus(facts) or ())
    if any(_CONSUMER.search(name) for name in names):
        return False
    if derive.jetson(facts) or (names and all(map(_DATA_CENTER.search, names))):
        return True
    return None


def data_center(facts: Facts) -> bool:
    """Say whether some GPU is a data-center product."""
    return any(_DATA_CENTER.search(gpu.name) for gpu in derive.gpus(facts) or ())


def switched(facts: Facts) -> bool:
    """Say whether the GPUs hang on an NVSwitch: one on the bus, or eight boards of that kind."""
    if facts.number("nvswitches"):
        return True
    for node in ("/dev/nvidia-nvswitchctl", "/dev/nvidia-nvswitch0"):
        entry = facts.member("files", node)
        if entry is not None and entry.flag("exists"):
            return True
    names = [gpu.name for gpu in derive.gpus(facts) or ()]
    return sum(bool(_SWITCHED.search(name)) for name in names) >= 8


def exists(facts: Facts, path: str) -> bool | None:
    """Say whether a file of the snapshot's list exists, None when not looked at."""
    entry = facts.member("files", path)
    return None if entry is None else entry.flag("exists")
