"""Facts that several checks read out of the same raw facts.

Every function returns None where nothing is known, and never guesses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from packaging.version import InvalidVersion, Version

from kprof.audit import matrix
from kprof.audit.facts import Facts

# nvidia-smi's table header, before and since R610 (KMD/UMD).
SMI_DRIVER = re.compile(r"(?:Driver|KMD) Version:\s*([\d.]+)")
SMI_CUDA = re.compile(r"CUDA(?:\s+UMD)?\s+Version:\s*([\d.]+)")

# Lines of a log, characters of one (the kernel's own limit, LOG_LINE_MAX of printk.c) and of all;
# probes keep far fewer.
_LINES_KEPT, _LINE, _LOG = 20_000, 1024, 400_000
_LIBRARIES, _FOLDERS = 300, 1000  # loaded libraries and entries of a search path
_NAME, _GPUS = 200, 256  # characters of a GPU's name and GPUs of a machine that are looked at


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as the driver lists it.

    Attributes:
        name: the marketing name, "" when not known.
        capability: compute capability (major, minor), None when not known.
        facts: everything else about it.
    """

    name: str
    capability: tuple[int, int] | None
    facts: Facts


@dataclass(frozen=True, slots=True)
class Library:
    """A CUDA library that the target's process has loaded.

    Attributes:
        name: what the snapshot calls it, ``libcublas``.
        path: the file.
        version: its version, None when not known.
    """

    name: str
    path: str
    version: str | None


def version(text: str | None) -> Version | None:
    """Return a version that can be compared, None for text that is none."""
    if text is None:
        return None
    short = text.strip()[:100]  # the reader of a number refuses one of thousands of digits
    try:
        return Version(short)
    except InvalidVersion:
        found = re.match(r"v?(\d+(?:\.\d+)*)", short)
        return Version(found[1]) if found else None


def release(text: str | None, parts: int = 2) -> tuple[int, ...] | None:
    """Return the first numbers of a version, ``(12, 4)``; missing ones are 0."""
    found = version(text)
    if found is None:
        return None
    return (*found.release, *(0,) * parts)[:parts]


def capability(text: str | None) -> tuple[int, int] | None:
    """Return ``"8.9"`` as ``(8, 9)``."""
    found = re.fullmatch(r"\s*(\d{1,3})\.(\d{1,3})\s*", text or "")
    return (int(found[1]), int(found[2])) if found else None


def driver_version(facts: Facts) -> str | None:
    """Return the kernel driver's version from NVML, nvidia-smi's text or the loaded module."""
    smi = SMI_DRIVER.search(facts.text("driver.nvidia_smi_text") or "")
    return (
        facts.text("driver.module_version")
        or facts.text("driver.version")
        or (smi[1] if smi else None)
    )


def driver_branch(facts: Facts) -> int | None:
    """Return the driver's branch, the first number of its version."""
    found = release(driver_version(facts), 1)
    return found[0] if found else None


def reported_cuda(facts: Facts) -> str | None:
    """Return the CUDA version the driver's libraries report, which a compat libcuda can raise."""
    smi = SMI_CUDA.search(facts.text("driver.nvidia_smi_text") or "")
    return facts.text("driver.cuda_version") or (smi[1] if smi else None)


def driver_cuda(facts: Facts) -> tuple[int, int] | None:
    """Return the CUDA version whose PTX the driver compiles: the reported one or its branch's."""
    found = release(reported_cuda(facts))
    branch = driver_branch(facts)
    if found is None and branch is not None:
        known = matrix.branch_cuda(branch)
        found = release(known.value) if known is not None and known.certain else None
    return (found[0], found[1]) if found else None


def gpus(facts: Facts) -> tuple[Gpu, ...] | None:
    """Return the GPUs the driver lists; None when not looked for."""
    listed = facts.items("gpus")
    if listed is None:
        return None
    return tuple(
        Gpu((gpu.text("name") or "")[:_NAME], capability(gpu.text("compute_capability")), gpu)
        for gpu in listed[:_GPUS]
    )


def own_bus(facts: Facts) -> tuple[str, ...] | None:
    """Return the NVIDIA GPUs on the PCI bus that no virtual machine holds; None when not known.

    One that is bound to vfio-pci is handed on, and no driver of this machine can have it.
    """
    names, holders = facts.texts("lspci_gpus"), facts.raw().get("pci_drivers")
    if names is None:
        return None
    drivers = holders if isinstance(holders, list) and len(holders) == len(names) else []
    passed = {place for place, driver in enumerate(drivers[:_GPUS]) if driver == "vfio-pci"}
    return tuple(name[:_NAME] for place, name in enumerate(names[:_GPUS]) if place not in passed)


def cuda_up(facts: Facts) -> bool:
    """Say whether CUDA is known to come up: cuInit found a GPU, or torch did on one of NVIDIA's."""
    counted = facts.number("libcuda.device_count") or 0
    by_torch = facts.flag("torch.cuda_available") is True and not hip(facts)
    return by_torch or counted >= 1


def hip(facts: Facts) -> bool:
    """Say whether torch is built for AMD's GPUs: what it calls CUDA is HIP."""
    return bool(facts.text("torch.hip")) or "+rocm" in (facts.text("torch.version") or "")


def torch_absent(facts: Facts) -> bool:
    """Say whether torch was looked for and is not installed; one that fails to import is."""
    if facts.text("torch.import_error"):
        return False
    return facts.absent("torch") or facts.absent("torch.version")


def torch_cuda(facts: Facts) -> tuple[int, int] | None:
    """Return the CUDA version torch was built with, from its own word or its local version."""
    found = release(facts.text("torch.cuda"))
    if found is None:
        local = re.search(r"\+cu(\d{2})(\d)\b", facts.text("torch.version") or "")
        found = (int(local[1]), int(local[2])) if local else None
    return (found[0], found[1]) if found else None


def loaded(facts: Facts) -> tuple[Library, ...] | None:
    """Return the CUDA libraries the target's process has loaded; None when not looked at."""
    listed = facts.sub("loaded_libraries")
    if listed is None:
        return None
    found = (
        Library(name, path, entry.text("version"))
        for name, files in listed.raw().items()
        if isinstance(files, list)
        for entry in map(Facts, (one for one in files if isinstance(one, dict)))
        if (path := entry.text("path"))
    )
    return tuple(islice(found, _LIBRARIES))


def library_path(facts: Facts) -> tuple[str, ...] | None:
    """Return the entries of LD_LIBRARY_PATH, () when it is not set, None when not known."""
    if facts.sub("env") is None:
        return None
    entries = (one for one in (facts.text("env.LD_LIBRARY_PATH") or "").split(":") if one)
    return tuple(islice(dict.fromkeys(entries), _FOLDERS))


def logged(facts: Facts, pattern: str) -> str | None:
    """Return the first line of an output, an error text, dmesg or CUDA's own error that matches.

    Lines of dmesg count only while they can tell of the present.
    """
    for line in _lines(facts):
        if re.search(pattern, line, re.IGNORECASE):
            return line.strip()[:300]
    return None


def _kernel_log(facts: Facts) -> tuple[str, ...]:
    """Return the kernel's log where it can tell of the present.

    It goes back to the start of the machine: where CUDA comes up now and the driver lists every GPU
    on the bus, what it tells is over, a reloaded module or a GPU that was reset.
    """
    lines = facts.texts("driver.dmesg") or ()
    listed, bus = gpus(facts), own_bus(facts) or ()
    count = len(listed) if listed is not None else facts.number("libcuda.device_count") or 0
    answer = all(gpu.name or gpu.capability for gpu in listed or ())  # a lost one has no name
    over = cuda_up(facts) and answer and 0 < count >= len(bus)
    return () if over else tuple(line[:_LINE] for line in lines[-_LINES_KEPT:])


def values(facts: Facts, *names: str) -> tuple[str, ...]:
    """Return the facts of these names that are known as lines of evidence, ``name = value``."""
    return tuple(f"{name} = {_shown(facts, name)}" for name in names if facts.known(name))


def brief(text: str, length: int = 120) -> str:
    """Return a text from the snapshot as part of one line: no control characters, cut when long."""
    plain = "".join(one if one.isprintable() else " " for one in text[: 4 * length])
    line = " ".join(plain.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def _shown(facts: Facts, name: str) -> str:
    value: object = facts.raw()
    for part in name.split("."):
        value = value[part] if isinstance(value, dict) else value
    return brief(value if isinstance(value, str) else json.dumps(value, default=str), 200)


@lru_cache(maxsize=2)  # every check asks for them
def _lines(facts: Facts) -> tuple[str, ...]:
    texts = [
        facts.text("log"),
        facts.text("driver.nvidia_smi_error"),
        facts.text("driver.nvml_error"),
        facts.text("ncu.error"),
        facts.text("torch.import_error"),
        _said_by_cuinit(facts),
        _said_by_torch(facts),
        *_kernel_log(facts),
    ]
    lines = (line for text in texts if text for line in text.splitlines())
    return tuple(islice(lines, _LINES_KEPT))


def _newest(lines: Sequence[str]) -> list[str]:
    kept, left = [], _LOG
    for line in reversed(lines[-_LINES_KEPT:]):
        left -= len(line[:_LINE]) + 1
        if left < 0:
            break
        kept.append(line[:_LINE])
    return kept[::-1]


def _said_by_cuinit(facts: Facts) -> str | None:
    code = facts.number("libcuda.init_code")
    if not code:
        return None
    return f"cuInit failed: {facts.text('libcuda.init_error') or 'CUDA error'} (error {code:.0f})"


def _said_by_torch(facts: Facts) -> str | None:
    code = facts.number("torch.cuda_error.code")
    if not code:
        return None
    text = facts.text("torch.cuda_error.text") or facts.text("torch.cuda_error.name") or ""
    return f"CUDA error: {brief(text)} (error {code:.0f})"


def machine(facts: Facts) -> str | None:
    """Return the processor's architecture by its name on Linux: ``x86_64`` or ``aarch64``."""
    name = facts.text("os.arch")
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name.lower(), name) if name else None


def driver_system(facts: Facts) -> str:
    """Return whose numbers the driver has: WSL's driver is the one of Windows."""
    return "windows" if wsl(facts) or facts.text("os.system") == "windows" else "linux"


def in_container(facts: Facts) -> str | None:
    """Return the kind of container, None outside one or when not known."""
    return facts.text("os.container")


def wsl(facts: Facts) -> bool:
    """Say whether this is Windows' Linux subsystem."""
    return facts.number("os.wsl") is not None


def native_windows(facts: Facts) -> bool:
    """Say whether this is Windows itself, not its Linux subsystem."""
    return facts.text("os.system") == "windows" and not wsl(facts)


def jetson(facts: Facts) -> bool:
    """Say whether this is a Jetson (Tegra) board."""
    return facts.text("os.jetson") is not None
