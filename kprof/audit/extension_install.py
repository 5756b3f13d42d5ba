"""How to bring torch and an extension of another CUDA version together."""

from __future__ import annotations

import dataclasses
import re
import shlex

from kprof.audit import derive, matrix, remedies, toolchain, torch_install
from kprof.audit.facts import Facts
from kprof.audit.verdict import Remedy

COMPANIONS = ("torchvision", "torchaudio", "torchtext", "torchcodec")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")
_VERSION = re.compile(r"\d[\w.]{0,40}")


def together(facts: Facts, package: str | None, cuda: tuple[int, int] | None) -> Remedy:
    """Return how to make torch and an extension of another CUDA major version one pair.

    A torch of the extension's CUDA is the short way, where the index has one of this release that
    runs here and no other extension needs the present one. Otherwise the extension changes.

    Args:
        facts: the snapshot.
        package: the extension, None where it is not known which one it is.
        cuda: the CUDA version that it is built for, its minor version 0 where not known.
    """
    if package in COMPANIONS and derive.torch_cuda(facts):
        return _companion(facts, str(package))
    rebuilt = from_source(facts, package)
    build = _torch_for(facts, cuda) if cuda else None
    if build is None:
        return rebuilt
    release, variant = build
    torch = Remedy(
        f"Install torch {release} for CUDA {matrix.cuda_of(variant)} ({variant}), which "
        f"{package or 'the extension'} is built for: the driver runs it",
        (torch_install.install_command(facts, variant, release),),
    )
    return dataclasses.replace(torch, alternatives=(rebuilt,))


def from_source(facts: Facts, package: str | None) -> Remedy:
    """Return how to get a build of an extension for the torch that is here.

    A build from source is a command only where an nvcc of torch's CUDA major version is there.
    """
    cuda, toolkit = derive.torch_cuda(facts), toolchain.winner(facts)
    torch = derive.brief(f"torch {facts.text('torch.version') or ''}".strip(), 40)
    build = f"CUDA {cuda[0]} ({torch})" if cuda else "torch's CUDA"
    named = package if package and _PACKAGE.fullmatch(package) else None
    advice = f"Install a build of {named or 'it'} for {build}; its project's releases list them"
    if cuda is None or toolkit is None or toolkit.cuda[0] != cuda[0]:
        wanted = f"CUDA {cuda[0]}.{cuda[1]}" if cuda else "torch's CUDA version"
        have = f"; here is {toolkit}" if toolkit else ""
        return Remedy(f"{advice}. Building it from source takes an nvcc of {wanted}{have}")
    name = named or "PACKAGE"
    return Remedy(
        f"{advice}. Or build it against this torch",
        (
            f"{remedies.python(facts)} -m pip install --force-reinstall --no-deps "
            f"--no-build-isolation --no-binary {name} {_pinned(facts, name)}",
        ),
    )


def _companion(facts: Facts, package: str) -> Remedy:
    major, minor = derive.torch_cuda(facts) or (0, 0)
    command = (
        f"{remedies.python(facts)} -m pip install --force-reinstall --no-deps "
        f"{_pinned(facts, package)} --index-url {matrix.index_url(f'cu{major}{minor}')}"
    )
    return Remedy(f"Install the {package} of torch's CUDA {major}.{minor}", (command,))


def _pinned(facts: Facts, package: str) -> str:
    """Return a requirement of the version that is there, so that torch's release stays fitting."""
    found = _VERSION.match(facts.text(f"packages.{package}") or "")
    return shlex.quote(f"{package}=={found[0]}" if found else package)


def _torch_for(facts: Facts, cuda: tuple[int, int]) -> tuple[str, str] | None:
    """Return the build of torch's own release for an extension's CUDA that runs on this machine."""
    mine = derive.torch_cuda(facts)
    if mine is None or derive.machine(facts) is None or derive.driver_version(facts) is None:
        return None
    if any(_major(one) == mine[0] for one in facts.items("extensions") or ()):
        return None
    found = torch_install.builds_of_cuda(facts, cuda[0])
    exact = [one for one in found if one[1] == f"cu{cuda[0]}{cuda[1]}"]
    return next(iter([*exact, *found]), None)


def _major(extension: Facts) -> int | None:
    found = derive.release(extension.text("cuda"), 1)
    return found[0] if found else None
