"""The driver's user-space half: installed, of the module's version, allowed to open the devices."""

from __future__ import annotations

import re

from kprof.audit import derive, engines, gpustate, packages, references, remedies
from kprof.audit.facts import Facts, Unknown
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_NO_DRIVER = (
    r"Found no NVIDIA driver on your system|nvidia-smi: command not found|"
    r"nvidia-smi:? not found|command 'nvidia-smi' not found|"
    r"(?:libcuda\.so\.1|libnvidia-ml\.so\.1): cannot open shared object|"
    r"NVML Shared Library Not Found|NVML_ERROR_LIBRARY_NOT_FOUND"
)
_MISMATCH = (
    r"Driver/library version mismatch|API mismatch: the client|NVML_ERROR_LIB_RM_VERSION_MISMATCH"
)
_SYSTEM_MISMATCH = r"unsupported display driver / cuda driver combination"
_NVML_LIBRARY = r"NVML library version: ([\d.]{3,20})"
_CLIENT = r"the client has the version ([\d.]{3,20})"
_MODULE = r"this kernel module has the version ([\d.]{3,20})"
_NOT_ALLOWED = r"Insufficient Permissions|NVML_ERROR_NO_PERMISSION|/dev/nvidia\S{0,20}\W.{0,40}Permission denied"
_CONTROL = "/dev/nvidiactl"
_NO_JIT = (
    r"libnvidia-ptxjitcompiler\.so\S{0,10}:? (?:cannot|not)|PTX JIT compiler library not found"
)


@check(
    "driver.missing",
    "NVIDIA driver",
    hurts=("profile", "run"),
    explains=("gpu.missing", "driver.too_old_for_torch", "driver.too_old_for_toolkit"),
)
def missing(facts: Facts) -> Verdict:
    """CUDA programs load libcuda, which comes with the driver and with nothing else."""
    if derive.wsl(facts) or derive.in_container(facts) or derive.jetson(facts):
        return skipped("the driver comes with Windows, the host or the board")
    if gpustate.listed(facts):
        return ok(f"driver {_version(facts) or 'present'}: it lists the GPUs")
    line = derive.logged(facts, _NO_DRIVER)
    installed = gpustate.libraries_installed(facts)
    if installed:
        return ok("the driver is installed")
    if installed is None and line is None:
        raise Unknown("libcuda.path")
    if gpustate.on_bus(facts) == ():
        return skipped("there is no NVIDIA GPU on the PCI bus that a driver could drive")
    return _missing(facts, line)


def _missing(facts: Facts, line: str | None) -> Verdict:
    loaded = gpustate.module_loaded(facts)
    names = gpustate.on_bus(facts) or ()
    gpu = f" for {derive.brief(names[0], 60)}" if names else ""
    what = (
        f"the kernel module {_version(facts) or ''} is loaded but its library libcuda is not there"
        if loaded
        else f"no NVIDIA driver is installed{gpu}: libcuda is not there"
    )
    return Verdict(
        "error",
        " ".join(what.split()),
        (
            *derive.values(facts, "libcuda", "driver.modules_loaded", "lspci_gpus"),
            *((line,) if line else ()),
        ),
        _install(facts),
        references.INSTALLATION,
    )


def _install(facts: Facts) -> Remedy:
    branch = derive.driver_branch(facts)
    if gpustate.module_loaded(facts) and branch:
        return Remedy(
            f"Install the compute libraries of the loaded driver, R{branch}.",
            packages.compute_libraries(packages.host_distro(facts), branch),
            "root",
        )
    return remedies.fitting_driver(facts)


def _version(facts: Facts) -> str | None:
    version = derive.driver_version(facts)
    return derive.brief(version, 30) if version else None


@check(
    "driver.nvml_mismatch",
    "kernel module and libraries",
    hurts=("profile", "run"),
    explains=("gpu.missing", "driver.module_not_loaded", "container.runtime_unconfigured"),
)
def nvml_mismatch(facts: Facts) -> Verdict:
    """The libraries talk only to a kernel module of exactly their own version."""
    if derive.wsl(facts) or facts.text("os.system") == "windows":
        return skipped("the driver is that of Windows")
    line = derive.logged(facts, _MISMATCH)
    if gpustate.compat_library(facts) is None:
        line = line or gpustate.error_logged(facts, 803, _SYSTEM_MISMATCH)
    module, library = _module_version(facts), _library_version(facts)
    if line is None and (module is None or library is None):
        if gpustate.no_driver(facts) or facts.absent("libcuda"):
            return skipped("there are no kernel module and libraries to compare")
        raise Unknown("libcuda.version" if module else "driver.module_version")
    if line is None and module and library and _same(module, library):
        return ok(f"kernel module and libraries are both {derive.brief(module, 30)}")
    return _mismatch(facts, module, library, line)


def _module_version(facts: Facts) -> str | None:
    found = _in_log(facts, _MODULE)
    return facts.text("driver.module_version") or found or facts.text("driver.version")


def _library_version(facts: Facts) -> str | None:
    """Return the version of the driver's own libraries; compat and stub libraries do not count."""
    found = _in_log(facts, _NVML_LIBRARY) or _in_log(facts, _CLIENT)
    if found is None and facts.text("libcuda.kind") in (None, "driver"):
        found = facts.text("libcuda.version")
        if found and gpustate.compat_library(facts):
            found = None
    return found or (facts.text("driver.version") if facts.text("driver.module_version") else None)


def _in_log(facts: Facts, pattern: str) -> str | None:
    line = derive.logged(facts, pattern)
    found = re.search(pattern, line or "", re.IGNORECASE)
    return found[1].rstrip(".") if found else None


def _same(first: str, second: str) -> bool:
    """Compare as far as both go: NVML shortens 550.107.02 to 550.107."""
    one, two = derive.version(first), derive.version(second)
    if one is None or two is None:
        return True
    return all(a == b for a, b in zip(one.release, two.release, strict=False))


def _mismatch(facts: Facts, module: str | None, library: str | None, line: str | None) -> Verdict:
    loaded = f"kernel module {derive.brief(module, 30)} is loaded" if module else "kernel module"
    found = f"libraries are {derive.brief(library, 30)}" if library else "libraries differ"
    if module is None or library is None or _same(module, library):
        message = "the loaded kernel module and the driver's libraries are of different versions"
    else:
        message = f"{loaded}, but the driver's {found}: they must be the same"
    return Verdict(
        "warning" if line is None and gpustate.works(facts) else "error",
        message,
        (
            *derive.values(facts, "driver.module_version", "driver.version", "libcuda"),
            *dict.fromkeys(one for one in (line, derive.logged(facts, _NVML_LIBRARY)) if one),
        ),
        _match(facts, library),
        references.cuda_error(803),
    )


def _match(facts: Facts, library: str | None) -> Remedy:
    if derive.in_container(facts):
        return remedies.letter(
            "In my container NVIDIA's libraries and the host's kernel module are of different "
            "versions: after a driver update the host has to reload its module and the container "
            "has to be started again; an image must not install a driver of its own.",
            ("nvidia-smi", *engines.of(facts).restart),
        )
    on_disk = facts.text("driver.module_installed.version")
    if library and on_disk and not _same(library, on_disk):
        return Remedy(
            f"The module on the disk is {derive.brief(on_disk, 30)}: build the one of the "
            "libraries' version, then restart the machine.",
            (*packages.rebuild_module(packages.host_distro(facts))[:-1], "sudo reboot"),
            "root",
        )
    version = f" {derive.brief(library, 30)}" if library else " of the libraries"
    return Remedy(
        f"Restart the machine: it then loads the module{version}. If the fault comes back, that "
        "module was not built (dkms status). Without a restart: stop the display manager and "
        f"every GPU program, then {' && '.join(remedies.reload_driver())}.",
        ("sudo reboot",),
        "root",
    )


@check(
    "driver.device_permission",
    "access to the GPU's device files",
    hurts=("profile", "run"),
    live=True,
)
def device_permission(facts: Facts) -> Verdict:
    """Programs open /dev/nvidia*, which some systems keep for a group."""
    if gpustate.listed(facts) or gpustate.works(facts):
        return ok("this user can open the GPU's device files")
    line = derive.logged(facts, _NOT_ALLOWED) or _shut(facts)
    if line is None:
        if facts.member("files", _CONTROL) is None:
            raise Unknown(f"files.{_CONTROL}")
        return ok("nothing keeps this user from the GPU's device files")
    return Verdict(
        "error",
        "this user may not open the GPU's device files /dev/nvidia*",
        (*derive.values(facts, "process.euid", "files"), line),
        remedies.on_host(
            facts,
            "Join the groups that own the device files, then log in again.",
            ("ls -l /dev/nvidia*", 'sudo usermod -aG video,render "$USER"'),
            request="My user may not open /dev/nvidia*; it has to be in the groups that own them.",
        ),
        references.NVML,
    )


def _shut(facts: Facts) -> str | None:
    """Return that the control node's permission bits, or its opening, refuse this user."""
    node = facts.member("files", _CONTROL)
    if node is None or node.flag("exists") is False:
        return None
    error = node.text("open_error")
    if error and "Permission denied" in error:
        return f"{_CONTROL}: {derive.brief(error, 60)}"
    return f"{_CONTROL} is not accessible" if node.flag("accessible") is False else None


@check(
    "driver.jit_library_missing", "the driver's PTX compiler", hurts=("profile", "run"), live=True
)
def jit_library_missing(facts: Facts) -> Verdict:
    """The driver compiles PTX with a library of its own, which minimal installations leave out."""
    line = gpustate.error_logged(facts, 221, _NO_JIT)
    if line is None:
        facts.need_text("log")
        return ok("no program missed the driver's PTX compiler")
    commands = engines.of(facts).compute
    if derive.in_container(facts):
        remedy = Remedy("Start the container with the driver's compute libraries.", commands)
    else:
        branch = derive.driver_branch(facts) or remedies.LTS_BRANCH
        libraries = packages.compute_libraries(packages.host_distro(facts), branch)
        remedy = Remedy("Install all of the driver's compute libraries.", libraries, "root")
    return Verdict(
        "error",
        "the driver's PTX compiler, libnvidia-ptxjitcompiler, is not there",
        (*derive.values(facts, "env.NVIDIA_DRIVER_CAPABILITIES"), line),
        remedy,
        references.cuda_error(221),
    )


@check("driver.smi_new_header", "nvidia-smi's header", hurts=(), live=True)
def smi_new_header(facts: Facts) -> Verdict:
    """From R610 on nvidia-smi names kernel and user-mode driver; both headers are read."""
    text = facts.need_text("driver.nvidia_smi_text")
    if re.search(r"KMD Version|CUDA UMD Version", text):
        return ok(f"nvidia-smi prints the header of R610 and later: driver {_version(facts)}")
    return ok("nvidia-smi prints the header of before R610")
