"""Whether there is a GPU, and whether it can be used: partitions, compute modes, licences."""

from __future__ import annotations

from kprof.audit import derive, engines, gpustate, references, remedies
from kprof.audit.facts import Facts, Unknown
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_NO_DEVICES = r"No devices were found"
_UNAVAILABLE = r"all CUDA-capable devices are busy or unavailable"
_NONE_VISIBLE = r"No CUDA GPUs are available|no CUDA-capable device is detected"
_NOT_ON_MIG = (
    r"invalid device ordinal|Duplicate GPU detected|device < num_gpus|"
    r"invalid literal for int\(\).{0,60}MIG-"
)
_UNLICENSED = r"Unlicensed|vGPU .{0,60}licen[cs]e"
_MODES = ("exclusive_process", "exclusive_thread", "prohibited")


@check(
    "gpu.missing",
    "NVIDIA GPU",
    hurts=("profile", "run"),
    explains=("ncu.chip_unsupported", "ncu.lib", "env.device_ordinal"),
)
def missing(facts: Facts) -> Verdict:
    """The driver lists the GPUs it has; the PCI bus shows those it could have."""
    if derive.wsl(facts):
        return skipped("see wsl.no_device")
    listed, bus = gpustate.listed(facts), gpustate.on_bus(facts)
    if listed or gpustate.works(facts):
        names = ", ".join(derive.brief(gpu.name, 60) for gpu in (derive.gpus(facts) or ())[:3])
        return ok(f"{listed or 'some'} GPU{'s' * (listed != 1)}: {names or 'CUDA finds them'}")
    line = derive.logged(facts, _NO_DEVICES)
    if listed is None and line is None and (bus is None or bus):
        raise Unknown("gpus")
    return _missing(facts, bus, line)


def _missing(facts: Facts, bus: tuple[str, ...] | None, line: str | None) -> Verdict:
    drivers = {name for name in facts.texts("pci_drivers") or () if name != "nvidia"}
    if bus:
        holder = f" ({sorted(drivers)[0]} holds it)" if drivers else ""
        message = f"the driver lists no GPU; the PCI bus shows {derive.brief(bus[0], 60)}{holder}"
    elif bus is not None:
        message = "there is no NVIDIA GPU in this machine"
    else:
        message = "the driver lists no GPU"
    return Verdict(
        "error",
        message,
        (
            *derive.values(facts, "gpus", "lspci_gpus", "pci_drivers", "driver.modules_loaded"),
            *((line,) if line else ()),
        ),
        _look(facts, bus, "vfio-pci" in drivers),
        references.NVML,
    )


def _look(facts: Facts, bus: tuple[str, ...] | None, passed_through: bool) -> Remedy:
    if derive.in_container(facts) and bus != ():
        return remedies.letter("My container sees no GPU.", engines.of(facts).start)
    if passed_through:
        return Remedy(
            "The GPU is reserved for a virtual machine (vfio-pci): use it there, or take it out of "
            "the vfio-pci settings and restart.",
            ("lspci -nnk -d 10de:",),
            "root",
        )
    if bus == ():
        return Remedy(
            "Use a machine with an NVIDIA GPU. kprof analyze and kprof demo work without one."
        )
    return Remedy("See what the kernel says about it.", ("sudo dmesg | grep -i nvrm",), "root")


@check(
    "gpu.mig_selection",
    "MIG instances",
    hurts=("profile", "run"),
    live=True,
    explains=("env.cuda_visible_devices_hides", "env.device_ordinal", "gpu.exclusive_mode"),
)
def mig_selection(facts: Facts) -> Verdict:
    """On a GPU in MIG mode a process uses one instance, and none where none was made."""
    if gpustate.no_gpu(facts):
        return skipped("there is no GPU")
    gpus = facts_gpus(facts)
    by_instance = [one for one in _selected(facts) if one.upper().startswith("MIG-")]
    parted = [gpu for gpu in gpus if _is_parted(gpu)]
    if not parted:
        return _not_parted(facts, gpus, by_instance)
    failed = derive.logged(facts, _NOT_ON_MIG) or _failure(facts)
    if all(gpu.facts.items("mig_devices") == () for gpu in parted) and len(parted) == len(gpus):
        return _mig(facts, "error", "MIG is on, but the GPU has no instance to run on", failed)
    if failed is None:
        return _one_instance(facts, by_instance)
    none = "" if gpustate.works(facts) else " and CUDA finds none as things are"
    message = f"MIG is on: a process uses one instance, named by its UUID,{none or ' and no more'}"
    return _mig(facts, "error", message, failed)


def _is_parted(gpu: derive.Gpu) -> bool:
    """Say whether a GPU is in MIG mode, or is an instance itself."""
    return (gpu.facts.text("mig") or "").lower() == "enabled" or " MIG " in f"{gpu.name} "


def _selected(facts: Facts) -> list[str]:
    value = facts.text("env.CUDA_VISIBLE_DEVICES") or ""
    return [one.strip() for one in value[:2000].split(",") if one.strip()]


def _failure(facts: Facts) -> str | None:
    line = gpustate.error_logged(facts, 46, _UNAVAILABLE) or gpustate.error_logged(
        facts, 100, _NONE_VISIBLE
    )
    if line is None and facts.flag("torch.cuda_available") is False:
        return gpustate.cuda_failure(facts)
    return line


def _not_parted(facts: Facts, gpus: tuple[derive.Gpu, ...], wanted: list[str]) -> Verdict:
    known = [gpu for gpu in gpus if gpu.facts.text("mig")]
    if wanted and known and len(known) == len(gpus):
        chosen = derive.brief(wanted[0], 50)
        return _mig(facts, "error", f"CUDA_VISIBLE_DEVICES={chosen}, but no GPU has MIG on", None)
    if gpus and not known:
        raise Unknown("gpus[].mig")
    return ok("no GPU is in MIG mode")


def _one_instance(facts: Facts, by_instance: list[str]) -> Verdict:
    if len(by_instance) == 1:
        return ok("MIG is on and one instance is selected")
    if not by_instance and _instances(facts) == 1 and gpustate.works(facts):
        return ok("MIG is on and CUDA takes the one instance that is there")
    count = f"{len(by_instance)} are selected" if by_instance else "none is selected by its UUID"
    return _mig(facts, "warning", f"MIG is on: a process uses one instance only, {count}", None)


def _instances(facts: Facts) -> int | None:
    """Return how many instances there are, None where GPUs without MIG are there or it is unknown."""
    listed = [gpu.facts.items("mig_devices") for gpu in derive.gpus(facts) or () if _is_parted(gpu)]
    if None in listed or len(listed) != len(derive.gpus(facts) or ()):
        return None
    return sum(len(one) for one in listed if one is not None)


def _mig(facts: Facts, status: str, message: str, line: str | None) -> Verdict:
    return Verdict(
        "error" if status == "error" else "warning",
        message,
        (
            *derive.values(facts, "gpus", "env.CUDA_VISIBLE_DEVICES", "torch.cuda_available"),
            *((line,) if line else ()),
        ),
        _choose_instance(facts),
        references.MIG,
    )


def _choose_instance(facts: Facts) -> Remedy:
    """Return how to get onto one instance; making some, or none at all, are other ways."""
    parted = [gpu for gpu in derive.gpus(facts) or () if _is_parted(gpu)]
    if not parted:
        return Remedy("Unset it: the whole GPU is there.", ("unset CUDA_VISIBLE_DEVICES",))
    choose = Remedy(
        "List the instances, then select one by its UUID.",
        ("nvidia-smi -L", "export CUDA_VISIBLE_DEVICES=MIG-UUID"),
    )
    make = Remedy(
        "Where there is no instance: list the profiles, then make one of them.",
        ("sudo nvidia-smi mig -lgip", "sudo nvidia-smi mig -cgi PROFILE -C"),
        "host" if derive.in_container(facts) else "root",
    )
    none = all(gpu.facts.items("mig_devices") == () for gpu in parted)
    first, other = (make, choose) if none else (choose, make)
    return remedies.either(first, other, remedies.without_mig(facts))


@check("gpu.exclusive_mode", "compute mode", hurts=("profile", "run"), live=True)
def exclusive_mode(facts: Facts) -> Verdict:
    """A GPU's owner can allow it one process at a time, or none."""
    if gpustate.no_gpu(facts):
        return skipped("there is no GPU")
    line = gpustate.error_logged(facts, 46, _UNAVAILABLE)
    modes = [(gpu.facts.text("compute_mode") or "").lower() for gpu in facts_gpus(facts)]
    held = [mode for mode in modes if mode in _MODES]
    if not held:
        if not any(modes):
            raise Unknown("gpus[].compute_mode")
        return ok("every process may use the GPUs")
    barred = all(mode == "prohibited" for mode in modes)
    shown = held[0].replace("_", " ")
    what = "no process may use the GPU" if barred else "only one process at a time may use the GPU"
    return Verdict(
        "error" if line or barred else "warning",
        f"{what} (compute mode {shown})",
        (*derive.values(facts, "gpus"), *((line,) if line else ())),
        remedies.on_host(
            facts,
            "End the other process, or let several use the GPU. On a cluster the mode is the "
            "admin's choice.",
            ("nvidia-smi --query-compute-apps=pid,name --format=csv", "sudo nvidia-smi -c DEFAULT"),
            request=f"The host's GPU is in compute mode {shown}; I need the default mode.",
        ),
        references.COMPUTE_MODES,
    )


def facts_gpus(facts: Facts) -> tuple[derive.Gpu, ...]:
    """Return the GPUs, or raise Unknown."""
    found = derive.gpus(facts)
    if found is None:
        raise Unknown("gpus")
    return found


@check("gpu.vgpu_unlicensed", "vGPU licence", hurts=("profile", "run"), live=True)
def vgpu_unlicensed(facts: Facts) -> Verdict:
    """A virtual GPU without a licence stops running CUDA some minutes after the start."""
    line = gpustate.error_logged(facts, 102)
    if line is None:
        line = derive.logged(facts, _UNLICENSED)
    if line is None:
        if not gpustate.works(facts):
            facts.need_text("log")
        return ok("no program missed a vGPU licence")
    return Verdict(
        "error",
        "the virtual GPU has no licence",
        (line,),
        Remedy(
            "Ask the provider of the virtual machine for a licence; the guest then gets its token.",
            ("nvidia-smi -q | grep -i -A2 licen", "sudo systemctl restart nvidia-gridd"),
            "provider",
        ),
        references.VGPU,
    )
