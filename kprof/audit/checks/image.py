"""What a container's image asks of the host's driver."""

from __future__ import annotations

import re

from kprof.audit import (
    derive,
    gpustate,
    matrix,
    needs,
    references,
    remedies,
    requirements,
    toolchain,
)
from kprof.audit.facts import Facts, Unknown
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_REQUIREMENT = r"requirement error: unsatisfied condition: ([\w<>=!.,]{3,80})"
_DRIVER_FACTS = (
    "driver.version",
    "driver.module_version",
    "driver.cuda_version",
    "libcuda.version",
)
_AFTER = ("ncu.driver_too_old", "nvcc.ptx_newer_than_driver", "gpu.missing", "torch.import_error")


@check(
    "driver.too_old_for_container",
    "driver and the container's image",
    hurts=("profile", "run"),
    explains=("driver.too_old_for_toolkit", "container.require_unsatisfied", *_AFTER),
)
def too_old_for_container(facts: Facts) -> Verdict:
    """An image brings its own CUDA, and the host its driver."""
    if derive.in_container(facts) is None:
        if not facts.known("os.container"):
            raise Unknown("os.container")
        return skipped("this is no container")
    if derive.logged(facts, _REQUIREMENT):
        return skipped("the container did not start: see container.require_unsatisfied")
    image = _image_cuda(facts)
    if image is None:
        raise Unknown("toolkits")
    cuda, where = image
    major = cuda[0]
    need = needs.of(facts, major)
    if need.enough is None:
        return needs.unknown(facts)
    if need.enough:
        return ok(f"{need.runs} runs the image's CUDA {major}")
    return Verdict(
        "warning" if gpustate.runs_torch(facts) or gpustate.runs_cuda(facts, major) else "error",
        f"the image brings CUDA {where}, which needs {need.wanted}; the host has {need.runs}",
        derive.values(
            facts, "container_runtime.requires", "env.CUDA_VERSION", "toolkits", *_DRIVER_FACTS
        ),
        needs.install(facts, need, cuda),
        need.source,
    )


def _image_cuda(facts: Facts) -> tuple[tuple[int, int], str] | None:
    """Return the CUDA version that the image declares or brings, and it for people."""
    declared = derive.release(facts.text("env.CUDA_VERSION"))
    if declared is None:
        found = re.match(
            r"\s*cuda>=(\d{1,2})\.(\d{1,2})", facts.text("container_runtime.requires") or ""
        )
        declared = (int(found[1]), int(found[2])) if found else None
    toolkit = toolchain.winner(facts)
    cuda = (declared[0], declared[1]) if declared else toolkit.cuda if toolkit else None
    return (cuda, f"{cuda[0]}.{cuda[1]}") if cuda else None


@check(
    "container.require_unsatisfied",
    "what the image asks of the driver",
    hurts=("profile", "run"),
    explains=("container.runtime_unconfigured", "gpu.missing"),
)
def require_unsatisfied(facts: Facts) -> Verdict:
    """The runtime refuses an image whose NVIDIA_REQUIRE_CUDA the host's driver does not meet."""
    line = derive.logged(facts, _REQUIREMENT)
    requires = facts.text("container_runtime.requires")
    if line is not None:
        found = re.search(_REQUIREMENT, line, re.IGNORECASE)
        return _unsatisfied(facts, found[1].rstrip(".,") if found else "", line)
    if requires is None:
        if facts.absent("container_runtime.requires") or facts.absent("container_runtime"):
            return skipped("no image asks for anything")
        raise Unknown("container_runtime.requires")
    answer = requirements.satisfied(facts, requires)
    if answer is None:
        raise Unknown("driver.version")
    if answer:
        return ok(f"the driver meets what the image asks for: {derive.brief(requires, 60)}")
    return _unsatisfied(facts, requires.split()[0], None)


def _unsatisfied(facts: Facts, condition: str, line: str | None) -> Verdict:
    """A container that runs and works was started without the check (CDI, NVIDIA_DISABLE_REQUIRE)."""
    started = line is None and not facts.absent("os.container")
    mild = started and bool(gpustate.listed(facts) or gpustate.works(facts))
    asked, offers = derive.brief(condition, 60), _offers(facts)
    return Verdict(
        "warning" if mild else "error",
        f"the image asks for {asked}; {offers}{'; it was started without that check' * mild}",
        (
            *derive.values(facts, "container_runtime.requires", *_DRIVER_FACTS),
            *((line,) if line else ()),
        ),
        _older_image_or_newer_driver(facts, condition, f"An image asks for {asked}; {offers}."),
        references.CONTAINER_VARIABLES,
    )


def _offers(facts: Facts) -> str:
    cuda, version = requirements.host_cuda(facts), derive.driver_version(facts)
    have = f"driver {derive.brief(version, 30)}" if version else "the host's driver"
    return f"{have} offers CUDA {derive.brief(cuda, 12)}" if cuda else f"{have} does not meet it"


def _older_image_or_newer_driver(facts: Facts, condition: str, because: str) -> Remedy:
    found = re.match(r"cuda>=?(\d{1,2}\.\d{1,2})", condition)
    branch = matrix.branch_of_cuda(found[1]) if found else None
    wanted = max(remedies.LTS_BRANCH, branch.value if branch else 0)
    driver = remedies.install_driver(facts, wanted, because=because)
    cuda = requirements.host_cuda(facts)
    image = f"CUDA {derive.brief(cuda, 12)} or older" if cuda else "an older CUDA version"
    return remedies.either(driver, Remedy(f"Use an image of {image}."))
