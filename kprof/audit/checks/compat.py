"""Forward-compatibility libraries: a newer libcuda over an older kernel driver."""

from __future__ import annotations

from pathlib import PurePosixPath

from kprof.audit import (
    derive,
    engines,
    gpustate,
    matrix,
    packages,
    references,
    remedies,
    search_path,
    toolchain,
)
from kprof.audit.facts import Facts, Unknown
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_REFUSED = r"forward compatibility was attempted on non supported HW"
_MISMATCH = r"unsupported display driver / cuda driver combination"
_SIGNS = ("libcuda", "driver.version", "driver.module_version", "driver.cuda_version", "gpus")


@check(
    "compat.forward_lib_on_unsupported",
    "forward compatibility on a GPU without it",
    hurts=("profile", "run"),
    explains=(
        "compat.forward_lib_active",
        "driver.too_old_for_torch",
        "driver.too_old_for_toolkit",
        "driver.too_old_for_container",
        "gpu.missing",
    ),
)
def forward_lib_on_unsupported(facts: Facts) -> Verdict:
    """Compat libraries are for data-center GPUs; a GeForce answers with error 804."""
    line = gpustate.error_logged(facts, 804, _REFUSED)
    sign = gpustate.compat_library(facts)
    if line is None and sign is None:
        return _no_sign(facts)
    allowed = gpustate.forward_compatible(facts)
    if line is None and allowed is not False:
        if allowed is None:
            raise Unknown("gpus")
        return ok("the GPUs may load forward-compatibility libraries")
    if line is None and gpustate.works(facts):
        return ok("CUDA comes up with the libcuda that is loaded")
    gpus = derive.gpus(facts) or ()
    gpu = derive.brief(gpus[0].name, 60) if gpus and gpus[0].name else "this GPU"
    return Verdict(
        "error",
        f"{gpu} does not allow forward-compatibility libraries{f': {sign}' if sign else ''}",
        (*derive.values(facts, *_SIGNS), *((line,) if line else ())),
        _away(facts),
        references.rule("forward_compatibility"),
    )


def _no_sign(facts: Facts) -> Verdict:
    if facts.absent("libcuda"):
        return skipped("no libcuda was found at all")
    known = facts.text("libcuda.path") or facts.text("libcuda.kind")
    if not known and not derive.reported_cuda(facts) and not gpustate.works(facts):
        raise Unknown("libcuda.path")
    return ok("no forward-compatibility libcuda is loaded")


def _away(facts: Facts) -> Remedy:
    """Return how to get rid of the compat library, or the driver that makes it unnecessary."""
    needed = _needed(facts)
    if needed is not None:
        branch = max(remedies.LTS_BRANCH, needed)
        because = f"The image's CUDA needs R{needed} or newer, and its compat library is refused."
        return remedies.install_driver(facts, branch, because=because)
    directories = [one for one in derive.library_path(facts) or () if "compat" in one]
    return search_path.without(facts, directories) or _moved(facts)


def _moved(facts: Facts) -> Remedy:
    if derive.in_container(facts):
        return _out_of_the_image(facts)
    path = PurePosixPath(facts.text("libcuda.path") or "")
    known = [str(one) for one in path.parents if "compat" in one.name]
    if not known:
        return Remedy(
            "See which libcuda the loader finds, and remove the package of the one that is not "
            "the driver's (cuda-compat-*).",
            ("ldconfig -p | grep libcuda.so.1", *_remove_package(facts), "sudo ldconfig"),
            "root",
        )
    directory = remedies.quoted(known[0], "/usr/local/cuda/compat")
    return Remedy(
        "Move the compat directory out of the way; the driver's own libcuda will do.",
        (f"sudo mv {directory} {directory}.off", "sudo ldconfig"),
        "root",
    )


def _out_of_the_image(facts: Facts) -> Remedy:
    """Return how to keep a container's start from putting the image's compat libcuda in place."""
    return Remedy(
        "Leave the compat libraries out of the image (by a last line of its Dockerfile), and "
        "start the container afresh: the container runtime puts them before the driver's libcuda "
        "when it starts. The driver's own will do.",
        engines.of(facts).without_compat,
    )


def _remove_package(facts: Facts) -> tuple[str, ...]:
    kind = packages.family(facts.text("os.distro"))
    if kind in ("ubuntu", "debian"):
        return ("sudo apt-get purge -y 'cuda-compat-*'",)
    if kind in ("rhel", "fedora"):
        return ("sudo dnf remove -y 'cuda-compat-*'",)
    return ("sudo zypper remove -y 'cuda-compat-*'",) if kind == "suse" else ()


def _needed(facts: Facts) -> int | None:
    """Return the branch that the software here needs at least, None where the driver is enough."""
    toolkit = toolchain.winner(facts)
    builds = (derive.torch_cuda(facts), toolkit.cuda if toolkit else None)
    have = derive.version(derive.driver_version(facts))
    for major in sorted((one[0] for one in builds if one), reverse=True):
        least = matrix.min_driver(major)
        needed = derive.version(str(least.value)) if least else None
        if have is not None and needed is not None and have < needed:
            return needed.major
    return None


@check("compat.forward_lib_active", "forward compatibility in use", hurts=("profile", "run"))
def forward_lib_active(facts: Facts) -> Verdict:
    """A compat libcuda works where it is newer than the kernel driver, and hides its version."""
    sign = gpustate.compat_library(facts)
    if sign is None:
        return _no_sign(facts)
    if gpustate.forward_compatible(facts) is False:
        return skipped("see compat.forward_lib_on_unsupported")
    line = gpustate.error_logged(facts, 803, _MISMATCH)
    older = _older(facts)
    if line or (older and gpustate.cuda_failure(facts)):
        return _does_not_fit(facts, sign, line, older)
    return Verdict(
        "warning",
        f"forward compatibility is in use: {sign}; nvidia-smi then shows the library's CUDA version",
        derive.values(facts, *_SIGNS),
        Remedy(
            "Nothing to do where it is meant so (it needs a data-center GPU). Otherwise take the "
            "compat directory out of the library path."
        ),
        references.rule("compat_signature"),
    )


def _older(facts: Facts) -> bool:
    library = derive.release(facts.text("libcuda.version"), 1)
    branch = derive.driver_branch(facts)
    return library is not None and branch is not None and library[0] < branch


def _does_not_fit(facts: Facts, sign: str, line: str | None, older: bool) -> Verdict:
    why = "it is older than the kernel driver" if older else "the kernel driver does not accept it"
    return Verdict(
        "error",
        f"a forward-compatibility libcuda is loaded that does not fit: {sign}; {why}",
        (*derive.values(facts, *_SIGNS), *((line,) if line else ())),
        _away(facts),
        references.cuda_error(803),
    )
