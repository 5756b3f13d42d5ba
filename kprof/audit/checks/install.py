"""Why pip, uv or conda did not find a build of torch or of what it needs."""

from __future__ import annotations

import re
import shlex

from kprof.audit import derive, matrix, remedies
from kprof.audit.facts import Facts
from kprof.audit.torch_install import SELECTOR, install_torch
from kprof.audit.verdict import Remedy, Verdict, check, ok

_INDEX_REPORT = (
    "pytorch/pytorch issues 172926 and 193491: an index that lacks what its torch pins "
    "<https://github.com/pytorch/pytorch/issues/172926> [third-party]"
)
_PYPI = "https://pypi.org/simple"
_NAME = r"([A-Za-z][\w.-]{0,60}(?:\[\w,-]{0,40}\])?(?:[=<>!~]=? ?[\w.*+]{1,40})?)"
# pip, uv and conda, in this order.
_MISSES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"No matching distribution found for {_NAME}",
        rf"satisfies the requirement {_NAME}",
        rf"there (?:is|are) no (?:version|wheel)s? (?:of|for) {_NAME}",
        rf"{_NAME} was not found in the (?:package registry|cache|provided)",
        rf"{_NAME} has no (?:wheels|source distribution)",
        rf"nothing provides (?:requested )?{_NAME}",
        rf"^ {{0,4}}- {_NAME}",
    )
)
_OURS = re.compile(
    r"(?:torch|pytorch|triton|nvidia|cuda|vllm|xformers|flash|bitsandbytes|cupy|apex)",
    re.IGNORECASE,
)


@check("install.index_incomplete", "builds on the package index", hurts=("run", "build"))
def index_incomplete(facts: Facts) -> Verdict:
    """An index may lack the build, the Python version or a dependency that torch pins."""
    found = _missed(facts)
    if found is None:
        facts.need_text("log")
        return ok("no installer missed a build of torch or of what it needs")
    requirement, line = found
    if not re.match(r"(?:py)?torch(?![a-z-])", requirement):
        return _dependency(facts, requirement, line)
    return _torch_itself(facts, requirement, line)


def _missed(facts: Facts) -> tuple[str, str] | None:
    """Return the first package of ours that an installer did not find, and the line that says so."""
    log = facts.text("log") or ""
    patterns = _MISSES if "PackagesNotFoundError" in log else _MISSES[:-1]
    for line in log.splitlines():
        for pattern in patterns:
            found = pattern.search(line[:2000])
            if found and _OURS.match(found[1]):
                return found[1], line.strip()[:300]
    return None


def _dependency(facts: Facts, requirement: str, line: str) -> Verdict:
    name = re.split(r"[=<>!~ ]", requirement, maxsplit=1)[0]
    build = _named_build(facts)
    index = matrix.index_url(build) if build else None
    where = f"the index {index}" if index else "the package index in use"
    return Verdict(
        "error",
        f"{where} has no {derive.brief(requirement, 60)} for this Python and platform, "
        "which the package asked for needs",
        (*derive.values(facts, "python.version", "os.arch"), line),
        _with_pypi(facts, name, index),
        _INDEX_REPORT,
    )


def _with_pypi(facts: Facts, name: str, index: str | None) -> Remedy:
    python = remedies.python(facts)
    if index is None:
        return Remedy(
            f"Let the installer look on PyPI too; {name} is there",
            (f"{python} -m pip install {shlex.quote(name)} --extra-index-url {_PYPI}",),
        )
    return Remedy(
        "Let pip look on PyPI too: the build with the CUDA label still wins over PyPI's",
        (f"{python} -m pip install torch --index-url {index} --extra-index-url {_PYPI}",),
    )


def _named_build(facts: Facts) -> str | None:
    """Return the build whose index the installer used, as its output or torch's label tells."""
    log = facts.text("log") or ""
    found = re.search(r"/whl/(?:nightly/)?(cu\d{3})\b", log) or re.search(r"\+(cu\d{3})\b", log)
    return found[1] if found else None


def _torch_itself(facts: Facts, requirement: str, line: str) -> Verdict:
    return Verdict(
        "error",
        f"the package index has no {derive.brief(requirement, 60)}{_reason(facts, requirement)}",
        (*derive.values(facts, "python.version", "os.arch"), line),
        _other_build(facts, requirement),
        _INDEX_REPORT,
    )


def _reason(facts: Facts, requirement: str) -> str:
    version = re.search(r"\d[\w.+]*", requirement)
    release = matrix.torch_release(version[0]) if version else None
    build = re.search(r"\+(cu\d{3})", requirement)
    python = derive.release(facts.text("python.version"))
    if release and build and build[1] not in matrix.torch_variants(release.version):
        offered = ", ".join(matrix.torch_variants(release.version))
        return f": torch {release.version} was published for {offered}"
    if release and python and f"{python[0]}.{python[1]}" not in release.python:
        return (
            f": it has builds for Python {', '.join(release.python)}, not {python[0]}.{python[1]}"
        )
    if build:
        return f": builds with a CUDA label are on {matrix.index_url(build[1])}, not on PyPI"
    return " for this Python and platform"


def _other_build(facts: Facts, requirement: str) -> Remedy:
    version = re.search(r"\d[\w.]*", requirement)
    build = re.search(r"\+(cu\d{3})", requirement)
    release = matrix.torch_release(version[0]) if version else None
    if release and build and build[1] in matrix.torch_variants(release.version):
        python = remedies.python(facts)
        command = f"{python} -m pip install torch=={release.version} --index-url {matrix.index_url(build[1])}"
        return Remedy("Name the index of that build", (command,))
    if facts.known("gpus") or facts.known("driver"):
        return install_torch(facts)
    return Remedy(f"Choose a release and build that exist for this Python and driver: {SELECTOR}")
