"""Whether the driver is new enough for torch and for the toolkit."""

from __future__ import annotations

from kprof.audit import derive, gpustate, needs, remedies, toolchain
from kprof.audit.facts import Facts, Unknown
from kprof.audit.toolkit_install import use_toolkit
from kprof.audit.torch_install import install_torch
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_DRIVER_FACTS = (
    "driver.version",
    "driver.module_version",
    "driver.cuda_version",
    "libcuda.version",
)
_AFTER = ("ncu.driver_too_old", "nvcc.ptx_newer_than_driver", "gpu.missing", "torch.import_error")


@check(
    "driver.too_old_for_torch",
    "driver and torch",
    hurts=("profile", "run"),
    explains=("driver.too_old_for_toolkit", "driver.too_old_for_container", *_AFTER),
)
def too_old_for_torch(facts: Facts) -> Verdict:
    """A CUDA major version needs a driver of its own generation; minor versions do not matter."""
    if facts.text("torch.hip"):
        return skipped("torch is built for AMD GPUs")
    cuda = derive.torch_cuda(facts)
    if cuda is None:
        return _no_cuda_in_torch(facts)
    need, said = needs.of(facts, cuda[0]), needs.complaint(facts)
    if said is None and facts.flag("torch.cuda_available"):
        return ok(f"torch brings CUDA {cuda[0]} up with {need.runs}")
    name = derive.brief(facts.text("torch.version") or f"torch for CUDA {cuda[0]}.{cuda[1]}", 40)
    name = name if name.startswith("torch") else f"torch {name}"
    if need.enough is False or (said and _proven(said, cuda[0], need)):
        return Verdict(
            "error",
            f"{name} needs {need.wanted} for CUDA {cuda[0]}; {need.gap}",
            (
                *derive.values(facts, "torch.version", "torch.cuda", *_DRIVER_FACTS),
                *((said[0],) if said else ()),
            ),
            _torch_remedy(facts, need, cuda),
            need.source,
        )
    if need.enough is None:
        return needs.unknown(facts)
    return ok(f"{need.runs} runs {name}: CUDA {cuda[0]} needs {need.wanted}")


def _no_cuda_in_torch(facts: Facts) -> Verdict:
    if derive.torch_absent(facts):
        return skipped("torch is not installed")
    if facts.absent("torch.cuda") or "+cpu" in (facts.text("torch.version") or ""):
        return skipped("torch is a build without CUDA")
    raise Unknown("torch.cuda")


def _proven(said: tuple[str, int | None], major: int, need: needs.Need) -> bool:
    """Say whether torch's own words show that the driver is older than its CUDA version."""
    _, found = said
    return found < major if found is not None else need.enough is None


def _torch_remedy(facts: Facts, need: needs.Need, cuda: tuple[int, int]) -> Remedy:
    wheel = install_torch(facts)
    driver = needs.install(facts, need, cuda)
    if not wheel.commands or derive.jetson(facts):
        return wheel if derive.jetson(facts) else driver
    return remedies.either(wheel, driver)


@check(
    "driver.too_old_for_toolkit",
    "driver and CUDA toolkit",
    hurts=("profile", "run"),
    explains=_AFTER,
)
def too_old_for_toolkit(facts: Facts) -> Verdict:
    """What the toolkit builds needs a driver of the toolkit's CUDA major version."""
    toolkit = toolchain.winner(facts)
    if toolkit is None:
        return _no_toolkit(facts)
    major = toolkit.cuda[0]
    need, said = needs.of(facts, major), needs.complaint(facts)
    if need.enough:
        return ok(f"{need.runs} runs what {toolkit} builds: CUDA {major} needs {need.wanted}")
    if need.enough is None and not (said and _proven(said, major, need)):
        return needs.unknown(facts)
    return Verdict(
        "warning" if gpustate.runs_torch(facts) else "error",
        f"{toolkit} builds programs that need {need.wanted}; {need.gap}",
        (
            *derive.values(facts, "nvcc.version", "toolkits", *_DRIVER_FACTS),
            *((said[0],) if said else ()),
        ),
        _toolkit_remedy(facts, need, toolkit.cuda),
        need.source,
    )


def _no_toolkit(facts: Facts) -> Verdict:
    if facts.absent("toolkits") or facts.absent("nvcc"):
        return skipped("there is no CUDA toolkit")
    raise Unknown("toolkits")


def _toolkit_remedy(facts: Facts, need: needs.Need, cuda: tuple[int, int]) -> Remedy:
    driver, have = needs.install(facts, need, cuda), derive.driver_cuda(facts)
    return remedies.either(driver, use_toolkit(facts, have) if have else None)
