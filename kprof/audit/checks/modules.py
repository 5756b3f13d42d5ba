"""Whether NVIDIA's kernel module is loaded and brings the GPU up."""

from __future__ import annotations

from kprof.audit import derive, gpustate, packages, references, remedies
from kprof.audit.facts import Facts, Unknown
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_NO_MODULE = (
    r"couldn't communicate with the NVIDIA driver|could not insert '?nvidia|"
    r"Module nvidia\S{0,20} not found|nvml error: driver not loaded|NVML.{0,40}Driver Not Loaded|"
    r"NVML_ERROR_DRIVER_NOT_LOADED"
)
_NOT_BUILT = (
    r"Module nvidia\S{0,20} not found in directory|Error! Bad return status for module build"
)
_NOT_COMING_UP = (
    r"RmInitAdapter failed|rm_init_adapter failed|Failed to initialize GSP|"
    r"Cannot initialize GSP|GPU initialization failed|"
    r"PCI I/O region assigned to your NVIDIA device is invalid"
)
_WINDOWS = r"PCI I/O region assigned to your NVIDIA device is invalid|BAR\d is 0M"
_FIRMWARE = r"Direct firmware load for nvidia/\S{1,80} failed|firmware.{0,80}gsp_\w{1,40}\.bin.{0,80}(?:failed|error)"
_LOST = r"GPU has fallen off the bus|\bXid\b.{0,80}: 79\b|GPU is lost"


@check(
    "driver.module_not_loaded",
    "NVIDIA's kernel module",
    hurts=("profile", "run"),
    explains=("gpu.missing", "driver.uvm_stale", "container.runtime_unconfigured"),
)
def module_not_loaded(facts: Facts) -> Verdict:
    """Without its kernel module the installed driver reaches no GPU."""
    if derive.wsl(facts) or facts.text("os.system") == "windows":
        return skipped("the driver is that of Windows")
    if facts.text("os.sandbox"):
        return skipped("a sandbox does not show the kernel's modules")
    state, line = gpustate.module_loaded(facts), derive.logged(facts, _NO_MODULE)
    if state:
        return ok(f"NVIDIA's kernel module is loaded{_version(facts)}")
    if state is None and line is None:
        raise Unknown("driver.modules_loaded")
    if gpustate.on_bus(facts) == () and not derive.jetson(facts):
        return skipped("there is no NVIDIA GPU on the PCI bus that a module could drive")
    installed = gpustate.libraries_installed(facts)
    if not installed and line is None:
        return _not_installed(installed)
    return _not_loaded(facts, line)


def _not_installed(installed: bool | None) -> Verdict:
    if installed is None:
        raise Unknown("libcuda.path")
    return skipped("no driver is installed, so none can be loaded")


def _version(facts: Facts) -> str:
    version = facts.text("driver.module_version")
    return f": {derive.brief(version, 30)}" if version else ""


def _not_loaded(facts: Facts, line: str | None) -> Verdict:
    not_built = derive.logged(facts, _NOT_BUILT)
    if not_built is None and facts.absent("driver.module_installed"):
        not_built = "driver.module_installed = null"
    kernel = facts.text("os.kernel")
    why = ": it was not built for the running kernel" if not_built else ""
    where = f" {derive.brief(kernel, 40)}" if kernel and not_built else ""
    return Verdict(
        "error",
        f"the driver is installed but NVIDIA's kernel module is not loaded{why}{where}",
        (
            *derive.values(facts, "driver.modules_loaded", "libcuda", "os.kernel"),
            *dict.fromkeys(one for one in (not_built, line) if one),
        ),
        _load(facts, bool(not_built)),
        references.INSTALLATION,
    )


def _load(facts: Facts, not_built: bool) -> Remedy:
    distro = packages.host_distro(facts)
    if not_built:
        return remedies.on_host(
            facts,
            "Build the module for the running kernel and load it.",
            packages.rebuild_module(distro),
            request="NVIDIA's kernel module is missing for the host's running kernel.",
        )
    return remedies.on_host(
        facts,
        "Load it; where that fails, the kernel log says why.",
        ("sudo modprobe nvidia", "sudo dmesg | grep -iE 'nvrm|nvidia' | tail -n 20"),
        request="NVIDIA's kernel module is not loaded on the host.",
    )


@check(
    "driver.rm_init_failed",
    "bringing the GPU up",
    hurts=("profile", "run"),
    live=True,
    explains=("gpu.missing", "gpu.lost"),
)
def rm_init_failed(facts: Facts) -> Verdict:
    """The module is loaded, but the GPU does not answer as it should."""
    line = derive.logged(facts, _NOT_COMING_UP)
    if line is None:
        if facts.texts("driver.dmesg") is None and not gpustate.listed(facts):
            raise Unknown("driver.dmesg")
        return ok("the driver reports no GPU that failed to come up")
    listed, bus = gpustate.listed(facts) or 0, gpustate.on_bus(facts) or ()
    which = derive.brief(bus[0], 60) if len(bus) == 1 else "a GPU"
    return Verdict(
        "warning" if listed and listed >= len(bus) else "error",
        f"{which} is on the bus but the driver cannot bring it up{_version(facts)}",
        (*derive.values(facts, "lspci_gpus", "gpus", "driver.module_version"), *_init_lines(facts)),
        _bring_up(facts),
        references.INITIALISATION,
    )


def _init_lines(facts: Facts) -> tuple[str, ...]:
    found = (derive.logged(facts, one) for one in (_NOT_COMING_UP, _WINDOWS, _FIRMWARE))
    return tuple(dict.fromkeys(line for line in found if line))


def _bring_up(facts: Facts) -> Remedy:
    if derive.logged(facts, _FIRMWARE):
        return remedies.on_host(
            facts,
            "The GPU's firmware files are missing: reinstall the driver's packages.",
            (packages.initramfs(packages.host_distro(facts)), "sudo reboot"),
            request="The host's NVIDIA driver does not find its firmware files.",
        )
    return remedies.on_host(
        facts,
        "Turn the machine off and on again (a warm restart is not enough), with 'Above 4G Decoding' "
        "and 'Resizable BAR' enabled in the firmware setup; then try a newer driver. Check the "
        "GPU's power connectors.",
        ("sudo dmesg | grep -iE 'nvrm|BAR' | tail -n 40", "sudo poweroff"),
        request="The host's driver cannot bring the GPU up; the firmware settings 'Above 4G "
        "Decoding' and 'Resizable BAR' and a cold start often cure that.",
    )


@check(
    "gpu.lost",
    "GPU lost while running",
    hurts=("profile", "run"),
    live=True,
    explains=("gpu.missing",),
)
def lost(facts: Facts) -> Verdict:
    """A GPU that stops answering on the bus is gone until the machine restarts."""
    line = derive.logged(facts, _LOST)
    if line is None:
        if facts.texts("driver.dmesg") is None and not gpustate.listed(facts):
            raise Unknown("driver.dmesg")
        return ok("no GPU was lost")
    return Verdict(
        "error",
        "a GPU stopped answering on the PCI bus (XID 79)",
        (*derive.values(facts, "lspci_gpus", "gpus"), line),
        remedies.on_host(
            facts,
            "Restart the machine. If it comes back, check power supply, temperature and seating.",
            ("nvidia-smi -q -d TEMPERATURE,POWER", "sudo reboot"),
            request="A GPU of the host has fallen off the PCI bus; it needs a restart.",
        ),
        references.XID,
    )
