"""Whether the driver's branch and the flavour of its kernel modules fit the GPUs on the bus."""

from __future__ import annotations

import re
from typing import Literal

from kprof.audit import derive, gpustate, matrix, references, remedies
from kprof.audit.facts import Facts, Unknown
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_IGNORED = (
    r"supported through the NVIDIA .{0,40}?(\d{3})\.xx Legacy|NVIDIA driver will ignore this GPU"
)
_TOO_NEW = r"installed in this system is not supported by the(?: NVIDIA)?\b(?!.{0,40}open nvidia)"
_NEEDS_PROPRIETARY = r"not supported by open nvidia\.ko"
_NEEDS_OPEN = r"requires use of (?:the )?NVIDIA open kernel modules"

_EFFECTS = ("driver.rm_init_failed", "driver.module_not_loaded", "gpu.missing")


@check(
    "driver.gpu_unsupported_by_branch",
    "driver branch and GPU",
    hurts=("profile", "run"),
    live=True,
    explains=(
        *_EFFECTS,
        "driver.proprietary_modules_required",
        "driver.open_modules_required",
        "driver.too_old_for_torch",
        "driver.too_old_for_toolkit",
    ),
)
def gpu_unsupported_by_branch(facts: Facts) -> Verdict:
    """A branch drives the generations between its first and its last one."""
    if _elsewhere(facts):
        return skipped("the driver comes with Windows or with the board's software")
    line = derive.logged(facts, _IGNORED) or derive.logged(facts, _TOO_NEW)
    branch = gpustate.installed_branch(facts)
    if line is not None:
        return _by_log(facts, line, branch)
    left_out = _left_out(facts)
    if not left_out:
        return ok("the driver lists every GPU that the bus shows")
    if branch is None:
        raise Unknown("driver.version")
    return _by_table(facts, left_out, branch)


def _by_log(facts: Facts, line: str, branch: int | None) -> Verdict:
    legacy = re.search(_IGNORED, line, re.IGNORECASE)
    wanted = int(legacy[1]) if legacy and legacy[1] else _wanted(facts, branch)
    shown = f"driver R{branch}" if branch else "the driver"
    why = "no longer supports" if legacy else "does not support"
    return Verdict(
        _weight(facts),
        f"{shown} {why} {_names(gpustate.unlisted(facts)) or 'the GPU'}, as the kernel log says",
        (*derive.values(facts, "lspci_gpus", "driver.module_version", "driver.version"), line),
        _branch_remedy(facts, wanted),
        references.KERNEL_LOG,
    )


def _by_table(facts: Facts, names: tuple[str, ...], branch: int) -> Verdict:
    for name in names:
        generation = matrix.generation_of_name(name)
        answer = matrix.branch_supports(branch, generation) if generation else None
        if answer is not None and answer.certain and answer.value is False:
            last = matrix.last_branch(generation or "")
            until = f", R{last.value} was the last to drive it" if last else ""
            return Verdict(
                _weight(facts),
                f"driver R{branch} does not support {derive.brief(name)} ({generation}{until})",
                derive.values(facts, "lspci_gpus", "driver.module_version", "driver.version"),
                _branch_remedy(facts, _wanted(facts, branch)),
                str(answer),
            )
        if answer is None:
            return Verdict("unknown", f"not known: which branches drive {derive.brief(name)}")
    return ok(f"R{branch} supports {_names(names)}")


def _wanted(facts: Facts, branch: int | None) -> int:
    """Return a branch that drives the GPUs the driver leaves out."""
    for name in gpustate.unlisted(facts) or ():
        generation = matrix.generation_of_name(name)
        last = matrix.last_branch(generation) if generation else None
        if last is not None and (branch is None or branch > last.value):
            return int(last.value)
    return remedies.LTS_BRANCH


def _branch_remedy(facts: Facts, wanted: int) -> Remedy:
    needs = _needs(gpustate.unlisted(facts) or ())
    flavor: remedies.Flavor = "open" if "proprietary" not in needs else "proprietary"
    return _install(facts, wanted, flavor, gpustate.unlisted(facts) or ())


def _install(facts: Facts, branch: int, flavor: remedies.Flavor, names: tuple[str, ...]) -> Remedy:
    """Return how to install a driver for GPUs that are left out, where those that work stay."""
    lost = [gpu.name for gpu in derive.gpus(facts) or () if not _keeps(gpu, branch, flavor)]
    shown = _names(names) or "the GPU that is left out"
    if lost:
        return Remedy(
            f"Keep the driver that is here: no driver runs both {shown} and "
            f"{derive.brief(lost[0], 60)}, which works. Use the other one in another machine, or "
            "hand it to a virtual machine (vfio-pci)."
        )
    because = f"GPU: {_names(names) or 'see the kernel log'}."
    return remedies.install_driver(facts, branch, flavor=flavor, because=because)


def _keeps(gpu: derive.Gpu, branch: int, flavor: remedies.Flavor) -> bool:
    """Say whether nothing is known to keep a driver from running a GPU that works now."""
    generation = gpustate.generation(gpu)
    if generation is None:
        return True
    drives, modules = matrix.branch_supports(branch, generation), matrix.modules_needed(generation)
    refused = drives is not None and drives.certain and drives.value is False
    return not refused and (modules is None or modules.value in (flavor, "either"))


@check(
    "driver.proprietary_modules_required",
    "open modules on an older GPU",
    hurts=("profile", "run"),
    live=True,
    explains=_EFFECTS,
)
def proprietary_modules_required(facts: Facts) -> Verdict:
    """The open modules need the GPU System Processor, which came with Turing."""
    return _flavor(facts, "open", "proprietary", _NEEDS_PROPRIETARY)


@check(
    "driver.open_modules_required",
    "proprietary modules on a newer GPU",
    hurts=("profile", "run"),
    live=True,
    explains=_EFFECTS,
)
def open_modules_required(facts: Facts) -> Verdict:
    """Blackwell and later are driven by the open modules only."""
    return _flavor(facts, "proprietary", "open", _NEEDS_OPEN)


def _flavor(facts: Facts, wrong: remedies.Flavor, right: remedies.Flavor, message: str) -> Verdict:
    if _elsewhere(facts):
        return skipped("the driver comes with Windows or with the board's software")
    line = derive.logged(facts, message)
    if line is not None:
        return _wrong_flavor(facts, wrong, right, line)
    left_out = _left_out(facts)
    if not left_out:
        return ok("the driver lists every GPU that the bus shows")
    if right not in _needs(left_out):
        return _flavor_unknown(left_out) or ok(f"{_names(left_out)} takes the {wrong} modules")
    if facts.need_text("driver.module_flavor") != wrong:
        return ok(f"the {right} modules are loaded")
    return _wrong_flavor(facts, wrong, right, None)


def _flavor_unknown(names: tuple[str, ...]) -> Verdict | None:
    for name in names:
        if matrix.generation_of_name(name) is None:
            return Verdict("unknown", f"not known: the generation of {derive.brief(name)}")
    return None


def _wrong_flavor(
    facts: Facts, wrong: remedies.Flavor, right: remedies.Flavor, line: str | None
) -> Verdict:
    names = gpustate.unlisted(facts) or ()
    concerned = tuple(name for name in names if right in _needs((name,))) or names
    generation = matrix.generation_of_name(concerned[0]) if concerned else None
    grounds = matrix.modules_needed(generation) if generation else None
    gpu = f"{_names(concerned)} ({generation})" if generation else "the GPU"
    version = derive.driver_version(facts)
    loaded = f"the {wrong} modules of {derive.brief(version, 30)}" if version else (
        f"the {wrong} modules"
    )  # fmt: skip
    return Verdict(
        _weight(facts),
        f"{gpu} needs the {right} kernel modules; {loaded} are loaded",
        (
            *derive.values(facts, "lspci_gpus", "driver.module_flavor", "driver.module_version"),
            *((line,) if line else ()),
        ),
        _flavor_remedy(facts, right, concerned),
        str(grounds) if grounds else references.KERNEL_LOG,
    )


def _flavor_remedy(facts: Facts, right: remedies.Flavor, names: tuple[str, ...]) -> Remedy:
    branch = gpustate.installed_branch(facts) or remedies.LTS_BRANCH
    generation = matrix.generation_of_name(names[0]) if names else None
    answer = matrix.branch_supports(branch, generation) if generation else None
    if answer is not None and answer.value is False:
        branch = _wanted(facts, branch)
    return _install(facts, branch, right, names)


def _needs(names: tuple[str, ...]) -> set[str]:
    found = (matrix.generation_of_name(name) for name in names)
    needed = (matrix.modules_needed(generation) for generation in found if generation)
    return {str(one.value) for one in needed if one is not None and one.certain}


def _left_out(facts: Facts) -> tuple[str, ...]:
    """Return the GPUs on the bus that the driver does not list.

    Raises:
        Unknown: what is on the bus is not known, and the driver lists nothing either.
    """
    left_out = gpustate.unlisted(facts)
    if left_out is None and not gpustate.listed(facts):
        raise Unknown("lspci_gpus")
    return left_out or ()


def _elsewhere(facts: Facts) -> bool:
    return derive.wsl(facts) or derive.jetson(facts) or facts.text("os.system") == "windows"


def _weight(facts: Facts) -> Literal["error", "warning"]:
    """A GPU that is left out while others work is a warning."""
    return "warning" if gpustate.listed(facts) else "error"


def _names(names: tuple[str, ...] | None) -> str:
    return ", ".join(derive.brief(name, 60) for name in (names or ())[:3])
