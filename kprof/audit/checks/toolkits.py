"""Which CUDA toolkit a build finds, and whether it is torch's."""

from __future__ import annotations

import re

from kprof.audit import derive
from kprof.audit.facts import Facts, Unknown
from kprof.audit.references import rule
from kprof.audit.toolkit_choice import wanted_cuda
from kprof.audit.toolkit_install import (
    Toolkit,
    home,
    named_toolkit,
    toolkits,
    use_toolkit,
    used_by_builds,
)
from kprof.audit.verdict import Remedy, Verdict, check, ok, skipped

_HOME_LOGGED = (
    r"CUDA_HOME environment variable is not set|CUDA_HOME (?:is )?not (?:set|found|defined)"
    r"|CUDA_HOME does not exist|(?:find|locate) CUDA_HOME|CUDA_HOME.{0,20}\bNone\b"
    r"|No such file or directory: '[^'\n]{0,200}/bin/nvcc'"
    r"|\S/bin/nvcc['\"]?: (?:No such file|not found)|CUDA_TOOLKIT_ROOT_DIR not found"
    r"|Could NOT find CUDA(?:Toolkit)?\b"
)
_MISMATCH_LOGGED = r"detected CUDA version \([\d.]+\) mismatches the version"
_MISMATCH_NUMBERS = re.compile(
    r"detected CUDA version \((\d+)\.(\d+)[\d.]*\) mismatches the version that was used to compile"
    r"\s{1,20}PyTorch \((\d+)\.(\d+)"
)


@check(
    "env.cuda_home_missing",
    "CUDA_HOME",
    hurts=("build",),
    explains=("nvcc.missing", "env.cuda_home_mismatch_major"),
    vital=("build",),
)
def cuda_home_missing(facts: Facts) -> Verdict:
    """A build needs a toolkit; torch looks in CUDA_HOME, at nvcc on PATH, in /usr/local/cuda."""
    line = derive.logged(facts, _HOME_LOGGED)
    named = home(facts)
    if line or (named and ":" in named[1]):
        return _not_found(facts, "error", _where_it_failed(facts, named), line)
    if named:
        return _named_toolkit(facts, named)
    known = facts.need_items("toolkits")
    if facts.sub("env") is None:
        raise Unknown("env.CUDA_HOME")
    if not known:
        return skipped("there is no CUDA toolkit that CUDA_HOME could name")
    used = used_by_builds(facts)
    if used is None and (facts.absent("nvcc") or facts.flag("nvcc.on_path") is False):
        where = derive.brief(known[0].text("root") or "?", 80)
        message = f"CUDA_HOME is not set, and torch does not look where the toolkit is: {where}"
        return _not_found(facts, "warning", message, None)
    return ok("CUDA_HOME is not set; the toolkit is found without it")


def _named_toolkit(facts: Facts, named: tuple[str, str]) -> Verdict:
    variable, value = named
    setting = f"{variable}={derive.brief(value, 80)}"
    found = named_toolkit(facts, named)
    if found:
        return ok(f"{setting} is the CUDA {found.version[0]}.{found.version[1]} toolkit")
    known = facts.need_items("toolkits")
    there = facts.member("files", variable)
    exists = there.flag("exists") if there else None
    if exists is False or (exists is None and not known):
        return _not_found(facts, "warning", f"{setting} names no CUDA toolkit", None)
    raise Unknown(f"whether {setting} is a CUDA toolkit")


def _where_it_failed(facts: Facts, named: tuple[str, str] | None) -> str:
    if named is None:
        found = toolkits(facts)
        if found:
            return f"the build finds no CUDA toolkit: CUDA_HOME is not set; there is {found[0]}"
        return "the build finds no CUDA toolkit: CUDA_HOME is not set, and none was found"
    variable, value = named
    if ":" in value:
        return f"{variable}={derive.brief(value, 80)} is a list; it must name one directory"
    return f"the build finds no CUDA toolkit in {variable}={derive.brief(value, 80)}"


def _not_found(facts: Facts, status: str, message: str, line: str | None) -> Verdict:
    return Verdict(
        "error" if status == "error" else "warning",
        message,
        (
            *derive.values(facts, "env.CUDA_HOME", "env.CUDA_PATH", "toolkits", "nvcc.path"),
            *([line] if line else ()),
        ),
        use_toolkit(facts, wanted_cuda(facts)),
        rule("extension_home"),
    )


@check(
    "env.cuda_home_mismatch_major",
    "the toolkit is of torch's CUDA",
    hurts=("build",),
    explains=("nvcc.host_gcc_unsupported", "nvcc.arch_unsupported"),
    vital=("build",),
)
def cuda_home_mismatch_major(facts: Facts) -> Verdict:
    """Another major version stops the build of an extension; another minor one does not."""
    line = derive.logged(facts, _MISMATCH_LOGGED)
    used = used_by_builds(facts)
    torch = derive.torch_cuda(facts)
    said = _MISMATCH_NUMBERS.search(facts.text("log") or "")
    if line is not None:
        used, torch = _from_log(said, used, torch)
        return _mismatch(facts, "error", used, torch, line)
    if derive.torch_absent(facts) or facts.absent("torch.cuda"):
        return skipped("there is no torch with CUDA to build extensions for")
    if torch is None:
        raise Unknown("torch.cuda")
    if used is None:
        if facts.items("toolkits") == ():
            return skipped("there is no CUDA toolkit")
        raise Unknown("toolkits")
    if used.version[0] == torch[0]:
        return ok(f"builds use {used}, and torch is built for CUDA {torch[0]}.{torch[1]}")
    return _mismatch(facts, "error" if home(facts) else "warning", used, torch, None)


def _from_log(
    said: re.Match[str] | None, used: Toolkit | None, torch: tuple[int, int] | None
) -> tuple[Toolkit | None, tuple[int, int] | None]:
    if said is None:
        return used, torch
    version = (int(said[1][:4]), int(said[2][:4]))
    if used is None or used.version != version:
        used = Toolkit("", version, "the build's own words")
    return used, (int(said[3][:4]), int(said[4][:4]))


def _mismatch(
    facts: Facts,
    status: str,
    used: Toolkit | None,
    torch: tuple[int, int] | None,
    line: str | None,
) -> Verdict:
    have = f"builds use {used}" if used else "builds use a toolkit of another CUDA version"
    wanted = f", and torch is built for CUDA {torch[0]}.{torch[1]}" if torch else " than torch"
    return Verdict(
        "error" if status == "error" else "warning",
        f"{have}{wanted}: extensions do not build",
        (
            *derive.values(facts, "env.CUDA_HOME", "env.CUDA_PATH", "nvcc", "toolkits"),
            *derive.values(facts, "torch.version", "torch.cuda"),
            *([line] if line else ()),
        ),
        _of_torch(facts, torch) if torch else Remedy("Name torch's own CUDA in CUDA_HOME"),
        rule("extension_major"),
    )


def _of_torch(facts: Facts, torch: tuple[int, int]) -> Remedy:
    """Return how to build with torch's CUDA, or with that of the torch that has to replace it."""
    known = torch == derive.torch_cuda(facts)
    return use_toolkit(facts, wanted_cuda(facts) if known else torch)


@check("env.multiple_toolkits", "several CUDA toolkits", hurts=("build",))
def multiple_toolkits(facts: Facts) -> Verdict:
    """Toolkits of one major version get along; of several, the one that is found first counts."""
    facts.need_items("toolkits")
    known = toolkits(facts)
    majors = {one.version[0] for one in known}
    used = used_by_builds(facts)
    first = f"; builds use {used}" if used else ""
    if len(majors) < 2:
        return ok(
            f"{len(known)} CUDA toolkit{'s' * (len(known) != 1)}, no two major versions{first}"
        )
    names = ", ".join(str(one) for one in known[:4])
    torch = derive.torch_cuda(facts)
    wanted = torch or (used.version[:2] if used else known[0].version)
    return Verdict(
        "warning",
        f"CUDA toolkits of {len(majors)} major versions are here: {names}{first}",
        derive.values(facts, "toolkits", "env.CUDA_HOME", "env.PATH", "nvcc"),
        use_toolkit(facts, (wanted[0], wanted[1])),
        rule("extension_home"),
    )
