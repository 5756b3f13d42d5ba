"""What keeps NVIDIA's kernel module out before it can load: signatures, another driver."""

from __future__ import annotations

from typing import Literal

from kprof.audit import derive, gpustate, packages, references, remedies
from kprof.audit.facts import Facts, Unknown
from kprof.audit.verdict import Verdict, check, ok, skipped

_SIGNATURE_REFUSED = (
    r"Key was rejected by service|Required key not available|Loading of unsigned module|"
    r"unsigned module loading is restricted|could not insert '?nvidia.{0,20}: Operation not permitted|"
    r"module with (?:an )?(?:unavailable|invalid) (?:key|signature)"
)
_OTHER_CAUSE = r"could not insert '?nvidia.{0,20}: No such device|Module nvidia\S{0,20} not found"
_OWNED = r"nouveau, rivafb, nvidiafb or rivatv|obtained ownership of the NVIDIA device"


@check(
    "driver.secure_boot",
    "Secure Boot and the driver's signature",
    hurts=("profile", "run"),
    explains=("driver.module_not_loaded", "driver.missing", "gpu.missing"),
)
def secure_boot(facts: Facts) -> Verdict:
    """Under Secure Boot the kernel loads only modules signed with a key that it knows."""
    if derive.wsl(facts) or facts.text("os.system") == "windows":
        return skipped("the driver is that of Windows")
    if gpustate.module_loaded(facts):
        return ok("the driver's module is loaded: its signature was accepted")
    line = derive.logged(facts, _SIGNATURE_REFUSED)
    if line is not None:
        why = "its signature is not by a key that this machine has enrolled"
        return _refused(facts, "error", f"the kernel refuses NVIDIA's module: {why}", line)
    if facts.flag("os.secure_boot") is None and not facts.absent("os.secure_boot"):
        raise Unknown("os.secure_boot")
    if not facts.flag("os.secure_boot"):
        return ok("Secure Boot is off")
    return _suspected(facts)


def _suspected(facts: Facts) -> Verdict:
    if gpustate.module_loaded(facts) is None:
        raise Unknown("driver.modules_loaded")
    elsewhere = gpustate.other_driver(facts) or derive.logged(facts, _OTHER_CAUSE)
    if elsewhere or not gpustate.libraries_installed(facts):
        return ok("Secure Boot is on; nothing says that it keeps the driver out")
    return _refused(
        facts,
        "warning",
        "Secure Boot is on and the installed driver's module is not loaded: it may lack a "
        "signature that this machine accepts",
        None,
    )


def _refused(
    facts: Facts, status: Literal["error", "warning"], message: str, line: str | None
) -> Verdict:
    key = packages.signing_key(packages.host_distro(facts))
    remedy = remedies.on_host(
        facts,
        "Enroll the key that signs the module: choose a password, reboot, and confirm with "
        "'Enroll MOK' on the blue screen. Or turn Secure Boot off in the firmware setup.",
        (f"sudo mokutil --import {key}", "sudo reboot"),
        request="The host's kernel refuses NVIDIA's module because of Secure Boot; the key that "
        "signs it has to be enrolled.",
    )
    evidence = derive.values(facts, "os.secure_boot", "driver.modules_loaded")
    lines = (line,) if line else ()
    return Verdict(status, message, (*evidence, *lines), remedy, references.SIGNING)


@check(
    "driver.nouveau_active",
    "another driver on the GPU",
    hurts=("profile", "run"),
    explains=("driver.module_not_loaded", "driver.missing", "gpu.missing"),
)
def nouveau_active(facts: Facts) -> Verdict:
    """Only one driver can own the GPU, and nouveau comes with the kernel."""
    owner, line = gpustate.other_driver(facts), derive.logged(facts, _OWNED)
    if gpustate.listed(facts):
        return ok("NVIDIA's driver has the GPU")
    if line is None and owner is None:
        facts.need_texts("driver.modules_loaded")
    if owner is None and facts.texts("driver.modules_loaded") is not None:
        return ok("neither nouveau nor another driver for NVIDIA GPUs is loaded")
    if line is None and gpustate.module_loaded(facts):
        return ok(f"{owner} is loaded beside NVIDIA's driver")
    if line is None and gpustate.libraries_installed(facts) is False:
        return skipped(f"{owner} drives the GPU; installing NVIDIA's driver replaces it")
    return _owned(facts, owner, line)


def _owned(facts: Facts, owner: str | None, line: str | None) -> Verdict:
    name = owner or "nouveau"
    # modeset=0 keeps nouveau off the GPU where something loads it in spite of the list.
    more = "options nouveau modeset=0\\n" if name == "nouveau" else ""
    options = f"blacklist {name}\\n{more}"
    distro = packages.host_distro(facts)
    remedy = remedies.on_host(
        facts,
        f"Keep {name} from loading, renew the initial file system, reboot.",
        (
            f"printf '{options}' | sudo tee /etc/modprobe.d/kprof-{name}.conf",
            packages.initramfs(distro),
            "sudo reboot",
        ),
        request=f"On the host {name} owns the NVIDIA GPU; NVIDIA's driver needs it.",
    )
    evidence = derive.values(facts, "driver.modules_loaded", "lspci_gpus")
    return Verdict(
        "error",
        f"{owner or 'another driver, most often nouveau,'} owns the GPU: NVIDIA's module cannot "
        "take it",
        (*evidence, *((line,) if line else ())),
        remedy,
        references.NOUVEAU,
    )
