"""The unified-memory module, without which the GPUs are listed and CUDA still does not start."""

from __future__ import annotations

from kprof.audit import derive, engines, gpustate, references, remedies
from kprof.audit.facts import Facts, Unknown
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_HMM = r"request_free_mem_region\S{0,4} err|nvidia.uvm.{0,200}\berr(?:or)? -34\b"
_NOT_INITIALISED = r"CUDA driver initialization failed, you might not have a CUDA gpu"
_UNKNOWN_ERROR = r"CUDA unknown error|cuInit\(?0?\)? (?:failed|returned).{0,80}\b999\b"
_FORKED = r"Cannot re-initialize CUDA in forked subprocess"
_RESUMED = r"PM: (?:suspend|hibernation)(?:: hibernation)? exit|system resume|resumed from suspend"
_NODE = "/dev/nvidia-uvm"
_CONTROL = "/dev/nvidiactl"


@check(
    "driver.hmm_kaslr",
    "HMM and KASLR",
    hurts=("profile", "run"),
    live=True,
    explains=("driver.uvm_stale",),
)
def hmm_kaslr(facts: Facts) -> Verdict:
    """The kernel's address randomisation can leave no room for the heterogeneous memory's pages."""
    if derive.wsl(facts):
        return skipped("the driver is that of Windows")
    line = derive.logged(facts, _HMM)
    if line is not None:
        return Verdict(
            "error",
            "CUDA cannot start: nvidia_uvm finds no free memory region (HMM under KASLR)",
            (*derive.values(facts, "os.kernel", "driver.module_version"), line),
            _without_hmm(facts),
            references.rule("hmm_kaslr"),
        )
    failed = gpustate.error_logged(facts, 3, _NOT_INITIALISED)
    if failed and _up(facts) and not derive.logged(facts, _FORKED):
        return _suspected(facts, failed)
    if facts.texts("driver.dmesg") is None and not gpustate.works(facts):
        raise Unknown("driver.dmesg")
    return ok("nvidia_uvm found the memory region it needs")


def _up(facts: Facts) -> bool:
    """Say whether everything but CUDA runs: the modules, and the list of GPUs where it is known."""
    return bool(_loaded(facts)) and gpustate.listed(facts) != 0


def _suspected(facts: Facts, line: str) -> Verdict:
    return Verdict(
        "error",
        "CUDA does not initialise although the driver lists the GPUs: with some kernels the "
        "cause is nvidia_uvm's HMM",
        (*derive.values(facts, "os.kernel", "driver.module_version", "driver.module_flavor"), line),
        _without_hmm(facts),
        references.HMM_REPORT,
    )


def _without_hmm(facts: Facts) -> Remedy:
    return remedies.on_host(
        facts,
        "Turn HMM off in nvidia_uvm, or boot with the kernel parameter nokaslr.",
        remedies.module_option(facts, "nvidia_uvm uvm_disable_hmm=1"),
        request="On the host nvidia_uvm does not come up with HMM; the module option "
        "uvm_disable_hmm=1 (or the kernel parameter nokaslr) is needed.",
    )


@check("driver.uvm_stale", "unified-memory module", hurts=("profile", "run"), live=True)
def uvm_stale(facts: Facts) -> Verdict:
    """nvidia_uvm can stop working over suspend and resume, or never have been set up."""
    if derive.wsl(facts) or derive.jetson(facts):
        return skipped("there is no nvidia_uvm here")
    if derive.in_container(facts) and gpustate.exists(facts, _CONTROL) is False:
        return skipped("this container was given no GPU")
    line = gpustate.error_logged(facts, 999, _UNKNOWN_ERROR)
    resumed = derive.logged(facts, _RESUMED)
    absent = _absent(facts)
    failed = line or gpustate.cuda_failure(facts)
    if gpustate.works(facts) or (not line and not absent and not resumed):
        return _fine(facts)
    if absent and (failed or derive.in_container(facts)):
        return _missing(facts, absent, failed)
    if line is None:
        return ok("nothing says that nvidia_uvm does not work")
    return _stale(facts, line, resumed)


def _absent(facts: Facts) -> str | None:
    """Return what shows that nvidia_uvm is not there while the driver is."""
    if not gpustate.module_loaded(facts):
        return None
    if gpustate.exists(facts, _NODE) is False:
        return f"{_NODE} does not exist"
    return "the module nvidia_uvm is not loaded" if _loaded(facts) is False else None


def _loaded(facts: Facts) -> bool | None:
    modules = facts.texts("driver.modules_loaded")
    return None if modules is None else "nvidia_uvm" in modules


def _fine(facts: Facts) -> Verdict:
    if gpustate.works(facts):
        return ok("CUDA starts")
    if _loaded(facts) is None and gpustate.exists(facts, _NODE) is None:
        raise Unknown("driver.modules_loaded")
    return ok("nvidia_uvm is there")


def _missing(facts: Facts, absent: str, failed: str | None) -> Verdict:
    if derive.in_container(facts):
        remedy = remedies.letter(
            "The container has GPUs but no /dev/nvidia-uvm, so CUDA cannot start.",
            ("sudo nvidia-modprobe -u -c=0", *engines.of(facts).start),
        )
    else:
        commands = ("sudo modprobe nvidia_uvm", "sudo nvidia-modprobe -u -c=0")
        remedy = Remedy("Load the module and make its device nodes.", commands, "root")
    return Verdict(
        "error" if failed else "warning",
        f"{absent}: CUDA cannot start without unified memory",
        (
            *derive.values(facts, "driver.modules_loaded", "files"),
            *((failed,) if failed else ()),
        ),
        remedy,
        references.cuda_error(999),
    )


def _stale(facts: Facts, line: str, resumed: str | None) -> Verdict:
    if gpustate.listed(facts) == 0 or gpustate.module_loaded(facts) is False:
        return ok("CUDA fails before nvidia_uvm could")
    when = " since the machine woke up" if resumed else ""
    sure = bool(resumed or gpustate.listed(facts) or gpustate.module_loaded(facts))
    return Verdict(
        "error" if sure else "warning",
        f"the driver lists the GPU, but CUDA fails with an unknown error (999){when}: nvidia_uvm "
        "has to be loaded afresh",
        (
            *derive.values(facts, "driver.module_version", "driver.modules_loaded"),
            *((resumed,) if resumed else ()),
            line,
        ),
        remedies.on_host(
            facts,
            "Stop every CUDA program and load the module afresh; a restart does the same.",
            remedies.reload_uvm(),
            request="CUDA fails with error 999 on the host's GPUs; nvidia_uvm has to be reloaded.",
        ),
        references.cuda_error(999),
    )
