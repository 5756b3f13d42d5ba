"""Which build of PyTorch fits this machine, and the command that installs it."""

from __future__ import annotations

import re
import shlex

from kprof.audit import derive, matrix, remedies
from kprof.audit.devices import devices, dotted
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy

JETSON_GUIDE = (
    "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/index.html"
)
# The index that NVIDIA's forum names for JetPack 6 (CUDA 12.6):
# <https://forums.developer.nvidia.com/t/jetpack-6-1-install-pytorch-2-5-1/318629/7>, under its
# present address <https://github.com/dusty-nv/jetson-containers/pull/1317>.
JETPACK_6_INDEX = "https://pypi.jetson-ai-lab.io/jp6/cu126"
SELECTOR = "https://pytorch.org/get-started/locally/"
_COMPANIONS = ("torchvision", "torchaudio")
_JETPACK_OF_L4T = {32: 4, 34: 5, 35: 5, 36: 6, 38: 7, 39: 7}


def install_torch(facts: Facts) -> Remedy:
    """Return the build of torch that runs on this machine, with the command that installs it.

    The release that is installed now is kept where one of its builds fits; otherwise the newest
    release that does. Where none fits, the remedy says what stands against the newest.
    """
    if needs_jetson_wheel(facts):
        return jetson_torch(facts)
    machine = derive.machine(facts)
    if not devices(facts) and derive.driver_version(facts) is None:
        return _without_a_machine(facts)
    if machine is None:
        return Remedy(f"Choose the build for this driver and GPU on {SELECTOR}")
    found = fitting(facts)
    if not found:
        return _none_fits(facts, machine)
    release, variant = found
    remedy = Remedy(
        f"Install torch {release} for CUDA {matrix.cuda_of(variant)} ({variant}): it runs on "
        f"{_what_it_must_fit(facts)}.{_another_build(facts, found)}{_in_image(facts)}",
        (install_command(facts, variant, release),),
    )
    return _in_place_of_condas(facts, remedy) if is_condas(facts) else remedy


def is_condas(facts: Facts) -> bool:
    """Say whether conda installed torch: its builds carry no label, PyTorch's own do."""
    version = facts.text("torch.version") or "+"
    return facts.text("python.environment") == "conda" and "+" not in version


def _in_place_of_condas(facts: Facts, remedy: Remedy) -> Remedy:
    """Return a remedy that does not lay pip's torch over conda's."""
    again = Remedy("Let conda-forge bring its build for CUDA",
                   ("conda install -y -c conda-forge pytorch-gpu",))  # fmt: skip
    return Remedy(
        f"Remove conda's torch first. {remedy.text}",
        ("conda remove -y --force pytorch", *remedy.commands),
        remedy.who,
        (again,),
    )


def _without_a_machine(facts: Facts) -> Remedy:
    """Return what to do where neither GPU nor driver is known: any build, or ask where they are."""
    if derive.torch_absent(facts):
        return Remedy(
            f"Install torch ({SELECTOR}); which build fits shows once the GPU and its driver do",
            (f"{remedies.python(facts)} -m pip install torch",),
        )
    return Remedy(
        "Which build of torch fits depends on the GPU and its driver, which are not known here: "
        f"have them looked at on the machine that it failed on, or choose on {SELECTOR}",
        ("kprof doctor",),
    )


def _another_build(facts: Facts, found: tuple[str, str]) -> str:
    """Return why to install the version that is installed: it is not the build of that name."""
    if (facts.text("torch.version") or "") != "+".join(found):
        return ""
    return (
        " The one installed has the same version, but it is not that build: PyTorch's own has "
        "code for this GPU."
    )


def install_command(facts: Facts, variant: str, release: str | None = None) -> str:
    """Return the pip command for a build, with the companions of torch that are installed now."""
    torch = f"torch=={release}" if release else "torch"
    beside = [name for name in _COMPANIONS if facts.text(f"packages.{name}")]
    words = [shlex.quote(torch), *beside, "--index-url", matrix.index_url(variant)]
    return f"{remedies.python(facts)} -m pip install --force-reinstall {' '.join(words)}"


def same_build(facts: Facts) -> tuple[str, ...]:
    """Return the command that installs once more the build that is there, as it came."""
    if is_condas(facts):
        return ("conda install -y --force-reinstall pytorch",)
    known = matrix.torch_release(facts.text("torch.version") or "")
    cuda, release = derive.torch_cuda(facts), known.version if known else None
    if cuda:
        return (install_command(facts, f"cu{cuda[0]}{cuda[1]}", release),)
    torch = shlex.quote(f"torch=={release}") if release else "torch"
    cpu = "+cpu" in (facts.text("torch.version") or "")
    index = f" --index-url {matrix.index_url('cpu')}" if cpu else ""
    return (f"{remedies.python(facts)} -m pip install --force-reinstall {torch}{index}",)


def fitting(facts: Facts) -> tuple[str, str] | None:
    """Return the release and build for this machine: the installed release's if one fits.

    Among a release's builds, one that is not newer than the driver's CUDA comes first: its PTX
    can be compiled too.
    """
    current = matrix.torch_release(facts.text("torch.version") or "")
    kept = _fitting(facts, current.version) if current else []
    found = kept or _fitting(facts, None)
    same = [build for build in found if build[0] == found[0][0]]
    return next((build for build in same if not _newer_than_driver(facts, build[1])), None) or (
        same[0] if same else None
    )


def builds_of_cuda(facts: Facts, major: int) -> list[tuple[str, str]]:
    """Return the builds of the installed release for a CUDA major version that run here.

    What the driver's own CUDA covers comes first.
    """
    current = matrix.torch_release(facts.text("torch.version") or "")
    found = _fitting(facts, current.version) if current else []
    wanted = [one for one in found if (matrix.cuda_of(one[1]) or "").startswith(f"{major}.")]
    return sorted(wanted, key=lambda one: _newer_than_driver(facts, one[1]))


def _newer_than_driver(facts: Facts, variant: str) -> bool:
    cuda, have = derive.release(matrix.cuda_of(variant)), derive.driver_cuda(facts)
    return cuda is not None and have is not None and cuda > have


def needs_jetson_wheel(facts: Facts) -> bool:
    """Say whether the GPU is a Tegra that PyTorch's own builds have no code for (before Thor)."""
    tegra = [one.capability for one in devices(facts) if matrix.is_tegra(one.capability)]
    if tegra:
        return tegra[0] < (10, 0)
    release = jetpack(facts)
    return release is not None and release < 7


def jetpack(facts: Facts) -> int | None:
    """Return the JetPack's major version, from its name or its L4T release."""
    text = (facts.text("os.jetson") or "")[:80]
    named = re.search(r"jetpack\D{0,3}(\d+)", text, re.IGNORECASE)
    if named:
        return int(named[1][:3])
    l4t = re.search(r"\b(?:R|L4T\s*)?(\d{2})\b", text, re.IGNORECASE)
    return _JETPACK_OF_L4T.get(int(l4t[1])) if l4t else None


def jetson_torch(facts: Facts) -> Remedy:
    """Return how to get a torch built for this board."""
    advice = f"Install a torch built for this board's JetPack ({JETSON_GUIDE})."
    python = remedies.python(facts)
    remove = f"{python} -m pip uninstall -y torch"
    if jetpack(facts) == 6:
        command = f"{python} -m pip install torch --index-url {JETPACK_6_INDEX}"
        return Remedy(advice + _in_image(facts), (remove, command))
    return Remedy(advice + _in_image(facts), (remove,))


def _fitting(facts: Facts, release: str | None) -> list[tuple[str, str]]:
    """Return the builds that suit every GPU here, or else the first one."""
    capabilities = [one.capability for one in devices(facts)]
    if not capabilities:
        return _builds(facts, None, release)
    suited = [_builds(facts, one, release) for one in capabilities[:8]]
    every = [build for build in suited[0] if all(build in others for others in suited)]
    return every or suited[0]


def _builds(
    facts: Facts, capability: matrix.Capability | None, release: str | None
) -> list[tuple[str, str]]:
    return matrix.fitting_wheels(
        derive.driver_version(facts),
        capability,
        derive.machine(facts) or "",
        python=facts.text("python.version"),
        torch=release,
        system=derive.driver_system(facts),
    )


def _what_it_must_fit(facts: Facts) -> str:
    parts = [str(one) for one in devices(facts)[:3]]
    if driver := derive.driver_version(facts):
        parts.append(f"driver {derive.brief(driver, 30)}")
    if python := facts.text("python.version"):
        parts.append(f"Python {derive.brief(python, 12)}")
    return ", ".join(parts) or "this machine"


def _none_fits(facts: Facts, machine: str) -> Remedy:
    known = devices(facts)
    capability = known[0].capability if known else None
    wanted = next(iter(matrix.fitting_wheels(None, capability, machine)), None)
    if wanted is None:
        gpu = f"compute capability {dotted(capability)} on " if capability else ""
        return Remedy(f"No build of torch is known for {gpu}{machine}: build it from source")
    host = matrix.Host(
        derive.driver_version(facts),
        capability,
        machine,
        facts.text("python.version"),
        derive.driver_system(facts),
    )
    release = matrix.torch_release(wanted[0])
    against = matrix.misfit(release, wanted[1], host) if release else None
    return Remedy(
        f"No build of torch runs here as things are. The newest for this GPU is torch {wanted[0]} "
        f"({wanted[1]}); against it stands: {against or 'nothing known'}. {SELECTOR} lists the rest"
    )


def _in_image(facts: Facts) -> str:
    kind = derive.in_container(facts)
    return (
        " Put it into the image to keep it." if kind in ("docker", "podman", "kubernetes") else ""
    )
