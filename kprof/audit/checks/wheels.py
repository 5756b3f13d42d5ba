"""Whether the NVIDIA packages that pip installed fit each other and torch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kprof.audit import derive, matrix, remedies
from kprof.audit.coverage import label
from kprof.audit.facts import Facts, Unknown
from kprof.audit.references import rule
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_NVIDIA = re.compile(r"nvidia-([a-z0-9]{2,30}?)(?:-cu(\d{2}))?")
# Libraries whose packages of every CUDA major version install the same file.
_COLLIDES = {"nccl": "nccl_collision", "cudnn": "cudnn_collision"}
_JITLINK_REPORT = (
    "pytorch/pytorch issue 134929 <https://github.com/pytorch/pytorch/issues/134929> [third-party]"
)
_JITLINK_LOGGED = r"__nvJitLink\w{0,40}"


@check(
    "wheels.duplicate_nvidia",
    "NVIDIA packages installed twice",
    hurts=("run", "profile"),
    explains=(
        "torch.import_error",
        "torch.cudnn_shadowed",
        "torch.nccl_shadowed",
        "wheels.older_than_pinned",
    ),
)
def duplicate_nvidia(facts: Facts) -> Verdict:
    """NCCL and cuDNN of two CUDA major versions own the same file; the last one installed wins."""
    if facts.sub("packages") is None:
        raise Unknown("packages")
    twice = _twice(facts)
    grave = [library for library in twice if library in _COLLIDES]
    if grave:
        return _collision(facts, grave[0], twice[grave[0]])
    if twice:
        library, majors = next(iter(twice.items()))
        return Verdict(
            "warning",
            f"{_names(facts, library, majors)} are installed side by side: leftovers of a torch "
            "for another CUDA version",
            derive.values(facts, "packages", "torch.cuda"),
            Remedy("Remove the ones that this torch does not use", _uninstall(facts, majors)),
            rule("wheels_layout"),
        )
    return ok("no NVIDIA package is installed for two CUDA major versions")


def _twice(facts: Facts) -> dict[str, list[str]]:
    """Return the libraries that are installed for several CUDA major versions."""
    found: dict[str, set[str]] = {}
    for library, major, _version in _packages(facts):
        if major:  # without a suffix it lives in a directory of its own
            found.setdefault(library, set()).add(major)
    return {library: sorted(majors) for library, majors in found.items() if len(majors) > 1}


def _packages(facts: Facts) -> Iterator[tuple[str, str | None, str]]:
    for name, version in facts.entries("packages"):
        matched = _NVIDIA.fullmatch(name.lower().replace("_", "-")[:60])
        if matched:
            yield matched[1], matched[2], version


def _names(facts: Facts, library: str, majors: list[str]) -> str:
    versions = {major: version for name, major, version in _packages(facts) if name == library}
    return " and ".join(
        f"nvidia-{library}-cu{major} {derive.brief(versions.get(major, ''), 20)}".rstrip()
        for major in majors
    )


def _collision(facts: Facts, library: str, majors: list[str]) -> Verdict:
    line = derive.logged(facts, library)
    return Verdict(
        "error",
        f"{_names(facts, library, majors)} install the same lib{library}: torch loads whichever "
        "came last",
        (
            *derive.values(facts, "packages", "torch.version", "torch.cuda"),
            *([line] if line else ()),
        ),
        _reinstall(facts, library, majors),
        rule(_COLLIDES[library]),
    )


def _reinstall(facts: Facts, library: str, majors: list[str]) -> Remedy:
    python = remedies.python(facts)
    packages = " ".join(f"nvidia-{library}-cu{major}" for major in majors)
    cuda = derive.torch_cuda(facts)
    keep = str(cuda[0]) if cuda and str(cuda[0]) in majors else None
    pinned = _pinned(facts, library)
    if keep is None:
        install = f"{python} -m pip install --force-reinstall torch"
    else:
        version = f"=={pinned}" if pinned else ""
        install = f"{python} -m pip install --force-reinstall --no-deps nvidia-{library}-cu{keep}{version}"
    return Remedy(
        "Remove both, since removing one takes the other's file with it, then install the one "
        "that torch needs",
        (f"{python} -m pip uninstall -y {packages}", install),
    )


def _pinned(facts: Facts, library: str) -> str | None:
    """Return the version that torch's build on PyPI pins; other builds may pin another."""
    release = matrix.torch_release(facts.text("torch.version") or "")
    if release is None or label(facts) not in ("", release.pypi_variant):
        return None
    return {"nccl": release.nccl, "cudnn": release.cudnn}.get(library)


def _uninstall(facts: Facts, majors: list[str]) -> tuple[str, ...]:
    cuda = derive.torch_cuda(facts)
    if cuda is None:
        return ()
    packages = [
        f"nvidia-{library}-cu{major}"
        for library, major, _version in _packages(facts)
        if major in majors and major != str(cuda[0])
    ]
    return (f"{remedies.python(facts)} -m pip uninstall -y {' '.join(packages[:30])}",)


@check(
    "wheels.older_than_pinned",
    "NVIDIA packages as torch pins them",
    hurts=("run", "profile"),
    explains=("torch.import_error",),
)
def older_than_pinned(facts: Facts) -> Verdict:
    """A newer NCCL or cuDNN than the pinned one usually serves; an older one lacks functions."""
    if facts.sub("packages") is None:
        raise Unknown("packages")
    if derive.torch_absent(facts):
        return skipped("torch is not installed")
    cuda = derive.torch_cuda(facts)
    if cuda is None:
        if facts.known("torch.cuda"):
            return skipped("torch is built without CUDA")
        raise Unknown("torch.cuda")
    old = [*_below_pin(facts, cuda), *_old_jitlink(facts, cuda)]
    if not old:
        return ok("no NVIDIA package is older than torch needs")
    return _too_old(facts, old)


def _below_pin(facts: Facts, cuda: tuple[int, int]) -> Iterator[tuple[str, str, str]]:
    for library in _COLLIDES:
        name = f"nvidia-{library}-cu{cuda[0]}"
        have, pinned = facts.text(f"packages.{name}"), _pinned(facts, library)
        found, wanted = derive.release(have, 3), derive.release(pinned, 3)
        if have and pinned and found and wanted and found < wanted:
            yield name, have, pinned


def _old_jitlink(facts: Facts, cuda: tuple[int, int]) -> Iterator[tuple[str, str, str]]:
    suffix = f"-cu{cuda[0]}" if cuda[0] < 13 else ""
    name = f"nvidia-nvjitlink{suffix}"
    have = facts.text(f"packages.{name}")
    found = derive.release(have)
    if have and found and found[0] == cuda[0] and found < cuda:
        yield name, have, f"{cuda[0]}.{cuda[1]}"


def _too_old(facts: Facts, old: list[tuple[str, str, str]]) -> Verdict:
    name, have, wanted = old[0]
    line = derive.logged(facts, _JITLINK_LOGGED) if "nvjitlink" in name else None
    specifier = f"'{name}=={wanted}{'.*' if 'nvjitlink' in name else ''}'"
    return Verdict(
        "error" if line else "warning",
        f"{name} {derive.brief(have, 20)} is older than the {wanted} that torch "
        f"{derive.brief(facts.text('torch.version') or '', 40)} was built with",
        (*derive.values(facts, "packages", "torch.version"), *([line] if line else ())),
        Remedy(
            "Install the version that torch pins",
            (f"{remedies.python(facts)} -m pip install --no-deps {specifier}",),
        ),
        _JITLINK_REPORT if "nvjitlink" in name else rule("wheels_layout"),
    )
