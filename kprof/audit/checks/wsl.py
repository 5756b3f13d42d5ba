"""CUDA inside WSL, where the driver is that of Windows."""

from __future__ import annotations

from kprof.audit import derive, gpustate, matrix, references, remedies
from kprof.audit.facts import Facts, Unknown
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_BLOCKED = r"GPU access blocked by the operating system"
_NO_DEVICE = r"no CUDA-capable device|No devices were found|No CUDA GPUs are available"
_SAMPLING = (
    r"periodic sampler.{0,80}INSUFFICIENT_PRIVILEGE|sampl\w{0,8}.{0,80}INSUFFICIENT_PRIVILEGE"
)
_UNSUPPORTED = r"as it uses the Windows Subsystem for Linux"
_LIBRARIES = "/usr/lib/wsl/"


def _not_here(facts: Facts) -> Verdict | None:
    if derive.wsl(facts):
        return None
    if not facts.known("os.wsl") and facts.text("os.system") is None:
        raise Unknown("os.wsl")
    return skipped("this is not WSL")


@check(
    "wsl.libcuda_shadowed",
    "WSL's libcuda",
    hurts=("profile", "run"),
    explains=("wsl.no_device", "gpu.missing", "driver.missing"),
)
def libcuda_shadowed(facts: Facts) -> Verdict:
    """WSL mounts the driver's libraries; a Linux driver installed inside WSL hides them."""
    elsewhere = _not_here(facts)
    if elsewhere is not None:
        return elsewhere
    if facts.absent("libcuda"):
        return skipped("no libcuda was found at all")
    path, kind = facts.text("libcuda.path"), facts.text("libcuda.kind")
    if kind in ("stub", "compat"):
        return skipped(f"libcuda is a {kind} library, which another check judges")
    if kind == "wsl" or (path and path.startswith(_LIBRARIES)):
        return ok(f"libcuda is WSL's: {derive.brief(path or 'in /usr/lib/wsl/lib')}")
    if path is None:
        raise Unknown("libcuda.path")
    if gpustate.works(facts) or (derive.in_container(facts) and not facts.text("libcuda.version")):
        return ok(f"libcuda is {derive.brief(path)}, and nothing says that it is a Linux driver's")
    return Verdict(
        "error",
        f"a Linux driver's libcuda, {derive.brief(path)}, is found instead of WSL's",
        derive.values(facts, "os.wsl", "libcuda", "env.LD_LIBRARY_PATH"),
        Remedy(
            "Remove the Linux driver from WSL (the one of Windows serves both), then restart WSL. "
            "Until then put WSL's libraries first.",
            (
                "sudo apt-get purge -y 'libnvidia-compute-*' 'nvidia-driver-*' 'cuda-drivers*'",
                "export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH",
            ),
            "root",
        ),
        references.WSL,
    )


@check(
    "wsl.no_device",
    "GPU inside WSL",
    hurts=("profile", "run"),
    explains=("gpu.missing", "driver.missing", "container.cgroup_lost"),
)
def no_device(facts: Facts) -> Verdict:
    """WSL 2 hands a GPU over through /dev/dxg when Windows, its driver and the card allow it."""
    elsewhere = _not_here(facts)
    if elsewhere is not None:
        return elsewhere
    if facts.number("os.wsl") == 1:
        return _no_device(facts, "WSL 1 has no access to GPUs", None)
    line = derive.logged(facts, _BLOCKED)
    if line is not None:
        return _no_device(facts, "Windows blocks the GPU for WSL", line)
    if gpustate.listed(facts) or gpustate.works(facts):
        return ok("WSL sees the GPU")
    if gpustate.exists(facts, "/dev/dxg") is False:
        return _no_device(facts, "WSL has no /dev/dxg: Windows hands over no GPU", None)
    line = gpustate.error_logged(facts, 100, _NO_DEVICE)
    if line is None and gpustate.listed(facts) is None:
        raise Unknown("gpus")
    return _no_device(facts, f"{_which_library(facts)} finds no GPU", line)


def _which_library(facts: Facts) -> str:
    path = facts.text("libcuda.path")
    if path is None or path.startswith(_LIBRARIES) or facts.text("libcuda.kind") == "wsl":
        return "WSL's driver library is loaded but"
    return f"the libcuda in use, {derive.brief(path, 80)}, is not WSL's and"


def _no_device(facts: Facts, message: str, line: str | None) -> Verdict:
    update = remedies.windows_driver()
    text = (
        f"{update.text} Windows 11, or Windows 10 21H2, is needed, and a card that Windows drives "
        "in WDDM mode: a data-center card in TCC mode is not handed over."
    )
    convert = ("wsl --set-version DISTRIBUTION 2",) if facts.number("os.wsl") == 1 else ()
    return Verdict(
        "error",
        message,
        (
            *derive.values(facts, "os.wsl", "gpus", "driver.version", "libcuda"),
            *((line,) if line else ()),
        ),
        Remedy(text, ("wsl --update", *convert, *update.commands), "windows"),
        references.WSL,
    )


@check(
    "wsl.profiling_limits",
    "profiling inside WSL",
    hurts=("profile",),
    explains=("ncu.perm", "ncu.wsl_unsupported", "ncu.driver_too_old"),
)
def profiling_limits(facts: Facts) -> Verdict:
    """Counters are opened in Windows; periodic sampling does not exist in WSL."""
    elsewhere = _not_here(facts)
    if elsewhere is not None:
        return elsewhere
    line = derive.logged(facts, _SAMPLING)
    if line is not None:
        return _limit(
            facts,
            "periodic sampling (PM sampling) does not exist under WSL, whatever the privileges: "
            "it answers INSUFFICIENT_PRIVILEGE",
            line,
            Remedy("Leave out PM sampling, or profile on Linux itself.",
                   ("ncu --section SpeedOfLight --section MemoryWorkloadAnalysis PROGRAM",)),
            "wsl_sampling",
        )  # fmt: skip
    old = derive.logged(facts, _UNSUPPORTED) or _old_ncu(facts)
    if old is not None:
        return _too_old(facts, old)
    if gpustate.listed(facts) is None and not facts.known("ncu"):
        raise Unknown("gpus")
    return Verdict(
        "warning",
        "under WSL the counters are opened in Windows, and periodic sampling does not exist",
        derive.values(facts, "os.wsl", "ncu.version"),
        _open_counters(),
        references.rule("wsl_counters"),
    )


def _old_ncu(facts: Facts) -> str | None:
    first = matrix.rule_value("wsl_windows_11")
    have = derive.version(facts.text("ncu.version"))
    wanted = derive.version(str(first.value)) if first else None
    if have is None or wanted is None or have >= wanted:
        return None
    return f"ncu.version = {derive.brief(facts.text('ncu.version') or '', 20)}"


def _too_old(facts: Facts, line: str) -> Verdict:
    return _limit(
        facts,
        "this Nsight Compute, driver or Windows is too old to profile under WSL",
        line,
        Remedy(
            "Use Nsight Compute 2022.4 or newer with Windows 11 and driver 525 or newer; on Windows "
            "10 (19044) Nsight Compute 2023.3 and driver 545. Update the driver in Windows.",
            ("wsl --update", "wsl --shutdown"),
            "windows",
        ),
        "wsl_windows_11",
    )


def _limit(facts: Facts, message: str, line: str, remedy: Remedy, rule: str) -> Verdict:
    evidence = (*derive.values(facts, "os.wsl", "ncu.version", "driver.version"), line)
    return Verdict("error", message, evidence, remedy, references.rule(rule))


def _open_counters() -> Remedy:
    return Remedy(
        "In Windows: NVIDIA Control Panel > Desktop > Enable Developer Settings, then Developer > "
        "Manage GPU Performance Counters > Allow access to all users; then restart WSL.",
        ("wsl --shutdown",),
        "windows",
    )
